"""From a pack, models and conditions to the ordered cases of one run: the *plan* that gates are judged on.

Completeness is always judged against this plan, never against what a test session happened to collect.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_hush.errors import UsageError
from pytest_hush.model import (
    BOUNDARY,
    GUARD,
    NONE,
    REVOKED,
    SHARED,
    Case,
    Condition,
    Disclosure,
    Pack,
    Persona,
    PositiveControl,
    Probe,
    digest,
)

MOST_CASES = 1_000_000
"""Probe cases of one plan, a bound on memory: each is an object here and a test in pytest."""
Identity = tuple[str, str, str, bool, int]
"""(model, condition, probe_id, invited, repeat): one case of a plan and the `identity` of its record."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered cases with what they were made of. `hash` names the plan: shards and resumes must share it."""

    pack: Pack
    models: tuple[str, ...]
    conditions: tuple[Condition, ...]
    cases: tuple[Case, ...]
    hash: str
    sample: int | None = None
    seed: int = 0
    repeats: int = 1
    shard: tuple[int, int] | None = None
    first_look: frozenset[str] = frozenset()
    """Ids of the probes that are measured before the first of two looks; empty: the plan is judged once."""

    def probe_cases(self) -> tuple[Case, ...]:
        """The scored cases (positive controls left out), in plan order."""
        return tuple(c for c in self.cases if c.kind == "probe")

    def in_shard(self, case: Case) -> bool:
        """True when `case` belongs to this shard. Shards split by persona, so a base is built once."""
        if self.shard is None:
            return True
        index, count = self.shard
        order = {p.id: i for i, p in enumerate(self.pack.personas)}
        return order[case.persona] % count == index - 1

    def in_first_look(self, case: Case) -> bool:
        """True when `case` is measured before the first of two looks; of a plan without one, every case is."""
        return case.kind == "control" or not self.first_look or case.probe_id in self.first_look

    def persona(self, persona_id: str) -> Persona:
        return next(p for p in self.pack.personas if p.id == persona_id)

    def disclosure(self, disclosure_id: str) -> Disclosure:
        return next(d for d in self.pack.disclosures if d.id == disclosure_id)


def identity(case: Case) -> Identity:
    """The case's identity, equal to that of the record that answers it."""
    return (case.model, case.condition.name, case.probe_id, case.invited, case.repeat)


def parse_conditions(values: Iterable[str]) -> tuple[Condition, ...]:
    """Conditions from repeated or comma-separated option values, `none` first, doubles dropped.

    Raises `UsageError` on an empty name between separators.
    """
    found: dict[str, Condition] = {"none": NONE}
    for value in values:
        for part in value.split(","):
            condition = Condition.parse(part)
            if not condition.base or "" in condition.modifiers:
                raise UsageError(
                    f"--hush-memory={value!r}: an empty condition name. Expected names such as "
                    f"'vector', 'full-context' or 'mem0+boundary', separated by commas."
                )
            found.setdefault(condition.name, condition)
    _refuse_aliases(found.values())
    return tuple(found.values())


def _refuse_aliases(conditions: Iterable[Condition]) -> None:
    """Raise `UsageError` where two names are one condition: it would count twice in every correction."""
    seen: dict[tuple[str, tuple[str, ...]], str] = {}
    for condition in conditions:
        if not set(condition.modifiers) <= {BOUNDARY, SHARED, REVOKED, GUARD}:
            continue  # of somebody's own modifiers nobody knows whether their order matters
        if len(set(condition.modifiers)) < len(condition.modifiers):
            raise UsageError(f"--hush-memory={condition.name}: a modifier stands twice; name each once.")
        first = seen.setdefault((condition.base, tuple(sorted(condition.modifiers))), condition.name)
        if first != condition.name:
            raise UsageError(
                f"--hush-memory={condition.name}: it is the same condition as {first}, which is named too. The order "
                f"of modifiers means nothing; name it once."
            )


def parse_shard(value: str) -> tuple[int, int]:
    """``i/n`` with 1 <= i <= n as a pair. Raises `UsageError`."""
    index, _, count = value.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise UsageError(f"--hush-shard={value!r}: expected i/n with 1 <= i <= n, for example 3/8.")


def sample_probes(pack: Pack, size: int, seed: int, *, invited: bool = False) -> tuple[Probe, ...]:
    """A seeded subset of `size` probes, balanced over persona x family cells, in pack order.

    Cells differ by at most one probe, and within a cell lure strengths are spread. The draw depends on the
    pack's ids and `seed` alone. `invited`: the first probe of each cell is one that has an invitation, where the cell
    has one, since a small sample would else hold hardly a pair. Raises `UsageError` when `size` is not in
    1..len(pack.probes).
    """
    if not 1 <= size <= len(pack.probes):
        raise UsageError(
            f"--hush-sample={size}: the pack {pack.name} has {len(pack.probes)} probes; ask for 1 to that."
        )
    strength = {d.id: d.strength for d in pack.disclosures}
    twins = {i.probe for i in pack.invitations} if invited else set[str]()
    cells: dict[tuple[str, str], list[Probe]] = defaultdict(list)
    for probe in pack.probes:
        cells[probe.persona, probe.family].append(probe)
    queues: list[list[Probe]] = []
    for cell in sorted(cells):
        rng = random.Random(f"{seed}|{'|'.join(cell)}")
        by_strength: dict[str, list[Probe]] = defaultdict(list)
        for probe in sorted(cells[cell], key=lambda p: p.id):
            by_strength[strength[probe.disclosure]].append(probe)
        for group in by_strength.values():
            rng.shuffle(group)
        groups = [by_strength[s] for s in sorted(by_strength)]
        rng.shuffle(groups)
        queue: list[Probe] = []
        while any(groups):
            queue += [g.pop() for g in groups if g]
        first = next((p for p in queue if p.id in twins), None)
        if first is not None:
            queue = [first, *(p for p in queue if p is not first)]
        queues.append(queue)
    # Whole rounds give every cell one more; the last, partial round favours no persona: its order is drawn.
    chosen: set[str] = set()
    rank = 0
    while len(chosen) < size:
        layer = [q[rank] for q in queues if len(q) > rank]
        random.Random(f"{seed}|round {rank}").shuffle(layer)
        chosen.update(p.id for p in layer[: size - len(chosen)])
        rank += 1
    return tuple(p for p in pack.probes if p.id in chosen)


def _controls(pack: Pack, persona: str, share: float, seed: int) -> list[PositiveControl]:
    own = [c for c in pack.positive_controls if c.persona == persona]
    wanted = math.ceil(share * len(own))
    drawn = {c.id for c in random.Random(f"{seed}|controls|{persona}").sample(own, wanted)}
    return [c for c in own if c.id in drawn]


def build_plan(
    pack: Pack,
    models: Sequence[str],
    conditions: Sequence[Condition],
    *,
    retrieving: Callable[[Condition], bool],
    sample: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    invitations: bool = False,
    shard: tuple[int, int] | None = None,
    two_look: bool = False,
) -> Plan:
    """The plan of one run: models x conditions x probes x repeats, and the positive controls.

    Every (model, condition) whose memory is `retrieving` also gets the positive controls of the personas in
    the plan; a sample takes the same share of them, at least one a persona. Cases are ordered by persona, then
    disclosure, then condition and model, so that a memory base is built once and a matched pair lies close
    together. `invitations` adds the invited twin of every planned probe that the pack has one for, and asks all the
    positive controls: the useful side is to be known as well as the silent one. `shard` does not change the hash.
    `two_look`: a balanced quarter of the probes comes first, drawn by the seed, and belongs to the
    hash: what is looked at early is settled before anything is measured.
    """
    if repeats < 1:
        raise UsageError(f"--hush-repeats={repeats}: expected 1 or more.")
    if invitations and not pack.invitations:
        raise UsageError(
            f"--hush-invitations: the pack {pack.name} has no invitations. Leave the option out, or name a pack that "
            f"has some."
        )
    probes = pack.probes if sample is None else sample_probes(pack, sample, seed, invited=invitations)
    if (count := len(probes) * len(conditions) * len(models) * repeats) > MOST_CASES:
        raise UsageError(
            f"The plan would have {count:,} cases: {len(probes)} probes, {len(conditions)} conditions, {len(models)} "
            f"models, {repeats} repeats. A run holds at most {MOST_CASES:,}. Lower --hush-repeats, plan a sample "
            f"(--hush-sample), or measure fewer models and conditions in one run."
        )
    disclosures = {d.id: d for d in pack.disclosures}
    lines = {i.probe: pack.invitation_lines[i.line] for i in pack.invitations} if invitations else {}
    personas = [p.id for p in pack.personas if any(q.persona == p.id for q in probes)]
    share = 1.0 if invitations else len(probes) / len(pack.probes)
    cases: list[Case] = []
    for persona in personas:
        own = [q for q in probes if q.persona == persona]
        for control in _controls(pack, persona, share, seed):
            cases += [
                Case("control", control.id, control.question, persona, condition, model)
                for condition in conditions
                if retrieving(condition)
                for model in models
            ]
        for probe in sorted(own, key=lambda q: (q.disclosure, q.id)):
            d = disclosures[probe.disclosure]
            for condition in conditions:
                for model in models:
                    case = Case(
                        kind="probe",
                        probe_id=probe.id,
                        text=probe.text,
                        persona=persona,
                        condition=condition,
                        model=model,
                        disclosure_id=d.id,
                        family=probe.family,
                        category=d.category,
                        strength=d.strength,
                        position=d.position,
                    )
                    for repeat in range(repeats):
                        cases.append(replace(case, repeat=repeat))
                        if probe.id in lines:
                            invited = f"{probe.text} {lines[probe.id]}"
                            cases.append(replace(case, repeat=repeat, invited=True, text=invited))
    first = _first_look(replace(pack, probes=probes), seed) if two_look else frozenset[str]()
    if first:
        cases.sort(key=lambda c: c.kind == "probe" and c.probe_id not in first)  # stable: else the order stays
    made_of = ["plan", 1, pack.hash, seed, [[*identity(c), c.text] for c in cases]]
    plan_hash = digest([*made_of, *([sorted(first)] if first else [])])
    return Plan(
        pack=pack,
        models=tuple(models),
        conditions=tuple(conditions),
        cases=tuple(cases),
        hash=plan_hash,
        sample=sample,
        seed=seed,
        repeats=repeats,
        shard=shard,
        first_look=first,
    )


def _first_look(pack: Pack, seed: int) -> frozenset[str]:
    """A balanced quarter of the pack's probes. Raises `UsageError` where a quarter holds no probe of some cell."""
    cells = {(p.persona, p.family) for p in pack.probes}
    size = len(pack.probes) // 4 // len(cells) * len(cells)
    if not size:
        raise UsageError(
            f"--hush-two-look: {len(pack.probes)} probes in {len(cells)} cells of persona and family are too few for "
            f"two looks; expected {4 * len(cells)} or more. Plan more, or leave it out."
        )
    return frozenset(p.id for p in sample_probes(pack, size, seed + 1))
