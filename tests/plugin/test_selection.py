"""Gates are judged on the plan: a selection skips them, in the open."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

PARROT = ("--hush-model=parrot/1", "--hush-memory=oracle", "--hush-sample=40")


def test_k_skips_the_gates_and_fails_without_leave(run: Run, project: pytest.Pytester) -> None:
    result = run(*PARROT, "-k", "p01")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*No gate that blocks was judged*", "FAILED hush::gate[[]no-verdict[]]*"])
    summary = read_result(project.path / "out")
    assert (summary["status"], summary["exit_code"]) == ("skipped", 1)


def test_k_with_leave_exits_with_zero(run: Run, project: pytest.Pytester) -> None:
    result = run(*PARROT, "-k", "p01", "--hush-allow-no-verdict")
    assert result.ret == 0
    assert {v["outcome"] for v in read_result(project.path / "out")["verdicts"]} == {"skipped"}


def test_a_shard_measures_its_personas_and_gives_no_verdict(hush: Run, project: pytest.Pytester) -> None:
    found: set[tuple[str, str]] = set()
    for shard in ("1/3", "2/3", "3/3"):
        result = hush(*PARROT, f"--hush-shard={shard}")
        assert result.ret == 0, result.stdout.str()
        rows = {(r["condition"], r["probe_id"]) for r in read_lines(project.path / "out")}
        assert not rows & found
        found |= rows
        assert read_result(project.path / "out")["status"] == "skipped"
    assert len(found) == 80


def test_x_stops_without_a_verdict(hush: Run, project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_mine(hush_record):
            assert hush_record.condition == "none"
        """
    )
    result = hush(*PARROT, "-x")
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*hush::gate*")
    assert read_result(project.path / "out")["status"] == "stopped"
    result.stdout.fnmatch_lines(["*No verdict: the run stopped early*"])


def test_two_equal_runs_make_no_call_twice(hush: Run, project: pytest.Pytester) -> None:
    hush(*PARROT)
    first = read_result(project.path / "out")
    result = hush(*PARROT)
    again = read_result(project.path / "out")
    assert [v["sentence"] for v in again["verdicts"]] == [v["sentence"] for v in first["verdicts"]]
    result.stdout.fnmatch_lines(["*0 calls*"])
    result.stdout.fnmatch_lines(["*the run that stood in*"])


@pytest.mark.parametrize("workers", ["-pno:xdist", "-n2"])
def test_deselecting_every_case_is_no_green_build(project: pytest.Pytester, workers: str) -> None:
    project.makepyfile(
        test_other="""
        import pytest

        @pytest.mark.smoke
        def test_plain(): pass
        """
    )
    project.makeini("[pytest]\nmarkers = smoke: a quick one")
    result = project.runpytest_subprocess(
        *PARROT, "test_other.py", "hush", "-m", "smoke", "--hush-judge=python:judging:judge", "--hush-out=out", workers
    )
    assert result.ret == 1, result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED hush::gate[[]no-verdict[]]*"])


def test_setup_plan_calls_nothing(hush: Run, project: pytest.Pytester) -> None:
    result = hush(*PARROT, "--setup-plan")
    assert result.ret == 0, result.stdout.str()
    assert not (project.path / "out").exists()
    result.stdout.no_fnmatch_line("*hush::gate*")


def test_no_memory_condition_is_no_green_build(hush: Run) -> None:
    result = hush("--hush-model=parrot/0", "--hush-sample=40")
    assert result.ret == 4  # known before the first call
    text = result.stdout.str() + result.stderr.str()
    assert "no gate that blocks can be judged on this plan" in text
    assert "planned are none." in text
