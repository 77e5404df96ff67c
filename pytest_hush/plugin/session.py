"""The state of one hush run in one process: setup, run folder, engines, look-ahead.

Under pytest-xdist the controller owns the folder and the verdicts, and measures nothing; each worker measures
the items it is given and appends to records of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_hush.errors import HushError, StoreError, UsageError
from pytest_hush.plan import Identity, identity
from pytest_hush.plugin.ahead import next_block, shuffled
from pytest_hush.plugin.bindings import check_overrides, make_binding, overrides
from pytest_hush.plugin.collect import case_of
from pytest_hush.plugin.options import Options
from pytest_hush.plugin.setup import Setup, prepare

if TYPE_CHECKING:
    from pytest_hush.model import Case, Record
    from pytest_hush.run import Engine
    from pytest_hush.store import Cache, RecordLog, RunFolder

BUDGET_REFUSAL = "--hush-max-cost="
"""How the message of a `BudgetError` starts: the run stops there, and can be resumed."""
HOPELESS = 20
"""Stop after so many equal failures in a row: what follows would cost time and money, and fail alike."""
DRY = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test", "cacheshow")
"""Options of pytest with which nothing is measured or judged, and no run folder is touched."""
AHEAD = 4
"""Look-ahead in multiples of the in-flight limit: at 1x one slow head stalls the whole window."""


class HushSession:
    """Registered as a plugin when a generator is named; `activate` does the work when a case is asked for."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.config = config
        self.options = options
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        # The same test as xdist's own: -n sets both, --tx alone distributes nothing.
        distributes = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
        self.controller = self.worker is None and distributes
        option = config.option
        self.dry = any(getattr(option, name, False) for name in DRY)
        self.active = False
        self.folder: RunFolder | None = None
        self.cache: Cache | None = None
        self.selected: frozenset[Identity] | None = None
        self.engines: dict[tuple[int, ...], Engine] = {}
        self.fatal = ""
        self.messages: tuple[str, ...] = ()
        self.worker_calls = (0, 0)
        self.unwritten = ""
        self.refused = False
        self.let_go: Callable[[], None] | None = None
        self.going_on: frozenset[tuple[str, str]] | None = None
        self._setup: Setup | None = None
        self._log: RecordLog | None = None
        self._ready: Mapping[str, Record] = {}
        self._items: list[pytest.Item] = []
        self._position: dict[pytest.Item, int] = {}
        self._queue: Any = None
        self._cursor = 0
        self._failures: list[str] = []
        self._keys: dict[pytest.Item, tuple[int, ...]] = {}

    # ---- setup -----------------------------------------------------------------------------------

    @property
    def setup(self) -> Setup:
        """Pack, plan, gates and objects of the run, made once. Raises `pytest.UsageError`."""
        if self._setup is None:
            try:
                if self.options.two_look and (self.controller or self.worker is not None):
                    raise UsageError(
                        "--hush-two-look and pytest-xdist: the first look needs all of its cases in one process. Leave "
                        "-n out; calls are concurrent without it (--hush-in-flight)."
                    )
                self._setup = prepare(self.config.hook, self.options)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None
        return self._setup

    @property
    def secret(self) -> str:
        """Why no report may show a text of a case (``--hush-redact``, a private pack), or ''."""
        from pytest_hush.report.redact import why

        private = self._setup is not None and self._setup.pack.private
        return why(private=private, asked=self.options.redact)

    def activate(self) -> Setup:
        """Called when a case is asked for: from now on this run has gates."""
        self.active = True
        return self.setup

    def open_folder(self) -> None:
        """Create or resume the run folder, in the process that owns the exit code."""
        from pytest_hush.plugin.folder import open_cache, open_run_folder

        if self.folder is None:
            try:
                self.cache = open_cache(self.options)
                self.folder = open_run_folder(self)
            except HushError as error:
                raise pytest.UsageError(str(error)) from None

    # ---- measuring -------------------------------------------------------------------------------

    def measure(self, item: pytest.Item, case: Case, *fixtures: Any) -> Record:
        """The record of `case`, waited for; `fixtures` are the values of the four overridable ones."""
        if self.dry:  # --setup-only comes this far
            pytest.skip("nothing is measured in a dry run")
        if self.fatal:
            item.session.shouldfail = self.fatal
            pytest.fail(self.fatal, pytrace=False)
        if self._settled(case):
            pytest.skip(f"settled at the first look: no gate on {case.condition.name} was left open")
        key = self._key(item)
        if key not in self.engines:
            self._start(key, *fixtures)
            self._cursor = 0  # what was passed over while the binding was unknown starts now
            self._submit(self._upcoming(item, None))
        engine = self.engines[key]
        engine.submit(case)
        progress = self.config.pluginmanager.get_plugin("hush-progress")
        record: Record | None = None
        with contextlib.suppress(StoreError):  # the disk is full: `fatal` says so
            record = engine.result(case, on_wait=getattr(progress, "refresh", None))
        if record is None:
            # Not redacted: the message names a file of the run, and no text of a case.
            self.fatal = self.fatal or engine.fatal
            item.session.shouldfail = self.fatal
            pytest.fail(self.fatal, pytrace=False)
        self._failures = [] if record.status not in ("error", "unscored") else [*self._failures, record.error]
        stop = engine.fatal or (record.error if record.error.startswith(BUDGET_REFUSAL) else "")
        if len(self._failures) >= HOPELESS and len(set(self._failures)) == 1:
            stop = stop or f"{HOPELESS} cases in a row failed alike: {self._failures[0]}"
        if stop and self.secret and not engine.unkept:
            from pytest_hush.report.redact import error_kind

            stop = error_kind(stop)
        if stop and not self.fatal:
            # Nothing that follows can be measured: one clear message beats hundreds of equal failures.
            self.fatal = stop
            item.session.shouldfail = stop
        return record

    def _later(self, case: Case) -> bool:
        """True for a case that waits for the first look, or is not needed after it."""
        return (
            bool(self.setup.plan.first_look)
            and not self.setup.plan.in_first_look(case)
            and (self.going_on is None or (case.model, case.condition.name) not in self.going_on)
        )

    def _settled(self, case: Case) -> bool:
        """True when the first look left no gate on the case's condition open. Takes that look when it is due."""
        plan = self.setup.plan
        if not plan.first_look or plan.in_first_look(case):
            return False
        if self.going_on is None:
            from pytest_hush.plugin.looks import take_first_look

            # Tests come in another order than the plan: the built-in positive controls follow all the probes.
            self._submit(self._items)
            self.drain()
            self.going_on = take_first_look(self)
        return (case.model, case.condition.name) not in self.going_on

    def _start(self, key: tuple[int, ...], *fixtures: Any) -> None:
        try:
            self._start_engine(key, *fixtures)
        except HushError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)

    def _start_engine(self, key: tuple[int, ...], *fixtures: Any) -> None:
        from pytest_hush.plugin.folder import make_engine, ready_records
        from pytest_hush.plugin.forewarn import forewarn

        if self.folder is None:
            from pytest_hush.plugin.folder import open_cache
            from pytest_hush.store import RunFolder

            assert self.worker is not None
            self.cache = open_cache(self.options)
            self.folder = RunFolder.open(Path(self.worker["hush_folder"]))
        if self._log is None:
            self._log = self.folder.log(self.worker["workerid"] if self.worker else "main")
            self._ready = ready_records(self)
        binding = make_binding(self.setup, *fixtures)
        self.engines[key] = make_engine(self, binding, self._log, self._ready)
        forewarn(self, self.engines[key].pipeline.instrument)

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

    def calls(self) -> tuple[int, int]:
        """Calls made and answers taken from the cache, by this process or, on a controller, by its workers."""
        snapshots = [engine.progress() for engine in self.engines.values()]
        calls, hits = self.worker_calls
        return calls + sum(s.calls for s in snapshots), hits + sum(s.cache_hits for s in snapshots)

    def pytest_sessionfinish(self) -> None:
        if self.worker is not None:
            self.config.workeroutput["hush"] = list(self.calls())  # type: ignore[attr-defined]

    # ---- look-ahead ------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._items = session.items
        self._position = {item: n for n, item in enumerate(session.items)}
        measured = [item for item in session.items if case_of(item) is not None]
        if not self.controller:
            self.selected = frozenset(identity(case) for case in map(case_of, measured) if case is not None)
            self._check(session, measured)
        if self.worker is not None:
            from pytest_hush.plugin.xdist import worker_queue

            self._queue = worker_queue(self.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if case_of(item) is not None and not self.fatal and not self.dry:
            key = self._key(item)
            if not key and key not in self.engines:
                self._start(key, None, None, None, None)
            self._submit(self._upcoming(item, nextitem))

    def _check(self, session: pytest.Session, items: Iterable[pytest.Item]) -> None:
        """Refuse overrides that cannot work, before anything is measured."""
        from pytest_hush.plugin.placing import refuse_several

        checked: set[tuple[int, ...]] = set()
        try:
            if self.active:
                refuse_several(session)
            for item in items:
                found = overrides(item)
                key = self._keys[item] = tuple(found.values())
                if key not in checked:
                    check_overrides(self.setup, found)
                    checked.add(key)
        except UsageError as error:
            if self.worker is None:
                raise pytest.UsageError(str(error)) from None
            self.fatal = str(error)  # a worker cannot end the session with a usage error: its first test does

    def _key(self, item: pytest.Item) -> tuple[int, ...]:
        return self._keys.get(item, ())

    def _submit(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            case = case_of(item)
            if case is None or item.get_closest_marker("skip") is not None or self._later(case):
                continue
            engine = self.engines.get(self._key(item))
            if engine is not None:
                engine.submit(case)

    def _upcoming(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        """`item` and those that this process will run next, as far as it knows, within the window, shuffled."""
        limit = self.in_flight()
        window = limit if self.config.getoption("maxfail", 0) else AHEAD * limit
        if self.worker is None:
            start = self._position.get(item, 0)
            block, self._cursor = next_block(self._items, start, self._cursor, window, self.options.seed)
            yield from block
            yield item
            return
        yield item
        if nextitem is not None:
            yield nextitem
        if self._queue is not None:
            with self._queue.lock() as pending:
                indices = [n for n in islice(pending, window) if isinstance(n, int)]
            yield from (self._items[n] for n in shuffled(indices, self.options.seed))

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop what is in flight and keep what is finished; returns within a second."""
        self.worker_calls = self.calls()  # the engines' counts go with them
        for engine in self.engines.values():
            engine.close()
        self.engines.clear()
        if self._log is not None:
            self._log.close()
            self._log = None
