"""A plan without its texts, as it is kept in the run folder: enough to judge the run again on any machine.

The pack itself is not needed then: a private one need not travel with the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_hush.errors import StoreError
from pytest_hush.model import Case, Condition, Fact, Pack, Persona
from pytest_hush.plan import Plan

SCHEMA: Final = 1
_HEADER: Final = ("name", "version", "title", "language", "licence", "private", "hash", "ambient_labelled")


def plan_data(plan: Plan) -> dict[str, Any]:
    """`plan` as JSON data: every case once, by its place in tables of probes, conditions and models."""
    pack = plan.pack
    questions: dict[tuple[Any, ...], int] = {}
    conditions = {c.name: i for i, c in enumerate(plan.conditions)}
    models = {name: i for i, name in enumerate(plan.models)}
    cases = []
    for c in plan.cases:
        asked = (c.kind, c.probe_id, c.persona, c.disclosure_id, c.family, c.category, c.strength, c.position)
        place = questions.setdefault(asked, len(questions))
        cases.append([place, conditions[c.condition.name], models[c.model], c.repeat, int(c.invited)])
    return {
        "schema": SCHEMA,
        "hash": plan.hash,
        "sample": plan.sample,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "first_look": sorted(plan.first_look),
        "pack": {name: getattr(pack, name) for name in _HEADER} | {"background": dict(pack.background)},
        "personas": {p.id: _sensitive(plan, p) for p in pack.personas},
        "models": list(plan.models),
        "conditions": [c.name for c in plan.conditions],
        "questions": [list(q) for q in questions],
        "cases": cases,
    }


def _sensitive(plan: Plan, persona: Persona) -> list[str]:
    """Ids of what a judge may name beside the target and harmless facts."""
    facts = [f.id for f in persona.facts if f.kind == "ambient"]
    if not any(c.shared for c in plan.conditions):
        return facts
    return [*facts, *(d.id for d in plan.pack.disclosures if d.persona == persona.id)]


def plan_from(data: Mapping[str, Any]) -> Plan:
    """The plan that `plan_data` described; texts of cases, dialogues and disclosures are empty.

    Raises `StoreError` where `data` is no such plan.
    """
    if data.get("schema") != SCHEMA:
        raise StoreError(f"a plan of schema {data.get('schema')!r}; this version of pytest-hush reads {SCHEMA}.")
    try:
        conditions = tuple(Condition.parse(name) for name in data["conditions"])
        models = tuple(data["models"])
        questions = data["questions"]
        return Plan(
            pack=_pack(data["pack"], data["personas"]),
            models=models,
            conditions=conditions,
            cases=tuple(
                _case(questions[place], conditions[condition], models[model], repeat, bool(invited))
                for place, condition, model, repeat, invited in data["cases"]
            ),
            hash=data["hash"],
            sample=data["sample"],
            seed=data["seed"],
            repeats=data["repeats"],
            first_look=frozenset(data["first_look"]),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreError(f"not a whole plan ({type(error).__name__}: {error}).") from None


def _case(asked: list[Any], condition: Condition, model: str, repeat: int, invited: bool) -> Case:
    kind, probe_id, persona, disclosure_id, family, category, strength, position = asked
    return Case(
        kind=kind,
        probe_id=probe_id,
        text="",
        persona=persona,
        condition=condition,
        model=model,
        repeat=repeat,
        invited=invited,
        disclosure_id=disclosure_id,
        family=family,
        category=category,
        strength=strength,
        position=position,
    )


def _pack(header: Mapping[str, Any], personas: Mapping[str, list[str]]) -> Pack:
    return Pack(
        **{name: header[name] for name in _HEADER},
        background=header["background"],
        personas=tuple(
            Persona(
                id=persona,
                name="",
                partner="",
                about="",
                sessions=(),
                facts=tuple(Fact(id=f, kind="ambient", text="", turn="", stems=()) for f in facts),
            )
            for persona, facts in personas.items()
        ),
        disclosures=(),
        probes=(),
        invitation_lines={},
        invitations=(),
        controls=(),
        positive_controls=(),
    )
