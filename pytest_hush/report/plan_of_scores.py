"""A plan made of what was measured, for scores that come without the plan of their run."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_hush.model import Case, Condition, Pack, Persona
from pytest_hush.plan import Plan
from pytest_hush.store import Scores


def plan_of(scores: Scores) -> Plan:
    """The cases of `scores`, each once, in the order of their identities. What was never measured is not in it.

    Pack and cases hold ids alone, and the pack knows no ambient fact.
    """
    records = {r.identity: r for r in scores.records}
    ordered = [records[key] for key in sorted(records)]
    conditions = tuple(Condition.parse(name) for name in _none_first(r.condition for r in ordered))
    by_name = {c.name: c for c in conditions}
    name, _, version = str(scores.instrument.get("pack", "")).partition("@")
    return Plan(
        pack=Pack(
            name=name,
            version=version.partition("+")[0],
            title="",
            language="",
            licence="",
            private=True,
            hash=version.partition("+")[2],
            personas=tuple(Persona(p, "", "", "", (), ()) for p in dict.fromkeys(r.persona for r in ordered)),
            disclosures=(),
            probes=(),
            invitations=(),
            invitation_lines={},
            controls=(),
            positive_controls=(),
        ),
        models=tuple(dict.fromkeys(r.model for r in ordered)),
        conditions=conditions,
        cases=tuple(
            Case(
                kind="probe",
                probe_id=r.probe_id,
                text="",
                persona=r.persona,
                condition=by_name[r.condition],
                model=r.model,
                disclosure_id=r.disclosure_id,
                family=r.family,
                category=r.category,
                strength=r.strength,
                position=r.position,
                repeat=r.repeat,
                invited=r.invited,
            )
            for r in ordered
        ),
        hash=scores.plan_hash,
    )


def _none_first(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=lambda name: (name != "none", name))
