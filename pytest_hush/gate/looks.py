"""Two looks at one plan: a first balanced subset decides what is clear, the rest is measured for what is left open.

Looking at a run whenever one likes raises a 5 % false pass to 13 to 28 % (``docs/reference/statistics.md``). Two looks
that the plan fixes beforehand do not: the first at a fifth of the error rate, the second at nine tenths of it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pytest_hush.gate.judge import judge
from pytest_hush.gate.reference import Reference
from pytest_hush.gate.types import PASSING, Verdict
from pytest_hush.judges.policy import Sensitive
from pytest_hush.model import Record
from pytest_hush.plan import Identity, Plan, identity
from pytest_hush.store.labels import RunLabels
from pytest_hush.thresholds import COUNTED, Mode, Thresholds

FIRST_SHARE: Final = 0.2
"""Of the error rate 1 - confidence, spent at the first look: 0.01 of 0.05."""
SECOND_SHARE: Final = 0.9
"""Spent at the second: 0.045 of 0.05."""
Arm = tuple[str, str]
"""(model, condition name)."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the first look decided. `open_arms` have a gate that it left open; `going_on` are measured in full.

    `going_on` is `open_arms` and, where a gate compares with it, the matched reference ``none``.
    """

    verdicts: tuple[Verdict, ...]
    open_arms: frozenset[Arm]
    going_on: frozenset[Arm]


def at_look(thresholds: Thresholds, share: float) -> Thresholds:
    """`thresholds` with `share` of every gate's error rate."""
    gates = tuple(replace(g, confidence=1.0 - share * (1.0 - g.confidence)) for g in thresholds.gates)
    confidence = 1.0 - share * (1.0 - thresholds.confidence)
    return replace(thresholds, gates=gates, confidence=confidence)


def first_plan(plan: Plan) -> Plan:
    """The part of `plan` that the first look is taken at: its subset of probes, and every positive control."""
    return replace(plan, cases=tuple(c for c in plan.cases if plan.in_first_look(c)))


@dataclass(frozen=True, slots=True)
class _Terms:
    """What is the same at every look: see `judge`."""

    mode: Mode
    selected: frozenset[Identity] | None
    references: Mapping[str, Reference]
    today: datetime.date
    sensitive: Sensitive | None
    labels: RunLabels | None

    def judge(self, records: Iterable[Record], part: Plan, thresholds: Thresholds) -> list[Verdict]:
        """The verdicts of `part`, on its own records alone."""
        wanted = {identity(c) for c in part.cases}
        return judge(
            [r for r in records if r.identity in wanted],
            part,
            thresholds,
            mode=self.mode,
            selected=self.selected,
            references=self.references,
            today=self.today,
            sensitive=self.sensitive,
            labels=self.labels,
        )


def first_look(
    records: Iterable[Record],
    plan: Plan,
    thresholds: Thresholds,
    *,
    mode: Mode,
    selected: frozenset[Identity] | None,
    references: Mapping[str, Reference],
    today: datetime.date,
    sensitive: Sensitive | None = None,
    labels: RunLabels | None = None,
) -> FirstLook:
    """Judge the first subset. An arm goes on while a gate with an interval is neither passed nor failed there."""
    return _first(records, plan, thresholds, _Terms(mode, selected, references, today, sensitive, labels))


def _first(records: Iterable[Record], plan: Plan, thresholds: Thresholds, terms: _Terms) -> FirstLook:
    verdicts = terms.judge(records, first_plan(plan), at_look(thresholds, FIRST_SHARE))
    undecided = [v for v in verdicts if v.metric not in COUNTED and v.outcome not in PASSING | {"fail", "skipped"}]
    open_arms = frozenset((v.model, v.condition) for v in undecided if v.model)
    with_reference = {(v.model, "none") for v in undecided if v.versus == "none"}
    return FirstLook(tuple(verdicts), open_arms, open_arms | with_reference)


def measured_plan(plan: Plan, going_on: frozenset[Arm]) -> Plan:
    """The part of `plan` that is measured in all, when the arms `going_on` are measured in full."""
    cases = tuple(c for c in plan.cases if plan.in_first_look(c) or (c.model, c.condition.name) in going_on)
    return replace(plan, cases=cases)


def judge_in_looks(
    records: Iterable[Record],
    plan: Plan,
    thresholds: Thresholds,
    *,
    mode: Mode,
    selected: frozenset[Identity] | None = None,
    references: Mapping[str, Reference] | None = None,
    today: datetime.date,
    sensitive: Sensitive | None = None,
    labels: RunLabels | None = None,
) -> tuple[list[Verdict], Plan]:
    """The verdicts of a plan, taken in its looks, and the part of the plan that they rest on.

    A plan without a first look is judged as a whole. Else a gate that the first look decided keeps that verdict; the
    others are judged on all cases of their arm. Records of an arm that needed no second look are not used: the result
    does not depend on whether they were measured.
    """
    given = list(records)
    terms = _Terms(mode, selected, references or {}, today, sensitive, labels)
    if not plan.first_look:
        return terms.judge(given, plan, thresholds), plan
    look = _first(given, plan, thresholds, terms)
    part = measured_plan(plan, look.going_on)
    second = terms.judge(given, part, at_look(thresholds, SECOND_SHARE))
    chosen = []
    for early, late in zip(look.verdicts, second, strict=True):
        decided = early.outcome in PASSING | {"fail"} and late.metric not in COUNTED
        chosen.append(replace(early, look=1) if decided else replace(late, look=2))
    return chosen, part
