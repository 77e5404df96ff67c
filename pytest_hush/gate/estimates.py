"""The numbers that every table shows, whether or not a gate asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_hush.gate.arms import lay_out
from pytest_hush.gate.types import Estimate
from pytest_hush.model import CATEGORIES, FAMILIES, STRENGTHS, Record
from pytest_hush.plan import Plan
from pytest_hush.stats.aggregate import ambient_ids
from pytest_hush.thresholds import IntervalKind

TABLE = (
    ("uis", ""),
    ("uis_sensitive", ""),
    ("uis", "exposed"),
    ("uis", "not-exposed"),
    ("exposure", ""),
    ("over_scope", ""),
    ("helpfulness", ""),
    ("target_uptake", ""),
    *(("uis", f"family={f}") for f in FAMILIES),
    *(("uis", f"strength={s}") for s in STRENGTHS),
    *(("uis", f"category={c}") for c in CATEGORIES),
)
"""(metric, stratum) of every estimate of one condition, in the order of the list; the personas' UIS follow."""


def estimates(
    records: Iterable[Record], plan: Plan, *, confidence: float = 0.95, interval: IntervalKind = "calibrated"
) -> list[Estimate]:
    """Every metric of `TABLE`, and UIS by persona, for every (model, condition) of the plan, in plan order.

    One persona says nothing of others: its bounds are those of ``fixed-suite``.

    Bounds are one-sided at `confidence`, with the table's floor on the intra-persona correlation (0.02). Cases
    of the plan without a score widen them, whatever the cause.
    """
    from pytest_hush.gate.measure import level  # numpy: paid for on the first estimate

    ambient = ambient_ids(plan.pack)
    found = []
    for arm in lay_out(records, plan, None).arms:
        personas = dict.fromkeys(c.persona for c in arm.cases)
        for metric, stratum in (*TABLE, *(("uis", f"persona={p}") for p in personas)):
            if not arm.relevant(stratum):
                continue
            kind: IntervalKind = "fixed-suite" if stratum.startswith("persona=") else interval
            m = level(
                arm,
                metric,
                stratum,
                ambient=ambient,
                confidence=confidence,
                kind=kind,
                seed_parts=("estimate", plan.pack.hash),
            )
            note = m.note
            if metric == "uis_sensitive" and not plan.pack.ambient_labelled:
                note = note or "ambient sensitive turns of the background are not labelled: target only"
            found.append(
                Estimate(
                    model=arm.model,
                    condition=arm.condition,
                    metric=metric,
                    stratum=stratum,
                    n=m.n,
                    planned=m.planned,
                    missing=m.missing,
                    value=m.value,
                    lower=m.lower,
                    upper=m.upper,
                    confidence=confidence,
                    interval=kind,
                    note=note,
                )
            )
    return found
