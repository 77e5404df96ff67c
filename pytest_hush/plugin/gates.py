"""Gates as test results, on the process that owns the exit code.

Ordinary items placed last would judge before xdist's other workers are done; so the verdicts are emitted as
reports of their own once the loop has ended. JUnit attaches properties at teardown: each gate has all three
phases.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_hush.errors import HushError
from pytest_hush.plugin.collect import ROOT

if TYPE_CHECKING:
    from pytest_hush.gate import Verdict
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.report.summary import Summary

PHASES = ("setup", "call", "teardown")


class GateKeeper:
    """Judges after the loop, reports the verdicts, writes the result, prints the closing section."""

    def __init__(self, session: HushSession) -> None:
        self.session = session
        self.summary: Summary | None = None
        self.unjudged = ""
        self.ended = False
        """True once the loop came to an end that pytest's exit code tells of."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        config = session.config
        from pytest_hush.plugin.progress import Progress

        reporter = config.pluginmanager.get_plugin("terminalreporter")
        mode = Progress.wanted(config, reporter)
        if reporter is not None and self.session.worker is None and mode:
            config.pluginmanager.register(Progress(self.session, reporter, mode), "hush-progress")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """The folder comes after collection; under xdist, when the workers are set up.

        Also when every case was deselected: a run that measures nothing must say so, and fail.
        """
        state = self.session
        if state.worker is None and not state.controller and state.active and not state.dry and not state.refused:
            state.open_folder()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        state = self.session
        try:
            outcome = yield
        except (session.Failed, session.Interrupted) as stop:
            if self._judges:
                self._conclude(session, stopped=str(stop) or "the session was stopped")
            self.ended = True
            raise
        if state.dry:
            return outcome
        state.drain()
        if state.worker is None and self._judges:
            self._conclude(session)
        self.ended = True
        return outcome

    @property
    def _judges(self) -> bool:
        state = self.session
        return state.worker is None and state.active and state.folder is not None and not state.dry

    def _conclude(self, session: pytest.Session, *, stopped: str = "") -> None:
        from pytest_hush.plugin.conclude import conclude

        try:
            self.summary, failed = conclude(self.session, stopped=stopped, tests_failed=bool(session.testsfailed))
        except HushError as error:
            # The records cannot be read (another run took the folder, a foreign schema): no verdict, said as such.
            self.unjudged = str(error)
            emit_no_verdict(session, self.unjudged)
            return
        if stopped:
            return
        self.session.config.hook.pytest_hush_verdicts(
            verdicts=self.summary.verdicts, records=self.session.records(), plan=self.session.setup.plan
        )
        for verdict in self.summary.verdicts:
            emit(session, verdict)
        if failed:
            emit_no_verdict(session, failed)

    def pytest_keyboard_interrupt(self) -> None:
        self.session.close()  # before the closing section counts what is kept

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """The result says what the process will say: a case that failed beside passing gates fails both."""
        state = self.session
        if state.worker is not None or state.dry:
            return
        code = int(exitstatus)
        if code == 0 and state.active and not self.ended:
            # `pytest.exit(returncode=0)` of a test or conftest.py: what was not judged is never green.
            code = session.exitstatus = int(pytest.ExitCode.INTERRUPTED)
            state.messages += (
                "The session was ended with exit code 0 (pytest.exit) before its gates were reported: it counts as "
                f"interrupted, exit code {code}.",
            )
        if state.folder is not None:
            from pytest_hush.plugin.conclude import forget_result, keep_calls, write

            if self.summary is not None:
                self.summary = write(state, self.summary, code)
            elif not self.unjudged:
                try:
                    forget_result(state.folder.path)  # an interrupt may have come in the middle of judging
                except HushError as error:
                    state.messages += (str(error),)
            keep_calls(state)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        state = self.session
        if state.folder is None or state.worker is not None:
            return
        from pytest_hush.plugin.conclude import closing_lines

        terminalreporter.section("hush", sep="=")
        if self.unjudged:
            terminalreporter.write_line(f"No verdict: {self.unjudged}")
            return
        for line in closing_lines(state, self.summary, width=terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)


def emit(session: pytest.Session, verdict: Verdict) -> None:
    """One verdict as a test result named ``hush::gate[…]``.

    A gate that fails without blocking is an expected failure: shown by ``-rx``, no part of the exit code.
    """
    from pytest_hush.gate import PASSING

    text = told(verdict)
    properties = [
        ("hush.gate", verdict.gate),
        ("hush.outcome", verdict.outcome),
        ("hush.sentence", verdict.sentence[:190]),
    ]
    if verdict.outcome == "skipped":
        _reports(session, f"gate[{verdict.id}]", "skipped", text, properties)
    elif verdict.outcome in PASSING:
        _reports(session, f"gate[{verdict.id}]", "passed", "", properties)
    else:
        _reports(session, f"gate[{verdict.id}]", "failed" if verdict.blocks else "warned", text, properties)


def told(verdict: Verdict) -> str:
    """What pytest prints beside the gate's id: the figure and its limit first, since its summary cuts the line there.

    Of a skipped gate only the reason: pytest folds gates that share it into one line.
    """
    from pytest_hush.gate.words import UNITS, number

    if verdict.outcome == "skipped":
        return f"{verdict.reason or verdict.sentence} {verdict.waiver_text}".strip()
    unit = UNITS.get(verdict.metric, "")
    value = "" if verdict.value is None else f"{number(verdict.value, verdict.limit)}{unit}"
    first = f"{value}, limit {verdict.limit:g}{unit}; " if value else ""
    return f"{first}{verdict.outcome}: {verdict.sentence} {verdict.reason} {verdict.waiver_text}".strip()


def emit_no_verdict(session: pytest.Session, reason: str) -> None:
    """The failed result of a run in which no gate was judged."""
    _reports(session, "gate[no-verdict]", "failed", reason, [("hush.outcome", "no-verdict")])


def _reports(
    session: pytest.Session, name: str, outcome: str, text: str, properties: Sequence[tuple[str, str]]
) -> None:
    nodeid, location, hook = f"{ROOT}::{name}", (ROOT, None, name), session.config.hook
    session.testscollected += 1
    hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    for when in PHASES:
        here = outcome if when == "call" else "passed"
        longrepr: str | tuple[str, int, str] | None = None
        if here == "skipped":
            longrepr = (ROOT, 0, f"Skipped: {text}")
        elif here in ("failed", "warned"):
            longrepr = text
        report = pytest.TestReport(
            nodeid,
            location,
            {"hush_gate": 1},
            "skipped" if here == "warned" else here,  # type: ignore[arg-type]
            longrepr,
            when,  # type: ignore[arg-type]
            user_properties=list(properties),
        )
        if here == "warned":
            report.wasxfail = f"this gate warns: {text}"
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
