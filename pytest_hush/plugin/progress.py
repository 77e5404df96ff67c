"""How far the run is: a live table on a terminal, pytest's dots with a plain line now and then anywhere else."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_hush.plan import Identity, identity
from pytest_hush.plugin.tally import Row, Tally, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live_render import LiveRender

    from pytest_hush.model import Record
    from pytest_hush.plugin.session import HushSession

REFRESH_S = 0.2
LINE_S = 30.0
"""Seconds between two plain lines: a log of an hour has some hundred."""

Mode = Literal["", "live", "lines"]


class Progress:
    """Off with -v and -q. Beside a table, measured cases print no letter; failures are told at the end, as ever."""

    def __init__(self, session: HushSession, reporter: pytest.TerminalReporter, mode: Mode = "live") -> None:
        self.session = session
        self.reporter = reporter
        self.mode = mode
        self.tally = Tally()
        self._ids: Mapping[str, Identity] | None = None
        self._planned = False
        self._console: Console | None = None
        self._region: LiveRender | None = None
        self._drawn: tuple[list[Row], str] = ([], "")
        self._file = ""
        self._unnamed = ""
        self._last = time.monotonic() if mode == "lines" else 0.0

    @staticmethod
    def wanted(config: pytest.Config, reporter: pytest.TerminalReporter | None) -> Mode:
        """The table needs a terminal that can move its cursor, and nobody else who writes between (-s, log_cli)."""
        if reporter is None or config.get_verbosity() != 0 or config.option.collectonly:
            return ""
        dumb = os.environ.get("TERM", "") in ("dumb", "unknown")
        others = config.getoption("capture", "fd") == "no" or bool(config.getini("log_cli"))
        return "live" if reporter.isatty and not dumb and not others else "lines"

    # ---- drawing ---------------------------------------------------------------------------------

    def refresh(self, *, force: bool = False) -> None:
        """Draw again when the last drawing is old enough. Called on every case and while one is waited for."""
        now = time.monotonic()
        if now - self._last < (REFRESH_S if self.mode == "live" else LINE_S) and not force:
            return
        self._last = now
        self._learn()
        with self._uncaptured():
            if self.mode == "live":
                self._draw()
            else:
                self._write_line()

    def _write_line(self) -> None:
        """A line of its own; the letters go on below it behind their file's name, as they would without it."""
        reporter = self.reporter
        file, reporter.currentfspath = reporter.currentfspath, None
        if reporter._tw.width_of_current_line:
            reporter._tw.line()
        reporter.write_line(self._shown(one_line(self.tally, self._snapshots())))
        if isinstance(file, Path) and reporter.showfspath:
            # For pytest the name stands there; it is written with the next letter, so that lines may follow lines.
            reporter.currentfspath = file
            self._unnamed = f"{os.path.relpath(file, reporter.startpath)} "

    def _uncaptured(self) -> contextlib.AbstractContextManager[None]:
        """A case is waited for inside a fixture, where pytest captures what is written to the terminal."""
        capture = self.session.config.pluginmanager.get_plugin("capturemanager")
        found: contextlib.AbstractContextManager[None] = (
            contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled()
        )
        return found

    def _learn(self) -> None:
        """What is planned: known once cases were collected, here or by workers."""
        if not self._planned and self.session.selected is not None:
            plan = self.session.setup.plan
            arms = [(model, condition.name) for model in plan.models for condition in plan.conditions]
            self.tally.plan(self.session.selected, arms)
            self._planned = True

    def _draw(self) -> None:
        from rich.console import Console
        from rich.control import Control
        from rich.live_render import LiveRender
        from rich.segment import ControlType

        if self._console is None:
            writer = self.reporter._tw
            self._console = Console(
                file=writer._file, force_terminal=True, highlight=False, no_color=not writer.hasmarkup
            )
        rows, line = self.tally.rows(), self._shown(one_line(self.tally, self._snapshots()))
        if self._region is None:
            self._region = LiveRender(self._content(self._console, rows, line))
            # What pytest has begun on this line makes room.
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        elif (rows, line) == self._drawn:
            return
        else:
            self._console.control(self._region.position_cursor())
            self._region.set_renderable(self._content(self._console, rows, line))
        self._console.print(self._region, end="")
        self._drawn = (rows, line)

    def _content(self, console: Console, rows: list[Row], told: str) -> RenderableType:
        """A row a condition and a line for the whole; the line alone where a terminal has no room for the rows."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        line = Text(told, no_wrap=True, overflow="ellipsis")
        if not rows or len(rows) + 3 > console.height:
            return line
        several = len({r.model for r in rows}) > 1
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="" if console.no_color else "bold")
        for name in (["model"] if several else []) + ["condition"]:
            table.add_column(name, no_wrap=True, overflow="ellipsis")
        for name in ("cases", "no score", "price of replies"):
            table.add_column(name, justify="right", no_wrap=True)
        for r in rows:
            names = [r.model, r.condition] if several else [r.condition]
            price = "-" if r.dollars is None else f"${r.dollars:.4f}"
            lost = Text(str(r.lost) if r.lost else "-", style="yellow" if r.lost else "")
            done = Text(f"{r.done}/{r.planned}", style="green" if r.done >= r.planned else "")
            table.add_row(*(Text(self._shown(n)) for n in names), done, lost, price)
        return Group(table, line)

    def _snapshots(self) -> list[Any]:
        found = [engine.progress() for engine in list(self.session.engines.values())]
        if not self.session.secret:
            return found
        # What a server or the user's code said while a call is held back may quote a text.
        return [replace(s, waiting="a call is held back") if s.waiting else s for s in found]

    def _shown(self, text: str) -> str:
        """`text` as this terminal can show it; a server's words in it cannot drive the terminal."""
        from pytest_hush.report.visible import visible

        encoding = getattr(self.reporter._tw._file, "encoding", None) or "utf-8"
        return visible(text).encode(encoding, "replace").decode(encoding)

    def stop(self) -> None:
        """Draw once more as things are, leave that standing, and start a new line."""
        if self._region is not None and self._console is not None:
            with self._uncaptured():
                self._draw()
                self._region = None
                self._console.print()

    # ---- what pytest tells -----------------------------------------------------------------------

    def pytest_hush_record(self, record: Record) -> None:
        self.tally.record(record)

    def identity_of(self, nodeid: str) -> Identity | None:
        """The case that a test measures, by the id among its parameters; None for any other test."""
        if self._ids is None:
            if self.session.selected is None and not self.session.active:
                return None
            self._ids = {case.id: identity(case) for case in self.session.setup.plan.cases}
        start = nodeid.find("[")
        return self._ids.get(nodeid[start + 1 : -1]) if start > 0 else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """pytest is about to name another file: it starts on a line of its own."""
        file = nodeid.partition("::")[0]
        if file != self._file or self.identity_of(nodeid) is None:
            self.stop()
        self._file = file

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._unnamed and (report.when == "call" or not report.passed):  # pytest is about to print a letter
            if not self.reporter._tw.width_of_current_line:
                self.reporter._tw.write(self._unnamed)
            self._unnamed = ""
        case = self.identity_of(report.nodeid)
        if case is None:
            self.stop()
            return
        if report.when != "teardown":
            return
        self._learn()
        self.tally.report(case)
        if self.mode == "live":
            # A result without a letter is not counted by pytest's own percentage; there is no public way to tell it.
            counted = getattr(self.reporter, "_progress_nodeids_reported", None)
            if isinstance(counted, set):
                counted.add(report.nodeid)
        self.refresh(force=self.mode == "live" and self.tally.done >= self.tally.planned)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A measured case prints no letter while the table stands for it. pytest counts it as ever."""
        if self.mode != "live" or hasattr(report, "wasxfail") or self.identity_of(report.nodeid) is None:
            return None
        if report.passed:
            return ("passed", "", "") if report.when == "call" else None
        if report.skipped:
            return "skipped", "", ""
        return "failed" if report.when == "call" else "error", "", ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self.stop()
