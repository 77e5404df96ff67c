"""``hush reproduce`` from end to end: the price first, a run a generator, tables and a page, and what resumes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main


def reproduce(*arguments: str) -> Result:
    return CliRunner().invoke(
        main,
        ["reproduce", "--models=parrot/0.9", "--memory=full-context", "--pack=starter", "--sample=40", "--judge=trace",
         *arguments],
    )  # fmt: skip


def test_a_sample_with_the_parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cost = reproduce("--only=main", "--cost")
    assert cost.exit_code == 0
    assert "parrot/0.9: at most" in cost.output
    assert "together: 80 replies, at most $0.00" in cost.output
    assert list(tmp_path.iterdir()) == []

    first = reproduce("--only=main", "--out=out")
    assert first.exit_code == 0, first.output
    assert first.output.index("together: 80 replies") < first.output.index("parrot-0.9-main: measuring")
    assert "Q1: unrequested use of memory" in first.output
    assert (tmp_path / "out" / "parrot-0.9-main" / "result.json").is_file()
    assert (tmp_path / "out" / ".gitignore").read_text(encoding="utf-8") == "*\n"  # the pages beside the runs too
    page = (tmp_path / "out" / "reproduce.html").read_text(encoding="utf-8")
    assert '<em>11.2 <span class="whole">(gpt-4o)</span></em>' in page

    again = reproduce("--only=main", "--out=out")
    assert again.exit_code == 4
    assert "Add --resume to go on with it" in again.output
    resumed = reproduce("--only=main", "--out=out", "--resume")
    assert resumed.exit_code == 0
    assert "finished already" in resumed.output
    told = reproduce("--out=out", "--tables")
    assert told.exit_code == 0
    assert "not measured: parrot/0.9, Q2 and Q4" in told.output


def test_tables_of_nothing_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = reproduce("--out=nowhere", "--tables")
    assert result.exit_code == 4
    assert "there is no run with a record" in result.output
    assert not (tmp_path / "nowhere").exists()
