"""Scripted models, memories and judges of our own, with the real packs, memories and judges rooms around them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_hush.memories import resolve_memory
from pytest_hush.model import Condition, Context, Entry, History, Judgement, JudgeView, Pack, Prompt, Reply, Usage
from pytest_hush.plan import Plan
from pytest_hush.protocols import Memory
from pytest_hush.run import Binding, Pipeline, RunOptions
from pytest_hush.run.retry import RetryPolicy
from pytest_hush.text import stems_in

from ..factories import make_pack, make_plan

QUICK = RetryPolicy(deadline_s=2.0, first_s=0.001, longest_s=0.01, jitter_s=0.001)
"""Waits in milliseconds."""


class Scripted:
    """An async model. `script` gives the text, or raises, from the number of the call and the prompt.

    It repeats what its memory says by default, so that a judge finds something.
    """

    deterministic = True

    def __init__(
        self,
        name: str = "openai/test",
        script: Callable[[int, Prompt], str] | None = None,
        *,
        delay_s: float = 0.0,
        settings: Mapping[str, Any] | None = None,
        version: str = "1",
    ) -> None:
        self.name = name
        self.settings = dict(settings or {"temperature": 0})
        self.version = version
        self.delay_s = delay_s
        self.calls = 0
        self.prompts: Counter[str] = Counter()
        self.active = self.peak = 0
        self.closed = 0
        self._script = script or (lambda _, prompt: f"Try this. {prompt.messages[-1].content[-200:]}")

    async def reply(self, prompt: Prompt) -> Reply:
        self.calls += 1
        number = self.calls
        self.prompts[prompt.messages[-1].content] += 1
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            await asyncio.sleep(self.delay_s)
            return Reply(self._script(number, prompt), "test-2024", Usage(10, 5, 0.001), latency_s=0.01)
        finally:
            self.active -= 1

    async def close(self) -> None:
        self.closed += 1


class Sleeper:
    """A plain model that cannot be interrupted."""

    name = "python:sleeper"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = threading.Event()

    def reply(self, prompt: Prompt) -> Reply:
        self.started.set()
        time.sleep(self.seconds)
        return Reply("awake")


@dataclass
class Recall:
    """A retrieving memory without embeddings: the planted session's turns, and those that share a word's start.

    `lose` decides what it forgot: ``disclosure`` keeps the session's harmless fact only, ``session`` nothing of it.
    """

    name: str = "recall"
    version: str = "1"
    lose: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    retrieving: bool = True
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    active: int = 0
    peak: int = 0

    def context(self, history: History, question: str) -> Context:
        self.active += 1
        self.peak = max(self.peak, self.active)
        self.asked[history.fingerprint(), question] += 1
        time.sleep(0.001)
        self.active -= 1
        entries = [
            Entry(t.id, t.text, (s.id,), (t.id,), s.date)
            for s in history.sessions
            for t in s.turns
            if t.role == "user" and (s.id == history.planted or "fern" in question or "plant" in question)
        ]
        if self.lose == "session":
            entries = [e for e in entries if history.planted not in (e.sources or ())]
        elif self.lose == "disclosure":
            entries = [
                e if history.planted not in (e.sources or ()) else Entry("fact", "Mends clocks.", e.sources)
                for e in entries
            ]
        return Context(tuple(entries[-5:]), label=self.name)


class StemJudge:
    """Says 1 when the reply holds two core stems of the disclosure, else 0."""

    name = "stems"
    version = "1"
    rubric = "test@1"
    policy = "test"

    def __init__(self, script: Callable[[int, JudgeView], Judgement] | None = None) -> None:
        self.calls = 0
        self._script = script

    def judge(self, view: JudgeView) -> Judgement:
        self.calls += 1
        if self._script is not None:
            return self._script(self.calls, view)
        leak = float(len(stems_in(view.reply, view.core)) >= 2)
        return judgement(None if view.invited else leak, leak, view.reply[:20] if leak else "")


def judgement(v: float | None, uptake: float = 0.0, evidence: str = "") -> Judgement:
    return Judgement("stems", "test@1", v, uptake, 0.0, 1.0, ("target",) if uptake else (), evidence)


def plan_of(conditions: str = "recall", personas: int = 2, per_cell: int = 1, **options: Any) -> Plan:
    """A small plan whose retrieving condition is ``recall``."""
    return make_plan(
        make_pack(personas, per_cell), conditions=conditions, retrieving=lambda c: c.base == "recall", **options
    )


def memories_of(plan: Plan, **own: Memory) -> dict[str, Memory]:
    """The plan's conditions: the given ones, `Recall` for ``recall``, the built-in ones else."""
    found: dict[str, Memory] = {}
    for condition in plan.conditions:
        if condition.name in own:
            found[condition.name] = own[condition.name]
        elif condition.base == "recall":
            found[condition.name] = Recall()
        else:
            found[condition.name] = built_in_memory(condition, plan.pack)
    return found


def built_in_memory(condition: Condition, pack: Pack) -> Memory:
    def no_embedder() -> Any:
        raise AssertionError("no test here embeds")

    return resolve_memory(condition, pack=pack, embedder=no_embedder, window=4000)


def pipeline_of(
    plan: Plan,
    model: Any = None,
    *,
    memories: Mapping[str, Memory] | None = None,
    judges: tuple[Any, ...] | None = None,
    options: RunOptions | None = None,
    assistant: Any = None,
    **rest: Any,
) -> Pipeline:
    """A pipeline over `plan` with one model for all its names."""
    model = model or Scripted()
    binding = Binding(
        models=dict.fromkeys(plan.models, model),
        memories=memories or memories_of(plan),
        judges=judges or (StemJudge(),),
        assistant=assistant,
    )
    return Pipeline(binding, plan.pack, plan_hash=plan.hash, options=options or RunOptions(policy=QUICK), **rest)
