"""The pump: one daemon thread with an event loop that measures submitted cases; the caller waits for its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Final, Self

from pytest_hush.errors import HushError, StoreError
from pytest_hush.model import MEASURED, Case, Record
from pytest_hush.run.pipeline import Pipeline
from pytest_hush.run.wording import error_text
from pytest_hush.store import RecordLog
from pytest_hush.store.records import warn_user

_SLICE_S: Final = 0.2
_CLOSE_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot. `done` of `total` submitted cases; `calls`, `cost_usd` (US dollars) and `cache_hits` of this process.

    `waiting` says why a call is being held back, '' when none is.
    """

    done: int
    total: int
    in_flight: int
    retries: int
    calls: int
    cache_hits: int
    cost_usd: float
    waiting: str


class Engine:
    """Measures cases in the background and appends each record to `log` when it is done.

    `ready` are records of an earlier run by key: those that stand (scored, or `unplanted`) are given back without any
    work, and are not appended again.
    `on_record` is called in the engine's thread after a record was stored; `telling` says what a warning tells of an
    error of its own.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        log: RecordLog | None = None,
        *,
        ready: Mapping[str, Record] | Iterable[Record] = (),
        on_record: Callable[[Record], None] | None = None,
        telling: Callable[[BaseException], str] = error_text,
    ) -> None:
        self.pipeline = pipeline
        self._log = log
        records = ready.values() if isinstance(ready, Mapping) else ready
        self._ready = {r.key: r for r in records if r.status in MEASURED or r.status == "unplanted"}
        self._on_record = on_record
        self._telling = telling
        self._futures: dict[Case, Future[Record]] = {}
        self._lock = threading.Lock()
        self._done = 0
        self._unkept = ""
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="hush-engine", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close(wait=error is None)

    @property
    def fatal(self) -> str:
        """Why no later case can be measured, or ''. See `Pipeline.fatal`; or the log can keep no record."""
        return self._unkept or self.pipeline.fatal

    @property
    def unkept(self) -> str:
        """Why the log can keep no record (the disk is full), or ''. No case is started after that."""
        return self._unkept

    def submit(self, case: Case) -> None:
        """Start `case` unless it was started. Returns at once. Raises `HushError` after `close`."""
        with self._lock:
            if case in self._futures:
                return
            if self._closed:
                raise HushError("the run was stopped; no other case is started")
            known = self._ready.get(self.pipeline.key(case)) if self._ready else None
            if known is None:
                self._futures[case] = asyncio.run_coroutine_threadsafe(self._measure(case), self._loop)
            else:
                future: Future[Record] = Future()
                future.set_result(known)
                self._futures[case] = future
                self._done += 1

    def result(self, case: Case, timeout: float | None = None, on_wait: Callable[[], None] | None = None) -> Record:
        """The record of `case`, submitted here if it was not. Ctrl-C interrupts the wait within `_SLICE_S` seconds.

        `timeout` is in seconds; TimeoutError when it passes. `on_wait` is called about every `_SLICE_S` seconds.
        Raises `StoreError` when the record could not be kept, and `HushError` when the engine was closed meanwhile.
        """
        self.submit(case)
        future = self._futures[case]
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE_S if until is None else min(_SLICE_S, max(0.0, until - time.monotonic()))
            try:
                return future.result(left)
            except FutureTimeout:
                if future.done():
                    raise
                if until is not None and time.monotonic() >= until:
                    raise TimeoutError(f"{case.id}: no record within {timeout:g} s") from None
                if not self._thread.is_alive():
                    raise HushError(f"{case.id}: the engine ended before the case was measured") from None
                if on_wait is not None:
                    on_wait()
            except CancelledError:
                raise HushError(f"{case.id}: the run was stopped before the case was measured") from None

    def progress(self) -> Progress:
        """What was done so far; cheap, from any thread."""
        counters = self.pipeline.counters
        waiting = next(iter(list(counters.waiting.values())), "")
        return Progress(
            done=self._done,
            total=len(self._futures),
            in_flight=counters.in_flight,
            retries=counters.retries,
            calls=counters.calls,
            cache_hits=counters.cache_hits,
            cost_usd=counters.cost_usd,
            waiting=waiting,
        )

    def misses(self) -> list[str]:
        """Why the cache had no answer, with ``explain_misses``: one line per stage and set of differing fields."""
        told = sorted(self.pipeline.counters.misses.items(), key=lambda item: (-item[1], item[0]))
        return [
            f"{count} x {stage}: " + (f"differs in {fields}" if fields else "nothing stored for it yet")
            for (stage, fields), count in told
        ]

    def drain(self) -> None:
        """Wait until every submitted case has its record. Interruptible."""
        for case in list(self._futures):
            with contextlib.suppress(HushError):
                self.result(case)

    def close(self, wait: bool = False) -> None:
        """Stop. Records already made are kept; with `wait` the submitted cases are finished first.

        Without `wait` this returns within about a second, whatever a model does: its thread does not hold up the
        process. Models, memories and judges are closed once. A second call does nothing.
        """
        if wait and not self._closed:
            self.drain()
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._stop()))
            self._thread.join(2 * _CLOSE_S)
        for future in self._futures.values():
            future.cancel()

    # ---- in the engine's thread -------------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def _measure(self, case: Case) -> Record:
        if self._unkept:
            raise StoreError(self._unkept)  # no call is paid whose answer cannot be kept
        record = await self.pipeline.run(case)
        if self._log is not None:
            try:
                self._log.append(record)
            except StoreError as error:
                self._unkept = self._unkept or str(error)
                raise
        self._done += 1
        if self._on_record is not None:
            try:
                self._on_record(record)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # a hook's `sys.exit()` or `pytest.fail()` must not end the loop
                warn_user(f"a record hook failed on {case.id}: {self._telling(error)}")
        return record

    async def _stop(self) -> None:
        me = asyncio.current_task()
        tasks = [t for t in asyncio.all_tasks() if t is not me]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.gather(*tasks, return_exceptions=True)
                await self.pipeline.aclose()
        self._loop.stop()
