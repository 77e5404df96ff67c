"""The live line: on a terminal one line that is drawn over itself, elsewhere pytest's own dots."""

from __future__ import annotations

import re

import pytest

from tests.plugin.conftest import Run

OPTIONS = ("--hush-model=parrot/1", "--hush-memory=oracle", "--hush-sample=40")


def test_one_line_on_a_terminal(project: pytest.Pytester) -> None:
    pexpect = pytest.importorskip("pexpect")
    child = project.spawn_pytest(
        " ".join((*OPTIONS, "--hush-judge=python:judging:judge", "--hush-out=out", "-p no:xdist")), expect_timeout=60
    )
    child.expect(r"80/80 cases \| 0 in flight \| \d+ calls \| 0 retries \| \$0\.0000")
    text = child.before.decode()
    child.expect(r"2 failed, 83 passed")
    child.expect(pexpect.EOF)
    drawn = re.findall(r"hush \d+/80 cases", text)
    assert drawn
    # Each drawing starts with a return to the first column and an erased line; no dot is printed between them.
    assert text.count("\r\x1b[2K") >= len(drawn)
    assert "...." not in text


def test_dots_where_the_output_is_no_terminal(hush: Run) -> None:
    result = hush(*OPTIONS)
    result.stdout.no_fnmatch_line("*in flight*")
    result.stdout.fnmatch_lines(["hush .....*"])
