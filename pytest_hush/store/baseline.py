"""A baseline on disk: the scores of a finished run with their keys, small enough to commit, and no text of a case.

The format is ``docs/reference/baseline.md``: JSON with one case a line, sorted, so that a diff of two baselines is
a diff of scores.
"""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import StoreError
from pytest_hush.model import Exposure, Judgement, Record, Usage, canonical_json
from pytest_hush.plan import Identity
from pytest_hush.store.codec import MALFORMED, flag, listed, mapping, optional, score, text, texts, whole
from pytest_hush.store.folder import RunFolder, write_atomically
from pytest_hush.store.records import read_file
from pytest_hush.store.revision import NOBODY_KNOWS, Revision, revision_from

SCHEMA: Final = 1
KIND: Final = "pytest-hush baseline"
COLUMNS: Final = (
    "probe_id", "repeat", "invited", "status", "exact", "residue", "ambient",
    "v", "target_uptake", "over_scope", "helpfulness", "used",
)  # fmt: skip
SEVERAL: Final = "judgements"
"""A further column of a run with several judgements a case: all of them, as [judge, draw, four scores, used]."""
ESTIMATE: Final = (
    "model", "condition", "metric", "n", "planned", "missing", "value", "lower", "upper", "confidence", "interval",
)  # fmt: skip
"""Fields of a level: points in 0..100, each bound one-sided at `confidence`; None where nothing could be said."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What a run scored. `records` hold keys and scores alone: texts, usage and positive controls are absent.

    `instrument` is the one of all records; `texts` is True where the source has the replies too (a run folder).
    `saved` is the day and `measured` the moment (ISO 8601) that it tells of itself, '' where it does not; `estimates`
    are the levels that were computed when it was saved, with the keys of `ESTIMATE`.
    """

    source: str
    records: tuple[Record, ...]
    instrument: Mapping[str, Any]
    plan_hash: str
    saved: str = ""
    texts: bool = False
    measured: str = ""
    revision: Revision = field(default_factory=NOBODY_KNOWS.copy)
    plugin_version: str = ""
    estimates: tuple[Mapping[str, Any], ...] = ()


def save_baseline(
    path: Path,
    records: Iterable[Record],
    *,
    plugin_version: str,
    today: datetime.date,
    measured: str = "",
    revision: Revision = NOBODY_KNOWS,
    estimates: Iterable[Mapping[str, Any]] = (),
    source: str = "The run",
) -> int:
    """Write the measured probe cases of `records` to `path`; returns how many. Raises `StoreError`.

    `measured` is when the run started (ISO 8601); `estimates` have the keys of `ESTIMATE`, and no text of a case.
    Refuses records of several plans or instruments, a case with two different answers, and an empty run: nothing
    could be compared with them.
    """
    chosen = sorted((r for r in records if r.measured and r.kind == "probe"), key=lambda r: r.identity)
    chosen = _one_each(source, chosen)
    if not chosen:
        raise StoreError(
            "The run holds no measured probe case: there is nothing to keep as a baseline. Finish it first."
        )
    for name in ("plan_hash", "instrument"):
        if len({canonical_json(getattr(r, name)) for r in chosen}) > 1:
            raise StoreError(
                f"The run's records differ in `{name}`: they are not one run. Measure the whole plan with one "
                f"instrument."
            )
    several = any(len(r.judgements) > 1 for r in chosen)
    arms: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in chosen:
        arms[record.model, record.condition].append(record)
    head = {
        "schema": SCHEMA,
        "kind": KIND,
        "saved": today.isoformat(),
        "measured": measured,
        "revision": dict(revision),
        "plugin_version": plugin_version,
        "plan_hash": chosen[0].plan_hash,
        "instrument": dict(chosen[0].instrument),
        "columns": [*COLUMNS, *([SEVERAL] if several else [])],
    }
    lines = [json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "estimates": [']
    lines.append(",\n".join(_line({name: e[name] for name in ESTIMATE}) for e in estimates))
    personas: dict[str, set[str]] = defaultdict(set)
    for record in chosen:
        personas[record.persona].add(record.probe_id)
    lines.append('],\n "personas": {')
    lines.append(",\n".join(f"{_line(persona)}: {_line(sorted(ids))}" for persona, ids in sorted(personas.items())))
    lines.append('},\n "arms": [')
    for number, ((model, condition), own) in enumerate(sorted(arms.items())):
        arm = {"model": model, "condition": condition, "subject": dict(own[0].subject)}
        lines.append(json.dumps(arm, ensure_ascii=False).removesuffix("}") + ', "cases": [')
        rows = [_line(_row(r, several=several)) for r in own]
        lines.append(",\n".join(rows))
        lines.append("]}" + ("," if number + 1 < len(arms) else ""))
    lines.append("]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: the baseline cannot be written: {error.strerror}. Give another --out.") from error
    return len(chosen)


def load_scores(path: Path) -> Scores:
    """The scores of a run folder, a records file (``.jsonl``), or a saved baseline.

    Raises `StoreError` that says what was read and what was expected.
    """
    if path.is_dir():
        folder = RunFolder.open(path)
        about = folder.manifest
        return replace(
            _of(str(path), folder.records(), texts=True),
            measured=str(about.get("started") or ""),
            revision=revision_from(about.get("revision")),
        )
    if not path.is_file():
        raise StoreError(f"{path}: no such baseline. Expected a run folder, a records file or a saved baseline.")
    if path.suffix == ".jsonl":
        return _of(str(path), read_file(path), texts=True)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{path}: not a whole baseline ({error}). Expected what `hush baseline save` wrote, a run folder or a "
            f"records file (.jsonl)."
        ) from None
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        raise StoreError(
            f"{path}: read kind {shown(data, 'kind')}, schema {shown(data, 'schema')}; expected {KIND!r} of "
            f"schema {SCHEMA}. Make one with `hush baseline save RUN`."
        )
    try:
        return _saved(path, data)
    except MALFORMED as error:
        raise StoreError(
            f"{path}: the baseline is damaged ({type(error).__name__}: {error}). Save it again with "
            f"`hush baseline save`."
        ) from None


def shown(data: object, name: str) -> str:
    """A field of what was read, for an error."""
    return repr(data.get(name))[:60] if isinstance(data, dict) else "nothing"


def _of(source: str, records: Sequence[Record], *, texts: bool) -> Scores:
    chosen = [r for r in records if r.kind == "probe"]
    if not any(r.measured for r in chosen):
        raise StoreError(
            f"{source}: it holds no measured probe case: there is nothing to compare with. Finish that run."
        )
    measured = [r for r in chosen if r.measured]
    for name in ("plan_hash", "instrument"):
        if len({canonical_json(getattr(r, name)) for r in measured}) > 1:
            raise StoreError(
                f"{source}: its records differ in `{name}`: they are not one run, and cannot be a baseline."
            )
    measured = _one_each(source, measured)
    return Scores(source, tuple(measured), measured[0].instrument, measured[0].plan_hash, texts=texts)


def _one_each(source: str, records: Iterable[Record]) -> list[Record]:
    """`records` with one a case. Raises `StoreError` that names the first case with two different answers."""
    found: dict[Identity, Record] = {}
    twice: set[Identity] = set()
    for record in records:
        first = found.setdefault(record.identity, record)
        if (record.key, record.answer) != (first.key, first.answer):
            twice.add(record.identity)
    if twice:
        model, condition, probe, _, repeat = min(twice)
        raise StoreError(
            f"{source}: {len(twice)} cases have two different answers (first {probe}, repeat {repeat}, of {model} "
            f"under {condition}). Which one counts cannot be known, so it is no baseline. Measure it anew in a folder "
            f"of its own, and save that."
        )
    return list(found.values())


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _row(r: Record, *, several: bool) -> list[Any]:
    j = r.judgements[0] if r.judgements else None
    scores = [None] * 4 if j is None else [j.v, j.target_uptake, j.over_scope, j.helpfulness]
    e = r.exposure
    return [
        r.probe_id, r.repeat, int(r.invited), r.status, e.exact, e.residue, e.ambient, *scores,
        list(j.used) if j else [], *([list(map(_judged, r.judgements))] if several else []),
    ]  # fmt: skip


def _judged(j: Judgement) -> list[Any]:
    return [j.judge, j.draw, j.v, j.target_uptake, j.over_scope, j.helpfulness, list(j.used)]


def _judgement(judge: object, draw: object, *row: Any) -> Judgement:
    v, uptake, over, helpful, used = row
    return Judgement(
        judge=text(judge),
        rubric="",
        v=optional(score, v),
        target_uptake=score(uptake),
        over_scope=score(over),
        helpfulness=score(helpful),
        used=texts(used),
        evidence="",
        rationale="",
        draw=whole(draw),
    )


def _saved(path: Path, data: Mapping[str, Any]) -> Scores:
    several = listed(data["columns"]) == [*COLUMNS, SEVERAL]
    if not several and data["columns"] != list(COLUMNS):
        raise ValueError(f"columns {data['columns']}")
    instrument, plan_hash = mapping(data["instrument"]), text(data["plan_hash"])
    # What follows was added later: files of before lack it, and are read as well.
    people = {text(probe): name for name, ids in mapping(data.get("personas", {})).items() for probe in listed(ids)}
    records = []
    arms: set[tuple[str, str]] = set()
    for arm in listed(data["arms"]):
        model, condition, subject = text(arm["model"]), text(arm["condition"]), mapping(arm["subject"])
        if (model, condition) in arms:
            raise StoreError(
                f"{path}: the arm of {model} under {condition} is in it twice; expected each arm once. Save it again "
                f"with `hush baseline save`."
            )
        arms.add((model, condition))
        for row in listed(arm["cases"]):
            row = listed(row)
            every = listed(row.pop()) if several else []
            probe, repeat, invited, status, exact, residue, ambient, *scores, used = row
            if not several and any(s is not None for s in scores):
                every = [[str(instrument.get("judge", "")), 0, *scores, used]]
            records.append(
                Record(
                    key=f"{model}|{condition}|{text(probe)}|{invited}|{repeat}",
                    plan_hash=plan_hash,
                    kind="probe",
                    probe_id=probe,
                    disclosure_id=None,
                    persona=people.get(probe, ""),
                    family="",
                    category="",
                    strength="",
                    position=None,
                    condition=condition,
                    model=model,
                    repeat=whole(repeat),
                    invited=bool(whole(invited)),
                    status=text(status),  # type: ignore[arg-type]
                    exposure=Exposure(*(optional(flag, x) for x in (exact, residue, ambient))),
                    entries=(),
                    reply="",
                    judgements=tuple(_judgement(*listed(j)) for j in every),
                    usage=Usage(0, 0, None),
                    latency_s=0.0,
                    attempts=0,
                    instrument=instrument,
                    subject=subject,
                )
            )
    if not records:
        raise ValueError("no case in it")
    records = _one_each(str(path), records)
    return Scores(
        str(path),
        tuple(records),
        instrument,
        plan_hash,
        saved=text(data["saved"]),
        measured=text(data.get("measured", "")),
        revision=revision_from(data.get("revision")),
        plugin_version=text(data.get("plugin_version", "")),
        estimates=tuple(_estimate(mapping(e)) for e in listed(data.get("estimates", []))),
    )


def _estimate(found: Mapping[str, Any]) -> Mapping[str, Any]:
    numbers = {name: None if (x := found[name]) is None else _finite(x) for name in ("value", "lower", "upper")}
    counts = {name: whole(found[name]) for name in ("n", "planned", "missing")}
    names = {name: text(found[name]) for name in ("model", "condition", "metric", "interval")}
    return {**names, **counts, **numbers, "confidence": _finite(found["confidence"])}


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"{value!r} is no number in 0..100")
    return float(value)
