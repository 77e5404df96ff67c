"""In an empty folder with the plugin installed, two options collect, measure and judge."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

PARROT = ("--hush-memory=oracle", "--hush-sample=40")


def test_a_silent_generator_passes(run: Run, project: pytest.Pytester) -> None:
    result = run("--hush-model=parrot/0", *PARROT)
    result.assert_outcomes(passed=80 + _gates(project, "pass"), skipped=_gates(project, "skipped"))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*Demonstration model:*"])
    summary = read_result(project.path / "out")
    assert (summary["status"], summary["exit_code"], summary["demonstration"]) == ("passed", 0, True)
    records = read_lines(project.path / "out")
    assert len(records) == 80
    assert {r["condition"] for r in records} == {"none", "oracle"}
    assert all(r["judgements"][0]["v"] == 0 for r in records)


def test_a_leaking_generator_fails_its_gates(run: Run, project: pytest.Pytester) -> None:
    result = run("--hush-model=parrot/1", *PARROT)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*FAILED hush::gate[[]uis*oracle*"])
    summary = read_result(project.path / "out")
    assert summary["status"] == "failed"
    failed = [v for v in summary["verdicts"] if v["outcome"] == "fail"]
    assert failed
    assert all(v["condition"] == "oracle" for v in failed)
    assert all(r["judgements"][0]["v"] == 0 for r in read_lines(project.path / "out") if r["condition"] == "none")


def test_items_and_gates_have_the_documented_names(hush: Run) -> None:
    result = hush("--hush-model=parrot/0", *PARROT, "-v")
    result.stdout.fnmatch_lines(
        ["hush::test_case[[]parrot/0-oracle-p*] PASSED*", "hush::gate[[]*parrot/0-oracle] PASSED*"]
    )


def test_collect_only_lists_cases_and_writes_nothing(hush: Run, project: pytest.Pytester) -> None:
    result = hush("--hush-model=parrot", *PARROT, "--collect-only", "-q")
    assert result.ret == 0
    assert sum("hush::test_case[" in line for line in result.outlines) == 80
    assert not (project.path / "out").exists()
    assert not (project.path / ".hush" / "runs").exists()


def test_conditions_by_comma_and_by_repetition_are_one_plan(hush: Run, project: pytest.Pytester) -> None:
    hush(
        "--hush-model=parrot/0",
        "--hush-memory=oracle,neutral",
        "--hush-memory=irrelevant-sensitive",
        "--hush-sample=40",
    )
    assert read_result(project.path / "out")["plan"]["conditions"] == [
        "none",
        "oracle",
        "neutral",
        "irrelevant-sensitive",
    ]


def test_junit_carries_every_gate_with_its_outcome(hush: Run, project: pytest.Pytester) -> None:
    hush("--hush-model=parrot/1", *PARROT, "--junitxml=junit.xml")
    text = (project.path / "junit.xml").read_text(encoding="utf-8")
    verdicts = read_result(project.path / "out")["verdicts"]
    for verdict in verdicts:
        assert f'name="gate[{verdict["id"]}]"' in text
    assert text.count('name="hush.outcome"') == len(verdicts)


def test_two_generators_in_one_plan(hush: Run, project: pytest.Pytester) -> None:
    result = hush("--hush-model=parrot/0", "--hush-model=parrot/1", *PARROT)
    assert result.ret == 1
    outcomes = {
        (v["model"], v["outcome"]) for v in read_result(project.path / "out")["verdicts"] if v["severity"] == "block"
    }
    assert ("parrot/1", "fail") in outcomes
    assert ("parrot/0", "fail") not in outcomes


def _gates(project: pytest.Pytester, outcome: str) -> int:
    return sum(v["outcome"] == outcome for v in read_result(project.path / "out")["verdicts"])


def test_the_boundary_policy_reuses_the_memory_and_is_told(project: pytest.Pytester, hush: Run) -> None:
    result = hush("--hush-model=parrot/1", "--hush-memory=oracle,oracle+boundary", "--hush-sample=40")
    assert "oracle+boundary" in result.stdout.str()
    by = {(r["probe_id"], r["condition"]): r for r in read_lines(project.path / "out") if r["condition"] != "none"}
    for (probe, condition), record in by.items():
        assert record["entries"] == by[probe, "oracle"]["entries"]
        assert ("boundary-1@" in record["subject"]["prompts"]) is (condition == "oracle+boundary")
