"""What counts as sensitive under the policy of a run: the ids that `uis_sensitive` looks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_hush.judges.policy import Sensitive
from pytest_hush.model import CATEGORIES
from pytest_hush.plan import Plan
from pytest_hush.stats.aggregate import TARGET, ambient_ids


def sensitive_ids(plan: Plan, sensitive: Sensitive | None) -> frozenset[str]:
    """Ids of the facts and disclosures of `plan` that are sensitive; with `TARGET` where every category is.

    `sensitive` None: all disclosures and all ambient facts, as the paper has it.
    """
    if sensitive is None:
        return ambient_ids(plan.pack)
    told = {c.disclosure_id: c.category for c in plan.cases if c.disclosure_id is not None}
    told |= {d.id: d.category for d in plan.pack.disclosures}
    found = {i for i in ambient_ids(plan.pack) if i not in told and i != TARGET} if sensitive.facts else set[str]()
    found |= {i for i, category in told.items() if category in sensitive.categories}
    if sensitive.categories and set(CATEGORIES) <= set(sensitive.categories):
        found.add(TARGET)
    return frozenset(found)


def sensitive_of(manifest: Mapping[str, Any]) -> Sensitive | None:
    """What the manifest of a run folder says was sensitive in it; None where it says nothing."""
    kept = manifest.get("sensitive")
    if not isinstance(kept, Mapping):
        return None
    try:
        return Sensitive(tuple(map(str, kept["categories"])), tuple(map(str, kept["facts"])))
    except (KeyError, TypeError):
        return None
