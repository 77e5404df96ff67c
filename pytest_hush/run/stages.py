"""The three cached stages of a case: context, reply, judgement. Each is a function of fields that are its cache key."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pytest_hush.errors import FatalModelError, HushError, UnreadableJudgement
from pytest_hush.model import Case, Context, Entry, History, Judgement, JudgeView, Prompt, Reply
from pytest_hush.protocols import Assistant, Judge, Memory
from pytest_hush.run.asking import Asking
from pytest_hush.run.flight import Flight
from pytest_hush.run.guard import Desk, Guard
from pytest_hush.run.pool import DaemonPool, call
from pytest_hush.run.provenance import judge_name, keepable, whole_settings
from pytest_hush.run.wording import unicode_text
from pytest_hush.store import Cache, cache_key
from pytest_hush.store.codec import (
    MALFORMED,
    context_from_json,
    context_to_json,
    judgement_from_json,
    judgement_to_json,
    reply_from_json,
    reply_to_json,
)

_T = TypeVar("_T")


class Stages:
    """Runs a stage at most once per key in this process, and keeps what may be kept in the cache."""

    def __init__(
        self, desk: Desk, cache: Cache | None, pack_hash: str, *, workers: int, in_flight: int, explain: bool
    ) -> None:
        self._desk = desk
        self._cache = cache
        self._pack_hash = pack_hash
        self._explain = explain
        self._rooms = DaemonPool(workers, "hush-room")
        self._contexts: Flight[Context] = Flight(256)
        self._replies: Flight[Reply] = Flight(4096)
        self._judgements: Flight[Judgement] = Flight(4096)
        self._async_width = in_flight
        self._fingerprints: dict[int, tuple[History, str]] = {}
        self._semaphores: dict[object, asyncio.Semaphore] = {}
        self._asking = Asking(desk, self._rooms)

    async def context(
        self, case: Case, memory: Memory, history: History, question: str, slot: str, *, inner: bool = False
    ) -> Context:
        """What `memory` gives for `question` on `history`. Raises what the memory raises, `TransientError` retried.

        `inner`: `memory` is what stands behind the condition's own memory.
        """
        name = f"memory {getattr(memory, 'name', case.condition.name)}"
        fields = {
            "memory": str(getattr(memory, "name", "")),
            "version": str(getattr(memory, "version", "")),
            "settings": whole_settings(memory),
            "condition": case.condition.memory,
            "inner": inner,
            "pack": self._pack_hash,
            "history": self.fingerprint(history),
            "planted": history.planted,
            "disclosure": None if history.disclosure is None else history.disclosure.id,
            "question": question,
        }

        permit = getattr(memory, "permit", None)

        async def make() -> Context:
            self._asking.raise_if_stopped(name)
            if permit is not None:
                # Permission gates: what stands behind them is asked once for all conditions, and kept on its own.
                behind: Any = memory
                own = replace(case, condition=case.condition.unguarded)
                retrieved = await self.context(own, behind.inner, behind.stored(history), question, slot)
                bounded = not isinstance(getattr(memory, "model", None), Guard)
                return _unicode(await self._asking.ask(name, permit, retrieved, history, question, bounded=bounded))
            # Two questions on one history at once would build its store twice; plain code may not be thread-safe.
            one, all_ = self._turns(memory, history)
            async with one, all_:
                self._asking.raise_if_stopped(name)
                # A memory's own model waits its turn, and its guard bounds it from there: a store takes many calls.
                bounded = not isinstance(getattr(memory, "model", None), Guard)
                found = await self._asking.ask(name, memory.context, history, question, bounded=bounded)
            if not isinstance(found, Context):
                raise HushError(f"{name}: gave {type(found).__name__}; expected a Context.")
            return _unicode(found)

        return await self._stage(
            "context", f"{case.condition.name}|{slot}", fields, keepable(memory), make, self._contexts,
            context_to_json, context_from_json, name,
        )  # fmt: skip

    async def reply(self, case: Case, guard: Guard, prompt: Prompt) -> Reply:
        """The generator's answer. Raises `ModelError` kinds and `BudgetError`."""
        fields: dict[str, Any] = {
            "model": guard.name,
            "version": str(getattr(guard.inner, "version", "") or ""),
            "settings": whole_settings(guard.inner),
            **prompt.request(),
        }
        if getattr(guard.inner, "demonstration", False):
            # Instruments such as the parrot read the entries as data, which the request does not show.
            fields["entries"] = [[e.id, e.text] for e in prompt.entries]
        return await self._stage(
            "reply", _slot(case), fields, keepable(guard.inner), lambda: guard.reply(prompt), self._replies,
            reply_to_json, reply_from_json, "",
        )  # fmt: skip

    async def answer(self, case: Case, guard: Guard, assistant: Assistant, history: History | None) -> Reply:
        """The closed assistant's answer after it was given `history` (None: no sessions)."""
        sessions = () if history is None else history.sessions
        ask: Any = getattr(assistant, "answer", None) or assistant  # a bare function will do
        fields = {
            "assistant": guard.name,
            "version": str(getattr(assistant, "version", "")),
            "settings": whole_settings(assistant),
            "history": None if history is None else self.fingerprint(history),
            "message": case.text,
            "repeat": case.repeat,
        }
        return await self._stage(
            "answer", _slot(case), fields, keepable(assistant),
            lambda: guard.ask(ask, sessions, case.text, cost_of=None), self._replies,
            reply_to_json, reply_from_json, "",
        )  # fmt: skip

    async def judgement(self, case: Case, judge: Judge, view: JudgeView, draw: int = 0) -> Judgement:
        """One judge's scores at one draw, checked to be in [0, 1].

        Raises `UnreadableJudgement` and `ModelError` kinds.
        """
        name = judge_name(judge)
        fields = {
            "judge": name,
            "version": str(getattr(judge, "version", "")),
            "rubric": str(getattr(judge, "rubric", "")),
            "policy": str(getattr(judge, "policy", "")),
            "view": view.as_json(),
            **({"draw": draw} if draw else {}),
        }

        async def make() -> Judgement:
            self._asking.raise_if_stopped(f"judge {name}")
            # A judge's own model waits its turn, and its guard bounds it from there.
            bounded = not isinstance(getattr(judge, "model", None), Guard)
            found = await self._asking.ask(f"judge {name}", judge.judge, view, bounded=bounded)
            return replace(_checked(found, name, invited=view.invited), judge=name, draw=draw)

        return await self._stage(
            "judgement", f"{name}|{_slot(case)}", fields, keepable(judge), make, self._judgements,
            judgement_to_json, lambda value: _checked(judgement_from_json(value), name, invited=view.invited),
            f"judge {name}",
        )  # fmt: skip

    def fingerprint(self, history: History) -> str:
        """`History.fingerprint`, computed once for each object: it hashes a whole dialogue."""
        known = self._fingerprints.get(id(history))
        if known is None:
            # The object is kept with it, so that its id stays its own.
            known = self._fingerprints[id(history)] = (history, history.fingerprint())
        return known[1]

    def close(self) -> None:
        self._rooms.shutdown()

    @property
    def stopped(self) -> Mapping[str, str]:
        """Memories and judges that are asked no more: their name -> why."""
        return self._asking.stopped

    @property
    def pool(self) -> DaemonPool:
        return self._rooms

    async def _stage(
        self,
        stage: str,
        slot: str,
        fields: Mapping[str, Any],
        keep: bool,
        make: Callable[[], Awaitable[_T]],
        flight: Flight[_T],
        dump: Callable[[_T], dict[str, Any]],
        load: Callable[[Mapping[str, Any]], _T],
        breaker: str,
    ) -> _T:
        cache = self._cache if keep else None

        async def work() -> _T:
            if cache is not None:
                known = await self._loaded(
                    cache, stage, fields, load, await call(self._desk.io, cache.get, stage, fields)
                )
                if known is not None:
                    self._desk.counters.cache_hits += 1
                    return known
                if self._explain:
                    differing = await call(self._desk.io, cache.explain, stage, slot, fields)
                    miss = (stage, ", ".join(differing))
                    self._desk.counters.misses[miss] = self._desk.counters.misses.get(miss, 0) + 1
            try:
                made = await make()
            except FatalModelError as error:
                if breaker:
                    self._asking.stopped.setdefault(breaker, str(error))
                raise
            try:
                value = dump(made)
                load(value)
            except MALFORMED as error:
                raise HushError(f"{breaker or slot}: gave a {stage} that cannot be kept: {error}.") from error
            if cache is None:
                return made
            put = await call(self._desk.io, cache.put, stage, slot, fields, value)
            stands = await self._loaded(cache, stage, fields, load, put)
            return made if stands is None else stands

        return await flight.run(cache_key(stage, fields), work)

    async def _loaded(
        self,
        cache: Cache,
        stage: str,
        fields: Mapping[str, Any],
        load: Callable[[Mapping[str, Any]], _T],
        value: Mapping[str, Any] | None,
    ) -> _T | None:
        """What `value` of the cache stands for; None, and the row is gone, where it is no value of this stage."""
        try:
            return None if value is None else load(value)
        except (*MALFORMED, UnreadableJudgement):
            await call(self._desk.io, cache.drop, stage, fields)
            return None

    def _turns(self, memory: Memory, history: History) -> tuple[asyncio.Semaphore, asyncio.Semaphore]:
        """One question at a time on one history; and of all histories 1 at a time in plain code, `in_flight` else."""
        default = self._async_width if inspect.iscoroutinefunction(memory.context) else 1
        width = int(getattr(memory, "in_flight", None) or default)
        one = self._semaphores.setdefault((id(memory), self.fingerprint(history)), asyncio.Semaphore(1))
        return one, self._semaphores.setdefault(id(memory), asyncio.Semaphore(width))


def _unicode(context: Context) -> Context:
    # A lone surrogate could be neither sent to a model nor hashed for a cache.
    texts = [e.text if isinstance(e, Entry) and isinstance(e.text, str) else "" for e in context.entries]
    if all(text == unicode_text(text) for text in texts):
        return context
    clean = tuple(replace(e, text=unicode_text(e.text)) for e in context.entries)
    return replace(
        context, entries=clean, notes=(*context.notes, "memory: characters that are no Unicode text were replaced")
    )


def _slot(case: Case) -> str:
    return f"{case.model}|{case.probe_id}|{int(case.invited)}|{case.repeat}"


def _checked(found: object, name: str, *, invited: bool) -> Judgement:
    if not isinstance(found, Judgement):
        raise UnreadableJudgement(f"judge {name}: gave {type(found).__name__}; expected a Judgement.")
    scores = [found.target_uptake, found.over_scope, found.helpfulness, *(() if found.v is None else (found.v,))]
    # `not (0 <= s <= 1)` is also true of a NaN.
    if any(not (0 <= s <= 1) for s in scores) or (found.v is None) is not invited:
        raise UnreadableJudgement(
            f"judge {name}: v {found.v!r}, target_uptake {found.target_uptake!r}, over_scope {found.over_scope!r}, "
            f"helpfulness {found.helpfulness!r}; expected numbers in [0, 1], and v None on invited turns only."
        )
    return found
