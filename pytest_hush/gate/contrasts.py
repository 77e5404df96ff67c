"""Differences that every table shows: each condition to its matched no-memory reference, and to the runs given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_hush.gate.arms import Arm, lay_out
from pytest_hush.gate.change import change_parts
from pytest_hush.gate.reference import Pair, Reference, differences, refusal, resolved, unpaired
from pytest_hush.gate.sensitive import sensitive_ids
from pytest_hush.gate.types import Contrast
from pytest_hush.judges.policy import Sensitive
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.stats.judges import one_judgement

if TYPE_CHECKING:
    from pytest_hush.gate.measure import Measurement  # imports numpy

METRICS: Final = ("uis", "uis_sensitive", "target_uptake", "over_scope", "helpfulness")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm beside another run: what changed in the subject, and which probes have no measured twin there.

    `refused` says why the two may not be compared, or is empty.
    """

    role: str
    source: str
    model: str
    condition: str
    other_model: str
    changed: tuple[str, ...]
    unpaired: tuple[str, ...]
    refused: str


def contrasts(
    records: Iterable[Record],
    plan: Plan,
    references: Mapping[str, Reference] | None = None,
    *,
    confidence: float = 0.95,
    aggregate: str = "first",
    sensitive: Sensitive | None = None,
    metrics: Sequence[str] = METRICS,
) -> list[Contrast]:
    """Paired differences of `metrics` for every condition, in plan order: to ``none``, then to each reference.

    Bounds are one-sided at `confidence`; with no limit to hold against, those of the table's correlation floor.
    `aggregate` and `sensitive` as in `judge`.
    """
    run = lay_out(one_judgement(records, aggregate), plan, None)
    ambient = sensitive_ids(plan, sensitive)
    references = resolved(references or {}, aggregate)
    found: list[Contrast] = []
    for arm in run.arms:
        none = run.arm(arm.model, "none")
        if arm.condition != "none" and none is not None:
            theirs = {(r.probe_id, r.repeat): r for r in none.found(none.cases)}
            found += [_contrast(arm, "none", theirs, metric, ambient, confidence) for metric in metrics]
        for role, other in references.items():
            model, absent = other.model_for(arm.model, arm.condition)
            if absent or _refused(other, arm):
                continue
            there = other.records[model, arm.condition]
            found += [_contrast(arm, role, there, metric, ambient, confidence) for metric in metrics]
    return found


def chances(
    records: Iterable[Record], plan: Plan, other: Reference, metrics: Sequence[str] = METRICS
) -> dict[tuple[str, str, str], float]:
    """Two-sided sign-flip p over personas of "nothing changed", by (model, condition, metric) of `records`.

    Nothing stands for what has no matched pair, or pairs of one persona only.
    """
    from pytest_hush.gate.measure import pairs_of  # numpy
    from pytest_hush.stats.aggregate import paired
    from pytest_hush.stats.signflip import sign_flip_two_sided

    ambient = sensitive_ids(plan, None)
    other = resolved({"other": other}, "first")["other"]
    found = {}
    for arm in lay_out(one_judgement(records, "first"), plan, None).arms:
        model, absent = other.model_for(arm.model, arm.condition)
        if absent or _refused(other, arm):
            continue
        there, mine = other.records[model, arm.condition], pairs_of(arm, "")
        for metric in metrics:
            pairs, _ = paired(mine, there, metric, ambient)
            probes = [[math.fsum(d) / len(d) for d in own.values()] for own in pairs.values() if own]
            if len(probes) > 1:
                p = sign_flip_two_sided([math.fsum(own) / len(own) for own in probes])
                found[arm.model, arm.condition, metric] = p
    return found


def comparisons(records: Iterable[Record], plan: Plan, references: Mapping[str, Reference]) -> list[Comparison]:
    """How each arm stands to each reference, in plan order."""
    found = []
    for arm in lay_out(records, plan, None).arms:
        for role, other in references.items():
            model, absent = other.model_for(arm.model, arm.condition)
            found.append(
                Comparison(
                    role=role,
                    source=other.source,
                    model=arm.model,
                    condition=arm.condition,
                    other_model=model,
                    changed=differences(other, arm) if model else (),
                    unpaired=unpaired(other, arm, arm.cases) if model else (),
                    refused=absent or _refused(other, arm),
                )
            )
    return found


def _refused(other: Reference, arm: Arm) -> str:
    first = next((r for r in arm.records.values() if r.measured), None)
    return refusal(other, first.instrument) if first else ""


def _contrast(
    arm: Arm,
    versus: str,
    theirs: Mapping[Pair, Record],
    metric: str,
    ambient: frozenset[str],
    confidence: float,
) -> Contrast:
    from pytest_hush.gate.measure import TABLE_LIMIT, increase  # numpy: paid for on the first estimate

    m = increase(arm, theirs, metric, "", ambient=ambient, confidence=confidence, limit=TABLE_LIMIT)
    parts = change_parts(arm, theirs, "") if metric == "uis" and versus != "none" else None
    return contrast_of(arm, versus, metric, m, confidence, parts)


def contrast_of(
    arm: Arm,
    versus: str,
    metric: str,
    m: Measurement,
    confidence: float,
    parts: tuple[float, float] | None = None,
) -> Contrast:
    """A measured difference as a line of the tables; `parts`: from exposure, and from the replies."""
    return Contrast(
        model=arm.model,
        condition=arm.condition,
        versus=versus,
        metric=metric,
        n=m.n,
        planned=m.planned,
        missing=m.missing,
        value=m.value,
        lower=m.lower,
        upper=m.upper,
        confidence=confidence,
        no_increase=m.no_increase,
        effect=m.effect,
        flip_p=m.flip_p,
        exposure_part=parts[0] if parts else None,
        response_part=parts[1] if parts else None,
        note=m.note,
    )
