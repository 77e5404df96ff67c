"""The one retry layer: exponential backoff with jitter, the server's Retry-After, a deadline with a reason.

It stands on tenacity, the library under stamina, and not on stamina itself: stamina's switches
(`set_active`, `set_testing`) are global to the process, which here belongs to the user's own test suite.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from pytest_hush.errors import ModelError, TransientError
from pytest_hush.run.wording import said

_T = TypeVar("_T")
_JITTER = random.Random()
"""Of its own, so that a test suite that seeds the global one neither steers nor is steered by it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`deadline_s` bounds one call with all its retries, in seconds; `attempts` None: only the deadline does.

    The wait before attempt n + 1 is min(`longest_s`, `first_s` * 2^(n-1)) plus up to `jitter_s`, and never shorter
    than what the server asked for. ``attempts=1`` switches retries off.
    """

    deadline_s: float = 600.0
    attempts: int | None = None
    first_s: float = 0.5
    longest_s: float = 30.0
    jitter_s: float = 1.0

    def backoff(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt` (from 1), jitter included."""
        return min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 60)) + _JITTER.uniform(0, self.jitter_s)


class Clock:
    """Seconds that a call has taken, without those it waited for its turn (`pause` / `resume`)."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._waited = 0.0
        self._paused: float | None = None

    def pause(self) -> None:
        self._paused = time.monotonic()

    def resume(self) -> None:
        if self._paused is not None:
            self._waited += time.monotonic() - self._paused
            self._paused = None

    def left(self, policy: RetryPolicy) -> float:
        """Seconds until the deadline of `policy`, never quite 0."""
        return max(0.001, policy.deadline_s - self.elapsed())

    def elapsed(self) -> float:
        return (self._paused or time.monotonic()) - self._started - self._waited


async def retrying(
    call: Callable[[Clock], Awaitable[_T]],
    policy: RetryPolicy,
    *,
    what: str,
    on_wait: Callable[[TransientError, float], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> tuple[_T, int]:
    """Await `call` until it succeeds; returns its value and the number of attempts.

    Only `TransientError` is retried. When the deadline or the number of attempts ends it, raises `ModelError` (not
    a kind that is retried) that says for how long, how often and why. `what` names the callee. `on_wait` is told
    of every error that will be retried and the seconds until then; `sleep` waits for them.
    """
    clock = Clock()
    attempts = 0

    def wait(state: RetryCallState) -> float:
        return max(policy.backoff(state.attempt_number), _asked(state) or 0.0)

    def stop(state: RetryCallState) -> bool:
        if policy.attempts is not None and state.attempt_number >= policy.attempts:
            return True
        return clock.elapsed() + state.upcoming_sleep >= policy.deadline_s

    def before_sleep(state: RetryCallState) -> None:
        error = _error(state)
        if on_wait is not None and isinstance(error, TransientError):
            on_wait(error, state.upcoming_sleep)

    retries = AsyncRetrying(
        retry=retry_if_exception_type(TransientError),
        wait=wait,
        stop=stop,
        before_sleep=before_sleep,
        sleep=sleep,
        reraise=True,
    )
    try:
        async for attempt in retries:
            with attempt:
                attempts += 1
                return await call(clock), attempts
    except TransientError as error:
        raise given_up(error, what, clock.elapsed(), attempts, policy) from error
    except ModelError as error:
        error.attempts = attempts
        raise
    raise AssertionError("unreachable")


def reason(error: ModelError) -> str:
    """``429 Too Many Requests``, or the error's own text where there was no status."""
    if error.status is None:
        return str(error)
    try:
        return f"{error.status} {HTTPStatus(error.status).phrase}"
    except ValueError:
        return str(error.status)


def waiting_line(what: str, error: ModelError, seconds: float) -> str:
    """What the progress line says of a call that is held back."""
    return f"{what}: {said(reason(error))[:80]}, next try in {seconds:.0f} s"


def given_up(error: TransientError, what: str, seconds: float, attempts: int, policy: RetryPolicy) -> ModelError:
    """The error that ends the retries: what, for how long, how often, and which limit ended it."""
    count = f"{attempts} attempt{'s' if attempts != 1 else ''}"
    if policy.attempts is not None and attempts >= policy.attempts:
        limit = f"given up after {policy.attempts}"
    else:
        limit = f"given up at the deadline of {policy.deadline_s:g} s (--hush-deadline)"
        if error.retry_after is not None and seconds + error.retry_after >= policy.deadline_s:
            limit += f", since the server asked to wait {error.retry_after:.0f} s more"
    detail = "" if error.status is None else f" Last answer: {error}"
    return ModelError(
        f"{what}: {reason(error)} for {seconds:.0f} s, {count}; {limit}.{detail}",
        status=error.status,
        attempts=attempts,
    )


def _error(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()


def _asked(state: RetryCallState) -> float | None:
    error = _error(state)
    return error.retry_after if isinstance(error, TransientError) else None
