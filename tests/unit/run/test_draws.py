"""Several judges and several draws of one: every judgement is asked for, told apart, kept, and named."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytest_hush.errors import ModelError, UnreadableJudgement
from pytest_hush.judges.llm import LLMJudge
from pytest_hush.judges.python_callable import wrap_judge
from pytest_hush.model import Case, Judgement, JudgeView, Record
from pytest_hush.run import Pipeline, RunOptions
from pytest_hush.run.draws import draws, varies
from pytest_hush.run.provenance import judge_fields
from pytest_hush.store import Cache, record_from_json, record_to_json
from tests.unit.run.standins import QUICK, Scripted, StemJudge, judgement, pipeline_of, plan_of


def measured(pipeline: Pipeline, case: Case) -> Record:
    async def once() -> Record:
        try:
            return await pipeline.run(case)
        finally:
            await pipeline.aclose()

    return asyncio.run(once())


def named(name: str, script: object = None) -> StemJudge:
    judge = StemJudge(script)  # type: ignore[arg-type]
    judge.name = name
    return judge


class Drawing(LLMJudge):
    """A judge with a model, whose scores tell which draw it is."""

    cacheable = True

    def __init__(self, name: str = "openai/judge") -> None:
        super().__init__(Scripted(name), name)
        self.asked: list[int] = []

    async def judge(self, view: JudgeView) -> Judgement:
        self.asked.append(self.draw)
        return judgement(self.draw / 10, self.draw / 10, view.reply[:20])


PLAN = plan_of("none", personas=1)
CASE = PLAN.probe_cases()[0]
REPEATS = RunOptions(policy=QUICK, judge_repeats=3)


def test_every_judge_and_every_draw_is_kept_in_order() -> None:
    model_judge, plain = Drawing(), named("plain")
    record = measured(pipeline_of(PLAN, judges=(model_judge, plain), options=REPEATS), CASE)
    assert [(j.judge, j.draw, j.v) for j in record.judgements] == [
        ("openai/judge", 0, 0.0),
        ("openai/judge", 1, 0.1),
        ("openai/judge", 2, 0.2),
        ("plain", 0, 0.0),
    ]
    assert plain.calls == 1
    assert record.instrument["judge"] == "openai/judge+plain"
    assert record.instrument["judge_version"] == f"{model_judge.version}+1"
    assert record_from_json(record_to_json(record)) == record


def test_draws_are_cached_each_by_itself(tmp_path: Path) -> None:
    for expected in (3, 0):
        judge = Drawing()
        found = measured(
            pipeline_of(PLAN, judges=(judge,), options=REPEATS, cache=Cache(tmp_path / "cache.sqlite")), CASE
        )
        assert len(judge.asked) == expected
        assert [j.v for j in found.judgements] == [0.0, 0.1, 0.2]


def test_the_policy_is_part_of_what_a_judgement_is_kept_under(tmp_path: Path) -> None:
    calls = []
    for policy in ("test@1", "test@2", "test@1"):
        judge = named("stems")
        judge.policy = policy
        judge.cacheable = True  # type: ignore[attr-defined]
        measured(pipeline_of(PLAN, judges=(judge,), cache=Cache(tmp_path / "cache.sqlite")), CASE)
        calls.append(judge.calls)
    assert calls == [1, 1, 0]


def test_more_draws_are_other_work() -> None:
    one, three = (pipeline_of(PLAN, judges=(Drawing(),), options=o) for o in (RunOptions(policy=QUICK), REPEATS))
    assert one.key(CASE) != three.key(CASE)
    plain = [pipeline_of(PLAN, judges=(named("a"),), options=o).key(CASE) for o in (RunOptions(policy=QUICK), REPEATS)]
    assert plain[0] == plain[1]


def unreadable(number: int, view: JudgeView) -> Judgement:
    raise UnreadableJudgement("no JSON in the answer")


def test_a_second_judge_that_cannot_be_read_leaves_the_first_ones_score() -> None:
    record = measured(pipeline_of(PLAN, judges=(named("a"), named("b", unreadable))), CASE)
    assert (record.status, [j.judge for j in record.judgements]) == ("ok", ["a"])
    assert record.notes == ("not every judgement could be read: no JSON in the answer",)
    assert record.instrument["judge"] == "a+b"
    first = measured(pipeline_of(PLAN, judges=(named("b", unreadable), named("a"))), CASE)
    assert (first.status, first.error, [j.judge for j in first.judgements]) == (
        "unscored", "no JSON in the answer", ["a"],
    )  # fmt: skip


def test_a_failed_call_of_any_judge_is_an_error() -> None:
    def failing(number: int, view: JudgeView) -> Judgement:
        raise ModelError("503 Service Unavailable")

    record = measured(pipeline_of(PLAN, judges=(named("a"), named("b", failing))), CASE)
    assert (record.status, [j.judge for j in record.judgements]) == ("error", ["a"])


def test_a_judgement_goes_by_the_name_of_the_judge_that_was_asked() -> None:
    record = measured(pipeline_of(PLAN, judges=(named("mine"),)), CASE)
    assert [j.judge for j in record.judgements] == ["mine"]


def test_who_is_asked_again() -> None:
    def mine(view: JudgeView) -> dict[str, float]:
        return {}

    def noisy(view: JudgeView) -> dict[str, float]:
        return {}

    noisy.deterministic = False  # type: ignore[attr-defined]
    judges = [StemJudge(), Drawing(), wrap_judge(mine, name="a"), wrap_judge(noisy, name="b")]
    assert [varies(judge) for judge in judges] == [False, True, False, True]
    assert [n for _, n in draws(judges, 2)] == [0, 0, 1, 0, 0, 1]
    assert len(draws(judges, 1)) == 4


def test_the_instrument_of_several_judges() -> None:
    a, b = named("a"), named("b")
    b.version = ""
    assert judge_fields((a, b)) == {
        "rubric": "test@1", "policy": "test", "judge": "a+b", "judge_version": "1+?",
    }  # fmt: skip
    assert judge_fields((b,))["judge_version"] == ""
    a.policy = b.policy = ""
    assert judge_fields((a, b), "safety-aware-1@0")["policy"] == "safety-aware-1@0"
