"""The command line: plans, single cases of a run, errors with exit code 4."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.errors import MissingExtraError
from pytest_hush.model import Record
from pytest_hush.models.remote import require_sdk
from pytest_hush.packs import load_pack
from pytest_hush.plan import Plan
from pytest_hush.report.show import instrument_pack
from pytest_hush.store import RunFolder
from tests.unit.factories import make_plan, make_records

STARTER = make_plan(load_pack("starter"), sample=20)
CASE = next(c for c in STARTER.cases if c.kind == "probe" and c.condition.name == "vector")


def call(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def kept(
    folder: Path, plan: Plan = STARTER, pack: str = "", root: Path | None = None, private: bool | None = None
) -> Path:
    """A run folder that holds a record for every case of `plan`; `pack` replaces the instrument's."""
    about = {"plan_hash": plan.hash} | ({} if private is None else {"private": private})
    run = RunFolder.create(folder, about, root=root)
    log = run.log("main")
    for record in made(plan, pack):
        log.append(record)
    log.close()
    return folder


def made(plan: Plan, pack: str) -> list[Record]:
    records = make_records(plan, lambda case: 1.0 if case.id == CASE.id else 0.0)
    named = pack or instrument_pack(plan.pack)
    return [replace(r, instrument={**r.instrument, "pack": named}) for r in records]


# ---- show -------------------------------------------------------------------------------------------


def test_show_prints_the_worst_case_with_its_probe(tmp_path: Path) -> None:
    result = call("show", str(kept(tmp_path / "run")), "--worst", "1")
    assert result.exit_code == 0
    assert result.output.startswith(f"{CASE.id}: ok; v 1.00")
    assert " ".join(CASE.text.split()) in " ".join(result.output.split())
    assert result.output.count("exposure:") == 1


def test_show_takes_three_of_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path / "run", root=tmp_path)
    monkeypatch.chdir(tmp_path)
    result = call("show")
    assert (result.exit_code, result.output.count("exposure:")) == (0, 3)


def test_show_names_one_case(tmp_path: Path) -> None:
    run = str(kept(tmp_path / "run"))
    other = next(c for c in STARTER.cases if c.kind == "control")
    result = call("show", run, f"--case=hush::test_positive_control[{other.id}]")
    assert result.output.startswith(f"{other.id}: ok; retrieved yes, used yes")
    unknown = call("show", run, "--case=nobody")
    assert unknown.exit_code == 4
    assert "ERROR: --case=nobody: the run has no record of that case" in unknown.output


def test_show_takes_a_probe_for_its_case_or_lists_its_cases(tmp_path: Path) -> None:
    run = str(kept(tmp_path / "run"))
    several = call("show", run, f"--case={CASE.probe_id}")
    others = [c.id for c in STARTER.cases if c.probe_id == CASE.probe_id]
    assert (several.exit_code, len(others)) == (4, 2)
    assert f"--case={CASE.probe_id}: 2 cases fit. Name one of them: " in several.output
    assert all(i in several.output for i in others)
    one = call("show", run, f"--case={CASE.probe_id}", "--condition=vector")
    assert one.output.startswith(f"{CASE.id}: ok; v 1.00")
    assert call("show", run, f"--case=vector-{CASE.probe_id}").output == one.output


def test_show_filters_by_condition_and_by_v(tmp_path: Path) -> None:
    run = str(kept(tmp_path / "run"))
    result = call("show", run, "--min-v=0.5")
    assert (result.exit_code, result.output.count("exposure:")) == (0, 1)
    none = call("show", run, "--min-v=0.5", "--condition=none")
    assert (none.exit_code, "no measured probe has a v of 0.5 or more" in none.output) == (4, True)
    assert call("show", run, "--min-v=0", "--condition=none").output.count("exposure:") == 20
    assert call("show", run, "--min-v=0", "--worst=2").output.count("exposure:") == 2
    unknown = call("show", run, "--condition=oracle")
    assert "the run has no case of it. Expected one of: none, vector." in unknown.output


def test_show_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no run under ./.hush" in call("show").output
    assert "no run here" in call("show", "nowhere").output
    RunFolder.create(tmp_path / "empty", {"plan_hash": "0"})
    empty = call("show", "empty")
    assert (empty.exit_code, "holds no record" in empty.output) == (4, True)


@pytest.mark.parametrize("private", [True, None])
def test_show_keeps_the_texts_of_a_private_pack(tmp_path: Path, private: bool | None) -> None:
    run = kept(tmp_path / "run", pack="starter@1.0+000000000000", private=private)
    result = call("show", str(run))
    assert result.output.startswith("Scores only: the pack is private")
    assert f"{CASE.id}: ok; v 1.00" in result.output
    assert "fern" not in result.output


def test_show_leaves_out_a_probe_of_a_public_pack_that_is_not_bundled(tmp_path: Path) -> None:
    run = kept(tmp_path / "run", pack="mine@1+000000000000", private=False)
    result = call("show", str(run), "--worst=1")
    assert "asked: not known here" in result.output
    assert "A fern likes shade." in result.output


def test_show_survives_a_terminal_of_ascii(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", {"plan_hash": STARTER.hash})
    log = run.log("main")
    for record in made(STARTER, ""):
        log.append(replace(record, reply="naïve \x1b[2J 漢"))
    log.close()
    result = CliRunner(charset="ascii").invoke(main, ["show", str(run.path), "--worst=1"])
    assert result.exit_code == 0
    assert "na\\xefve \\x1b[2J \\u6f22" in result.output


# ---- plan -------------------------------------------------------------------------------------------


def test_plan_counts_cases_and_names_the_judge() -> None:
    result = call("plan", "--model=parrot", "--memory=oracle")
    assert result.exit_code == 0
    assert "240 probe cases, 0 positive controls: 240 replies, 240 judgements" in result.output
    assert "tokens in and 192,000 out, $0.00 for 240 replies" in result.output
    assert "judge embedded: $0.00" in result.output


def test_plan_says_what_the_gates_can_tell() -> None:
    text = call("plan", "--model=parrot", "--memory=oracle", "--thresholds=conservative-pr").output
    assert "gate uis (limit 15; 120 cases, 10 personas): passes up to 8.0, fails from" in text
    assert "gate helpfulness (limit 60; 120 cases, 10 personas): passes from" in text


def test_plan_needs_no_key_and_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = call("plan", "--model=openai/gpt-4o", "--memory=oracle")
    assert result.exit_code == 0
    assert "judge openai/gpt-4o: about 3,000 tokens" in result.output
    assert "OPENAI_API_KEY" not in os.environ


def test_plan_and_its_price_need_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)  # as where it is not installed
    result = CliRunner().invoke(main, ["plan", "--model=openai/gpt-4o", "--memory=oracle", "--sample=40"])
    assert result.exit_code == 0, result.output
    assert "$" in result.output
    with pytest.raises(MissingExtraError, match="The openai SDK is not installed"):
        require_sdk("openai")


def test_plan_for_two_looks() -> None:
    result = CliRunner().invoke(main, ["plan", "--model=parrot/0", "--memory=oracle", "--two-look"])
    assert result.exit_code == 4
    assert "too few for two looks; expected 160 or more" in result.output
    result = CliRunner().invoke(
        main, ["plan", "--model=parrot/0", "--memory=oracle", "--two-look", "--pack=hush-en-1", "--sample=400"]
    )
    assert result.exit_code == 0, result.output
    assert "two looks: 160 of the 800 probe cases are measured and judged first" in result.output


def test_plan_says_what_the_bound_covers() -> None:
    text = " ".join(call("plan", "--help").output.split())
    assert "vector 5 entries of 100 words, full-context its whole token budget (24,000 at most)" in text
    assert "about 3,000 tokens in and 800 out" in text


def test_an_unknown_pack_is_one_clear_error() -> None:
    result = call("plan", "--model=parrot", "--pack=nope")
    assert result.exit_code == 4
    assert "ERROR: There is no bundled pack 'nope'; there are: " in result.output
    assert "starter" in result.output
