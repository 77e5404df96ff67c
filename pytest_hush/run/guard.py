"""A model as the run calls it: limited, retried, priced, counted, and stopped when it is dead."""

from __future__ import annotations

import asyncio
import copy
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from pytest_hush.errors import BudgetError, FatalModelError, TransientError
from pytest_hush.model import Prompt, Reply
from pytest_hush.run.limiter import Limiter
from pytest_hush.run.pool import DaemonPool, call
from pytest_hush.run.reply import checked_reply
from pytest_hush.run.retry import Clock, RetryPolicy, reason, retrying, waiting_line
from pytest_hush.run.silence import Silence
from pytest_hush.store import Budget

_BUDGET_POLL_S: Final = 0.1
_T = TypeVar("_T")


@dataclass(slots=True)
class Counters:
    """What a run did so far; only the loop's thread writes. `cost_usd` counts this run's own calls."""

    calls: int = 0
    retries: int = 0
    cache_hits: int = 0
    in_flight: int = 0
    cost_usd: float = 0.0
    waiting: dict[str, str] = field(default_factory=dict)
    misses: dict[tuple[str, str], int] = field(default_factory=dict)
    """(stage, differing fields) -> how often, when misses are explained."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What all guards of a run share: the policy, the money, the counters and the threads."""

    policy: RetryPolicy
    counters: Counters
    models: DaemonPool
    io: DaemonPool
    budget: Budget | None
    price: Callable[[object, Any], float | None]
    max_price: Callable[[object, Prompt], float | None]

    @classmethod
    def create(
        cls,
        in_flight: int,
        policy: RetryPolicy,
        budget: Budget | None,
        price: Callable[[object, Any], float | None],
        max_price: Callable[[object, Prompt], float | None],
    ) -> Desk:
        return cls(
            policy,
            Counters(),
            DaemonPool(max(4, in_flight), "hush-model"),
            DaemonPool(1, "hush-io"),
            budget,
            price,
            max_price,
        )


class Guard:
    """Wraps a model; is itself one (`reply` is a coroutine function). Attributes not found here are the model's."""

    def __init__(self, inner: Any, name: str, desk: Desk, limit: int) -> None:
        self.inner = inner
        self.name = name
        self._desk = desk
        own = getattr(inner, "in_flight", None)
        self.limiter = Limiter(min(limit, int(own)) if own else limit)
        self._budget_error = ""
        self._silence = Silence(desk.policy.deadline_s, self._give_up)
        self._scopes: set[asyncio.Timeout] = set()
        self._last_failure = ""

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self.inner, attribute)
        if attribute == "reply_json":
            # The judges' structured form of `reply`: it must not slip past the limits.
            async def reply_json(prompt: Prompt, *rest: Any) -> Reply:
                return await self.ask(found, prompt, *rest, cost_of=prompt)

            return reply_json
        return found

    @property
    def stopped(self) -> str:
        """Why this model makes no other call, or ''."""
        return self._budget_error or str(self.limiter.stopped or "")

    def raise_if_stopped(self) -> None:
        """Raise what the next call would raise without being made, if so."""
        if self._budget_error:
            raise BudgetError(self._budget_error)
        self.limiter.raise_if_stopped()

    async def reply(self, prompt: Prompt) -> Reply:
        """Answer one prompt. Raises `ModelError` kinds other than `TransientError`, and `BudgetError`."""
        return await self.ask(self.inner.reply, prompt, cost_of=prompt)

    async def ask(self, fn: Callable[..., Any], *args: Any, cost_of: Prompt | None) -> Reply:
        """Call `fn(*args)`, which gives a `Reply` or its text, under the limits of this model."""
        counters = self._desk.counters
        self.raise_if_stopped()

        def on_wait(error: TransientError, seconds: float) -> None:
            counters.retries += 1
            counters.waiting[self.name] = waiting_line(self.name, error, seconds)

        tries = itertools.count()
        self._silence.begin()
        try:
            reply, attempts = await retrying(
                lambda clock: self._attempt(clock, fn, args, cost_of, again=next(tries) > 0),
                self._desk.policy,
                what=self.name,
                on_wait=on_wait,
                sleep=self.limiter.sleep,
            )
        except BudgetError as error:
            self._budget_error = str(error)
            raise
        except FatalModelError as error:
            self.limiter.stop(error)
            raise
        finally:
            self._silence.end()
        counters.waiting.pop(self.name, None)
        return replace(reply, attempts=attempts)

    async def _attempt(
        self, clock: Clock, fn: Callable[..., Any], args: tuple[Any, ...], cost_of: Prompt | None, *, again: bool
    ) -> Reply:
        counters = self._desk.counters
        clock.pause()
        async with self.limiter.slot(again=again):
            token = await self._reserve(cost_of)
            clock.resume()
            counters.calls += 1
            counters.in_flight += 1
            self._silence.attempted()
            started = time.monotonic()
            actual: float | None = 0.0
            try:
                answer = await self._answer(call(self._desk.models, fn, *args, limit_s=clock.left(self._desk.policy)))
                actual = None  # it may be paid, also where it is not usable
                reply = self._checked(answer, time.monotonic() - started)
                actual = reply.usage.cost_usd
                counters.cost_usd += actual or 0.0
                self.limiter.succeeded()
                self._silence.answered()
                return reply
            except TransientError as error:
                # Without a status the request may have been served, and paid, though no answer came back.
                actual = None if error.status is None else 0.0
                self._last_failure = reason(error)
                if error.status == 429:
                    self.limiter.limited(error.retry_after)
                raise
            except asyncio.CancelledError:
                actual = None
                raise
            except Exception:
                # The server, or the user's code, works: it refused this one.
                self._silence.answered()
                raise
            finally:
                counters.in_flight -= 1
                if token is not None and self._desk.budget is not None:
                    self._desk.io.submit(self._desk.budget.settle, token, actual)

    async def _answer(self, answer: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(None) as scope:
                self._scopes.add(scope)
                try:
                    return await answer
                finally:
                    self._scopes.discard(scope)
        except TimeoutError as error:
            if scope.expired():
                self.raise_if_stopped()
            raise TransientError(f"timed out: {error}".rstrip(": ")) from error

    def _checked(self, answer: Any, latency: float) -> Reply:
        reply = checked_reply(answer, self.name)
        changes: dict[str, Any] = {}
        if not reply.latency_s:
            changes["latency_s"] = latency
        if reply.usage.cost_usd is None:
            cost = self._desk.price(self.inner, reply.usage)
            if cost is not None:
                changes["usage"] = replace(reply.usage, cost_usd=cost)
        return replace(reply, **changes) if changes else reply

    async def _reserve(self, cost_of: Prompt | None) -> int | None:
        budget = self._desk.budget
        if budget is None:
            return None
        most = None if cost_of is None else self._desk.max_price(self.inner, cost_of)
        if most is None:
            raise BudgetError(
                f"{self.name}: the price of this model is not known, so --hush-max-cost cannot be kept. "
                f"No call was made. Leave the option out, or measure a model whose price is known."
            )
        while (token := await call(self._desk.io, budget.try_reserve, most)) is None:
            await asyncio.sleep(_BUDGET_POLL_S)
        return token

    def _give_up(self, seconds: float, attempts: int) -> None:
        # Else every case would wait for a dead server until a deadline of its own, one after the other.
        if not attempts and not self.limiter.holding:
            return  # nothing was asked: the calls wait for money that others hold
        why = f"; last: {self._last_failure}" if self._last_failure else ""
        held = ", and the server asked to wait longer" if self.limiter.holding else ""
        count = f"{attempts} attempt{'s' if attempts != 1 else ''}"
        self.limiter.stop(
            FatalModelError(
                f"{self.name}: no answer for {seconds:.0f} s, {count}{why}{held}; "
                f"this model is stopped at the deadline of {self._desk.policy.deadline_s:g} s (--hush-deadline)."
            )
        )
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            scope.reschedule(now)


def under_guard(thing: _T, role: str, desk: Desk, limit: int, twins: dict[int, Any]) -> _T:
    """A judge or memory, or a copy whose own model is under the limits, retries and cap of the run.

    A copy, since another run in this process, with another loop, may hold the same one. `twins` holds the copies
    made so far: what stands under two names stays one thing.
    """
    known: _T | None = twins.get(id(thing))
    if known is not None:
        return known
    inner = getattr(thing, "model", None)
    asks = callable(getattr(inner, "reply", None))
    # Behind permission gates stands the memory that extracts.
    behind = getattr(thing, "inner", None) if callable(getattr(thing, "permit", None)) else None
    limited = None if behind is None else under_guard(behind, role, desk, limit, twins)
    if not asks and limited is behind:
        return thing
    twin = copy.copy(thing)
    if asks:
        name = f"{role} {getattr(inner, 'name', type(inner).__name__)}"
        object.__setattr__(twin, "model", Guard(inner, name, desk, limit))  # also where it is frozen
    if limited is not behind:
        object.__setattr__(twin, "inner", limited)
    twins[id(thing)] = twin
    return twin
