from __future__ import annotations

import asyncio
import time
from typing import NoReturn

import pytest

from pytest_hush.errors import FatalModelError, ModelError, RefusedCallError, TransientError
from pytest_hush.run.retry import Clock, RetryPolicy, retrying

from .standins import QUICK


def failing(times: int, error: Exception) -> tuple[list[float], object]:
    calls: list[float] = []

    async def call(_: Clock) -> str:
        calls.append(time.monotonic())
        if len(calls) <= times:
            raise error
        return "done"

    return calls, call


def run(call: object, policy: RetryPolicy = QUICK, **rest: object) -> tuple[str, int]:
    return asyncio.run(retrying(call, policy, what="openai/x", **rest))  # type: ignore[arg-type]


def test_transient_errors_are_retried_and_counted() -> None:
    calls, call = failing(3, TransientError("busy", status=503))
    waits: list[float] = []
    assert run(call, on_wait=lambda error, seconds: waits.append(seconds)) == ("done", 4)
    assert len(calls) == 4
    assert len(waits) == 3


def test_the_wait_is_never_shorter_than_the_server_asked() -> None:
    calls, call = failing(1, TransientError("busy", status=429, retry_after=0.3))
    run(call)
    assert calls[1] - calls[0] >= 0.3


@pytest.mark.parametrize("error", [FatalModelError("401", status=401), RefusedCallError("400"), ValueError("bug")])
def test_other_errors_are_not_retried(error: Exception) -> None:
    calls, call = failing(9, error)
    with pytest.raises(type(error)):
        run(call)
    assert len(calls) == 1


def test_the_deadline_says_why() -> None:
    calls, call = failing(10**6, TransientError("slow down, please", status=429))
    policy = RetryPolicy(deadline_s=0.3, first_s=0.01, longest_s=0.05, jitter_s=0.0)
    with pytest.raises(ModelError) as caught:
        run(call, policy)
    text = str(caught.value)
    assert not isinstance(caught.value, TransientError)
    assert f"openai/x: 429 Too Many Requests for 0 s, {len(calls)} attempts; given up at the deadline of 0.3 s" in text
    assert "Last answer: slow down, please" in text
    assert (caught.value.status, caught.value.attempts) == (429, len(calls))
    assert 3 < len(calls) < 30


def test_a_server_that_asks_for_more_than_is_left_is_not_waited_for() -> None:
    calls, call = failing(9, TransientError("busy", status=429, retry_after=3600))
    started = time.monotonic()
    with pytest.raises(ModelError, match="asked to wait 3600 s more"):
        run(call)
    assert time.monotonic() - started < 1
    assert len(calls) == 1


def test_zero_retry_mode() -> None:
    calls, call = failing(9, TransientError("connection lost"))
    with pytest.raises(ModelError, match="connection lost for 0 s, 1 attempt; given up after 1"):
        run(call, RetryPolicy(attempts=1))
    assert len(calls) == 1


def test_switches_of_the_users_own_suite_do_not_reach_it() -> None:
    stamina = pytest.importorskip("stamina")
    calls, call = failing(2, TransientError("busy"))
    with stamina.set_testing(True, attempts=1):
        stamina.set_active(False)
        try:
            assert run(call)[1] == 3
        finally:
            stamina.set_active(True)
    assert len(calls) == 3


def test_waiting_for_a_turn_does_not_count_against_the_deadline() -> None:
    async def call(clock: Clock) -> NoReturn:
        clock.pause()
        await asyncio.sleep(0.2)
        clock.resume()
        raise TransientError("busy")

    calls = 0

    async def counted(clock: Clock) -> None:
        nonlocal calls
        calls += 1
        await call(clock)

    with pytest.raises(ModelError):
        run(counted, RetryPolicy(deadline_s=0.1, first_s=0.01, longest_s=0.02, jitter_s=0.0))
    assert calls > 2


def test_the_backoff_grows_to_its_limit() -> None:
    policy = RetryPolicy(first_s=0.5, longest_s=30.0, jitter_s=0.0)
    assert [policy.backoff(n) for n in (1, 2, 3, 7, 10_000)] == [0.5, 1.0, 2.0, 30.0, 30.0]
    assert 0.5 <= RetryPolicy(jitter_s=1.0).backoff(1) <= 1.5
