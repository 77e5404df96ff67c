"""Writing packs: a whole folder from a `Pack`, or the manifest of a folder that a person edits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_hush.errors import PackError
from pytest_hush.model import Disclosure, Pack, Persona, Turn
from pytest_hush.packs.files import MANIFEST, belongs, content_lines, data_files, read_bytes
from pytest_hush.packs.problems import Problems
from pytest_hush.packs.schema import LINE_LIST, LINES, SCHEMA, Counts, ManifestFile

_HEADER = ("name", "version", "title", "language", "licence", "private", "background", "ambient_labelled")
_NEEDED = ("version", "title", "language", "licence")


def write_manifest(folder: str | Path, **header: Any) -> Path:
    """Write ``manifest.json`` of the pack at `folder` anew: counts and sha256 of the files as they are now.

    The header fields (`name`, `version`, `title`, `language`, `licence`, `private`, `background`,
    `ambient_labelled`) are kept from the manifest that is there; keyword arguments replace them. `name`
    defaults to the folder's name, `private` to False. The files' content is not validated: `load_pack` does
    that. Returns the path written. Raises `PackError` when there is no folder, no data, or no header.
    """
    root = Path(folder)
    if not root.is_dir():
        raise PackError(f"{root} is not a folder; expected the folder of a probe pack.")
    paths = [p for p in data_files(root) if belongs(p)]
    if not any("/" in p for p in paths):
        raise PackError(f"{root} holds no persona folder; expected one folder a persona with persona.json in it.")
    if unknown := sorted(set(header) - set(_HEADER)):
        raise PackError(f"manifest of {root}: unknown field {unknown[0]!r}; expected {', '.join(_HEADER)}.")
    fields = {"name": root.resolve().name, "private": False, **_present_header(root), **header}
    if absent := [name for name in _NEEDED if name not in fields]:
        raise PackError(f"{root} has no {MANIFEST} yet; expected values for {', '.join(absent)} to write the first.")
    bodies = {p: read_bytes(root / p) for p in paths}
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        **{name: fields[name] for name in _HEADER[:6]},
        "counts": _counts(bodies),
        "files": {p: hashlib.sha256(body).hexdigest() for p, body in bodies.items()},
    }
    if fields.get("background"):
        manifest["background"] = dict(fields["background"])
    if fields.get("ambient_labelled") is False:
        manifest["ambient_labelled"] = False
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    try:
        ManifestFile.model_validate_json(text)
    except ValidationError as error:
        problems = Problems(root)
        problems.add_invalid(MANIFEST, None, error)
        problems.check()
    target = root / MANIFEST
    target.write_bytes(text.encode())
    return target


def write_pack(pack: Pack, folder: str | Path) -> Path:
    """Write `pack` as a folder in the format of ``docs/reference/pack-format.md``; returns the folder.

    The folder must be absent or empty (`PackError`), so that no file of another pack stays in it. Reading it
    back gives the same pack but for `hash`, which covers the bytes now written.
    """
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise PackError(f"{root} exists and is not an empty folder; expected a new place for the pack.")
    root.mkdir(parents=True, exist_ok=True)
    lines = [{"id": key, "text": text} for key, text in pack.invitation_lines.items()]
    (root / LINE_LIST).write_bytes((json.dumps(lines, ensure_ascii=False, indent=2) + "\n").encode())
    for persona in pack.personas:
        home = root / persona.id
        home.mkdir()
        person = {"id": persona.id, "name": persona.name, "about": persona.about, "partner": persona.partner}
        _write_lines(home / "persona.json", [person])
        for name, rows in _rows(pack, persona).items():
            _write_lines(home / name, rows)
    write_manifest(
        root,
        name=pack.name,
        version=pack.version,
        title=pack.title,
        language=pack.language,
        licence=pack.licence,
        private=pack.private,
        background=pack.background,
        ambient_labelled=pack.ambient_labelled,
    )
    return root


def _present_header(root: Path) -> dict[str, Any]:
    path = root / MANIFEST
    if not path.is_file():
        return {}
    try:
        value = json.loads(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        raise PackError(f"{path} is not JSON ({error}); mend it, or remove it to write a new one.") from None
    if not isinstance(value, dict):
        raise PackError(f"{path} holds no JSON object; mend it, or remove it to write a new one.")
    return {name: value[name] for name in _HEADER if name in value}


def _counts(bodies: Mapping[str, bytes]) -> dict[str, int]:
    counts = dict.fromkeys(Counts.model_fields, 0)
    for path, body in bodies.items():
        name = path.rpartition("/")[2]
        if name == "persona.json":
            counts["personas"] += 1
        elif name in LINES:
            counts[name.partition(".")[0]] += sum(1 for _ in content_lines(body))
    return counts


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(text.encode())


def _rows(pack: Pack, persona: Persona) -> dict[str, list[dict[str, Any]]]:
    own = {d.id for d in pack.disclosures if d.persona == persona.id}
    probes = {p.id for p in pack.probes if p.persona == persona.id}
    return {
        "sessions.jsonl": [
            {"id": s.id, "persona": persona.id, "date": s.date, "turns": _turns(s.turns)} for s in persona.sessions
        ],
        "facts.jsonl": [
            _some(
                id=f.id, persona=persona.id, kind=f.kind, text=f.text, turn=f.turn, stems=f.stems, category=f.category
            )
            for f in persona.facts
        ],
        "disclosures.jsonl": [_disclosure(d) for d in pack.disclosures if d.id in own],
        "probes.jsonl": [
            {
                "id": p.id,
                "persona": p.persona,
                "disclosure": p.disclosure,
                "family": p.family,
                "domain": p.domain,
                "text": p.text,
            }
            for p in pack.probes
            if p.id in probes
        ],
        "invitations.jsonl": [
            {"id": i.id, "probe": i.probe, "line": i.line} for i in pack.invitations if i.probe in probes
        ],
        "controls.jsonl": [
            _some(id=c.id, disclosure=c.disclosure, kind=c.kind, text=c.text, category=c.category)
            for c in pack.controls
            if c.disclosure in own
        ],
        "positive_controls.jsonl": [
            {"id": c.id, "persona": c.persona, "question": c.question, "fact": c.fact, "answer": c.answer}
            for c in pack.positive_controls
            if c.persona == persona.id
        ],
    }


def _some(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _turns(turns: Iterable[Turn]) -> list[dict[str, str]]:
    return [{"id": t.id, "role": t.role, "speaker": t.speaker, "text": t.text} for t in turns]


def _disclosure(d: Disclosure) -> dict[str, Any]:
    fact = d.session_fact
    return {
        "id": d.id,
        "persona": d.persona,
        "category": d.category,
        "strength": d.strength,
        "position": d.position,
        "statement": d.statement,
        "core": d.core,
        "synonyms": d.synonyms,
        "bridge": d.bridge,
        "canary": d.canary,
        "question": d.question,
        "constraints": d.constraints,
        "session": {"id": d.session_id, "turn": d.turn_id, "turns": _turns(d.turns)},
        "session_fact": {"text": fact.text, "question": fact.question, "answer": fact.answer},
    }
