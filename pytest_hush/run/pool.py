"""A thread pool whose threads do not keep the process alive: a local model in mid-sentence cannot be interrupted."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar, cast

from pytest_hush.errors import HushError, TransientError
from pytest_hush.run.wording import error_text

_T = TypeVar("_T")


class DaemonPool(Executor):
    """Up to `size` daemon threads, started as needed. ThreadPoolExecutor joins its threads at exit; this does not."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._started = 0
        self._idle = 0
        self._closed = False
        self._given_up: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        future: Future[_T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            with self._lock:
                if future in self._given_up:
                    # Its place was given to another thread: this one ends after the work.
                    self._given_up.discard(future)
                    self._queue.put(None)

        with self._lock:
            if self._closed:
                raise RuntimeError(f"the pool {self._name} is closed")
            if self._idle:
                self._idle -= 1
            elif self._threads < self._size:
                self._start()
            self._queue.put(work)
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Nobody waits for `future` any more; where its thread is in the middle of it, another takes that place."""
        if future.cancel():
            return
        with self._lock:
            if not future.done() and not self._closed:
                self._given_up.add(future)
                self._start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Take no more work and let idle threads end. Never waits for running work, whatever `wait` says."""
        with self._lock:
            self._closed = True
            for _ in range(self._started):
                self._queue.put(None)

    def _start(self) -> None:
        self._started += 1
        self._threads += 1
        threading.Thread(target=self._serve, name=f"{self._name}-{self._started}", daemon=True).start()

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # else the last result lives as long as the thread waits
            with self._lock:
                if self._queue.empty():
                    self._idle += 1
        with self._lock:
            self._threads -= 1


async def call(pool: DaemonPool, fn: Callable[..., _T | Awaitable[_T]], *args: Any, limit_s: float | None = None) -> _T:
    """Await `fn(*args)`: a coroutine function on the running loop, a plain one in `pool`.

    A plain function that returns an awaitable after all has it awaited on the loop. `limit_s` bounds it in seconds
    from its start: `TransientError` ("no answer") when it passes; a thread is then left to itself. What would end a
    loop or a process (`sys.exit()`, KeyboardInterrupt) ends only this call, as a `HushError`.
    """
    if inspect.iscoroutinefunction(fn):
        return cast(_T, await _within(limit_s, _contained(fn(*args))))
    loop = asyncio.get_running_loop()
    started = asyncio.Event()

    def work() -> _T | Awaitable[_T]:
        loop.call_soon_threadsafe(started.set)
        try:
            return fn(*args)
        except BaseException as error:
            # An asyncio future cannot hold a StopIteration: its waiter would wait for ever.
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                raise
            raise _ended(error) from error

    future = pool.submit(work)
    try:
        await started.wait()
        result = await _within(limit_s, asyncio.wrap_future(future))
    except BaseException:
        if not future.done():
            pool.give_up(future)
        raise
    return cast(_T, await _within(limit_s, _contained(result)) if inspect.isawaitable(result) else result)


async def _within(limit_s: float | None, answer: Awaitable[_T]) -> _T:
    try:
        async with asyncio.timeout(limit_s) as scope:
            return await answer
    except TimeoutError as error:
        if scope.expired():
            raise TransientError("no answer") from error
        raise


async def _contained(answer: Awaitable[_T]) -> _T:
    try:
        return await answer
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        # A cancellation that nobody asked for comes from the code that was called, as any other error of it.
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
            raise
        raise _ended(error) from error


def _ended(error: BaseException) -> HushError:
    return HushError(f"the code that was called raised {error_text(error)}; the run goes on, this case has no score.")
