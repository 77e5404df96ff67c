"""What reaches a judge in a run: the same bytes for one turn and reply, whatever produced the reply."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

import pytest

from pytest_hush.model import Judgement, JudgeView
from pytest_hush.run import RunOptions

from .standins import QUICK, Scripted, StemJudge, pipeline_of, plan_of

MODELS = ("openai/test", "anthropic/other", "parrot")


class Watching(StemJudge):
    """Keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[str, bool], set[str]] = defaultdict(set)

    def judge(self, view: JudgeView) -> Judgement:
        self.seen[view.probe_id, view.invited].add(view.as_json())
        return super().judge(view)


@pytest.mark.parametrize("reply", ["Pot it at noon.", "According to Mem0 and the memory block, pot it at noon."])
def test_a_judge_is_shown_the_same_bytes_for_every_model_memory_condition_and_repeat(reply: str) -> None:
    plan = plan_of("recall,oracle,full-context,recall+boundary", models=MODELS, repeats=2,
                   invitations=True)  # fmt: skip
    judge = Watching()
    pipeline = pipeline_of(
        plan, Scripted(script=lambda *_: reply), judges=(judge,), options=RunOptions(policy=QUICK, seed=7)
    )

    async def main() -> list[object]:
        found = await asyncio.gather(*(pipeline.run(case) for case in plan.cases))
        await pipeline.aclose()
        return list(found)

    asyncio.run(main())
    probes = plan.probe_cases()
    # Five conditions, three models and two repeats come down to one view each: equal views are judged once.
    assert set(map(len, judge.seen.values())) == {1}
    assert set(judge.seen) == {(c.probe_id, c.invited) for c in probes}
    assert judge.calls * 30 == len(probes)
    names = {*MODELS, "recall", "full-context", "boundary"}
    for texts in judge.seen.values():
        view = json.loads(next(iter(texts)))
        assert view["reply"] == reply
        told = json.dumps({key: value for key, value in view.items() if key != "reply"})
        assert not [name for name in names if name in told]


def test_a_reply_that_names_a_system_is_passed_whole_and_flagged() -> None:
    plan = plan_of("recall")
    judge = Watching()
    pipeline = pipeline_of(plan, Scripted(script=lambda *_: "According to Mem0, pot it."), judges=(judge,))

    async def main() -> list[tuple[str, ...]]:
        records = await asyncio.gather(*(pipeline.run(case) for case in plan.probe_cases()))
        await pipeline.aclose()
        return [r.notes for r in records]

    notes = asyncio.run(main())
    assert all("reply names a system: mem0" in told for told in notes)
    assert all("According to Mem0, pot it." in text for texts in judge.seen.values() for text in texts)
