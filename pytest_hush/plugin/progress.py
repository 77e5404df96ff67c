"""One live line on a terminal: done, in flight, retries, cost so far, and what the run waits for."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from pytest_hush.plugin.collect import ROOT

if TYPE_CHECKING:
    from rich.console import Console

    from pytest_hush.plugin.session import HushSession

REFRESH_S = 0.2


class Progress:
    """Takes the place of the dots for ``hush::…`` items. Off when the output is not a terminal, and with -v or -q."""

    def __init__(self, session: HushSession, reporter: pytest.TerminalReporter) -> None:
        self.session = session
        self.reporter = reporter
        self.done = 0
        self._console: Console | None = None
        self._last = 0.0

    @staticmethod
    def wanted(config: pytest.Config, reporter: pytest.TerminalReporter | None) -> bool:
        return bool(
            reporter is not None and reporter.isatty and config.get_verbosity() == 0 and not config.option.collectonly
        )

    def refresh(self, *, force: bool = False) -> None:
        """Redraw when the last drawing is old enough. Called on every case and while one is waited for."""
        now = time.monotonic()
        if now - self._last < REFRESH_S and not force:
            return
        self._last = now
        # A case is waited for inside a fixture, where pytest captures what is written to the terminal.
        capture = self.session.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext():
            self._draw()

    def _draw(self) -> None:
        from rich.console import Console
        from rich.control import Control
        from rich.segment import ControlType
        from rich.text import Text

        if self._console is None:
            self._console = Console(file=self.reporter._tw._file, force_terminal=True, highlight=False)
        # One line, drawn over itself: a live region of several lines would fight with what pytest writes.
        self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        encoding = self._console.encoding
        line = Text(self._line().encode(encoding, "replace").decode(encoding))
        line.truncate(self._console.width - 1, overflow="ellipsis")
        self._console.print(line, end="")

    def _line(self) -> str:
        total = len(self.session.selected or ())
        snapshots = [engine.progress() for engine in self.session.engines.values()]
        # Cases run ahead of their tests: what is done is what has a record, not what pytest has reached.
        parts = [f"hush {max(self.done, sum(s.done for s in snapshots))}/{total} cases"]
        if snapshots:
            parts.append(f"{sum(s.total - s.done for s in snapshots)} in flight")
            parts.append(f"{sum(s.calls for s in snapshots)} calls")
            parts.append(f"{sum(s.retries for s in snapshots)} retries")
            parts.append(f"${sum(s.cost_usd for s in snapshots):.4f}")
            waiting = next((s.waiting for s in snapshots if s.waiting), "")
            if waiting:
                parts.append(waiting)
        return " | ".join(parts)

    def stop(self) -> None:
        """Leave the last line standing, and start a new one."""
        if self._console is not None:
            self._console.print()
            self._console = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.nodeid.startswith(f"{ROOT}::test_"):
            self.done += 1
            # A result without a letter is not counted by pytest's own percentage; there is no public way to tell it.
            counted = getattr(self.reporter, "_progress_nodeids_reported", None)
            if isinstance(counted, set):
                counted.add(report.nodeid)
            if report.passed:
                self.refresh(force=self.done == len(self.session.selected or ()))
        if report.failed:
            self.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A measured case prints no dot: the live line stands for it. Failures print as ever."""
        if report.when == "call" and report.passed and report.nodeid.startswith(f"{ROOT}::test_"):
            return "passed", "", ""
        return None

    def pytest_sessionfinish(self) -> None:
        self.stop()

    def pytest_keyboard_interrupt(self) -> None:
        self.stop()
