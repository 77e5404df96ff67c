"""How far the run is: a table that is drawn over itself on a terminal, dots and a line now and then elsewhere."""

from __future__ import annotations

import re

import pytest

from tests.plugin.conftest import Run

OPTIONS = ("--hush-model=parrot/1", "--hush-memory=oracle", "--hush-sample=40")
UP = "\x1b[1A"
OWN = """
def test_before():
    pass

def test_mine(hush_record):
    assert hush_record.condition == "none" or "p03" not in hush_record.probe_id, "found by a test of the user's"

def test_after():
    pass
"""


def on_a_terminal(project: pytest.Pytester, *args: str, rows: int = 30) -> str:
    """What a run writes to a terminal of 100 columns."""
    pexpect = pytest.importorskip("pexpect")
    judge = ("--hush-judge=python:judging:judge", "--hush-out=out")
    child = project.spawn_pytest(" ".join((*OPTIONS, *judge, *args)), expect_timeout=60)
    child.setwinsize(rows, 100)
    child.expect(pexpect.EOF)
    return child.before.decode()


def last_table(text: str) -> list[str]:
    """The lines of the last drawing, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text[text.rindex("\x1b[2K") :])
    return [" ".join(line.split()) for line in plain.splitlines()]


def test_a_table_on_a_terminal(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    text = on_a_terminal(project, "-p no:xdist")
    assert "2 failed, 83 passed" in text
    found = last_table(text)
    assert found[0] == "condition cases no score price of replies"
    assert found[1:3] == ["none 40/40 - $0.0000", "oracle 40/40 - $0.0000"]
    assert re.fullmatch(r"hush 80/80 cases \| 0 in flight \| \d+ calls \| 0 retries \| \$0\.0000", found[3])
    # Each drawing but the first goes up over the one before, line by line; no dot is printed between them.
    drawn = text.count("no score")
    assert drawn >= 2
    assert text.count(UP) == 3 * (drawn - 1)
    assert "...." not in text
    assert "\x1b[?25l" not in text  # the cursor is never hidden: a killed run leaves it as it was


def test_a_users_own_failing_tests_under_workers(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller measures nothing: it counts by the workers' reports. Failures are told at the end alone."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    project.makepyfile(test_own=OWN)
    text = on_a_terminal(project, "-n2", "test_own.py", "hush")
    assert "AssertionError: found by a test of the user's" in text
    found = last_table(text)
    assert found[:4] == [
        "condition cases no score price of replies",
        "none 40/40 - -",
        "oracle 40/40 - -",
        "hush 80/80 cases",
    ]
    assert not re.search(r"\x1b\[[0-9;]*m", text)


def test_dots_where_the_output_is_no_terminal(hush: Run) -> None:
    result = hush(*OPTIONS)
    result.stdout.no_fnmatch_line("*in flight*")
    result.stdout.fnmatch_lines(["hush .....*"])


def test_a_plain_line_now_and_then_in_a_log(hush: Run, project: pytest.Pytester) -> None:
    project.makeconftest("import pytest_hush.plugin.progress as p\np.LINE_S = 0.0\n")
    result = hush(*OPTIONS)
    lines = [line for line in result.outlines if "in flight" in line]
    assert len(lines) > 20
    assert all(re.match(r"hush \d+/80 cases \| \d+ in flight \| \d+ calls", line) for line in lines)
    assert "\x1b" not in result.stdout.str()
    result.stdout.fnmatch_lines(["hush .*"])
    # No letter stands on a line without its file's name.
    assert not [line for line in result.outlines if re.match(r"[.FExs]+(\s|$)", line)]
