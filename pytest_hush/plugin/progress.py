"""One live line on a terminal: done, in flight, retries, cost so far, and what the run waits for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pytest_hush.plugin.collect import ROOT

if TYPE_CHECKING:
    from rich.live import Live

    from pytest_hush.plugin.session import HushSession

REFRESH_S = 0.2


class Progress:
    """Takes the place of the dots for ``hush::…`` items. Off when the output is not a terminal, and with -v or -q."""

    def __init__(self, session: HushSession, reporter: pytest.TerminalReporter) -> None:
        self.session = session
        self.reporter = reporter
        self.done = 0
        self._live: Live | None = None
        self._last = 0.0

    @staticmethod
    def wanted(config: pytest.Config, reporter: pytest.TerminalReporter | None) -> bool:
        return bool(
            reporter is not None and reporter.isatty and config.get_verbosity() == 0 and not config.option.collectonly
        )

    def refresh(self) -> None:
        """Redraw when the last drawing is old enough. Called on every case and while one is waited for."""
        now = time.monotonic()
        if now - self._last < REFRESH_S:
            return
        self._last = now
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self.reporter._tw._file, force_terminal=True)
            self._live = Live(
                console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self.reporter.ensure_newline()
            self._live.start()
        self._live.update(self._line(), refresh=True)

    def _line(self) -> str:
        total = len(self.session.selected or ())
        parts = [f"hush {self.done}/{total} cases"]
        snapshots = [engine.progress() for engine in self.session.engines.values()]
        if snapshots:
            parts.append(f"{sum(s.in_flight for s in snapshots)} in flight")
            parts.append(f"{sum(s.calls for s in snapshots)} calls")
            parts.append(f"{sum(s.retries for s in snapshots)} retries")
            parts.append(f"${sum(s.cost_usd for s in snapshots):.4f}")
            waiting = next((s.waiting for s in snapshots if s.waiting), "")
            if waiting:
                parts.append(waiting)
        return " · ".join(parts)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.nodeid.startswith(f"{ROOT}::test_"):
            self.done += 1
            if report.passed:
                self.refresh()
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
