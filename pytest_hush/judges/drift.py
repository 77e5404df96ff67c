"""How a judge drifted: two calibrations on the same labels beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pytest_hush.errors import LabelError
from pytest_hush.judges.calibration import SCORES, Calibration, ItemScore

NOTICED: Final = 0.1
"""A `v` that moved by more than this is listed."""


@dataclass(frozen=True, slots=True)
class Moved:
    """An item whose judged `v` differs by more than `NOTICED`, or that only one of the two could read."""

    item: str
    label: float | None
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Two calibrations on the same labels. `changed` names the fields of the judge that differ, with both values.

    `alpha` holds (before, after) by score; `shift` is the mean change of the judged `v` over the items that both read,
    `same` the percent of them whose `v` did not move at all.
    """

    changed: tuple[str, ...]
    alpha: Mapping[str, tuple[float | None, float | None]]
    unreadable: tuple[int, int]
    n: int
    shift: float | None
    same: float | None
    moved: tuple[Moved, ...]

    def data(self) -> dict[str, Any]:
        """The drift as plain JSON data."""
        return asdict(self)


def compare(old: Calibration, new: Calibration) -> Drift:
    """How the judge drifted between two calibrations. Raises `LabelError` where they rest on different labels."""
    differing = [
        f"{name}: {before!r} then, {after!r} now"
        for name, before, after in (
            ("labels", f"{old.labels.name} {old.labels.hash[:12]}", f"{new.labels.name} {new.labels.hash[:12]}"),
            ("part", old.labels.part, new.labels.part),
            ("items", f"{old.n}", f"{new.n}"),
        )
        if before != after
    ]
    if not differing and _taken(old) != _taken(new):
        differing = ["the items are not the same"]
    if differing:
        raise LabelError(
            f"The two calibrations rest on different labels ({'; '.join(differing)}) and cannot be compared. Calibrate "
            f"both on the same part of the same set."
        )
    pairs = [(a, b) for a, b in zip(old.items, new.items, strict=True)]
    gaps = [b.judged - a.judged for a, b in pairs if a.judged is not None and b.judged is not None]
    moved = [Moved(a.item, a.label, a.judged, b.judged) for a, b in pairs if _moved(a, b)]
    moved.sort(key=lambda m: (-abs((m.after or 0.0) - (m.before or 0.0)), m.item))
    before, after = asdict(old.judge), asdict(new.judge)
    return Drift(
        changed=tuple(f"{k}: {before[k]!r} then, {after[k]!r} now" for k in before if before[k] != after[k]),
        alpha={name: (old.scores[name].alpha.value, new.scores[name].alpha.value) for name in SCORES},
        unreadable=(old.unreadable, new.unreadable),
        n=len(gaps),
        shift=sum(gaps) / len(gaps) if gaps else None,
        same=100.0 * gaps.count(0.0) / len(gaps) if gaps else None,
        moved=tuple(moved),
    )


def _taken(c: Calibration) -> tuple[str, ...]:
    return tuple(i.item for i in c.items)


def _moved(a: ItemScore, b: ItemScore) -> bool:
    if a.judged is None or b.judged is None:
        # An invited turn has no `v` in either; the other scores tell whether it was read.
        return (a.helpfulness is None) is not (b.helpfulness is None)
    return abs(a.judged - b.judged) > NOTICED
