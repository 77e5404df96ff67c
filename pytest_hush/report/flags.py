"""UIS by the three exposure flags, and what the cases that are not exposed are made of: figures of a run as rows.

The paper reports that UIS stays high at E = 0 and suspects related entries. The flags say: a case that is not exposed
may have shown residue of the disclosure, or another sensitive turn of the background, or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.gate import Estimate
from pytest_hush.report.summary import Summary
from pytest_hush.stats.aggregate import EXPOSED, FLAGS, UNEXPOSED
from pytest_hush.text import number_of

_FLAGS: Final = (("exact", *EXPOSED), ("residue", *FLAGS[:2]), ("ambient", *FLAGS[2:]))
_PARTS: Final = ("residue", "ambient", "neither")


@dataclass(frozen=True, slots=True)
class Flag:
    """UIS where a flag is set, and where it is not; `flag` is ``exact``, ``residue`` or ``ambient``."""

    flag: str
    yes: Estimate
    no: Estimate


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the cases that are not exposed: `n` of them with a mean `uis`, which gives `points` of UIS(E = 0).

    `beyond`: per cent of UIS(E = 0) that the part gives beyond what its cases would give at the mean of those with
    neither; None for these, and where there are none to compare with or UIS(E = 0) is 0.
    """

    name: str
    n: int
    uis: float | None
    points: float
    beyond: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """One arm: UIS by each flag, UIS(E = 0) of `n` cases with its parts, which add up to it. `unknown` cases are not
    exposed, and a flag that would place them is not known.
    """

    model: str
    condition: str
    flags: Sequence[Flag]
    uis: float
    n: int
    parts: Sequence[Part]
    unknown: int


def splits(summary: Summary) -> list[Split]:
    """One for each arm that shows a context and has cases that are not exposed, in plan order, without ``none``."""
    found = []
    for model, condition in summary.arms():
        if condition == "none":
            continue
        by = {e.stratum: e for e in summary.estimates if (e.model, e.condition, e.metric) == (model, condition, "uis")}
        other = by.get("not-exposed")
        if other is None or not other.n or other.value is None:
            continue
        flags = [Flag(name, by[yes], by[no]) for name, yes, no in _FLAGS if yes in by and no in by]
        parts = [by[s] for s in UNEXPOSED if s in by]
        placed = sum(e.n for e in parts)
        made = parts_of(parts, other.value)
        found.append(Split(model, condition, flags, other.value, other.n, made, other.n - placed))
    return found


def parts_of(estimates: Sequence[Estimate], whole: float) -> list[Part]:
    """The parts of UIS(E = 0) = `whole`, from the estimates of the strata in `UNEXPOSED`, in their order."""
    total = sum(e.n for e in estimates)
    plain = estimates[-1].value if estimates and estimates[-1].n else None
    parts = []
    for name, e in zip(_PARTS, estimates, strict=True) if len(estimates) == len(_PARTS) else ():
        share = e.n / total if total else 0.0
        beyond = None
        if name != "neither" and plain is not None and whole > 0:
            beyond = round(100.0 * share * ((e.value or 0.0) - plain) / whole, 6) + 0.0 if e.n else 0.0
        parts.append(Part(name, e.n, e.value, share * (e.value or 0.0), beyond))
    return parts


def share_text(beyond: float | None, unit: str = " %") -> str:
    """A share as text. One below 0 explains nothing and is told as none: cases with the flag show less, not more."""
    if beyond is None:
        return "–"
    return "none" if beyond < 0 else f"{round(beyond)}{unit}"


def sentence(split: Split) -> str:
    """The parts in one line: ``UIS 42.3 of 98 cases that are not exposed = residue 0.0 (0) + …``."""
    told = " + ".join(f"{p.name} {p.points:.1f} ({number_of(p.n, 'case')})" for p in split.parts)
    beyond = [f"{p.name} {share_text(p.beyond)}" for p in split.parts if p.beyond is not None]
    tail = f"; beyond what cases with neither show: {', '.join(beyond)}" if beyond else ""
    unknown = f"; {number_of(split.unknown, 'case')} with a flag that is not known" if split.unknown else ""
    return f"UIS {split.uis:.1f} of {number_of(split.n, 'not-exposed case')} = {told}{tail}{unknown}"
