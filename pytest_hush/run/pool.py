"""A thread pool whose threads do not keep the process alive: a local model in mid-sentence cannot be interrupted."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


class DaemonPool(Executor):
    """Up to `size` daemon threads, started as needed. ThreadPoolExecutor joins its threads at exit; this does not."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._closed = False

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
            if self._closed:
                raise RuntimeError(f"the pool {self._name} is closed")
            if self._idle:
                self._idle -= 1
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._threads}", daemon=True).start()
            self._queue.put(work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Take no more work and let idle threads end. Never waits for running work, whatever `wait` says."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._queue.put(None)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # else the last result lives as long as the thread waits
            with self._lock:
                if self._queue.empty():
                    self._idle += 1


async def call(pool: Executor, fn: Callable[..., _T | Awaitable[_T]], *args: Any) -> _T:
    """Await `fn(*args)`: a coroutine function on the running loop, a plain one in `pool`.

    A plain function that returns an awaitable after all has it awaited on the loop.
    """
    if inspect.iscoroutinefunction(fn):
        return cast(_T, await fn(*args))
    result = await asyncio.get_running_loop().run_in_executor(pool, lambda: fn(*args))
    return cast(_T, await result if inspect.isawaitable(result) else result)
