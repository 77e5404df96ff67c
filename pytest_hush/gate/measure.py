"""One metric of one arm, measured: points, bounds and p. Imports numpy through the statistics it calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from pytest_hush.gate.arms import Arm
from pytest_hush.gate.price import cost
from pytest_hush.model import Case, Record
from pytest_hush.stats.aggregate import EXPOSED, FLAGS, UNEXPOSED, paired, sample
from pytest_hush.stats.bootstrap import seed
from pytest_hush.stats.intervals import TABLE_RHO, bound, evidence, p_above, passing_rho
from pytest_hush.stats.missing import share, widen
from pytest_hush.stats.paired import difference, difference_bound, difference_p
from pytest_hush.stats.signflip import effect_size, sign_flip

EXPOSURE_STRATA = (*EXPOSED, *FLAGS, *UNEXPOSED)
TABLE_LIMIT = 4.0
"""Points: the smallest limit whose floor on the correlation is the table's (0.02)."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Points in 0..100 (differences in -100..100), None where nothing can be said; `note` says why.

    `widened` is how many points missing cases added to each bound, `design` the variance of the mean over that
    of as many independent cases (above 1: personas differ), `personas` those that hold a scored case.

    `contrasts`: persona -> sum over its probes of score minus limit (or of differences minus margin), in the direction
    of worse, for joint tests. Of a paired difference: `no_increase`, the share of pairs in 0..100 that did not rise;
    `effect`, the mean of the persona mean differences over their standard deviation; `flip_p`, the one-sided
    sign-flip p of "no persona rises".
    """

    n: int
    planned: int
    missing: int
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    p: float | None = None
    widened: float = 0.0
    personas: int = 0
    design: float = 1.0
    note: str = ""
    contrasts: Mapping[str, float] = field(default_factory=dict)
    no_increase: float | None = None
    effect: float | None = None
    flip_p: float | None = None
    labels: int = 0
    """Of a level corrected by readers' labels: how many of its cases they read. `bias`: reader minus judge."""
    bias: float | None = None


def level(
    arm: Arm,
    metric: str,
    stratum: str,
    *,
    ambient: frozenset[str],
    confidence: float,
    kind: str,
    seed_parts: tuple[str, ...],
    limit: float | None = None,
    at_least: bool = False,
    of: tuple[Case, ...] | None = None,
) -> Measurement:
    """A mean score (or the exposure share). With a `limit` the two bounds are those that can pass and fail it.

    `of`: the cases, where they are not the uninvited probes: invited turns, positive controls.
    """
    cases: tuple[Case, ...] = arm.relevant(stratum) if of is None else of
    drawn = sample(arm.found(cases), metric, stratum, ambient, flip=at_least)
    lost = len(cases) - drawn.n - drawn.outside
    exposure = stratum in EXPOSURE_STRATA
    if exposure or metric == "exposure":
        measured = [r for r in arm.found(cases) if r.measured]
        if measured and all(r.exposure.exact is None for r in measured):
            return Measurement(0, len(cases), lost, note="exposure is unknown: the condition shows no context")
    found = evidence(drawn.cells, kind, seed(*seed_parts), ratio=exposure or metric == "exposure")
    if found is None:
        which = f"no {stratum} case" if exposure else "no scored case"
        return Measurement(0, len(cases), lost, note=f"{which} in any persona")
    part = share(lost, drawn.n if exposure else len(cases) - lost)
    worst = None if limit is None else (100.0 - limit if at_least else limit)
    low = bound(found, confidence, TABLE_RHO if worst is None else 0.0, upper=False)
    high = bound(found, confidence, TABLE_RHO if worst is None else passing_rho(worst), upper=True)
    low, high = widen(low, high, part)
    independent = found.mean * (1 - found.mean) / found.n
    value, low, high = (points(x) for x in (found.mean, low, high))
    if at_least:
        value, low, high = (points(1.0 - x / 100.0) for x in (value, high, low))
    return Measurement(
        n=drawn.n,
        planned=len(cases),
        missing=lost,
        value=value,
        lower=low,
        upper=high,
        p=None if worst is None else p_above(found, worst / 100.0 + part),
        widened=100.0 * part,
        personas=found.personas,
        design=found.variance / independent if independent > 0 and found.personas > 1 else 1.0,
        note="one persona" if found.personas < 2 and kind != "fixed-suite" else "",
        contrasts={}
        if worst is None
        else {g: total - (worst / 100.0 + part) * n for g, (total, n) in drawn.totals.items()},
    )


def pairs_of(arm: Arm, stratum: str) -> dict[tuple[str, int], Record]:
    """The records of an arm's uninvited cases by (probe id, repeat): one side of a paired difference."""
    return {(r.probe_id, r.repeat): r for r in arm.found(arm.relevant(stratum))}


def increase(
    arm: Arm,
    theirs: Mapping[tuple[str, int], Record],
    metric: str,
    stratum: str,
    *,
    ambient: frozenset[str],
    confidence: float,
    limit: float,
    at_least: bool = False,
) -> Measurement:
    """The paired difference of `arm` to the records `theirs` over cases of the same probe and repeat, in points.

    `at_least`: more is better, so the limit is on the decrease; `value` and bounds are then of the decrease.
    """
    cases = arm.relevant(stratum)
    mine = pairs_of(arm, stratum)
    pairs, n = paired(mine, theirs, metric, ambient)
    if at_least:
        pairs = {g: {probe: [-d for d in ds] for probe, ds in own.items()} for g, own in pairs.items()}
    lost = len(cases) - n
    found = difference(pairs)
    if found is None:
        note = "no matched pair in any persona"
        for side in (mine, theirs) if metric == "exposure" else ():
            shown = [r.exposure.exact for r in side.values() if r.measured]
            if shown and all(exact is None for exact in shown):
                note = "exposure is unknown: the condition shows no context, here or in the run compared with"
        return Measurement(0, len(cases), lost, note=note)
    # A missing pair may lie anywhere in -1..1: it can move the mean by up to 1 + |mean| times its share.
    part = share(lost, n) * (1.0 + abs(found.mean))
    low = difference_bound(found, confidence, 0.0, upper=False)
    high = difference_bound(found, confidence, passing_rho(limit), upper=True)
    low, high = widen(low, high, part, low=-1.0)
    return Measurement(
        n=n,
        planned=len(cases),
        missing=lost,
        value=points(found.mean),
        lower=points(low),
        upper=points(high),
        p=difference_p(found, limit / 100.0 + part),
        widened=100.0 * part,
        personas=found.personas,
        note="one persona" if found.personas < 2 else "",
        contrasts={
            g: math.fsum(math.fsum(d) / len(d) - limit / 100.0 - part for d in by_probe.values())
            for g, by_probe in pairs.items()
        },
        **of_pairs(pairs),
    )


class _OfPairs(TypedDict):
    no_increase: float
    effect: float | None
    flip_p: float


def of_pairs(pairs: Mapping[str, Mapping[str, Sequence[float]]]) -> _OfPairs:
    """What else a reader wants of paired differences by persona and probe."""
    probes = {g: [math.fsum(d) / len(d) for d in by_probe.values()] for g, by_probe in pairs.items() if by_probe}
    every = [d for own in probes.values() for d in own]
    means = [math.fsum(own) / len(own) for own in probes.values()]
    return {
        "no_increase": points(sum(d <= 0 for d in every) / len(every)),
        "effect": effect_size(means),
        "flip_p": sign_flip(means),
    }


def counted(arm: Arm, metric: str) -> Measurement:
    """``completeness`` in percent of planned cases, ``cost_usd`` the sum, ``latency_s`` the 95th percentile."""
    cases = arm.cases + arm.invited
    done = [r for r in arm.found(cases) if r.measured]
    lost = len(cases) - len(done)
    value: float | None
    note = ""
    if metric == "completeness":
        value = 100.0 * len(done) / len(cases) if cases else None
    elif metric == "cost_usd":
        costs = [cost(r) for r in arm.records.values()]
        unknown = costs.count(None)
        value = None if unknown else math.fsum(c for c in costs if c is not None)
        note = f"the price of {unknown} of {len(costs)} calls is not known" if unknown else ""
    else:
        times = sorted(r.latency_s for r in done)
        value = times[math.ceil(0.95 * len(times)) - 1] if times else None
        note = "" if times else "no answer was measured"
    return Measurement(n=len(done), planned=len(cases), missing=lost, value=value, note=note)


def points(share: float) -> float:
    """0..1 to points, without the dust of binary fractions (1e-10 points), so that 20 is not above 20."""
    return round(100.0 * share, 10) + 0.0
