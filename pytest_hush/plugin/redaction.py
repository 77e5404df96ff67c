"""Under redaction, what a failed test says: a traceback, captured output or a property may hold a text of its case."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_hush.plugin.session import HushSession


class Redactor:
    """Registered in every process that runs tests; idle unless texts are to be left out."""

    def __init__(self, session: HushSession) -> None:
        self.session = session

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
