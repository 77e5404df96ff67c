"""Memories and judges asked with retries, within the deadline, until they are known to be dead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pytest_hush.errors import FatalModelError, ModelError, TransientError
from pytest_hush.run.guard import Desk
from pytest_hush.run.pool import DaemonPool, call
from pytest_hush.run.retry import Clock, retrying, waiting_line

_UNANSWERED: Final = 2
"""Deadlines in a row after which a memory or judge is asked no more: one may be a hard question, two are a pattern."""


class Asking:
    """Calls plain code in `pool` and coroutines on the loop; `stopped` says who is asked no more, and why."""

    def __init__(self, desk: Desk, pool: DaemonPool) -> None:
        self._desk = desk
        self._pool = pool
        self._unanswered: dict[str, int] = {}
        self.stopped: dict[str, str] = {}
        """Memories and judges that a `FatalModelError` or missed deadlines ended: their name -> why."""

    async def ask(self, name: str, fn: Callable[..., Any], *args: Any, bounded: bool = True) -> Any:
        """Call a memory or judge with retries, within the deadline. The second in a row without an answer ends it."""
        policy = self._desk.policy

        def attempt(clock: Clock) -> Awaitable[Any]:
            return call(self._pool, fn, *args, limit_s=clock.left(policy) if bounded else None)

        try:
            found, _ = await retrying(attempt, policy, what=name, on_wait=self._waits(name))
        except ModelError as error:
            if isinstance(error.__cause__, TransientError) and isinstance(error.__cause__.__cause__, TimeoutError):
                self._unanswered[name] = self._unanswered.get(name, 0) + 1
                if self._unanswered[name] >= _UNANSWERED:
                    self.stopped.setdefault(name, str(error))
            raise
        finally:
            self._desk.counters.waiting.pop(name, None)
        self._unanswered.pop(name, None)
        return found

    def raise_if_stopped(self, name: str) -> None:
        if name in self.stopped:
            raise FatalModelError(self.stopped[name], attempts=0)

    def _waits(self, name: str) -> Callable[[TransientError, float], None]:
        def waiting(error: TransientError, seconds: float) -> None:
            self._desk.counters.retries += 1
            self._desk.counters.waiting[name] = waiting_line(name, error, seconds)

        return waiting
