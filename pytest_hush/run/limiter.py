"""How many calls to one model may be in flight: found out, not configured; and the breaker that stops a dead model.

Starts at one call, so that a wrong key wastes one; doubles with every clean round until the first rate limit; a rate
limit cuts to four fifths, at most once in 15 s; from then on a clean round adds a twentieth.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from pytest_hush.errors import FatalModelError

CUT: Final = 0.8
GROWTH: Final = 0.05
BETWEEN_CUTS_S: Final = 15.0


class Limiter:
    """Slots for one model, first come first served. All methods belong to one event loop's thread."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self.allowed = 1.0
        self.active = 0
        self._probing = True
        self._last_cut = float("-inf")
        self._hold_until = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._returning: deque[asyncio.Future[None]] = deque()
        self._ended = asyncio.Event()
        self._stopped: FatalModelError | None = None

    @property
    def stopped(self) -> FatalModelError | None:
        """Why no other call will be made, or None."""
        return self._stopped

    @property
    def holding(self) -> bool:
        """True while the server's Retry-After keeps everybody waiting."""
        return time.monotonic() < self._hold_until

    @asynccontextmanager
    async def slot(self, *, again: bool = False) -> AsyncIterator[None]:
        """Hold one slot. Raises the model's `FatalModelError` once it is stopped, without a call.

        `again`: this is another try of a call that had its turn, and goes before those that have not.
        """
        self.raise_if_stopped()
        waiter = asyncio.get_running_loop().create_future()
        line = self._returning if again else self._waiters
        line.append(waiter)
        self._wake()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._release()  # the slot was granted in the moment of the cancellation
            elif waiter in line:
                line.remove(waiter)
            raise
        try:
            self.raise_if_stopped()
            yield
        finally:
            self._release()

    def succeeded(self) -> None:
        """One call went well."""
        # One more per success doubles the number in a round, since a round has `allowed` calls.
        self.allowed = min(self.limit, self.allowed + (1.0 if self._probing else GROWTH))
        self._wake()

    def limited(self, retry_after: float | None) -> None:
        """The server said 429: fewer from now on, and none before `retry_after` seconds have passed."""
        now = time.monotonic()
        self._probing = False
        if now - self._last_cut >= BETWEEN_CUTS_S:
            self._last_cut = now
            self.allowed = max(1.0, self.allowed * CUT)
        if retry_after:
            self._hold_until = max(self._hold_until, now + retry_after)

    def stop(self, error: FatalModelError) -> None:
        """Make no other call: those who wait and those who come get `error`'s text."""
        if self._stopped is None:
            self._stopped = error
        self._ended.set()
        while waiter := self._next():
            if not waiter.done():
                waiter.set_exception(_again(self._stopped))

    def raise_if_stopped(self) -> None:
        """Raise the `FatalModelError` that stopped this model, afresh."""
        if self._stopped is not None:
            raise _again(self._stopped)

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`, or less when the model is stopped meanwhile."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()

    def _next(self) -> asyncio.Future[None] | None:
        line = self._returning or self._waiters
        return line.popleft() if line else None

    def _release(self) -> None:
        self.active -= 1
        self._wake()

    def _wake(self) -> None:
        pause = self._hold_until - time.monotonic()
        if pause > 0:
            if self._waiters or self._returning:
                asyncio.get_running_loop().call_later(pause + 0.001, self._wake)
            return
        while self.active < int(self.allowed) and (waiter := self._next()):
            if not waiter.done():
                self.active += 1
                waiter.set_result(None)


def _again(error: FatalModelError) -> FatalModelError:
    # A fresh object: raising one exception in many tasks grows its traceback without end.
    return FatalModelError(str(error), status=error.status, attempts=0)
