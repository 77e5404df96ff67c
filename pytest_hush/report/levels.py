"""The levels that a saved baseline carries: what a history draws without the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from pytest_hush.gate import estimates
from pytest_hush.gate.looks import measured_plan
from pytest_hush.model import Record
from pytest_hush.plan import Plan, identity
from pytest_hush.store.baseline import ESTIMATE

METRICS: Final = ("uis", "exposure", "over_scope", "helpfulness", "target_uptake")
CONFIDENCE: Final = 0.95


def levels(records: Sequence[Record], plan: Plan) -> list[dict[str, Any]]:
    """Every metric of `METRICS` for every arm of `plan`, in plan order, each bound one-sided at `CONFIDENCE`.

    Of a plan in two looks, an arm that needed no second one is estimated on its first.
    """
    part = plan
    if plan.first_look:
        found = {r.identity for r in records}
        later = (c for c in plan.cases if not plan.in_first_look(c) and identity(c) in found)
        part = measured_plan(plan, frozenset((c.model, c.condition.name) for c in later))
    wanted = {identity(c) for c in part.cases}
    own = [r for r in records if r.identity in wanted]
    return [
        {name: values[name] for name in ESTIMATE}
        for e in estimates(own, part, confidence=CONFIDENCE)
        if e.metric in METRICS and not e.stratum
        for values in (asdict(e),)
    ]
