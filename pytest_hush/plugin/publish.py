"""What a run leaves beside its folder: the page, and in GitHub Actions the step summary and the annotations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_hush.model import Record
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.report.summary import Summary

WRITTEN: pytest.StashKey[tuple[str, int]] = pytest.StashKey()
"""Status and exit code that the page in place shows."""
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def write_report(
    session: HushSession, summary: Summary, exit_code: int, records: Sequence[Record] | None = None
) -> None:
    """Write the page of ``--hush-report``, unless the one in place says the same. A failure is in `unwritten`.

    `records` with their texts spare reading them again.
    """
    path, folder, setup = session.options.report, session.folder, session.setup
    said = (summary.status, exit_code)
    if path is None or folder is None or session.config.stash.get(WRITTEN, None) == said:
        return
    from pytest_hush.report.html import Material, render_page, write_page

    page = render_page(
        Material(
            summary,
            session.records() if records is None else records,
            exit_code=exit_code,
            plugin_version=__version__,
            pack=setup.pack,
            references=setup.references,
            redacted=session.secret,
            started=str(folder.manifest.get("started", "")),
        )
    )
    try:
        write_page(path, page)
    except UsageError as error:
        if str(error) not in session.unwritten:
            session.unwritten = f"{session.unwritten} {error}".strip()
        return
    session.config.stash[WRITTEN] = said


def append_step_summary(session: HushSession, summary: Summary, exit_code: int) -> None:
    """Append the run to the job's step summary; where that is impossible, say so. The verdicts stand anyway."""
    from pytest_hush.report.annotations import wanted
    from pytest_hush.report.markdown import SUMMARY_LIMIT, step_summary

    named = os.environ.get(STEP_SUMMARY, "")
    if not wanted() or not named:
        return
    path = Path(named)
    try:
        taken = path.stat().st_size if path.exists() else 0
        text = step_summary(summary, exit_code=exit_code, records=session.records(), limit=SUMMARY_LIMIT - taken)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        session.messages += (f"The step summary {named} cannot be written: {error.strerror}. The verdicts stand.",)


def annotated(lines: Sequence[str], summary: Summary | None) -> list[str]:
    """In GitHub Actions, `lines` that the runner takes for text, then the annotations of `summary`; else `lines`."""
    from pytest_hush.report.annotations import commands, inert, wanted

    if not wanted():
        return list(lines)
    return [*map(inert, lines), *(commands(summary) if summary is not None else [])]
