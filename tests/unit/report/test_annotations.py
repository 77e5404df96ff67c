"""GitHub's workflow commands: ten at most, escaped, and none that others can write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_hush.gate import Verdict
from pytest_hush.report.annotations import commands, inert, wanted
from pytest_hush.report.summary import Summary
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(4, 3))


def made(v: float = 1.0) -> Summary:
    return summary_of(make_records(PLAN, lambda case: v), PLAN)


def with_verdicts(*changes: dict[str, Any]) -> Summary:
    base = made().verdicts[0]
    verdicts: list[Verdict] = [replace(base, **{"gate": f"g{n}", **c}) for n, c in enumerate(changes)]
    return replace(made(), verdicts=verdicts, status="failed")


def test_what_blocks_is_an_error_and_what_warns_a_warning() -> None:
    summary = with_verdicts(
        {"outcome": "fail", "blocks": True},
        {"outcome": "pass", "blocks": False},
        {"outcome": "inconclusive", "blocks": False, "severity": "warn"},
        {"outcome": "skipped", "blocks": False},
        {"outcome": "pass, regressed", "blocks": False},
    )
    told = [line.split("%3A")[0] for line in commands(summary)]
    assert told == ["::error title=hush FAIL", "::warning title=hush INCONCLUSIVE (warns)",
                    "::warning title=hush PASS%2C REGRESSED"]  # fmt: skip


@pytest.mark.parametrize("failing", [9, 10, 11, 300])
def test_ten_at_most_and_the_rest_is_counted(failing: int) -> None:
    lines = commands(with_verdicts(*[{"outcome": "fail", "blocks": True}] * failing))
    assert len(lines) == min(failing, 10)
    if failing > 10:
        assert lines[-1] == f"::error title=hush::{failing - 9} more verdicts do not pass: see the summary of the run."


def test_a_hostile_reason_stays_one_command() -> None:
    nasty = "50 % lost\r\n::error::owned\x1b[2J ‮ , : end"
    (line,) = commands(with_verdicts({"outcome": "invalid", "blocks": True, "sentence": "s.", "reason": nasty,
                                      "model": "a:b,c%d"}))  # fmt: skip
    assert "\n" not in line
    assert "\r" not in line
    assert "50 %25 lost ::error::owned\\x1b[2J \\u202e" in line
    title = line.removeprefix("::error title=").partition("::")[0]
    assert ":" not in title
    assert "," not in title
    assert "a%3Ab%2Cc%25d" in title


@pytest.mark.parametrize("status", ["stopped", "skipped", "error"])
def test_a_run_without_a_verdict_says_why(status: str) -> None:
    summary = replace(made(0.0), status=status, reason="5 failures", verdicts=())  # type: ignore[arg-type]
    (line,) = commands(summary)
    assert line.startswith("::error title=hush%3A ")
    assert line.endswith("::5 failures")


def test_a_clean_pass_needs_no_annotation() -> None:
    passing = [replace(v, outcome="pass", blocks=False) for v in made().verdicts]
    assert commands(replace(made(), status="passed", verdicts=passing)) == []


@pytest.mark.parametrize("line", ["::error::x", "   ::stop-commands::x", "text ##[error]x"])
def test_a_line_of_others_is_no_command(line: str) -> None:
    shown = inert(line)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert inert("UIS: 3.0 :: fine") == "UIS: 3.0 :: fine"


def test_only_in_github_actions() -> None:
    assert wanted({"GITHUB_ACTIONS": "true"})
    assert not wanted({})
    assert not wanted({"GITHUB_ACTIONS": "false"})
