"""The numbers that every table shows, whether or not a gate asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_hush.gate.arms import lay_out
from pytest_hush.gate.sensitive import sensitive_ids
from pytest_hush.gate.types import Estimate
from pytest_hush.judges.policy import Sensitive
from pytest_hush.model import CATEGORIES, FAMILIES, STRENGTHS, Record
from pytest_hush.plan import Plan
from pytest_hush.stats.aggregate import FLAGS, UNEXPOSED
from pytest_hush.stats.judges import one_judgement
from pytest_hush.thresholds import CONTROLS, IntervalKind

TABLE = (
    ("uis", ""),
    ("uis_sensitive", ""),
    ("uis", "exposed"),
    ("uis", "not-exposed"),
    ("exposure", ""),
    ("over_scope", ""),
    ("helpfulness", ""),
    ("target_uptake", ""),
    ("invited_uptake", ""),
    (CONTROLS, ""),
    *(("uis", stratum) for stratum in (*FLAGS, *UNEXPOSED)),
    *(("uis", f"family={f}") for f in FAMILIES),
    *(("uis", f"strength={s}") for s in STRENGTHS),
    *(("uis", f"category={c}") for c in CATEGORIES),
)
"""(metric, stratum) of every estimate of one condition, in the order of the list; the personas' UIS follow."""


def estimates(
    records: Iterable[Record],
    plan: Plan,
    *,
    confidence: float = 0.95,
    interval: IntervalKind = "calibrated",
    aggregate: str = "first",
    sensitive: Sensitive | None = None,
) -> list[Estimate]:
    """Every metric of `TABLE`, and UIS by persona, for every (model, condition) of the plan, in plan order.

    One persona says nothing of others: its bounds are those of ``fixed-suite``.

    Target uptake of invited turns, and the share of positive controls that memory shows, where the plan has them.
    Bounds are one-sided at `confidence`, with the table's floor on the intra-persona correlation (0.02). Cases
    of the plan without a score widen them, whatever the cause. `aggregate` and `sensitive` as in `judge`.
    """
    from pytest_hush.gate.measure import level  # numpy: paid for on the first estimate

    ambient = sensitive_ids(plan, sensitive)
    found = []
    for arm in lay_out(one_judgement(records, aggregate), plan, None).arms:
        personas = dict.fromkeys(c.persona for c in arm.cases)
        for metric, stratum in (*TABLE, *(("uis", f"persona={p}") for p in personas)):
            of = {"invited_uptake": arm.invited, CONTROLS: arm.controls}.get(metric, arm.relevant(stratum))
            if not of:
                continue
            kind: IntervalKind = "fixed-suite" if stratum.startswith("persona=") else interval
            m = level(
                arm,
                "target_uptake" if metric == "invited_uptake" else metric,
                stratum,
                ambient=ambient,
                confidence=confidence,
                kind=kind,
                seed_parts=("estimate", plan.pack.hash),
                of=of,
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
