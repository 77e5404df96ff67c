from __future__ import annotations

import asyncio
import time

import pytest

from pytest_hush.errors import FatalModelError
from pytest_hush.run.limiter import Limiter


def test_starts_at_one_and_doubles_each_clean_round() -> None:
    limiter = Limiter(64)
    rounds = []
    while limiter.allowed < 64:
        rounds.append(int(limiter.allowed))
        for _ in range(int(limiter.allowed)):
            limiter.succeeded()
    assert rounds == [1, 2, 4, 8, 16, 32]
    limiter.succeeded()
    assert limiter.allowed == 64


def test_a_rate_limit_cuts_once_in_fifteen_seconds_then_grows_slowly() -> None:
    limiter = Limiter(100)
    while limiter.allowed < 100:
        limiter.succeeded()
    limiter.limited(None)
    limiter.limited(None)
    assert limiter.allowed == 80
    for _ in range(80):
        limiter.succeeded()
    assert limiter.allowed == pytest.approx(84)


def test_never_below_one() -> None:
    limiter = Limiter(5)
    limiter.limited(None)
    assert limiter.allowed == 1


def test_no_more_than_allowed_and_in_order() -> None:
    async def main() -> tuple[list[int], int]:
        limiter = Limiter(4)
        active = peak = 0
        order: list[int] = []

        async def one(n: int) -> None:
            nonlocal active, peak
            async with limiter.slot():
                order.append(n)
                active += 1
                peak = max(peak, active)
                await asyncio.sleep(0.001)
                active -= 1
            limiter.succeeded()

        await asyncio.gather(*(one(n) for n in range(40)))
        assert limiter.active == 0
        return order, peak

    order, peak = asyncio.run(main())
    assert order == list(range(40))
    assert peak == 4


def test_a_retry_after_holds_everybody() -> None:
    async def main() -> float:
        limiter = Limiter(4)
        limiter.limited(0.2)
        started = time.monotonic()
        async with limiter.slot():
            return time.monotonic() - started

    assert asyncio.run(main()) >= 0.2


def test_a_stopped_model_fails_those_who_wait_and_those_who_come() -> None:
    async def main() -> None:
        limiter = Limiter(4)
        async with limiter.slot():
            waiter = asyncio.create_task(_enter(limiter))
            await asyncio.sleep(0)
            limiter.stop(FatalModelError("401: the key is wrong", status=401))
            with pytest.raises(FatalModelError, match="the key is wrong"):
                await waiter
        with pytest.raises(FatalModelError, match="the key is wrong"):
            await _enter(limiter)
        assert limiter.active == 0

    asyncio.run(main())


def test_a_cancelled_waiter_gives_its_place_on() -> None:
    async def main() -> None:
        limiter = Limiter(1)
        async with limiter.slot():
            first = asyncio.create_task(_enter(limiter))
            second = asyncio.create_task(_enter(limiter))
            await asyncio.sleep(0)
            first.cancel()
        await asyncio.wait_for(second, 1)
        assert limiter.active == 0
        # Granted and cancelled in the same turn of the loop: the slot must come back.
        holder = limiter.slot()
        await holder.__aenter__()
        third = asyncio.create_task(_enter(limiter))
        await asyncio.sleep(0)
        await holder.__aexit__(None, None, None)
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)
        assert limiter.active == 0

    asyncio.run(main())


async def _enter(limiter: Limiter) -> None:
    async with limiter.slot():
        pass


def test_another_try_goes_before_those_who_had_no_turn() -> None:
    async def main() -> list[str]:
        limiter = Limiter(1)
        order: list[str] = []

        async def one(name: str, again: bool) -> None:
            async with limiter.slot(again=again):
                order.append(name)

        async with limiter.slot():
            tasks = [asyncio.create_task(one(n, n.startswith("again"))) for n in ("a", "b", "again 1", "again 2")]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(main()) == ["again 1", "again 2", "a", "b"]


def test_a_sleep_ends_when_the_model_is_stopped() -> None:
    async def main() -> float:
        limiter = Limiter(1)
        started = time.monotonic()
        sleeper = asyncio.create_task(limiter.sleep(30))
        await asyncio.sleep(0.01)
        limiter.stop(FatalModelError("gone"))
        await sleeper
        return time.monotonic() - started

    assert asyncio.run(main()) < 5
