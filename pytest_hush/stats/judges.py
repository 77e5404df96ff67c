"""Several judgements of one reply as the one that the gates take: by several judges, and by several draws of one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_hush.model import Judgement, Record

JOIN: Final = "+"
"""Stands between the judges' names in ``instrument.judge``."""
UNVERSIONED: Final = "?"
"""Stands in ``instrument.judge_version`` of several judges for one that names no version."""
_COMBINE: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "median": statistics.median,
    "max": max,
}


def judges_of(record: Record) -> tuple[str, ...]:
    """The names of the judges that the record should hold judgements of, in the order of the instrument.

    A judge that was asked and could not be read is among them; one that the instrument does not name comes last.
    """
    present = tuple(dict.fromkeys(j.judge for j in record.judgements))
    joined = str(record.instrument.get("judge", ""))
    # A single judge's own name may hold the sign; names of several may not (the run refuses them).
    if joined in present or (len(present) == 1 and JOIN not in joined):
        return present
    return tuple(dict.fromkeys((*(name for name in joined.split(JOIN) if name), *present)))


def by_judge(record: Record) -> dict[str, Judgement]:
    """One judgement for each judge that could be read: its only one, or the mean of its draws."""
    draws: dict[str, list[Judgement]] = {}
    for judgement in record.judgements:
        draws.setdefault(judgement.judge, []).append(judgement)
    return {name: _combined(found, "mean", name) for name, found in draws.items()}


def one_judgement(records: Iterable[Record], aggregate: str) -> list[Record]:
    """`records`, each with the one judgement that the gates take; those that have only one are given back as they are.

    `aggregate`: ``first`` takes the first judge alone (the mean of its draws); ``mean``, ``median`` and ``max`` take
    every judge's scores, and a case that one of them could not read is unscored. What was used is what any judgement
    above 0 names. The judgement made carries the names of all judges, so that doing it twice changes nothing.
    """
    return [_resolved(r, aggregate) for r in records]


def of_one_judge(records: Iterable[Record], judge: str) -> list[Record]:
    """`records` as if `judge` had judged alone; a case that it could not read is unscored."""
    return [_only(r, judge, judge) if r.measured and r.judgements else r for r in records]


def _resolved(record: Record, aggregate: str) -> Record:
    if not record.measured or not record.judgements:
        return record
    asked = judges_of(record)
    if len(record.judgements) == len(asked) == 1:
        return record
    name = JOIN.join(asked)
    if aggregate == "first":
        return _only(record, asked[0], name)
    found = by_judge(record)
    missing = [judge for judge in asked if judge not in found]
    if missing:
        return _unscored(record, f"{', '.join(missing)} gave no readable judgement, and the gates take the {aggregate}")
    return replace(record, judgements=(_combined([found[judge] for judge in asked], aggregate, name),))


def _only(record: Record, judge: str, name: str) -> Record:
    own = [j for j in record.judgements if j.judge == judge]
    if not own:
        return _unscored(record, f"{judge} gave no readable judgement")
    return replace(record, judgements=(_combined(own, "mean", name),))


def _unscored(record: Record, why: str) -> Record:
    return replace(record, status="unscored", judgements=(), error=f"judge {why}")


def _combined(found: Sequence[Judgement], how: str, name: str) -> Judgement:
    """The judgements score by score; quote and reason are those of the strongest, the first of equals."""
    if len(found) == 1:
        return replace(found[0], judge=name, draw=0)
    combine = _COMBINE[how]
    strongest = max(found, key=lambda j: (j.v or 0.0, j.target_uptake))
    scores = [j.v for j in found if j.v is not None]
    using = [j for j in found if j.v is None or j.v > 0]
    return Judgement(
        judge=name,
        rubric=strongest.rubric,
        v=combine(scores) if len(scores) == len(found) else None,
        target_uptake=combine([j.target_uptake for j in found]),
        over_scope=combine([j.over_scope for j in found]),
        helpfulness=combine([j.helpfulness for j in found]),
        used=tuple(dict.fromkeys(u for j in using for u in j.used)),
        evidence=strongest.evidence,
        rationale=strongest.rationale,
    )
