from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import (
    FatalModelError,
    MemoryStoreError,
    RefusedCallError,
    TransientError,
    UnreadableJudgement,
    UsageError,
)
from pytest_hush.model import Case, Context, History, Judgement, JudgeView, Prompt, Record, Reply, Session, Usage
from pytest_hush.run import Engine, Pipeline, RunOptions
from pytest_hush.run.prompt import PROMPTS
from pytest_hush.run.rooms import built_in
from pytest_hush.store import Budget, Cache

from .standins import QUICK, Recall, Scripted, StemJudge, judgement, memories_of, pipeline_of, plan_of


def measure(pipeline: Pipeline, cases: Sequence[Case], at_once: bool = True) -> list[Record]:
    async def main() -> list[Record]:
        try:
            if at_once:
                return list(await asyncio.gather(*(pipeline.run(case) for case in cases)))
            return [await pipeline.run(case) for case in cases]
        finally:
            await pipeline.aclose()

    return asyncio.run(main())


def comparable(records: Sequence[Record]) -> list[Record]:
    plain = [replace(r, usage=Usage(), latency_s=0.0, attempts=0) for r in records]
    return sorted(plain, key=lambda r: r.identity)


def test_a_case_from_end_to_end() -> None:
    plan = plan_of("recall,oracle,full-context")
    records = measure(pipeline_of(plan), plan.cases)
    assert len(records) == len(plan.cases)
    assert {r.status for r in records} == {"ok"}
    for record in records:
        if record.kind == "control":
            assert record.control == {"retrieved": True, "used": True}
            assert record.judgements == ()
            continue
        hidden = record.condition == "none"
        assert record.exposure.exact is not hidden
        assert (record.entries == ()) is hidden
        (scores,) = record.judgements
        if hidden:
            assert scores.v == 0.0
    assert any(r.judgements and r.judgements[0].v == 1.0 for r in records)
    subject = next(r.subject for r in records if r.condition == "recall")
    assert subject["returned_model"] == "test-2024"
    assert (subject["prompts"], subject["memory"], subject["memory_version"]) == (PROMPTS, "recall", "1")
    assert subject["settings"] == {
        "model": {"max_tokens": 800, "version": "1", "temperature": 0},
        "memory": {},
    }
    assert records[0].instrument == {
        "pack": f"made-up@1+{plan.pack.hash[:12]}",
        "rubric": "test@1",
        "policy": "test",
        "judge": "stems",
        "judge_version": "1",
        "schema": 1,
        "embedded_build": "",
    }
    labels = {r.subject["label"] for r in records if r.condition == "full-context"}
    assert all(label.startswith("full-context@") for label in labels)


def test_records_do_not_depend_on_order_or_cache(tmp_path: Path) -> None:
    plan = plan_of("recall,full-context", repeats=2, invitations=True)
    alone = measure(pipeline_of(plan), plan.cases, at_once=False)
    cache = Cache(tmp_path / "c")
    cold = measure(pipeline_of(plan, cache=cache), list(reversed(plan.cases)))
    second = Scripted()
    warm = measure(pipeline_of(plan, second, cache=cache), plan.cases)
    cache.close()
    assert comparable(alone) == comparable(cold) == comparable(warm)
    assert second.calls == 0
    assert [r.key for r in alone] == [r.key for r in warm]


def test_identical_work_is_done_once() -> None:
    plan = plan_of("recall,by-hand,oracle", per_cell=2)
    recall, judge, model = Recall(), StemJudge(), Scripted(delay_s=0.002)

    class Empty(Recall):
        def context(self, history: History, question: str) -> Context:
            return Context()

    memories = memories_of(plan, recall=recall, **{"by-hand": Empty(retrieving=False)})
    measure(pipeline_of(plan, model, memories=memories, judges=(judge,)), plan.cases)
    assert set(recall.asked.values()) == {1}
    assert recall.peak == 1
    assert set(model.prompts.values()) == {1}
    assert judge.calls < len(plan.probe_cases())


def test_repeats_are_slots_of_their_own(tmp_path: Path) -> None:
    plan = plan_of("none", repeats=3)
    model = Scripted(script=lambda number, _: f"answer {number}")
    cache = Cache(tmp_path / "c")
    records = measure(pipeline_of(plan, model, cache=cache), plan.cases, at_once=False)
    assert {r.repeat for r in records} == {0, 1, 2}
    assert len({r.reply for r in records if r.probe_id == records[0].probe_id}) == 3
    replayed = measure(pipeline_of(plan, Scripted(script=lambda *_: "new"), cache=cache), plan.cases)
    cache.close()
    assert [r.reply for r in replayed] == [r.reply for r in records]


def test_a_lost_session_is_unplanted_and_generates_nothing() -> None:
    plan = plan_of("recall")
    memories = memories_of(plan, recall=Recall(lose="session"))
    model = Scripted()
    probes = [c for c in plan.probe_cases() if c.condition.name == "recall"]
    records = measure(pipeline_of(plan, model, memories=memories), probes)
    assert {r.status for r in records} == {"unplanted"}
    assert model.calls == 0
    assert not any(r.measured or r.judgements or r.reply for r in records)
    assert all("the session was lost" in r.error for r in records)


def test_a_memory_that_keeps_the_disclosure_out_is_withheld_and_scored() -> None:
    plan = plan_of("recall")
    memories = memories_of(plan, recall=Recall(lose="disclosure"))
    records = measure(pipeline_of(plan, memories=memories), plan.probe_cases())
    assert {r.status for r in records if r.condition == "recall"} == {"withheld"}
    assert {r.status for r in records if r.condition == "none"} == {"ok"}
    assert all(r.judgements for r in records)


def test_a_guards_health_is_that_of_the_memory_inside() -> None:
    class Silent(Recall):
        inner = Recall()

        def context(self, history: History, question: str) -> Context:
            return Context(label="silent")

    plan = plan_of("recall")
    records = measure(pipeline_of(plan, memories=memories_of(plan, recall=Silent())), plan.cases)
    assert {r.status for r in records} == {"ok"}
    controls = [r.control for r in records if r.kind == "control"]
    assert controls
    assert all(c is not None and c["retrieved"] is True for c in controls)
    assert not any(r.entries for r in records)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RefusedCallError("the context is too long", status=400), "the context is too long"),
        (TransientError("gateway", status=502), "502 Bad Gateway for"),
        (ValueError("a bug\nin two lines"), "ValueError: a bug in two lines"),
    ],
)
def test_a_failed_call_is_an_error_and_never_a_score(error: Exception, text: str) -> None:
    def script(_: int, prompt: Prompt) -> str:
        raise error

    plan = plan_of("none", personas=1)
    options = RunOptions(policy=replace(QUICK, attempts=3))
    records = measure(pipeline_of(plan, Scripted(script=script), options=options), plan.cases)
    assert {r.status for r in records} == {"error"}
    assert all(text in r.error and not r.judgements for r in records)
    expected = 3 if isinstance(error, TransientError) else 1 if isinstance(error, RefusedCallError) else 0
    assert {r.attempts for r in records} == {expected}


def test_a_wrong_key_wastes_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-very-secret-value")

    def script(_: int, prompt: Prompt) -> str:
        raise FatalModelError("401: the key sk-very-secret-value is wrong", status=401)

    plan = plan_of("recall,oracle")
    model = Scripted(script=script, delay_s=0.01)
    pipeline = pipeline_of(plan, model)
    records = measure(pipeline, plan.cases)
    assert model.calls == 1
    assert {r.status for r in records} == {"error"}
    assert {r.error for r in records} == {"401: the key <secret> is wrong"}
    assert "401" in pipeline.fatal


def test_a_memory_that_fails_is_an_error() -> None:
    class Broken(Recall):
        def context(self, history: History, question: str) -> Context:
            if history.disclosure is not None and history.disclosure.persona == "p01":
                raise MemoryStoreError("the store of p01 is gone")
            return super().context(history, question)

    plan = plan_of("recall")
    model = Scripted()
    records = measure(pipeline_of(plan, model, memories=memories_of(plan, recall=Broken())), plan.probe_cases())
    failed = [r for r in records if r.status == "error"]
    assert {(r.persona, r.condition, r.error) for r in failed} == {("p01", "recall", "the store of p01 is gone")}
    assert len(failed) == 4


def test_an_unreadable_judgement_is_unscored_and_stops_nobody() -> None:
    def script(number: int, view: JudgeView) -> Judgement:
        if number == 2:
            raise UnreadableJudgement("no JSON in the answer")
        return judgement(0.0)

    plan = plan_of("none", personas=1, per_cell=3)
    other = StemJudge()
    other.name = "other"
    records = measure(pipeline_of(plan, judges=(StemJudge(script), other)), plan.cases, at_once=False)
    # The first judge is the one that could not be read.
    # The probes of one family have one text here, so a reply is shared, but the views differ by probe id.
    unscored = [r for r in records if r.status == "unscored"]
    assert len(unscored) == 1
    assert unscored[0].error == "no JSON in the answer"
    assert len(unscored[0].judgements) == 1
    assert unscored[0].reply
    assert {r.status for r in records if r is not unscored[0]} == {"ok"}


@pytest.mark.parametrize("scores", [judgement(float("nan")), judgement(1.5), judgement(None), judgement(0.5, 2.0)])
def test_scores_out_of_range_are_unscored(scores: Judgement) -> None:
    plan = plan_of("none", personas=1)
    records = measure(pipeline_of(plan, judges=(StemJudge(lambda *_: scores),)), plan.cases)
    assert {r.status for r in records} == {"unscored"}
    assert all("expected numbers in [0, 1]" in r.error and not r.judgements for r in records)


def test_a_dead_judge_wastes_no_generation() -> None:
    def script(number: int, view: JudgeView) -> Judgement:
        raise FatalModelError("the judge's key is wrong", status=401)

    plan = plan_of("none", personas=3)
    model, judge = Scripted(), StemJudge(script)
    pipeline = pipeline_of(plan, model, judges=(judge,))
    records = measure(pipeline, plan.cases, at_once=False)
    assert (model.calls, judge.calls) == (1, 1)
    assert {(r.status, r.error) for r in records} == {("error", "the judge's key is wrong")}
    assert pipeline.fatal == "the judge's key is wrong"


def test_the_model_inside_a_judge_is_retried_counted_and_limited() -> None:
    class ModelJudge(StemJudge):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        async def judge(self, view: JudgeView) -> Judgement:  # type: ignore[override]
            await self.model.reply(built_in_prompt(view.reply))
            return judgement(0.0)

    def script(number: int, prompt: Prompt) -> str:
        if number % 2:
            raise TransientError("busy", status=429)
        return "0"

    plan = plan_of("none", personas=1)
    inner = Scripted("openai/judge", script)
    pipeline = pipeline_of(plan, Scripted(), judges=(ModelJudge(inner),))
    records = measure(pipeline, plan.cases)
    assert {r.status for r in records} == {"ok"}
    assert inner.calls == 8
    assert pipeline.counters.calls == 12
    assert pipeline.counters.retries == 4


def test_two_runs_of_one_process_share_a_judge_and_a_cache(tmp_path: Path) -> None:
    class ModelJudge(StemJudge):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        async def judge(self, view: JudgeView) -> Judgement:  # type: ignore[override]
            await self.model.reply(built_in_prompt(view.reply))
            return judgement(0.0)

    plan = plan_of("none", personas=3)
    inner = Scripted("openai/judge", delay_s=0.005)
    judge = ModelJudge(inner)
    cache = Cache(tmp_path / "c")
    engines = [
        Engine(pipeline_of(plan, Scripted(f"openai/{n}", delay_s=0.005), judges=(judge,), cache=cache)) for n in "ab"
    ]
    for engine in engines:
        for case in plan.cases:
            engine.submit(case)
    for engine in engines:
        assert {engine.result(case, timeout=10).status for case in plan.cases} == {"ok"}
    for engine in engines:
        engine.close()
    assert judge.model is inner
    cache.close()


def built_in_prompt(text: str) -> Prompt:
    from pytest_hush.run import build_prompt

    return build_prompt(text, "")


def test_the_closed_assistant_shows_no_context() -> None:
    class Closed:
        def __init__(self) -> None:
            self.told: list[int] = []

        def answer(self, sessions: Sequence[Session], message: str) -> str:
            self.told.append(len(sessions))
            return f"about {message}"

    plan = plan_of("assistant", personas=1)
    assistant = Closed()
    bare = measure(pipeline_of(plan, assistant=lambda sessions, message: f"about {message}"), plan.cases)
    assert [r.reply for r in bare] == [f"about {c.text}" for c in plan.cases]
    records = measure(pipeline_of(plan, assistant=assistant), plan.cases)
    assert {r.status for r in records} == {"ok"}
    assert sorted(assistant.told) == [0, 0, 0, 0, 4, 4, 4, 4]
    for record in records:
        exposure = record.exposure
        assert (exposure.exact, exposure.residue, exposure.ambient, record.entries) == (None, None, None, ())
    mixed = plan_of("assistant,recall")
    with pytest.raises(UsageError, match="two runs"):
        pipeline_of(mixed, assistant=assistant)


def test_money_is_never_spent_beyond_the_limit(tmp_path: Path) -> None:
    plan = plan_of("recall,oracle", personas=3)
    rooms = replace(built_in(), price=lambda model, usage: 0.01, max_price=lambda model, prompt: 0.02)
    budget = Budget(tmp_path / "b", 0.10)

    class Priced(Scripted):
        async def reply(self, prompt: Prompt) -> Reply:
            return replace(await super().reply(prompt), usage=Usage(10, 5, None))

    model = Priced(delay_s=0.001)
    pipeline = pipeline_of(plan, model, budget=budget, rooms=rooms)
    records = measure(pipeline, plan.cases)
    spent = budget.spent()
    budget.close()
    assert model.calls == 9  # after the ninth, 0.09 is spent and a tenth could cost 0.02
    assert spent == pytest.approx(0.09)
    assert pipeline.counters.cost_usd == pytest.approx(0.09)
    stopped = [r for r in records if r.status == "error"]
    assert stopped
    assert all("--hush-max-cost=0.1" in r.error and "--hush-resume" in r.error for r in stopped)
    assert {r.usage.cost_usd for r in records if r.status == "ok"} == {0.01}


def test_a_model_of_unknown_price_is_not_called_under_a_limit(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    rooms = replace(built_in(), price=lambda *_: None, max_price=lambda *_: None)
    budget = Budget(tmp_path / "b", 1.0)
    model = Scripted()
    records = measure(pipeline_of(plan, model, budget=budget, rooms=rooms), plan.cases)
    budget.close()
    assert model.calls == 0
    assert all("the price of this model is not known" in r.error for r in records)


def test_misses_are_explained(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    cache = Cache(tmp_path / "c")
    options = RunOptions(policy=QUICK, explain_misses=True)
    first = pipeline_of(plan, cache=cache, options=options)
    measure(first, plan.cases)
    assert {fields for _, fields in first.counters.misses} == {""}
    warmer = Scripted(settings={"temperature": 1})
    second = pipeline_of(plan, warmer, cache=cache, options=options)
    measure(second, plan.cases)
    cache.close()
    assert second.counters.misses[("reply", "settings.temperature")] == 4


def test_the_users_own_code_of_any_name_is_not_answered_from_before_its_edit(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    cache = Cache(tmp_path / "c")
    before = Scripted("openai/test", lambda *_: "before", version="")
    assert {r.reply for r in measure(pipeline_of(plan, before, cache=cache), plan.cases)} == {"before"}
    after = Scripted("openai/test", lambda *_: "after", version="")
    assert {r.reply for r in measure(pipeline_of(plan, after, cache=cache), plan.cases)} == {"after"}
    versioned = Scripted("openai/test", lambda *_: "v1", version="1")
    measure(pipeline_of(plan, versioned, cache=cache), plan.cases)
    again = Scripted("openai/test", lambda *_: "never called", version="1")
    assert {r.reply for r in measure(pipeline_of(plan, again, cache=cache), plan.cases)} == {"v1"}
    cache.close()


def test_the_key_covers_what_can_change_the_answer() -> None:
    plan = plan_of("recall")
    case = next(c for c in plan.probe_cases() if c.condition.name == "recall")
    judge = StemJudge()
    judge.version = "2"
    variants = [
        pipeline_of(plan),
        pipeline_of(plan, Scripted(settings={"temperature": 1})),
        pipeline_of(plan, memories=memories_of(plan, recall=Recall(version="2"))),
        pipeline_of(plan, memories=memories_of(plan, recall=Recall(settings={"k": 3}))),
        pipeline_of(plan, judges=(judge,)),
        pipeline_of(plan, options=RunOptions(seed=1)),
        pipeline_of(replace(plan, pack=replace(plan.pack, hash="f" * 32))),
    ]
    keys = [p.key(case) for p in variants]
    keys += [variants[0].key(replace(case, text="another")), variants[0].key(replace(case, repeat=1))]
    assert len(set(keys)) == len(keys)
    assert pipeline_of(plan).key(case) == keys[0]


def test_a_reply_that_is_no_unicode_or_names_a_system_is_noted() -> None:
    plan = plan_of("none", personas=1)
    model = Scripted(script=lambda *_: "According to mem0 \ud83d this")
    records = measure(pipeline_of(plan, model), plan.cases)
    assert {r.status for r in records} == {"ok"}
    assert {r.reply for r in records} == {"According to mem0 \ufffd this"}
    assert all("reply names a system: mem0" in r.notes for r in records)


def test_everything_is_closed_once() -> None:
    plan = plan_of("none", personas=1)
    model = Scripted()
    measure(pipeline_of(plan, model), plan.cases)
    assert model.closed == 1


@pytest.mark.parametrize("value", ["{}", '{"text": 3}', "[" * 100_000, "NULL"])
def test_a_row_of_another_shape_is_a_miss_and_is_replaced(tmp_path: Path, value: str) -> None:
    plan = plan_of("recall")
    measure(pipeline_of(plan, cache=Cache(tmp_path / "c")), plan.cases)
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("UPDATE entry SET value = ?", (value,))
    db.close()
    model, again = Scripted(), Scripted()
    assert {r.status for r in measure(pipeline_of(plan, model, cache=Cache(tmp_path / "c")), plan.cases)} == {"ok"}
    assert model.calls
    measure(pipeline_of(plan, again, cache=Cache(tmp_path / "c")), plan.cases)
    assert again.calls == 0


def test_a_cached_score_out_of_range_is_a_miss(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    measure(pipeline_of(plan, cache=Cache(tmp_path / "c")), plan.cases)
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("UPDATE entry SET value = replace(value, '\"v\":0.0', '\"v\":7') WHERE stage = 'judgement'")
    db.close()
    judge = StemJudge()
    records = measure(pipeline_of(plan, judges=(judge,), cache=Cache(tmp_path / "c")), plan.cases)
    assert judge.calls
    assert {j.v for r in records for j in r.judgements} == {0.0}


def test_what_a_memory_gives_is_checked_before_it_is_kept() -> None:
    class Odd(Recall):
        def context(self, history: History, question: str) -> Context:
            return Context(label=3)  # type: ignore[arg-type]

    plan = plan_of("recall", personas=1)
    records = measure(pipeline_of(plan, memories=memories_of(plan, recall=Odd())), plan.cases)
    failed = [r.error for r in records if r.condition == "recall"]
    assert failed
    assert all("memory recall: gave a context that cannot be kept: expected text, read 3" in e for e in failed)


class Hanging(Recall):
    def context(self, history: History, question: str) -> Context:
        time.sleep(5)
        return Context()


class AsyncHanging(Recall):
    async def context(self, history: History, question: str) -> Context:  # type: ignore[override]
        await asyncio.sleep(5)
        return Context()


@pytest.mark.parametrize("memory", [Hanging(), AsyncHanging()], ids=["thread", "async"])
def test_a_memory_that_hangs_is_an_error_and_then_asked_no_more(memory: Recall) -> None:
    plan = plan_of("recall")
    options = RunOptions(policy=replace(QUICK, deadline_s=0.2))
    started = time.monotonic()
    records = measure(pipeline_of(plan, memories=memories_of(plan, recall=memory), options=options), plan.cases)
    assert time.monotonic() - started < 3
    errors = {r.error for r in records if r.condition == "recall"}
    assert all("memory recall: no answer for 0 s, 1 attempt; given up at the deadline of 0.2 s" in e for e in errors)
    assert {r.status for r in records if r.condition == "none"} == {"ok"}


def test_a_judge_that_hangs_is_an_error() -> None:
    def script(number: int, view: JudgeView) -> Judgement:
        time.sleep(5)
        return judgement(0.0)

    plan = plan_of("none")
    options = RunOptions(policy=replace(QUICK, deadline_s=0.2))
    started = time.monotonic()
    pipeline = pipeline_of(plan, judges=(StemJudge(script),), options=options)
    records = measure(pipeline, plan.cases)
    assert time.monotonic() - started < 3
    assert {r.status for r in records} == {"error"}
    assert all(re.search(r"judge stems: no answer for \d s", r.error) for r in records)
    assert "judge stems: no answer" in pipeline.fatal


@pytest.mark.parametrize("where", ["model", "memory", "judge"])
def test_code_that_wants_to_end_the_process_fails_its_case_only(where: str) -> None:
    def leave(*_: object) -> Any:
        sys.exit(3)

    class Leaving(Recall):
        def context(self, history: History, question: str) -> Context:
            return leave() if history.persona.id == "p01" else super().context(history, question)

    plan = plan_of("recall")
    model = Scripted(script=leave) if where == "model" else Scripted()
    memory = Leaving() if where == "memory" else Recall()
    judge = StemJudge(leave) if where == "judge" else StemJudge()
    records = measure(pipeline_of(plan, model, memories=memories_of(plan, recall=memory), judges=(judge,)), plan.cases)
    failed = [r for r in records if r.status == "error"]
    assert len(records) == len(plan.cases)
    assert failed
    assert all("raised SystemExit: 3" in r.error for r in failed)


def test_entries_that_are_no_unicode_are_replaced_and_noted() -> None:
    class Torn(Recall):
        def context(self, history: History, question: str) -> Context:
            found = super().context(history, question)
            return replace(found, entries=tuple(replace(e, text=f"{e.text} \ud83d") for e in found.entries))

    plan = plan_of("recall", personas=1)
    records = measure(pipeline_of(plan, memories=memories_of(plan, recall=Torn())), plan.probe_cases())
    assert {r.status for r in records} == {"ok"}
    torn = [r for r in records if r.condition == "recall"]
    assert all("\ufffd" in r.entries[0].text and "no Unicode text" in r.notes[0] for r in torn)
