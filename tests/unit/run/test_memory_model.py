"""A memory's own extraction model in a run: under its limits, retries and cost cap, and closed with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import FatalModelError, TransientError
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.model import Prompt, Reply, Usage
from pytest_hush.plan import Plan
from pytest_hush.run import Pipeline
from pytest_hush.store import Budget, Cache

from ..memories.stores.notebook import Notebook
from .standins import Scripted, memories_of, pipeline_of, plan_of
from .test_pipeline import measure

pytest.importorskip("openai", reason="openai is not installed (extra 'openai')")


class Extraction(Scripted):
    """Repeats a turn as its memory; counts what is in the air at once."""

    def __init__(self, hook: Callable[[int], None] = lambda number: None, **rest: Any) -> None:
        super().__init__("openai/extraction", self._extract, **rest)
        self._hook = hook

    def _extract(self, number: int, prompt: Prompt) -> str:
        self._hook(number)
        return json.dumps({"memory": prompt.messages[-1].content})


def run_of(tmp_path: Path, model: Any, generator: Any = None, **rest: Any) -> tuple[Plan, StoreMemory, Pipeline]:
    plan = plan_of("recall", personas=1)
    memory = StoreMemory(Notebook(name="recall"), tmp_path / "stores", model=model)
    return plan, memory, pipeline_of(plan, generator, memories=memories_of(plan, recall=memory), **rest)


def test_its_calls_are_the_runs_and_a_transient_failure_is_retried_where_it_happened(tmp_path: Path) -> None:
    def busy(number: int) -> None:
        if number in (2, 3, 9):
            raise TransientError("busy", status=429)

    model, generator = Extraction(busy, delay_s=0.001), Scripted()
    plan, memory, pipeline = run_of(tmp_path, model, generator)
    records = measure(pipeline, plan.cases)
    assert {r.status for r in records} == {"ok"}
    turns = sum(len(s.turns) for s in plan.pack.personas[0].sessions)
    plants = sum(len(d.turns) for d in plan.pack.disclosures)
    assert model.calls == turns + plants + 3, "no session is read again because one call failed"
    assert pipeline.counters.retries == 3
    assert pipeline.counters.calls == model.calls + generator.calls
    assert model.closed == 1
    assert memory.model is model, "another run in this process may hold the same memory"
    assert [p for p in tmp_path.rglob("forks/*") if p.is_dir()] == []


def test_a_second_run_finds_everything_in_the_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    model = Extraction()
    plan, _, pipeline = run_of(tmp_path, model, cache=cache)
    measure(pipeline, plan.cases)
    later = Extraction()
    plan, memory, pipeline = run_of(tmp_path, later, cache=cache)
    measure(pipeline, plan.cases)
    assert later.calls == 0
    assert memory.backend.log == []  # type: ignore[attr-defined]
    cache.close()


def test_a_dead_extraction_model_makes_errors_and_ends_that_memory(tmp_path: Path) -> None:
    def dead(number: int) -> None:
        raise FatalModelError("no such model", status=404)

    model = Extraction(dead)
    plan, _, pipeline = run_of(tmp_path, model)
    records = measure(pipeline, plan.cases)
    asked = [r for r in records if r.condition == "recall"]
    assert asked
    assert {r.status for r in asked} == {"error"}
    assert all("no such model" in r.error for r in asked)
    assert {r.status for r in records if r.condition == "none"} == {"ok"}
    assert model.calls == 1


def test_its_calls_count_for_the_cost_cap(tmp_path: Path) -> None:
    class Dear(Extraction):
        async def reply(self, prompt: Prompt) -> Reply:
            answer = await super().reply(prompt)
            return Reply(answer.text, usage=Usage(10, 5, 0.30))

    from dataclasses import replace

    from pytest_hush.run.rooms import built_in

    rooms = replace(built_in(), max_price=lambda model, prompt: 0.30 if isinstance(model, Dear) else 0.0001)
    model = Dear()
    plan, _, pipeline = run_of(tmp_path, model, budget=Budget(tmp_path / "b", 1.0), rooms=rooms)
    records = measure(pipeline, plan.cases)
    assert model.calls == 3
    assert all("--hush-max-cost" in r.error for r in records if r.condition == "recall")
    assert {r.status for r in records if r.condition == "none"} == {"ok"}


def test_a_store_that_takes_longer_than_one_calls_deadline_is_built(tmp_path: Path) -> None:
    """The deadline is for one call of the model; a store takes as many as it has sessions."""
    from pytest_hush.run import RetryPolicy, RunOptions

    model = Extraction(delay_s=0.05)
    policy = RetryPolicy(deadline_s=0.2, first_s=0.001, jitter_s=0.001)
    plan, _, pipeline = run_of(tmp_path, model, options=RunOptions(policy=policy))

    async def one() -> None:
        case = next(c for c in plan.cases if c.condition.name == "recall")
        record = await pipeline.run(case)
        assert (record.status, record.error) == ("ok", "")
        await pipeline.aclose()

    asyncio.run(one())
    assert model.calls * 0.05 > 0.25
