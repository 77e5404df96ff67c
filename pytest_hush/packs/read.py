"""Reading a pack: `load_pack` gives a validated `Pack` or one `PackError`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from pytest_hush.bundled import bundled
from pytest_hush.errors import PackError, UsageError
from pytest_hush.model import (
    Control,
    Disclosure,
    Fact,
    Invitation,
    Pack,
    Persona,
    PositiveControl,
    Probe,
    Session,
    SessionFact,
    Turn,
    digest,
)
from pytest_hush.packs.files import MANIFEST, RawPack, read_raw
from pytest_hush.packs.schema import DisclosureLine, ManifestFile, TurnLine
from pytest_hush.packs.structure import check_structure


def find_pack(name: str) -> Path:
    """The folder of the bundled pack `name` (``starter``). Raises `PackError` that lists what exists."""
    try:
        return bundled("probes", name)
    except UsageError as error:
        raise PackError(f"{error} Give one of these names, or the path of a pack's folder.") from None


def load_pack(source: str | Path) -> Pack:
    """Read and fully validate a pack: a folder, or the name of a bundled one.

    A name without a path separator is looked up among the bundled packs first, then as a folder; write
    ``./name`` for a folder that is called like a bundled pack. Raises `PackError` that names file, line and
    field of up to ten problems.
    """
    root = _root(source)
    _refuse_other_data(root)
    raw = read_raw(root)
    check_structure(raw, root)
    return _build(raw)


def _root(source: str | Path) -> Path:
    if not str(source):
        raise PackError("Pack '': an empty name (an unset variable?). Name a bundled pack, or a pack's folder.")
    if isinstance(source, Path) or "/" in source or "\\" in source:
        return Path(source).expanduser()
    try:
        return find_pack(source)
    except PackError:
        if Path(source).is_dir():
            return Path(source)
        raise


def _refuse_other_data(root: Path) -> None:
    """Labelled sets and recorded replies have a manifest too: one line says what they are, instead of what they lack.

    Raises `PackError`.
    """
    try:
        found = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return  # whoever reads the pack says what is wrong
    if not isinstance(found, dict) or "private" in found:
        return
    if isinstance(found.get("packs"), dict):
        raise PackError(f"{root} is a labelled set, not a probe pack: `hush judge calibrate {root}` reads it.")
    if isinstance(found.get("pack"), dict):
        raise PackError(f"{root} holds recorded replies, not a probe pack: --hush-model=recorded replays them.")


def pack_hash(manifest: ManifestFile) -> str:
    """SHA-256 of the language and of every data file's digest: 64 hex digits."""
    return digest(["pack", 1, manifest.language, manifest.files], 64)


def _build(raw: RawPack) -> Pack:
    manifest = raw.manifest
    sessions: dict[str, list[Session]] = defaultdict(list)
    for s in raw.sessions:
        sessions[s.value.persona].append(Session(s.value.id, s.value.date, _turns(s.value.turns)))
    facts: dict[str, list[Fact]] = defaultdict(list)
    for f in (f.value for f in raw.facts):
        facts[f.persona].append(Fact(f.id, f.kind, f.text, f.turn, f.stems, f.category))
    return Pack(
        name=manifest.name,
        version=manifest.version,
        title=manifest.title,
        language=manifest.language,
        licence=manifest.licence,
        private=manifest.private,
        hash=pack_hash(manifest),
        personas=tuple(
            Persona(p.id, p.name, p.partner, p.about, tuple(sessions[p.id]), tuple(facts[p.id]))
            for p in (p.value for p in raw.personas)
        ),
        disclosures=tuple(_disclosure(d.value) for d in raw.disclosures),
        probes=tuple(
            Probe(p.id, p.persona, p.disclosure, p.family, p.domain, p.text) for p in (p.value for p in raw.probes)
        ),
        invitations=tuple(Invitation(i.value.id, i.value.probe, i.value.line) for i in raw.invitations),
        invitation_lines={e.value.id: e.value.text for e in raw.lines},
        controls=tuple(
            Control(c.id, c.disclosure, c.kind, c.text, c.category) for c in (c.value for c in raw.controls)
        ),
        positive_controls=tuple(
            PositiveControl(c.id, c.persona, c.question, c.fact, c.answer)
            for c in (c.value for c in raw.positive_controls)
        ),
        background=dict(manifest.background or {}),
        ambient_labelled=manifest.ambient_labelled,
    )


def _turns(lines: tuple[TurnLine, ...]) -> tuple[Turn, ...]:
    return tuple(Turn(t.id, t.role, t.speaker, t.text) for t in lines)


def _disclosure(d: DisclosureLine) -> Disclosure:
    return Disclosure(
        id=d.id,
        persona=d.persona,
        category=d.category,
        strength=d.strength,
        position=d.position,
        statement=d.statement,
        core=d.core,
        synonyms=d.synonyms,
        bridge=d.bridge,
        canary=d.canary,
        question=d.question,
        constraints=tuple(d.constraints),
        session_id=d.session.id,
        turn_id=d.session.turn,
        turns=_turns(d.session.turns),
        session_fact=SessionFact(d.session_fact.text, d.session_fact.question, d.session_fact.answer),
    )
