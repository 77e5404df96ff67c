"""When a model that answers nothing is given up as a whole, whatever each of its calls still hopes for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Silence:
    """Wall time since the last answer while calls are wanted; `over(seconds, attempts)` is called past `limit_s`.

    All methods belong to one event loop's thread. An answer is whatever shows that the server works: a reply, or
    the refusal of one request; a rate limit is none.
    """

    def __init__(self, limit_s: float, over: Callable[[float, int], None]) -> None:
        self._limit_s = limit_s
        self._over = over
        self._wanted = 0
        self._attempts = 0
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A call is wanted: it may wait for its turn first."""
        self._wanted += 1
        if self._wanted == 1:
            self._since, self._attempts = time.monotonic(), 0
            self._arm(self._limit_s)

    def attempted(self) -> None:
        self._attempts += 1

    def answered(self) -> None:
        self._since, self._attempts = time.monotonic(), 0

    def end(self) -> None:
        """The call of a `begin` is over, one way or the other."""
        self._wanted -= 1
        if not self._wanted and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(max(0.001, seconds), self._ring)

    def _ring(self) -> None:
        silent = time.monotonic() - self._since
        if silent >= self._limit_s:
            self._over(silent, self._attempts)
        self._arm(self._limit_s - silent if silent < self._limit_s else self._limit_s)
