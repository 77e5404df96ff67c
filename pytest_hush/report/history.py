"""Saved baselines in the order of their runs: UIS by condition and commit, with the breaks of the instrument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import StoreError, UsageError
from pytest_hush.gate.reference import changed_fields, unversioned
from pytest_hush.model import canonical_json
from pytest_hush.report.levels import levels
from pytest_hush.report.plan_of_scores import plan_of
from pytest_hush.stats.aggregate import score
from pytest_hush.store import Revision, Scores, load_scores

METRIC: Final = "uis"
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Entry:
    """One saved baseline. `values` are the levels of its arms by (model, condition), with the keys of `ESTIMATE`.

    `broken` says which fields of the instrument differ from the entry before, one text a field; empty: none does.
    `subject` says the same of the subjects, by the fields that differ under any condition.
    """

    name: str
    measured: str
    revision: Revision
    plugin_version: str
    models: tuple[str, ...]
    instrument: Mapping[str, Any]
    values: Mapping[tuple[str, str], Mapping[str, Any]]
    cases: int
    broken: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a line: `place` of its entry, points in 0..100; bounds None where nobody computed them."""

    place: int
    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """One condition through all entries. `pieces` are runs of points of one instrument: only these are connected."""

    name: str
    condition: str
    pieces: tuple[tuple[Point, ...], ...]

    @property
    def points(self) -> list[Point]:
        return [p for piece in self.pieces for p in piece]


@dataclass(frozen=True, slots=True)
class History:
    """`entries` by the moment they were measured, then by name. `left_out`: (file, why) of what was no baseline."""

    entries: tuple[Entry, ...]
    lines: tuple[Line, ...]
    left_out: tuple[tuple[str, str], ...]


def read_history(folder: Path) -> History:
    """The baselines (``*.json``) in `folder` and in the folders directly below it.

    Raises `UsageError` where it is no folder, or holds no baseline.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. Give the one that holds what `hush baseline save` wrote.")
    entries, left_out = [], []
    for path in sorted({*folder.glob("*.json"), *folder.glob("*/*.json")}):
        name = str(path.relative_to(folder))
        try:
            entries.append(_entry(name, load_scores(path)))
        except StoreError as error:
            left_out.append((name, str(error).removeprefix(f"{path}: ")))
    if not entries:
        told = f" Left out: {'; '.join(f'{name}: {why}' for name, why in left_out[:3])}" if left_out else ""
        raise UsageError(f"{folder}: no saved baseline is in it. Write one with `hush baseline save RUN`.{told}")
    entries.sort(key=lambda e: (e[0].measured, e[0].name))
    found = _with_changes(entries)
    return History(found, tuple(_lines(found)), tuple(left_out))


def _entry(name: str, scores: Scores) -> tuple[Entry, Scores]:
    own = tuple(r for r in scores.records if not r.invited)
    entry = Entry(
        name=name,
        measured=scores.measured or scores.saved,
        revision=scores.revision,
        plugin_version=scores.plugin_version,
        models=tuple(sorted({r.model for r in own})),
        instrument=scores.instrument,
        values=_values(scores),
        cases=len(own),
    )
    return entry, scores


def _values(scores: Scores) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Levels as they were saved; of a file without them, computed where personas are known, else means alone."""
    found: Iterable[Mapping[str, Any]] = scores.estimates
    own = [r for r in scores.records if not r.invited]
    if not scores.estimates and all(r.persona for r in own):
        found = levels(own, plan_of(scores))
    elif not scores.estimates:
        sums: dict[tuple[str, str], list[float]] = {}
        for r in own:
            if (value := score(r, METRIC, _NOBODY)) is not None:
                sums.setdefault((r.model, r.condition), []).append(100 * value)
        found = [
            {
                "model": model, "condition": condition, "metric": METRIC, "n": len(v), "value": sum(v) / len(v),
                "lower": None, "upper": None, "missing": 0, "planned": len(v), "confidence": 0.0, "interval": "",
            }
            for (model, condition), v in sums.items()
        ]  # fmt: skip
    return {(e["model"], e["condition"]): e for e in found if e["metric"] == METRIC and e["value"] is not None}


def _with_changes(entries: Sequence[tuple[Entry, Scores]]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    before: tuple[Entry, Scores] | None = None
    for entry, scores in entries:
        if before is not None:
            broken = _differing(before[0].instrument, entry.instrument)
            if not broken and unversioned("", entry.instrument):
                broken = ("judge version: none is named, so the judge may have been edited",)
            entry = replace(entry, broken=broken, changed=_subject_changes(before[1], scores))
        found.append(entry)
        before = (entry, scores)
    return tuple(found)


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{name.replace('_', ' ')}: {old.get(name) or 'none'} → {new.get(name) or 'none'}"
        for name in sorted(old.keys() | new.keys())
        if canonical_json(old.get(name) or "") != canonical_json(new.get(name) or "")
    )


def _subject_changes(old: Scores, new: Scores) -> tuple[str, ...]:
    """Fields of the subjects that differ under a condition that both have, each change once."""
    then, now = ({r.condition: r.subject for r in s.records} for s in (old, new))
    told: dict[str, None] = {}
    for condition in sorted(then.keys() & now.keys()):
        told |= dict.fromkeys(changed_fields(then[condition], now[condition]))
    return tuple(told)


def _lines(entries: Sequence[Entry]) -> Iterable[Line]:
    """A line a condition; a line a (model, condition) where some entry holds several models."""
    several = any(len(e.models) > 1 for e in entries)
    keys: dict[tuple[str, str], None] = {}
    for entry in entries:
        for model, condition in entry.values:
            keys.setdefault((model if several else "", condition))
    for model, condition in sorted(keys, key=lambda k: (k[1] != "none", k[1], k[0])):
        pieces: list[list[Point]] = [[]]
        for place, entry in enumerate(entries):
            if entry.broken:
                pieces.append([])
            found = next((e for (m, c), e in entry.values.items() if c == condition and model in ("", m)), None)
            if found is not None:
                pieces[-1].append(Point(place, found["value"], found["lower"], found["upper"]))
        kept = tuple(tuple(p) for p in pieces if p)
        name = f"{condition} · {model}" if model else condition
        yield Line(name, condition, kept)
