"""Single flight: work with one key is done once, however many ask for it at the same time or soon after."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Flight(Generic[_T]):
    """Results by key, the last `keep` of them remembered. A failure is shared by those who wait, then forgotten."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._running: dict[str, asyncio.Task[_T]] = {}
        self._done: OrderedDict[str, _T] = OrderedDict()

    async def run(self, key: str, work: Callable[[], Awaitable[_T]]) -> _T:
        """The value of `work` for `key`. One waiter's cancellation does not take it from the others."""
        if key in self._done:
            self._done.move_to_end(key)
            return self._done[key]
        task = self._running.get(key)
        if task is None:
            task = asyncio.ensure_future(self._do(key, work))
            self._running[key] = task
        return await asyncio.shield(task)

    async def _do(self, key: str, work: Callable[[], Awaitable[_T]]) -> _T:
        try:
            value = await work()
        finally:
            self._running.pop(key, None)
        self._done[key] = value
        if len(self._done) > self._keep:
            self._done.popitem(last=False)
        return value
