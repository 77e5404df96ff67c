"""Under redaction, what tests and the user's code say: tracebacks, output and properties may hold a text of a case."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_hush.loading import kind_and_place

if TYPE_CHECKING:
    from pytest_hush.plugin.muffler import Muffler
    from pytest_hush.plugin.session import HushSession

_TOLD = 5
"""So many threads that died are told of by kind and place."""


class Redactor:
    """Registered in every process that runs tests; idle unless texts are to be left out."""

    def __init__(self, session: HushSession) -> None:
        self.session = session
        self.muffler: Muffler | None = None
        self._of_workers = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        if self.session.secret and not self.session.dry and self.muffler is None:
            from pytest_hush.plugin.muffler import Muffler

            self.muffler = Muffler()
            self.muffler.start()
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        with self.muffler.warned() if self.muffler else contextlib.nullcontext():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        return (yield from self._covered())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        return (yield from self._covered())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        return (yield from self._covered())

    def _covered(self) -> Generator[None, None, None]:
        """Innermost: pytest's capture, or a fixture's, is in place by now."""
        if self.muffler is not None:
            self.muffler.cover(sys.stdout)
            self.muffler.cover(sys.stderr)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_hush_verdicts(self) -> Generator[None, object, object]:
        """Hooks of the user's get all records, texts included, in this thread."""
        with self.muffler.everyone() if self.muffler else contextlib.nullcontext():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Before anybody prints it: a hook that fails on a record may quote it, and so may the lines around."""
        if not self.session.secret:
            return
        from pytest_hush.report.redact import ELSEWHERE

        told = _Told(f"{kind_and_place(excinfo.value)}. {self.session.secret} {ELSEWHERE}")
        excrepr.reprtraceback, excrepr.reprcrash = told, None
        excrepr.sections = []
        if hasattr(excrepr, "chain"):
            excrepr.chain = [(told, None, None)]

    def pytest_sessionfinish(self) -> None:
        if self.muffler is None:
            return
        if self.session.worker is not None:
            output: Any = self.session.config
            output.workeroutput["hush_hidden"] = self.muffler.lines
            return
        lines = self.muffler.lines + self._of_workers
        why = "by --hush-redact" if self.session.options.redact else "since the pack is private"
        if lines:
            told = "1 line" if lines == 1 else f"{lines} lines"
            self.session.messages += (f"({told} printed by your code, hidden {why})",)
        self.session.messages += tuple(f"({line}; its text is hidden {why})" for line in self.muffler.died[:_TOLD])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._of_workers += getattr(node, "workeroutput", {}).get("hush_hidden", 0)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """After the session was closed: a `close` of the user's may print too."""
        if self.muffler is not None:
            self.muffler.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Outermost, so that no other plugin adds to the report afterwards."""
        report = yield
        names = getattr(item, "fixturenames", ())
        if self.session.secret and any(name.startswith("hush_") for name in names):
            report.sections = []
            report.user_properties = []
            if hasattr(report, "wasxfail"):
                report.wasxfail = "the reason is left out"
            if report.longrepr is not None:
                report.longrepr = self._told(call, report)
        return report

    def _told(self, call: pytest.CallInfo[Any], report: pytest.TestReport) -> Any:
        from pytest_hush.report.redact import ELSEWHERE, error_kind

        error = call.excinfo
        what = "no details" if error is None else error.typename
        if error is not None and error.typename in ("Failed", "Skipped"):
            status, colon, text = str(error.value).partition(": ")
            known = colon and status in ("error", "unscored", "unplanted", "unplanted, counts as missing")
            what = f"{status}: {error_kind(text)}" if known else error_kind(str(error.value))
        line = f"{what}. {self.session.secret} {ELSEWHERE}"
        if report.skipped and isinstance(report.longrepr, tuple):
            path, number, _ = report.longrepr
            return (path, number, f"Skipped: {line}")
        return line


class _Told:
    """One line in the place of a traceback."""

    def __init__(self, line: str) -> None:
        self.line = line

    def toterminal(self, tw: Any) -> None:
        tw.line(self.line)
