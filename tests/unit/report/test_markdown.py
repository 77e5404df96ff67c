"""Markdown for a step summary and a comment: whole within the limits, and inert whatever names and reasons hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt

from pytest_hush.gate import Contrast, Verdict
from pytest_hush.gate.contrasts import Comparison
from pytest_hush.report.markdown import COMMENT_LIMIT, MARKER, comment, escaped, step_summary
from pytest_hush.report.summary import Summary
from pytest_hush.report.wording import headline, mark
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(4, 3), conditions="vector,full-context")
RECORDS = make_records(PLAN, lambda case: 1.0)
NASTY = "<img src=x onerror=alert(1)> | @team #12 `x` [a](http://b) **b**\n::error:: \x1b[2J ‮"


def made(v: float = 1.0) -> Summary:
    return summary_of(make_records(PLAN, lambda case: v), PLAN)


def render(text: str) -> str:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)


def nasty(count: int = 1) -> Summary:
    base = made().verdicts[0]
    hard: dict[str, Any] = {
        "model": NASTY,
        "reason": NASTY,
        "waiver": "active",
        "waiver_text": NASTY,
        "sentence": NASTY,
    }
    verdicts: Sequence[Verdict] = [replace(base, gate=f"g{n}", **hard) for n in range(count)]
    return replace(made(), verdicts=verdicts, notes=(NASTY,), reason="")


def test_every_verdict_and_figure_is_there() -> None:
    summary = made()
    text = comment(summary, exit_code=1, records=RECORDS)
    assert text.startswith(f"{MARKER}\n### ❌ hush: {headline(summary)}\n")
    for v in summary.verdicts:
        assert f"| {mark(v)} | <code>{escaped(v.id)}</code> |" in text
    assert "| vector | 48 of 48 | 100.0 " in text
    assert "| *11.2* |" in text
    assert "exit code 1" in text
    assert "The worst cases" in text
    html = render(text)
    assert html.count("<table>") == 3
    assert f"{len(summary.verdicts)} verdicts" in html


def test_no_text_of_a_case_is_in_it() -> None:
    text = comment(made(), exit_code=1, records=RECORDS) + step_summary(made(), exit_code=1, records=RECORDS)
    assert "fern" not in text


def test_names_and_reasons_of_others_mean_nothing() -> None:
    text = comment(nasty(), exit_code=1)
    assert "<img" not in text
    assert "@team" not in text
    assert "\x1b" not in text
    assert "‮" not in text
    html = render(text)
    assert "onerror=alert(1)&gt;" in html, "it is shown, as text"
    assert "<img" not in html
    assert "<a " not in html
    assert "<strong>b" not in html
    (row,) = [line for line in text.splitlines() if "<code>g0-" in line]
    assert row.replace("\\|", "").count("|") == 4, "three cells"


@pytest.mark.parametrize("count", [1, 60, 3000])
def test_a_comment_fits_and_counts_what_it_leaves_out(count: int) -> None:
    summary = nasty(count)
    text = comment(summary, exit_code=1, records=RECORDS)
    assert len(text.encode()) <= COMMENT_LIMIT
    shown = text.count("| <code>g")
    assert 0 < shown <= count
    if shown < count:
        assert f"and {count - shown} more: see the report" in text
    assert "exit code 1" in text, "the foot always stands"


def test_a_step_summary_shares_the_room_with_what_stands_there_already() -> None:
    small = step_summary(nasty(3000), exit_code=1, limit=30_000)
    assert len(small.encode()) <= 30_000
    large = step_summary(nasty(3000), exit_code=1)
    assert len(small) < len(large)
    assert len(large.encode()) <= 1_000_000


def test_blocking_verdicts_come_first() -> None:
    summary = made()
    verdicts = [replace(summary.verdicts[0], gate=f"p{n}", outcome="pass", blocks=False) for n in range(5)]
    verdicts.append(replace(summary.verdicts[0], gate="late", outcome="fail", blocks=True))
    rows = [x for x in comment(replace(summary, verdicts=verdicts), exit_code=1).splitlines() if "<code>" in x]
    assert rows[0].startswith("| FAIL | <code>late")


def test_another_run_stands_beside() -> None:
    contrast = Contrast("openai/test", "vector", "baseline", "uis", 40, 48, 8, 6.5, 3.4, 13.0, 0.95, 89.0, 1.9, 0.002,
                        2.0, 4.5)  # fmt: skip
    comparison = Comparison("baseline", "main", "openai/test", "vector", "openai/test", ("model: 'a' then, 'b' now",),
                            (), "")  # fmt: skip
    text = comment(replace(made(), contrasts=(contrast,), comparisons=(comparison,)), exit_code=0)
    assert "| vector | baseline | +6.5 &#91;+3.4, +13.0&#93; | +2.0 exposure, +4.5 replies | 40 of 48 |" in text
    assert "- baseline: model: 'a' then, 'b' now (openai/test under vector)" in text


def test_a_stopped_run_says_so() -> None:
    summary = summary_of(RECORDS[:5], PLAN, stopped="5 failures")
    text = step_summary(summary, exit_code=1)
    assert "### ⚪ hush: NO VERDICT: the run stopped early" in text
    assert "Why: 5 failures" in text
