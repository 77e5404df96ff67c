"""What was measured so far, condition by condition. No score is in it: nothing of it can be taken for a verdict."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_hush.plan import Identity

if TYPE_CHECKING:
    from pytest_hush.model import Record
    from pytest_hush.run.engine import Progress as Snapshot

WINDOW_S: Final = 60.0
"""The time to come is told by the pace of this last stretch: the first calls of a run are the slowest."""
_LEAST_S: Final = 5.0
_LEAST_CASES: Final = 5

Arm = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One (model, condition): cases `done` of `planned`, `lost` without a score, US dollars of its replies.

    `dollars` None: nobody told the price. Replies from the cache bring the price that was paid for them once.
    """

    model: str
    condition: str
    done: int
    planned: int
    lost: int
    dollars: float | None


class Tally:
    """Counts cases as records are stored (in the engine's thread) and as tests report (in pytest's); once each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._seen: set[Identity] = set()
        self._done: Counter[Arm] = Counter()
        self._lost: Counter[Arm] = Counter()
        self._dollars: dict[Arm, float] = {}
        self._unpriced: set[Arm] = set()
        self._planned: dict[Arm, int] = {}
        self._pace: deque[tuple[float, int]] = deque()

    @property
    def planned(self) -> int:
        return sum(self._planned.values())

    @property
    def done(self) -> int:
        return len(self._seen)

    def plan(self, identities: Iterable[Identity], arms: Iterable[Arm]) -> None:
        """What is to be measured; `arms` gives the order of the rows, those without a case are left out."""
        counted = Counter((model, condition) for model, condition, *_ in identities)
        with self._lock:
            self._planned = {arm: counted[arm] for arm in arms if counted[arm]}

    def record(self, record: Record) -> None:
        """A case that was just measured."""
        arm = (record.model, record.condition)
        with self._lock:
            self._count(record.identity)
            self._lost[arm] += not record.measured
            if record.usage.cost_usd is not None:
                self._dollars[arm] = self._dollars.get(arm, 0.0) + record.usage.cost_usd
            elif record.reply:
                self._unpriced.add(arm)

    def report(self, identity: Identity) -> None:
        """A case whose test is through: it may have been measured elsewhere, or before."""
        with self._lock:
            self._count(identity)

    def _count(self, identity: Identity) -> None:
        if identity in self._seen:
            return
        self._seen.add(identity)
        self._done[identity[0], identity[1]] += 1
        now = self._clock()
        self._pace.append((now, len(self._seen)))
        while now - self._pace[0][0] > WINDOW_S and len(self._pace) > 2:
            self._pace.popleft()

    def rows(self) -> list[Row]:
        """One row an arm, in plan order."""
        with self._lock:
            return [
                Row(
                    *arm,
                    done=self._done[arm],
                    planned=planned,
                    lost=self._lost[arm],
                    dollars=None if arm in self._unpriced else self._dollars.get(arm),
                )
                for arm, planned in self._planned.items()
            ]

    def left_s(self) -> float | None:
        """Seconds to come at the pace of the last `WINDOW_S`, None while nobody can say."""
        with self._lock:
            if len(self._pace) < 2:
                return None
            (start, before), (_, now_done) = self._pace[0], self._pace[-1]
            # Up to now, not to the last case: a run that waits takes longer.
            took, made = self._clock() - start, now_done - before
        rest = self.planned - now_done
        if took < _LEAST_S or made < _LEAST_CASES or rest <= 0:
            return None
        return rest * took / made


def in_words(seconds: float) -> str:
    """``40 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds / 5)) * 5} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def one_line(tally: Tally, snapshots: Iterable[Snapshot]) -> str:
    """All of it in one line: cases done, calls in flight and made, retries, dollars, time to come, a wait."""
    found = list(snapshots)
    parts = [f"hush {tally.done}/{tally.planned} cases"]
    if found:
        hits = sum(s.cache_hits for s in found)
        parts.append(f"{sum(s.in_flight for s in found)} in flight")
        parts.append(f"{sum(s.calls for s in found)} calls" + (f", {hits} from the cache" if hits else ""))
        parts.append(f"{sum(s.retries for s in found)} retries")
        parts.append(f"${sum(s.cost_usd for s in found):.4f}")
    if (left := tally.left_s()) is not None:
        parts.append(f"about {in_words(left)} left")
    if waiting := next((s.waiting for s in found if s.waiting), ""):
        parts.append(waiting)
    return " | ".join(parts)
