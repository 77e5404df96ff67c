from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.errors import HushError, StoreError
from pytest_hush.model import Case, Prompt, Record
from pytest_hush.run import Engine, RunOptions
from pytest_hush.store import Cache, RecordLog, RunFolder, StoreWarning, read_records

from .standins import QUICK, Scripted, Sleeper, pipeline_of, plan_of


def test_records_are_kept_as_soon_as_they_are_made(tmp_path: Path) -> None:
    plan = plan_of("recall,oracle")
    log = RecordLog(tmp_path, "main")
    seen: list[Record] = []
    with Engine(pipeline_of(plan), log, on_record=seen.append) as engine:
        for case in plan.cases:
            engine.submit(case)
            engine.submit(case)
        engine.drain()
        assert len(read_records(tmp_path)) == len(plan.cases)
        records = [engine.result(case) for case in plan.cases]
        progress = engine.progress()
    log.close()
    assert (
        sorted(r.key for r in read_records(tmp_path)) == sorted(r.key for r in records) == sorted(r.key for r in seen)
    )
    assert (progress.done, progress.total, progress.in_flight) == (len(plan.cases), len(plan.cases), 0)
    assert progress.calls > 0
    assert progress.cost_usd == pytest.approx(progress.calls * 0.001)


def test_a_slow_head_does_not_stall_the_others() -> None:
    plan = plan_of("none", personas=6)
    gate = threading.Event()

    def script(number: int, prompt: Prompt) -> str:
        return "hello"

    class Slow(Scripted):
        async def reply(self, prompt: Prompt):  # type: ignore[no-untyped-def]
            import asyncio

            if "attitude" in prompt.messages[-1].content:
                while not gate.is_set():
                    await asyncio.sleep(0.005)
            return await super().reply(prompt)

    cases = list(plan.cases)
    ordinary = [c for c in cases if "attitude" not in c.text]
    slow = [c for c in cases if "attitude" in c.text]
    with Engine(pipeline_of(plan, Slow(script=script))) as engine:
        for case in (ordinary[0], *slow, *ordinary):
            engine.submit(case)
        assert all(engine.result(c, timeout=5).status == "ok" for c in ordinary)
        assert engine.progress().done == len(ordinary)
        gate.set()
        assert all(engine.result(c, timeout=5).status == "ok" for c in slow)


def test_a_timeout_and_the_callback_of_a_wait() -> None:
    plan = plan_of("none", personas=1)
    waits: list[int] = []
    engine = Engine(pipeline_of(plan, Scripted(delay_s=5)))
    with pytest.raises(TimeoutError, match=r"no record within 0\.5 s"):
        engine.result(plan.cases[0], timeout=0.5, on_wait=lambda: waits.append(1))
    engine.close()
    assert len(waits) >= 2


@pytest.mark.parametrize("model", [Scripted(delay_s=30), Sleeper(30)], ids=["async", "thread"])
def test_closing_takes_about_a_second_whatever_a_model_does(tmp_path: Path, model: object) -> None:
    plan = plan_of("none", personas=3)
    log = RecordLog(tmp_path, "main")
    engine = Engine(pipeline_of(plan, model), log)
    for case in plan.cases:
        engine.submit(case)
    time.sleep(0.1)
    started = time.monotonic()
    engine.close()
    assert time.monotonic() - started < 1.2
    with pytest.raises(HushError, match="stopped"):
        engine.result(plan.cases[0])
    other: Case = replace(plan.cases[0], repeat=7)
    with pytest.raises(HushError, match="stopped"):
        engine.submit(other)
    engine.close()
    log.close()


def test_what_is_finished_at_a_close_is_kept(tmp_path: Path) -> None:
    plan = plan_of("none", personas=4)
    log = RecordLog(tmp_path, "main")
    model = Scripted(delay_s=0.01)
    engine = Engine(pipeline_of(plan, model), log)
    first = engine.result(plan.cases[0])
    model.delay_s = 30
    for case in plan.cases:
        engine.submit(case)
    time.sleep(0.1)
    engine.close()
    log.close()
    kept = read_records(tmp_path)
    assert first in kept
    assert len(kept) < len(plan.cases)
    assert {r.status for r in kept} == {"ok"}
    assert model.closed == 1


def test_a_resume_repeats_no_call_and_finishes(tmp_path: Path) -> None:
    plan = plan_of("recall")
    log = RecordLog(tmp_path, "main")
    half = plan.cases[: len(plan.cases) // 2]

    def script(number: int, prompt: Prompt) -> str:
        if number == 3:
            raise ValueError("a hiccup")
        return f"{prompt.messages[-1].content}"

    with Engine(pipeline_of(plan, Scripted(script=script)), log) as engine:
        for case in half:
            engine.result(case)
    log.close()
    first = read_records(tmp_path)
    failed = [r for r in first if r.status == "error"]
    assert failed
    log = RecordLog(tmp_path, "main")
    model = Scripted(script=lambda _, prompt: prompt.messages[-1].content)
    with Engine(pipeline_of(plan, model), log, ready=first) as engine:
        for case in plan.cases:
            engine.submit(case)
        engine.drain()
    log.close()
    final = read_records(tmp_path)
    assert {r.status for r in final} == {"ok"}
    assert len(final) == len(plan.cases)
    lines = sum(p.read_text().count("\n") for p in tmp_path.glob("records-*.jsonl"))
    assert lines == len(plan.cases) + len(failed)
    third = Scripted()
    with Engine(pipeline_of(plan, third), ready={r.key: r for r in final}) as engine:
        assert [engine.result(c).status for c in plan.cases] == ["ok"] * len(plan.cases)
    assert third.calls == 0


def test_a_second_identical_run_makes_no_call(tmp_path: Path) -> None:
    plan = plan_of("recall,full-context")
    cache = Cache(tmp_path / "c")
    outcomes = []
    for _ in range(2):
        with Engine(pipeline_of(plan, Scripted(), cache=cache)) as engine:
            records = [engine.result(c) for c in plan.cases]
            outcomes.append(engine.progress())
    cache.close()
    assert outcomes[0].calls > 0
    assert (outcomes[1].calls, outcomes[1].cost_usd) == (0, 0)
    assert outcomes[1].cache_hits > 0
    assert {r.status for r in records} == {"ok"}


def test_a_hook_that_fails_is_a_warning_and_no_failure() -> None:
    plan = plan_of("none", personas=1)

    def broken(record: Record) -> None:
        raise RuntimeError("my dashboard is down")

    with (
        pytest.warns(StoreWarning, match="my dashboard is down"),
        Engine(pipeline_of(plan), on_record=broken) as engine,
    ):
        assert engine.result(plan.cases[0]).status == "ok"


def test_a_record_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    log = RecordLog(tmp_path, "main")
    log.close()
    engine = Engine(pipeline_of(plan), log)
    with pytest.raises(StoreError, match="closed"):
        engine.result(plan.cases[0])
    made = engine.progress().calls
    assert "closed" in engine.fatal
    assert engine.unkept == engine.fatal
    with pytest.raises(StoreError, match="closed"):
        engine.result(plan.cases[1])
    assert engine.progress().calls == made  # no call is paid whose answer cannot be kept
    engine.close()


def test_misses_are_lines_for_a_reader(tmp_path: Path) -> None:
    plan = plan_of("none", personas=1)
    cache = Cache(tmp_path / "c")
    options = RunOptions(policy=QUICK, explain_misses=True)
    with Engine(pipeline_of(plan, cache=cache, options=options)) as engine:
        engine.result(plan.cases[0])
    with Engine(pipeline_of(plan, Scripted(settings={"k": 2}), cache=cache, options=options)) as engine:
        engine.result(plan.cases[0])
        lines = engine.misses()
    cache.close()
    assert "1 x reply: differs in settings.k, settings.temperature" in lines


def test_a_hook_that_exits_does_not_end_the_loop() -> None:
    plan = plan_of("none", personas=1)
    with (
        pytest.warns(StoreWarning, match="SystemExit"),
        Engine(pipeline_of(plan), on_record=lambda record: sys.exit(1)) as engine,
    ):
        assert [engine.result(c, timeout=10).status for c in plan.cases] == ["ok"] * len(plan.cases)


@pytest.mark.parametrize("version", ["", "1"])
def test_a_resume_takes_what_is_there_and_the_records_say_of_which_code(tmp_path: Path, version: str) -> None:
    plan = plan_of("none", personas=1)
    manifest = {"plan_hash": plan.hash}
    run = RunFolder.create(tmp_path / "run", manifest)
    with Engine(pipeline_of(plan, Scripted(script=lambda *_: "a", version=version)), log := run.log("main")) as engine:
        old = [engine.result(case) for case in plan.cases]
    log.close()
    again = RunFolder.resume(tmp_path / "run", manifest)
    with Engine(pipeline_of(plan, Scripted(script=lambda *_: "b", version=version)), ready=again.records()) as engine:
        assert [engine.result(case) for case in plan.cases] == old
        assert engine.progress().calls == 0
    # Without a version nobody can tell whether the code was edited in between; the run says so when it resumes.
    assert {r.subject.get("reusable", True) for r in old} == {bool(version)}
