"""From the records in the run folder to a summary, a JSON result and closing lines."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import StoreError
from pytest_hush.plan import identity
from pytest_hush.text import number_of
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_hush.gate import Verdict
    from pytest_hush.gate.fits import Calibrated
    from pytest_hush.model import Record
    from pytest_hush.plan import Plan
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.report.summary import Summary

RESULT = "result.json"
INTERRUPTED = 2
"""pytest's exit code of a session that was interrupted."""


def conclude(session: HushSession, *, stopped: str = "", tests_failed: bool = False) -> tuple[Summary, str]:
    """Judge the run and write ``result.json``. The second value is why a run without any verdict fails, or ''.

    `tests_failed`: a test failed, so that the session will end with 1 whatever the gates say.
    """
    from pytest_hush.gate import comparisons, contrasts, estimates, exit_blocked, judge_in_looks, no_verdict, opinions
    from pytest_hush.gate.corrected import reviewed
    from pytest_hush.gate.fits import withheld
    from pytest_hush.gate.invited import invitation_contrasts
    from pytest_hush.plugin.publish import write_report
    from pytest_hush.report.redact import error_kind, redacted
    from pytest_hush.report.summary import summarise
    from pytest_hush.stats.judges import one_judgement
    from pytest_hush.store import revision_from, usable_labels

    setup, folder = session.setup, session.folder
    assert folder is not None
    whole = session.records()
    if session.secret:
        stopped = error_kind(stopped)
    # An error may quote a text, and a verdict's reason quotes errors; scores and flags stay as they are.
    records = redacted(whole, session.secret)
    read = usable_labels(folder.path, whole)
    verdicts: list[Verdict] = []
    part = setup.plan
    if not stopped:
        verdicts, part = judge_in_looks(
            records,
            setup.plan,
            setup.thresholds,
            mode=setup.options.mode,
            selected=session.selected,
            references=setup.references,
            today=datetime.datetime.now(tz=datetime.UTC).date(),
            sensitive=setup.policy.sensitive,
            labels=read[0],
        )
    known = _calibrated(session, records)
    verdicts = withheld(verdicts, known, several=len(setup.plan.models) > 1)
    failed = ""
    if not stopped and not setup.options.allow_no_verdict and setup.plan.shard is None:
        failed = no_verdict(verdicts, lift="--hush-allow-no-verdict")
    confidence, aggregate = setup.thresholds.confidence, setup.thresholds.judge.aggregate
    taken: dict[str, Any] = {"aggregate": aggregate, "sensitive": setup.policy.sensitive}
    scored = one_judgement(records, aggregate)
    summary = summarise(
        scored,
        setup.plan,
        setup.thresholds,
        estimates(scored, part, confidence=confidence, **taken),
        verdicts,
        mode=setup.options.mode,
        stopped=stopped,
        screening_judge=setup.screening(aggregate),
        run_folder=str(folder.path),
        notes=run_notes(session, scored, part),
        contrasts=[
            *contrasts(scored, part, setup.references, confidence=confidence, **taken),
            *invitation_contrasts(scored, part, confidence=confidence),
        ],
        comparisons=comparisons(records, part, setup.references),
        opinions=opinions(records, part, setup.references, aggregate),
        revision=revision_from(folder.manifest.get("revision")),
        calls=_calls(session),
        calibrated=known,
        review=reviewed(read, records, part, setup.thresholds),
    )
    if failed:
        summary = replace(summary, status="skipped", reason=failed)
    # Written now, and once more when the session's exit code is known: a crash in between loses nothing.
    code = 1 if failed or stopped or tests_failed or exit_blocked(verdicts) else 0
    summary = _write_result(session, summary, code)
    write_report(session, summary, code, whole)
    return summary, failed or session.unwritten


def _calibrated(session: HushSession, records: Sequence[Record]) -> Calibrated:
    """What the calibrations say of the judges that measured `records`."""
    from pytest_hush.gate.calibrated import calibrated
    from pytest_hush.gate.fits import NOTHING_KNOWN

    setup = session.setup
    if not records:
        return NOTHING_KNOWN
    return calibrated(records[0].instrument, setup.calibrations, setup.thresholds)


def _calls(session: HushSession) -> tuple[int, int]:
    """Calls made and answers from the cache, by this session and by the earlier ones of a resumed run."""
    assert session.folder is not None
    (calls, hits), (before, kept) = session.calls(), session.folder.sessions() or (0, 0)
    return before + calls, kept + hits


def keep_calls(session: HushSession) -> None:
    """Note in the run folder what this session took, for later reports; where that is impossible, say so."""
    assert session.folder is not None
    try:
        session.folder.keep_session(*session.calls())
    except StoreError as error:
        session.messages += (f"{error} Later reports will not tell the number of calls.",)


def write(session: HushSession, summary: Summary, exit_code: int) -> Summary:
    """Write what says `exit_code`, the process's: ``result.json``, the report, in GitHub Actions the step summary."""
    from pytest_hush.plugin.publish import append_step_summary, write_report

    summary = _write_result(session, summary, exit_code)
    write_report(session, summary, exit_code)
    append_step_summary(session, summary, exit_code)
    return summary


def forget_result(folder: Path) -> None:
    """Remove the ``result.json`` of an earlier session: a session that does not come to judging leaves none.

    Raises `StoreError` when that is impossible.
    """
    path = folder / RESULT
    try:
        if path.is_file():
            path.unlink()
    except OSError as error:
        raise StoreError(
            f"{path}: the result of an earlier session cannot be removed: {error.strerror}. Give another --hush-out."
        ) from error


def _write_result(session: HushSession, summary: Summary, exit_code: int) -> Summary:
    """Write ``result.json`` with the process's `exit_code`; a session that failed beside passing gates is an error."""
    from pytest_hush.report.result import result, write_result

    assert session.folder is not None
    if exit_code and summary.status in ("passed", "undecided"):
        gates = "Every gate passed" if summary.status == "passed" else "No gate blocks"
        why = "was interrupted" if exit_code == INTERRUPTED else "failed: see its tests"
        summary = replace(summary, status="error", reason=f"{gates}, but the session {why}.")
    data = result(summary, exit_code=exit_code, plugin_version=__version__)
    try:
        write_result(session.folder.path / RESULT, data)
    except OSError as error:
        where = session.folder.path / RESULT
        session.unwritten = f"{where} cannot be written: {error.strerror or error}. Free the place, and resume."
    return summary


def closing_lines(session: HushSession, summary: Summary | None, *, width: int) -> list[str]:
    """What the terminal's last section says; without a summary, what was kept and how to go on."""
    from pytest_hush.plugin.publish import annotated

    return annotated(_lines(session, summary, width=width), summary)


def _lines(session: HushSession, summary: Summary | None, *, width: int) -> list[str]:
    folder = session.folder
    assert folder is not None
    lines = [*session.messages, *([session.unwritten] if session.unwritten else [])]
    if summary is None:
        kept = len(session.records())
        total = sum(session.setup.plan.in_shard(c) for c in session.setup.plan.cases)
        lines.append(f"No verdict: the run was interrupted. {kept} of {number_of(total, 'record')} kept.")
        lines.append(f"Finish it with the same options and --hush-resume --hush-out={folder.path}")
        return lines
    if summary.status in ("error", "skipped") and summary.reason:
        lines.append(summary.reason)
    elif summary.reason:
        lines.append(f"No verdict: the run stopped early: {summary.reason}")
        if session.fatal or "failures" in summary.reason:
            lines.append(
                f"Mend the cause, then finish with the same options and --hush-resume --hush-out={folder.path}"
            )
    from pytest_hush.report.terminal import render

    lines += render(summary, width=width)
    lines.append(f"records and result: {folder.path}")
    if session.options.report is not None and not session.unwritten:
        lines.append(f"report: {session.options.report}")
    if any(r.measured and any((j.v or 0) > 0 for j in r.judgements) for r in session.records()):
        lines.append(f"the worst cases, with what memory showed and what was said: hush show {folder.path}")
    return lines


def run_notes(session: HushSession, records: Sequence[Record], part: Plan) -> list[str]:
    """Lines on cases that carry no score, on calls, and on cache misses where they were asked for.

    `part` is what the verdicts rest on: cases outside of it were settled at the first of two looks.
    """
    planned = [c for c in session.setup.plan.cases if session.setup.plan.in_shard(c)]
    missing: Counter[str] = Counter(r.status for r in records if not r.measured)
    found, needed = {r.identity for r in records}, {identity(c) for c in part.cases}
    absent = [i for c in planned if (i := identity(c)) not in found]
    if unmeasured := sum(i in needed for i in absent):
        missing["absent"] = unmeasured
    lines = []
    if spared := len(absent) - unmeasured:
        lines.append(f"Not needed: {spared} of {len(planned)} cases. The first look had settled their gates.")
    if missing:
        parts = ", ".join(f"{n} {status}" for status, n in sorted(missing.items()))
        lines.append(f"Not measured: {parts} of {len(planned)} cases. Silence that was not measured is never a pass.")
    calls, hits = session.calls()
    lines.append(f"{number_of(calls, 'call')}, {number_of(hits, 'answer')} from the cache")
    if session.options.explain_misses:
        told = [line for engine in session.engines.values() for line in engine.misses()]
        lines += [f"cache miss: {line}" for line in told] or ["cache misses: none"]
    return lines
