"""Two runs of one instrument side by side: levels, paired differences, what changed, and which cases did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.gate import Comparison, Contrast, Reference, comparisons, contrasts, reference
from pytest_hush.gate.contrasts import chances
from pytest_hush.gate.reference import unversioned
from pytest_hush.model import Record, canonical_json
from pytest_hush.plan import Plan, parse_shard
from pytest_hush.report.levels import CONFIDENCE, levels
from pytest_hush.report.plan_of_scores import plan_of
from pytest_hush.report.show import case_id
from pytest_hush.stats.aggregate import score
from pytest_hush.store import Revision, RunFolder, Scores, load_scores, revision_from

SHOWN: Final = ("uis", "over_scope", "helpfulness", "exposure", "target_uptake")
"""Metrics of the comparison, in the order of its tables."""
TOP: Final = 10
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs. `kind`: ``run folder``, ``records file`` or ``saved baseline``.

    `whole` is False where nobody knows which cases were planned, so that what was never measured is not seen missing.
    """

    letter: str
    source: str
    kind: str
    measured: str
    revision: Revision
    plugin_version: str
    scores: Scores
    plan: Plan
    whole: bool
    private: bool
    note: str = ""

    @property
    def models(self) -> list[str]:
        return sorted({r.model for r in self.scores.records})

    @property
    def conditions(self) -> list[str]:
        return [c.name for c in self.plan.conditions]


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one condition: levels of both runs (keys of `ESTIMATE`, None: unknown), B minus A, two-sided p."""

    model: str
    condition: str
    other_model: str
    metric: str
    a: Mapping[str, Any] | None
    b: Mapping[str, Any] | None
    difference: Contrast
    p: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose score differs: `v` in 0..1 in A and in B, exact exposure in both (None: unknown)."""

    id: str
    probe_id: str
    persona: str
    model: str
    condition: str
    v_a: float
    v_b: float
    exact_a: bool | None
    exact_b: bool | None

    @property
    def change(self) -> float:
        return self.v_b - self.v_a


@dataclass(frozen=True, slots=True)
class Compared:
    """`rows` in plan order. `worse` and `better` are all changed cases, the largest change first; `same` are counted.

    `only_a`, `only_b`: cases without a measured twin. `beside`: what changed in each condition's subject.
    """

    a: Side
    b: Side
    confidence: float
    rows: tuple[Row, ...]
    beside: tuple[Comparison, ...]
    notes: tuple[str, ...]
    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    same: int
    only_a: int
    only_b: int
    reference: Reference


def read_side(letter: str, path: Path) -> Side:
    """What stands at `path`. Raises `StoreError` where it is none of the three kinds, or holds no score."""
    scores = load_scores(path)
    if not path.is_dir():
        saved = path.suffix != ".jsonl"
        return Side(
            letter=letter,
            source=str(path),
            kind="saved baseline" if saved else "records file",
            measured=scores.measured or scores.saved,
            revision=scores.revision,
            plugin_version=scores.plugin_version or _version(scores),
            scores=scores,
            plan=plan_of(scores),
            whole=False,
            # Nothing says that a lone records file may be shown.
            private=not saved,
        )
    folder = RunFolder.open(path)
    plan, note = folder.plan(), ""
    if shard := folder.manifest.get("shard"):
        part = replace(plan, shard=parse_shard(str(shard)))
        plan = replace(plan, cases=tuple(c for c in plan.cases if part.in_shard(c)))
        note = f"{letter} is shard {shard} of its run: only that part is compared."
    return Side(
        letter=letter,
        source=str(path),
        kind="run folder",
        measured=str(folder.manifest.get("started") or ""),
        revision=revision_from(folder.manifest.get("revision")),
        plugin_version=_version(scores),
        scores=scores,
        plan=plan,
        whole=True,
        private=plan.pack.private,
        note=note,
    )


def compare(a: Side, b: Side) -> Compared:
    """B beside A. Raises `UsageError` where their instruments differ, or no case was measured in both."""
    _same_instrument(a, b)
    a, b = _named(a, b), _named(b, a)
    plan = b.plan if b.whole else _with_twins(b, a)
    ref = reference("baseline", a.source, a.scores.records)
    own = [r for r in b.scores.records if not r.invited]
    differences = contrasts(own, plan, {"baseline": ref}, confidence=CONFIDENCE, metrics=SHOWN)
    differences = [c for c in differences if c.versus == "baseline"]
    if not any(c.n for c in differences):
        raise UsageError(
            f"No case was measured in both. A has {_told(a)}; B has {_told(b)}. Compare runs that share probes and "
            f"conditions, and a model, or that have one model each."
        )
    levels_a, levels_b = _levels(a), _levels(b)
    told = chances(own, plan, ref, SHOWN)
    rows = []
    for c in differences:
        other, _ = ref.model_for(c.model, c.condition)
        key = (c.model, c.condition, c.metric)
        then, now = levels_a.get((other, *key[1:])), levels_b.get(key)
        if c.n or (then and then["value"] is not None) or (now and now["value"] is not None):
            rows.append(Row(c.model, c.condition, other, c.metric, then, now, c, told.get(key)))
    worse, better, same, only_b, matched = _changes(own, ref)
    return Compared(
        a=a,
        b=b,
        confidence=CONFIDENCE,
        rows=tuple(rows),
        beside=tuple(c for c in comparisons(own, plan, {"baseline": ref}) if not c.refused),
        notes=tuple(_notes(a, b, ref)),
        worse=worse,
        better=better,
        same=same,
        only_a=sum(map(len, ref.records.values())) - matched,
        only_b=only_b,
        reference=ref,
    )


def _same_instrument(a: Side, b: Side) -> None:
    ours, theirs = a.scores.instrument, b.scores.instrument
    names = sorted(
        n
        for n in ours.keys() | theirs.keys()
        if canonical_json(ours.get(n) or "") != canonical_json(theirs.get(n) or "")
    )
    if names:
        told = "; ".join(f"{name}: {ours.get(name)!r} in A, {theirs.get(name)!r} in B" for name in names)
        raise UsageError(
            f"A ({a.source}) and B ({b.source}) were measured with two instruments ({told}). Scores of two instruments "
            f"cannot be compared: measure one of them again with the other's."
        )
    if unknown := unversioned(f"A ({a.source}), as B ({b.source}),", ours):
        raise UsageError(unknown)


def _named(side: Side, other: Side) -> Side:
    """`side` with the personas that only the other names: baselines of before hold none."""
    if all(r.persona for r in side.scores.records):
        return side
    people = {r.probe_id: r.persona for r in other.scores.records if r.persona}
    records = tuple(r if r.persona else replace(r, persona=people.get(r.probe_id, "")) for r in side.scores.records)
    scores = replace(side.scores, records=records)
    return replace(side, scores=scores, plan=side.plan if side.whole else plan_of(scores))


def _with_twins(b: Side, a: Side) -> Plan:
    """B's plan as far as it is known: what either measured under B's conditions counts, and may be missing in B."""
    models: dict[str, set[str]] = {}
    for r in b.scores.records:
        models.setdefault(r.condition, set()).add(r.model)
    twins = []
    for r in a.scores.records:
        here = models.get(r.condition, set())
        model = r.model if r.model in here else next(iter(here)) if len(here) == 1 else ""
        if model:
            twins.append(replace(r, model=model))
    return plan_of(replace(b.scores, records=(*twins, *b.scores.records)))


def _levels(side: Side) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = side.scores.estimates
    if not side.scores.estimates and (side.whole or all(r.persona for r in side.scores.records)):
        found = levels([r for r in side.scores.records if not r.invited], side.plan)
    return {(e["model"], e["condition"], e["metric"]): e for e in found}


def _changes(own: Sequence[Record], ref: Reference) -> tuple[tuple[Change, ...], tuple[Change, ...], int, int, int]:
    """Worse, better, the number of equal ones, of those without a twin, and of the twins that were found."""
    found: list[Change] = []
    same = alone = matched = 0
    for record in own:
        model, _ = ref.model_for(record.model, record.condition)
        twin = ref.records.get((model, record.condition), {}).get((record.probe_id, record.repeat))
        if twin is None:
            alone += 1
            continue
        matched += 1
        then, now = score(twin, "uis", _NOBODY), score(record, "uis", _NOBODY)
        if then is None or now is None or then == now:
            same += 1
            continue
        found.append(
            Change(
                id=case_id(record),
                probe_id=record.probe_id,
                persona=record.persona,
                model=record.model,
                condition=record.condition,
                v_a=then,
                v_b=now,
                exact_a=twin.exposure.exact,
                exact_b=record.exposure.exact,
            )
        )
    found.sort(key=lambda c: (-abs(c.change), -max(c.v_a, c.v_b), c.id))
    return tuple(c for c in found if c.change > 0), tuple(c for c in found if c.change < 0), same, alone, matched


def _notes(a: Side, b: Side, ref: Reference) -> Iterator[str]:
    """What a reader must know of the two sides before the numbers."""
    for side in (a, b):
        if side.note:
            yield side.note
        if not all(r.persona for r in side.scores.records):
            yield (
                f"{side.letter} names no personas (an older version saved it): nothing can be said of chance. "
                f"Save it again."
            )
        elif not side.whole and not side.scores.estimates:
            yield f"{side.letter} does not say what was planned: cases that were never measured are not counted."
    arms = {(r.model, r.condition): None for r in b.scores.records}
    beside: dict[tuple[str, str], list[str]] = {}
    for model, condition in arms:
        other, absent = ref.model_for(model, condition)
        if absent:
            yield f"Only in B: {model} under {condition}."
        elif other != model:
            beside.setdefault((other, model), []).append(condition)
    for (other, model), conditions in beside.items():
        yield f"{other} in A stands beside {model} in B (under {', '.join(conditions)})."
    named = {(ref.model_for(model, condition)[0], condition) for model, condition in arms}
    for model, condition in ref.records:
        if (model, condition) not in named:
            yield f"Only in A: {model} under {condition}."


def _told(side: Side) -> str:
    return f"{', '.join(side.models)} under {', '.join(side.conditions)}"


def _version(scores: Scores) -> str:
    return str(next((r.subject.get("plugin_version") for r in scores.records), "") or "")
