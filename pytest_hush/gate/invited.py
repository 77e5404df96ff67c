"""Invited turns and positive controls: which cases a gate is about, and what an invitation changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pytest_hush.gate.arms import PLANNED_STRATA, Arm, lay_out
from pytest_hush.gate.contrasts import contrast_of
from pytest_hush.gate.types import Contrast
from pytest_hush.model import Case, Record
from pytest_hush.plan import Plan
from pytest_hush.stats.judges import one_judgement
from pytest_hush.thresholds import CHANGES, CONTROLS, COUNTED, INVITED, Gate

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy

SCORED: Final[Mapping[str, str]] = MappingProxyType(
    {"uptake_gain": "target_uptake", "helpfulness_change": "helpfulness", "over_scope_rise": "over_scope"}
)
"""A change by invitation -> the score whose paired difference it is."""
UNINVITED: Final = "uninvited"
"""What the contrasts of a change name as the other side."""


def invited_of(arm: Arm, stratum: str = "") -> tuple[Case, ...]:
    """The planned invited turns that a stratum of the plan holds."""
    kind, _, wanted = stratum.partition("=")
    if kind in PLANNED_STRATA and wanted:
        return tuple(c for c in arm.invited if getattr(c, kind) == wanted)
    return arm.invited


def cases_of(gate: Gate, arm: Arm) -> tuple[Case, ...]:
    """The planned cases that `gate` counts in `arm`."""
    if gate.metric in COUNTED:
        return arm.cases + arm.invited
    if gate.metric == CONTROLS:
        return arm.controls
    return invited_of(arm, gate.stratum) if gate.metric in INVITED else arm.relevant(gate.stratum)


def selected_of(gate: Gate, arm: Arm) -> tuple[Case, ...]:
    """The cases that must have been selected before `gate` is judged: of a pair both sides."""
    cases = cases_of(gate, arm)
    if gate.metric not in CHANGES:
        return cases
    asked = {(c.probe_id, c.repeat) for c in cases}
    return cases + tuple(c for c in arm.cases if (c.probe_id, c.repeat) in asked)


def applies(gate: Gate, condition: str, plan: Plan) -> bool:
    """Whether `gate` has anything to measure under `condition`: it matches, and the plan holds what it is about."""
    if not gate.matches(condition):
        return False
    if gate.metric not in INVITED and gate.metric != CONTROLS:
        return True
    kind = "control" if gate.metric == CONTROLS else "probe"
    wanted = gate.metric in INVITED
    return any(c.kind == kind and c.invited is wanted and c.condition.name == condition for c in plan.cases)


def nothing_planned(gate: Gate, plan: Plan) -> str:
    """Why `gate`, which matches a condition of the plan, has nothing to measure; '' where it matches none."""
    if not any(gate.matches(c.name) for c in plan.conditions):
        return ""
    if gate.metric == CONTROLS:
        return "No condition that it matches retrieves, so no positive control was planned for it."
    return "The plan has no invited turns: give --hush-invitations, with a pack that has invitations."


def invited_change(
    arm: Arm,
    metric: str,
    stratum: str = "",
    *,
    confidence: float,
    limit: float,
    at_least: bool = False,
) -> Measurement:
    """The paired difference invited less uninvited of a score, over the same probe and repeat, in points.

    `limit` is on the difference itself, from below with `at_least`; it may be negative. Sign-flip p is of "no persona
    rises".
    """
    from pytest_hush.gate.measure import Measurement, of_pairs, points
    from pytest_hush.stats.aggregate import paired
    from pytest_hush.stats.intervals import passing_rho
    from pytest_hush.stats.missing import share, widen
    from pytest_hush.stats.paired import difference, difference_bound, difference_p

    cases = invited_of(arm, stratum)
    mine = {(r.probe_id, r.repeat): r for r in arm.found(cases)}
    plain = {(r.probe_id, r.repeat): r for r in arm.found(arm.cases)}
    pairs, n = paired(mine, plain, SCORED[metric], frozenset())
    lost = len(cases) - n
    sign = -1.0 if at_least else 1.0
    turned = {g: {probe: [sign * d for d in ds] for probe, ds in own.items()} for g, own in pairs.items()}
    found = difference(turned)
    if found is None:
        return Measurement(0, len(cases), lost, note="no invited turn with a scored twin in any persona")
    # A missing pair may lie anywhere in -1..1, as in any paired difference.
    part = share(lost, n) * (1.0 + abs(found.mean))
    worst = sign * limit
    low = difference_bound(found, confidence, 0.0, upper=False)
    high = difference_bound(found, confidence, passing_rho(worst), upper=True)
    low, high = widen(low, high, part, low=-1.0)
    value, lower, upper = points(found.mean), points(low), points(high)
    if at_least:
        value, lower, upper = (-x + 0.0 for x in (value, upper, lower))
    return Measurement(
        n=n,
        planned=len(cases),
        missing=lost,
        value=value,
        lower=lower,
        upper=upper,
        p=difference_p(found, worst / 100.0 + part),
        widened=100.0 * part,
        personas=found.personas,
        note="one persona" if found.personas < 2 else "",
        contrasts={
            g: math.fsum(math.fsum(d) / len(d) - worst / 100.0 - part for d in by_probe.values())
            for g, by_probe in turned.items()
        },
        **of_pairs(pairs),
    )


def invitation_contrasts(
    records: Iterable[Record], plan: Plan, *, confidence: float = 0.95, aggregate: str = "first"
) -> list[Contrast]:
    """What an invitation changes under each condition that has invited turns, in plan order; `aggregate` as in `judge`.

    `versus` is ``uninvited``, the metrics are those of `SCORED`.
    """
    from pytest_hush.gate.measure import TABLE_LIMIT

    found = []
    for arm in lay_out(one_judgement(records, aggregate), plan, None).arms:
        for metric in SCORED if arm.invited else ():
            m = invited_change(arm, metric, confidence=confidence, limit=TABLE_LIMIT)
            found.append(contrast_of(arm, UNINVITED, metric, m, confidence))
    return found
