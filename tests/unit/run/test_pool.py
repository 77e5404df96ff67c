from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable
from pathlib import Path

import pytest

from pytest_hush.errors import HushError, TransientError
from pytest_hush.run.flight import Flight
from pytest_hush.run.pool import DaemonPool, call


def test_work_is_done_on_few_daemon_threads() -> None:
    pool = DaemonPool(3, "test")
    names: set[str] = set()

    def work(n: int) -> int:
        assert threading.current_thread().daemon
        names.add(threading.current_thread().name)
        time.sleep(0.002)
        return n * n

    assert [f.result() for f in [pool.submit(work, n) for n in range(50)]] == [n * n for n in range(50)]
    assert len(names) == 3
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(work, 1)


def test_one_thread_serves_work_that_comes_one_by_one() -> None:
    pool = DaemonPool(8, "test")
    names = set()
    for _ in range(20):
        names.add(pool.submit(lambda: threading.current_thread().name).result())
        time.sleep(0.002)
    pool.shutdown()
    assert len(names) <= 2


def test_an_exception_comes_back() -> None:
    pool = DaemonPool(1, "test")
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result()
    pool.shutdown()


def test_a_sleeping_thread_does_not_hold_up_the_process() -> None:
    code = (
        "import time; from pytest_hush.run.pool import DaemonPool;"
        "pool = DaemonPool(2, 'x'); pool.submit(time.sleep, 60); time.sleep(0.1)"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20, cwd=root)


def test_plain_and_async_functions_are_called_alike() -> None:
    async def coroutine(x: int) -> str:
        return f"{x} on {threading.current_thread().name}"

    def disguised(x: int) -> Awaitable[str]:
        return coroutine(x)

    def plain(x: int) -> str:
        return f"{x} on {threading.current_thread().name}"

    async def main() -> list[str]:
        pool = DaemonPool(1, "pool")
        found = [await call(pool, fn, 1) for fn in (coroutine, disguised, plain)]
        pool.shutdown()
        return found

    assert asyncio.run(main()) == ["1 on MainThread", "1 on MainThread", "1 on pool-1"]


def test_one_key_is_worked_on_once() -> None:
    async def main() -> None:
        flight: Flight[int] = Flight(2)
        calls: list[str] = []

        async def work(key: str) -> int:
            calls.append(key)
            await asyncio.sleep(0.01)
            if key == "bad":
                raise ValueError(key)
            return len(calls)

        assert await asyncio.gather(*(flight.run("a", lambda: work("a")) for _ in range(5))) == [1] * 5
        assert await flight.run("a", lambda: work("a")) == 1
        outcomes = await asyncio.gather(
            *(flight.run("bad", lambda: work("bad")) for _ in range(3)), return_exceptions=True
        )
        assert [type(o) for o in outcomes] == [ValueError] * 3
        with pytest.raises(ValueError, match="bad"):
            await flight.run("bad", lambda: work("bad"))
        assert calls == ["a", "bad", "bad"]
        for key in "bcd":
            await flight.run(key, lambda key=key: work(key))  # type: ignore[misc]
        await flight.run("b", lambda: work("b"))
        assert calls.count("b") == 2  # two are remembered, this was the third

    asyncio.run(main())


def test_a_cancelled_waiter_does_not_take_the_work_from_others() -> None:
    async def main() -> None:
        flight: Flight[str] = Flight(2)

        async def work() -> str:
            await asyncio.sleep(0.02)
            return "done"

        first = asyncio.create_task(flight.run("a", work))
        second = asyncio.create_task(flight.run("a", work))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "done"

    asyncio.run(main())


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, asyncio.CancelledError])
def test_what_would_end_a_loop_ends_only_the_call(kind: type[BaseException]) -> None:
    def plain() -> None:
        raise kind("enough")

    async def coroutine() -> None:
        raise SystemExit("enough") if kind is StopIteration else kind("enough")

    async def main() -> None:
        pool = DaemonPool(1, "pool")
        for fn in (plain, coroutine):
            with pytest.raises(HushError, match=r"that was called raised .*: enough"):
                await asyncio.wait_for(call(pool, fn), 5)
        assert await call(pool, lambda: "alive") == "alive"
        pool.shutdown()

    asyncio.run(main())


def test_a_limit_ends_the_wait_and_the_thread_is_replaced() -> None:
    gate = threading.Event()

    async def main() -> None:
        pool = DaemonPool(1, "pool")
        for _ in range(2):
            with pytest.raises(TransientError, match="no answer"):
                await call(pool, gate.wait, limit_s=0.05)
        assert await asyncio.wait_for(call(pool, lambda: "alive"), 5) == "alive"
        gate.set()
        await asyncio.sleep(0.1)
        assert pool._threads == 1
        with pytest.raises(TransientError, match="no answer"):
            await call(pool, asyncio.sleep, 5, limit_s=0.05)
        pool.shutdown()

    asyncio.run(main())


def test_waiting_for_a_thread_does_not_count_against_the_limit() -> None:
    async def main() -> None:
        pool = DaemonPool(1, "pool")
        await asyncio.gather(*(call(pool, time.sleep, 0.1, limit_s=0.3) for _ in range(6)))
        pool.shutdown()

    asyncio.run(main())
