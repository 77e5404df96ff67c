"""A run's records laid out against its plan: one arm for each model and condition, and the faults of the whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.model import DEMONSTRATION_MODELS, Case, Record, canonical_json
from pytest_hush.plan import Identity, Plan, identity

PLANNED_STRATA: Final = ("family", "category", "strength", "persona")
"""Fields of a case that divide the plan before anything is measured."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One (model, condition) of the plan. `cases` are the scored ones: no control, no invited twin.

    `deselected` cases were left out by a selection or a shard and have no record from elsewhere either.
    """

    model: str
    condition: str
    cases: tuple[Case, ...]
    invited: tuple[Case, ...]
    controls: tuple[Case, ...]
    records: Mapping[Identity, Record]
    deselected: frozenset[Identity]

    def relevant(self, stratum: str) -> tuple[Case, ...]:
        """The planned cases that a stratum of the plan holds; all of them for a stratum of exposure."""
        kind, _, wanted = stratum.partition("=")
        if kind in PLANNED_STRATA and wanted:
            return tuple(c for c in self.cases if getattr(c, kind) == wanted)
        return self.cases

    def found(self, cases: Iterable[Case]) -> list[Record]:
        """The records of `cases`, in the order given; cases without one are left out."""
        return [r for c in cases if (r := self.records.get(identity(c))) is not None]

    @property
    def demonstration(self) -> bool:
        """True when the model may never carry a release, by its provider or by its own word."""
        provider = re.split(r"[/:@]", self.model, maxsplit=1)[0]
        return provider in DEMONSTRATION_MODELS or any(
            r.subject.get("demonstration") is True for r in self.records.values()
        )


@dataclass(frozen=True, slots=True)
class Run:
    """The arms of a plan in plan order. `fault` spoils every verdict, `model_faults` those of one model."""

    arms: tuple[Arm, ...]
    fault: str
    model_faults: Mapping[str, str]

    def arm(self, model: str, condition: str) -> Arm | None:
        return next((a for a in self.arms if (a.model, a.condition) == (model, condition)), None)


def lay_out(records: Iterable[Record], plan: Plan, selected: frozenset[Identity] | None) -> Run:
    """Match records to planned cases. The result does not depend on the order of `records`.

    A shard's plan selects its own cases when `selected` is None. Of several records of one case a measured one
    wins; two measured ones with different keys, or with one key and different answers, are a fault.
    """
    if selected is None and plan.shard is not None:
        selected = frozenset(identity(c) for c in plan.cases if plan.in_shard(c))
    given = list(records)
    planned = {identity(c) for c in plan.cases}
    chosen, conflict = _one_each(r for r in given if r.plan_hash == plan.hash and r.identity in planned)
    by_arm: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in plan.cases:
        by_arm[case.model, case.condition.name].append(case)
    arms = []
    for model in plan.models:
        for condition in plan.conditions:
            cases = by_arm[model, condition.name]
            ids = [identity(c) for c in cases]
            arms.append(
                Arm(
                    model=model,
                    condition=condition.name,
                    cases=tuple(c for c in cases if c.kind == "probe" and not c.invited),
                    invited=tuple(c for c in cases if c.kind == "probe" and c.invited),
                    controls=tuple(c for c in cases if c.kind == "control"),
                    records={i: chosen[i] for i in ids if i in chosen},
                    deselected=frozenset(
                        () if selected is None else (i for i in ids if i not in selected and i not in chosen)
                    ),
                )
            )
    fault = _foreign(given, plan, planned) or conflict or _instruments(chosen.values()) or _incomplete(arms)
    return Run(tuple(arms), fault, _returned_models(chosen.values()))


def _one_each(records: Iterable[Record]) -> tuple[dict[Identity, Record], str]:
    groups: dict[Identity, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.identity].append(record)
    chosen: dict[Identity, Record] = {}
    conflicts: list[Identity] = []
    contradictions: list[Identity] = []
    for case, group in groups.items():
        if len(group) > 1:
            if len({r.key for r in group if r.measured}) > 1:
                conflicts.append(case)
            elif len({r.answer for r in group if r.measured}) > 1:
                contradictions.append(case)
            group = sorted(group, key=lambda r: (not r.measured, r.key, repr(r)))
        chosen[case] = group[0]
    if contradictions and not conflicts:
        return chosen, (
            f"{len(contradictions)} cases have two different answers under the same settings (first "
            f"{min(contradictions)[2]}): two runs wrote to this folder, or a worker died and its cases were measured "
            f"again. Which answer counts cannot be known. Start a new run folder."
        )
    if not conflicts:
        return chosen, ""
    return chosen, (
        f"{len(conflicts)} cases have two different answers (first {min(conflicts)[2]}): settings changed within the "
        f"run. Start a new run folder."
    )


def _foreign(records: Iterable[Record], plan: Plan, planned: set[Identity]) -> str:
    other = sum(r.plan_hash != plan.hash for r in records)
    if other:
        return (
            f"{other} records belong to another plan than {plan.hash[:12]}. Judge a run with the options that it was "
            f"started with, or start a new run folder."
        )
    unknown = sorted({r.probe_id for r in records if r.identity not in planned})
    if unknown:
        return (
            f"Records answer {len(unknown)} probes that the plan does not have (first {unknown[0]}). "
            f"Start a new run folder."
        )
    return ""


def _incomplete(arms: Sequence[Arm]) -> str:
    """Cases that were neither measured, nor tried, nor deselected: the run did not come to its end.

    A case that was tried and failed has a record, and widens the bounds. One without any means an interruption, a
    dead worker or a spent budget, and part of a plan is never judged as the whole.
    """
    planned = sum(len(a.cases) + len(a.invited) + len(a.controls) for a in arms)
    absent = sum(
        identity(c) not in a.records and identity(c) not in a.deselected
        for a in arms
        for c in (*a.cases, *a.invited, *a.controls)
    )
    if not absent or absent == planned:
        return ""
    return (
        f"The run is not complete: {absent} of {planned} planned cases have no record (it was interrupted, a worker "
        f"died, or the budget was spent). Finish it with --hush-resume."
    )


def _instruments(records: Iterable[Record]) -> str:
    """The fields of the instrument that take more than one value within the run, as one sentence."""
    seen: dict[str, set[str]] = defaultdict(set)
    known: set[int] = set()
    instruments = []
    for record in records:
        if id(record.instrument) not in known:  # records of one process often share the mapping
            known.add(id(record.instrument))
            instruments.append(record.instrument)
    for name in {n for i in instruments for n in i}:
        seen[name] = {canonical_json(i.get(name)) for i in instruments}
    differing = sorted(n for n, values in seen.items() if len(values) > 1)
    if not differing:
        return ""
    shown = "; ".join(f"{n}: {' and '.join(sorted(seen[n])[:3])}" for n in differing)
    return f"The instrument changed within the run ({shown}). Measure the whole plan with one instrument."


def _returned_models(records: Iterable[Record]) -> dict[str, str]:
    seen: dict[str, set[str]] = defaultdict(set)
    for record in records:
        returned = record.subject.get("returned_model")
        if record.measured and returned:
            seen[record.model].add(str(returned))
    return {
        model: f"The provider changed the model within the run: it returned {' and '.join(sorted(names)[:3])}. "
        f"Name a dated model, or run again."
        for model, names in seen.items()
        if len(names) > 1
    }
