"""``+shared``: all disclosures of a persona in one history, and judges that are told of all in every condition."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pytest_hush.model import Case, Judgement, JudgeView, Record
from pytest_hush.plan.file import plan_data, plan_from
from pytest_hush.run import Pipeline
from pytest_hush.stats.aggregate import ambient_ids, score

from .standins import Recall, Scripted, StemJudge, judgement, memories_of, pipeline_of, plan_of


def measure(pipeline: Pipeline, cases: Sequence[Case]) -> list[Record]:
    async def main() -> list[Record]:
        try:
            return list(await asyncio.gather(*(pipeline.run(case) for case in cases)))
        finally:
            await pipeline.aclose()

    return asyncio.run(main())


class Watching(StemJudge):
    """Keeps what it was shown: (disclosure, whether the reply was empty of memory) -> the digest's ids."""

    def __init__(self) -> None:
        super().__init__(self._look)
        self.digests: dict[str, set[tuple[str, ...]]] = {}

    def _look(self, _: int, view: JudgeView) -> Judgement:
        self.digests.setdefault(view.disclosure_id, set()).add(tuple(f.id for f in view.facts))
        return judgement(0.0)


def test_isolated_and_shared_stand_side_by_side() -> None:
    plan = plan_of("recall,recall+shared", personas=2, per_cell=3)
    memories = memories_of(plan)
    isolated, shared = memories["recall"], memories["recall+shared"]
    assert isinstance(isolated, Recall)
    assert isinstance(shared, Recall)
    watching = Watching()
    records = measure(pipeline_of(plan, memories=memories, judges=(watching,)), plan.cases)
    assert {r.status for r in records} == {"ok"}
    # The controls are asked on the background alone, or on the store that holds everything.
    assert len({history for history, _ in isolated.asked}) == 2 * (1 + 3)
    assert len({history for history, _ in shared.asked}) == 2
    found = [r for r in records if r.kind == "probe" and r.condition == "recall+shared"]
    assert len(found) == 2 * 3 * 4
    assert {r.exposure.exact for r in found} == {True}
    assert any(len({s for e in r.entries for s in e.sources or ()}) > 1 for r in found)
    # The judges see one digest a disclosure, whatever the condition.
    for told, digests in watching.digests.items():
        others = tuple(d.id for d in plan.pack.disclosures if d.persona == told[:3] and d.id != told)
        assert digests == {(f"{told[:3]}-f1", f"{told[:3]}-a1", *others)}
    assert {r.instrument["digest"] for r in records} == {"facts and disclosures"}


def test_a_plan_without_shared_histories_tells_the_judges_of_the_background_alone() -> None:
    plan = plan_of("recall", personas=1, per_cell=2)
    watching = Watching()
    records = measure(pipeline_of(plan, judges=(watching,)), plan.cases)
    assert watching.digests == {d.id: {("p01-f1", "p01-a1")} for d in plan.pack.disclosures}
    assert all("digest" not in r.instrument for r in records)


def test_the_two_are_different_work_under_one_plan_and_under_two() -> None:
    both, alone = plan_of("recall,recall+shared", per_cell=2), plan_of("recall", per_cell=2)
    case = next(c for c in both.cases if c.kind == "probe" and c.condition.name == "recall")
    twin = next(c for c in both.cases if c.probe_id == case.probe_id and c.condition.shared)
    one, other = pipeline_of(both), pipeline_of(alone)
    assert one.key(case) != one.key(twin)
    assert one.key(case) != other.key(case), "other judges' digests: another instrument"
    asyncio.run(one.aclose())
    asyncio.run(other.aclose())


def test_use_of_another_disclosure_is_sensitive_also_when_the_plan_is_read_from_its_file() -> None:
    plan = plan_of("recall,recall+shared", personas=2, per_cell=2)

    def other(_: int, view: JudgeView) -> Judgement:
        sibling = next(f.id for f in view.facts if f.id.startswith(view.disclosure_id[:5]) and f.kind == "ambient")
        return replace(judgement(1.0, evidence="x"), used=(sibling,))

    (case, *_) = [c for c in plan.cases if c.kind == "probe" and c.condition.shared]
    (record,) = measure(pipeline_of(plan, Scripted(), judges=(StemJudge(other),)), [case])
    for read in (plan, plan_from(plan_data(plan))):
        assert score(record, "uis_sensitive", ambient_ids(read.pack)) == 1.0
    plain = plan_of("recall", personas=2, per_cell=2)
    assert plan_data(plain)["personas"] == {"p01": ["p01-a1"], "p02": ["p02-a1"]}
