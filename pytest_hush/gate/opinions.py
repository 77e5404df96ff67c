"""Several judges of one run beside one another: do they agree, do the draws of one scatter, and does each contrast keep
its direction under the others (the check of the paper, appendix on judges). Imports numpy through what it calls."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.gate.reference import Pair, Reference, refusal
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.stats.aggregate import paired
from pytest_hush.stats.judges import by_judge, judges_of, of_one_judge

_NOTHING: Final = 1e-9
"""A mean difference below this, in 0..1, has no direction."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One contrast of UIS under two judges, in points; None where a judge scored no pair.

    `kept`: both have the same sign; None where the first judge sees no difference, or one of the two nothing at all.
    """

    model: str
    condition: str
    versus: str
    first: float | None
    second: float | None
    kept: bool | None


@dataclass(frozen=True, slots=True)
class SecondJudge:
    """A judge beside the first over the `n` replies that both scored.

    Krippendorff's `alpha` of v with its bounds (95 %, two-sided, over personas), `exact` the percent on the same of
    five levels, `difference` (judge minus first) in points.
    """

    judge: str
    first: str
    n: int
    alpha: float | None
    alpha_lower: float | None
    alpha_upper: float | None
    exact: float | None
    difference: float | None
    directions: tuple[Direction, ...]

    @property
    def kept(self) -> tuple[int, int]:
        """How many contrasts keep their direction, of those that have one under both judges."""
        told = [d.kept for d in self.directions if d.kept is not None]
        return sum(told), len(told)


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of one judge: the most of one reply, and over the `n` replies drawn more than once the mean and the largest
    standard deviation of v, in points."""

    judge: str
    draws: int
    n: int
    sd: float | None
    largest: float | None


@dataclass(frozen=True, slots=True)
class Opinions:
    """The judges of a run in their order, what the gates took of them, and how they stand to one another."""

    judges: tuple[str, ...]
    aggregate: str
    seconds: tuple[SecondJudge, ...]
    draws: tuple[Draws, ...]


def opinions(
    records: Iterable[Record], plan: Plan, references: Mapping[str, Reference], aggregate: str
) -> Opinions | None:
    """None for a run that one judge scored once. Of invited turns nothing enters: they carry no v."""
    given = [r for r in records if r.kind == "probe" and r.measured and not r.invited and r.judgements]
    if all(len(r.judgements) == len(judges_of(r)) == 1 for r in given):
        return None
    names = tuple(dict.fromkeys(name for r in given for name in judges_of(r)))
    contrasts = {name: _differences(of_one_judge(given, name), plan, references, name) for name in names}
    scores = [(r.persona, {name: j.v for name, j in by_judge(r).items() if j.v is not None}) for r in given]
    seconds = tuple(_second(scores, names[0], name, contrasts) for name in names[1:])
    return Opinions(names, aggregate, seconds, tuple(d for name in names if (d := _draws(given, name)) is not None))


def _second(
    scores: Sequence[tuple[str, Mapping[str, float]]],
    first: str,
    judge: str,
    contrasts: Mapping[str, Mapping[tuple[str, str, str], float | None]],
) -> SecondJudge:
    from pytest_hush.judges.agreement import agreement  # numpy: paid for by runs of several judges

    both = [(persona, found[first], found[judge]) for persona, found in scores if first in found and judge in found]
    a = agreement([x for _, x, _ in both], [x for _, _, x in both], [persona for persona, _, _ in both])
    there = contrasts[judge]
    return SecondJudge(
        judge=judge,
        first=first,
        n=a.n,
        alpha=a.alpha.value,
        alpha_lower=a.alpha.lower,
        alpha_upper=a.alpha.upper,
        exact=None if a.exact is None else 100.0 * a.exact,
        difference=None if a.bias is None else 100.0 * a.bias,
        directions=tuple(
            Direction(*key, own, there[key], _kept(own, there[key])) for key, own in contrasts[first].items()
        ),
    )


def _kept(first: float | None, second: float | None) -> bool | None:
    if first is None or second is None or abs(first) < _NOTHING:
        return None
    return abs(second) >= _NOTHING and (first > 0) is (second > 0)


def _draws(records: Iterable[Record], judge: str) -> Draws | None:
    drawn = [[j.v for j in r.judgements if j.judge == judge and j.v is not None] for r in records]
    spread = [100.0 * statistics.stdev(values) for values in drawn if len(values) > 1]
    if not spread:
        return None
    return Draws(judge, max(map(len, drawn)), len(spread), statistics.fmean(spread), max(spread))


def _differences(
    records: Sequence[Record], plan: Plan, references: Mapping[str, Reference], judge: str
) -> dict[tuple[str, str, str], float | None]:
    """Mean paired difference of UIS in points by (model, condition, versus), as `contrasts` pairs them."""
    run = lay_out(records, plan, None)
    found: dict[tuple[str, str, str], float | None] = {}
    for arm in run.arms:
        none = run.arm(arm.model, "none")
        if arm.condition != "none" and none is not None:
            found[arm.model, arm.condition, "none"] = _difference(arm, _pairs(none))
        for role, other in references.items():
            model, absent = other.model_for(arm.model, arm.condition)
            first = next((r for r in arm.records.values() if r.measured), None)
            if absent or first is None or refusal(other, first.instrument):
                continue
            theirs = other.records[model, arm.condition]
            alone = dict(zip(theirs, of_one_judge(theirs.values(), judge), strict=True))
            found[arm.model, arm.condition, role] = _difference(arm, alone)
    return found


def _pairs(arm: Arm) -> dict[Pair, Record]:
    return {(r.probe_id, r.repeat): r for r in arm.found(arm.cases)}


def _difference(arm: Arm, theirs: Mapping[Pair, Record]) -> float | None:
    """Repeats of one probe are averaged first, as everywhere."""
    by_persona, n = paired(_pairs(arm), theirs, "uis", frozenset())
    if not n:
        return None
    probes: dict[tuple[str, str], list[float]] = defaultdict(list)
    for persona, own in by_persona.items():
        for probe, values in own.items():
            probes[persona, probe] += values
    means = [math.fsum(values) / len(values) for values in probes.values()]
    return 100.0 * math.fsum(means) / len(means)
