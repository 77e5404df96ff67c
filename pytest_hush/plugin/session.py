"""The state of one hush run in one process: setup, run folder, engines, look-ahead.

Under pytest-xdist the controller owns the folder and the verdicts, and measures nothing; each worker measures
the items it is given and appends to records of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_hush.errors import HushError, UsageError
from pytest_hush.plan import Identity, identity
from pytest_hush.plugin.bindings import make_binding, override_key
from pytest_hush.plugin.collect import case_of
from pytest_hush.plugin.options import Options
from pytest_hush.plugin.setup import Setup, prepare

if TYPE_CHECKING:
    from pytest_hush.model import Case, Record
    from pytest_hush.run import Engine
    from pytest_hush.store import RecordLog, RunFolder

BUDGET_REFUSAL = "--hush-max-cost="
"""How the message of a `BudgetError` starts: the run stops there, and can be resumed."""
AHEAD = 4
"""Look-ahead in multiples of the in-flight limit: at 1x one slow head stalls the whole window."""


class HushSession:
    """Registered as a plugin when a generator is named; `activate` does the work when a case is asked for."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.config = config
        self.options = options
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.controller = self.worker is None and bool(
            config.getoption("numprocesses", 0) or config.getoption("tx", None)
        )
        self.active = False
        self.folder: RunFolder | None = None
        self.selected: frozenset[Identity] | None = None
        self.interrupted = False
        self.engines: dict[tuple[int, ...], Engine] = {}
        self.fatal = ""
        self.messages: tuple[str, ...] = ()
        self._setup: Setup | None = None
        self._log: RecordLog | None = None
        self._ready: Mapping[str, Record] = {}
        self._items: list[pytest.Item] = []
        self._position: dict[pytest.Item, int] = {}
        self._queue: Any = None
        self._cursor = 0
        self._keys: dict[pytest.Item, tuple[int, ...]] = {}

    # ---- setup -----------------------------------------------------------------------------------

    @property
    def setup(self) -> Setup:
        """Pack, plan, gates and objects of the run, made once. Raises `pytest.UsageError`."""
        if self._setup is None:
            try:
                self._setup = prepare(self.config.hook, self.options)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None
        return self._setup

    def activate(self) -> Setup:
        """Called when a case is asked for: from now on this run has gates."""
        self.active = True
        return self.setup

    def open_folder(self) -> None:
        """Create or resume the run folder, in the process that owns the exit code."""
        from pytest_hush.plugin.folder import open_run_folder

        if self.folder is None:
            try:
                self.folder = open_run_folder(self)
            except HushError as error:
                raise pytest.UsageError(str(error)) from None

    # ---- measuring -------------------------------------------------------------------------------

    def measure(self, item: pytest.Item, case: Case, *fixtures: Any) -> Record:
        """The record of `case`, waited for; `fixtures` are the values of the four overridable ones."""
        key = self._key(item)
        if key not in self.engines:
            try:
                self._start_engine(key, *fixtures)
            except UsageError as error:
                pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
                self._cursor = 0  # what was passed over while the binding was unknown starts now
            self._submit(self._upcoming(item, None))
        engine = self.engines[key]
        engine.submit(case)
        progress = self.config.pluginmanager.get_plugin("hush-progress")
        record: Record = engine.result(case, on_wait=getattr(progress, "refresh", None))
        stop = engine.fatal or (record.error if record.error.startswith(BUDGET_REFUSAL) else "")
        if stop and not self.fatal:
            # Nothing that follows can be measured: one clear message beats hundreds of equal failures.
            self.fatal = stop
            item.session.shouldfail = stop
        return record

    def _start_engine(self, key: tuple[int, ...], *fixtures: Any) -> None:
        from pytest_hush.plugin.folder import make_engine, ready_records

        if self.folder is None:
            from pytest_hush.store import RunFolder

            assert self.worker is not None
            self.folder = RunFolder.open(Path(self.worker["hush_folder"]))
        if self._log is None:
            self._log = self.folder.log(self.worker["workerid"] if self.worker else "main")
            self._ready = ready_records(self)
        binding = make_binding(self.setup, *fixtures)
        self.engines[key] = make_engine(self, binding, self._log, self._ready)

    def in_flight(self) -> int:
        """This process's share of the limit on concurrent calls."""
        workers = int(self.worker["workercount"]) if self.worker else 1
        return max(1, self.options.in_flight // workers)

    def drain(self) -> None:
        """Wait for every case that was started."""
        for engine in self.engines.values():
            engine.drain()

    def records(self) -> list[Record]:
        """The records of the plan's cases that stand in the run folder, in the order of their identities."""
        from pytest_hush.plugin.folder import planned_records

        return planned_records(self)

    def calls_line(self) -> str:
        """Calls and cache hits of this process, '' where it measured nothing (an xdist controller)."""
        snapshots = [engine.progress() for engine in self.engines.values()]
        if not snapshots:
            return ""
        calls, hits = sum(s.calls for s in snapshots), sum(s.cache_hits for s in snapshots)
        return f"{calls} calls, {hits} answers from the cache"

    # ---- look-ahead ------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._items = session.items
        self._position = {item: n for n, item in enumerate(session.items)}
        cases = [case for case in map(case_of, session.items) if case is not None]
        if cases and not self.controller:
            self.selected = frozenset(identity(case) for case in cases)
        if self.worker is not None:
            from pytest_hush.plugin.xdist import worker_queue

            self._queue = worker_queue(self.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if case_of(item) is not None and not self.fatal:
            key = self._key(item)
            if not key and key not in self.engines:
                try:
                    self._start_engine(key, None, None, None, None)
                except UsageError as error:
                    pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
            self._submit(self._upcoming(item, nextitem))

    def _key(self, item: pytest.Item) -> tuple[int, ...]:
        if item not in self._keys:
            try:
                self._keys[item] = override_key(item)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None
        return self._keys[item]

    def _submit(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            case = case_of(item)
            if case is None or item.get_closest_marker("skip") is not None:
                continue
            engine = self.engines.get(self._key(item))
            if engine is not None:
                engine.submit(case)

    def _upcoming(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        """`item` and those that this process will run next, as far as it knows, within the window."""
        limit = self.in_flight()
        window = limit if self.config.getoption("maxfail", 0) else AHEAD * limit
        if self.worker is None:
            start = self._position.get(item, 0)
            first, self._cursor = max(self._cursor, start), max(self._cursor, start + window)
            yield item
            yield from self._items[first : start + window]
            return
        yield item
        if nextitem is not None:
            yield nextitem
        if self._queue is not None:
            with self._queue.lock() as pending:
                indices = [n for n in islice(pending, window) if isinstance(n, int)]
            yield from (self._items[n] for n in indices)

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop what is in flight and keep what is finished; returns within a second."""
        for engine in self.engines.values():
            engine.close()
        self.engines.clear()
        if self._log is not None:
            self._log.close()
            self._log = None
