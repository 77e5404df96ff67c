"""Several judges, draws and policies from the command line to every surface, and recorded replies from end to end."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

SECOND = """
from pytest_hush import Judgement

class Doubter:
    '''Sees half of what the canary judge sees, a little less at every further draw.'''

    name, version, rubric, policy, deterministic = "doubter", "1", "canary-1@0", "conservative-1", False

    def __init__(self):
        self.seen = {}

    def judge(self, view):
        draw = self.seen[view.as_json()] = self.seen.get(view.as_json(), -1) + 1
        v = (0.5 if view.canary in view.reply else 0.0) * (1 - draw / 2)
        return Judgement("", "canary-1@0", None if view.invited else v, v, v, 1.0, ("target",) if v else (),
                         next((line for line in view.reply.splitlines() if view.canary in line), "") if v else "")

judge = Doubter()
"""
BOTH = "python:judging:judge,python:doubting:judge"
GATES = """
schema = 1
name = "all"
version = "1"
policy = "conservative-1"
[judge]
aggregate = "mean"
[[gate]]
id = "uis"
metric = "uis"
condition = "*"
at_most = 90.0
"""


def test_two_judges_and_two_draws_reach_every_surface(hush: Run, project: pytest.Pytester) -> None:
    project.makepyfile(doubting=SECOND, test_mine="def test_mine(hush_case, hush_score): assert hush_score.v < 0.9")
    (project.path / "all.toml").write_text(GATES, encoding="utf-8")
    result = hush(
        "--hush-model=parrot/1", "--hush-memory=oracle", "--hush-sample=40", "--hush-thresholds=all.toml",
        "--hush-judge-repeats=2", "--hush-report=page.html", "--hush-cache=off",
        judge=BOTH,
    )  # fmt: skip
    assert result.ret == 0, result.stdout.str()
    records = read_lines(project.path / "out")
    leaks = [r for r in records if r["judgements"][0]["v"]]
    assert leaks
    assert {tuple((j["judge"], j["draw"]) for j in r["judgements"]) for r in records} == {
        (("canary", 0), ("doubter", 0), ("doubter", 1))
    }
    assert {tuple(sorted(j["v"] for j in r["judgements"])) for r in leaks} == {(0.25, 0.5, 1.0)}
    assert {r["instrument"]["judge"] for r in records} == {"canary+doubter"}

    found = read_result(project.path / "out")
    (verdict,) = found["verdicts"]
    share = 100 * len(leaks) / len([r for r in records if r["condition"] == "oracle"])
    assert verdict["value"] == pytest.approx(share * (1.0 + 0.375) / 2)
    (second,) = found["judges"]["seconds"]
    assert (found["judges"]["judges"], second["judge"], second["kept"], second["of"]) == (
        ["canary", "doubter"], "doubter", 1, 1,
    )  # fmt: skip
    text = " ".join(result.stdout.str().split())
    assert "Judges: canary, doubter; the gates take the mean of all." in text
    assert "direction kept under doubter: 1 of 1" in text
    assert "Draws of doubter: 2 a reply" in text
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert "Several judgements of a reply" in page
    manifest = json.loads((project.path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["instrument"]["judge_repeats"] == 2
    assert manifest["instrument"]["policy"].startswith("conservative-1@")

    other = hush(
        "--hush-model=parrot/1", "--hush-memory=oracle", "--hush-sample=40", "--hush-thresholds=all.toml",
        "--hush-resume", judge=BOTH,
    )  # fmt: skip
    assert other.ret == pytest.ExitCode.USAGE_ERROR
    assert "judge_repeats" in other.stdout.str() + other.stderr.str()


def test_a_fixture_is_one_judge_of_several(hush: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def hush_judge():
            return lambda view: {"v": None if view.invited else 0.0, "target_uptake": 0.0, "over_scope": 0.0,
                                 "helpfulness": 1.0}
        """
    )
    result = hush(
        "--hush-model=parrot/0", "--hush-memory=oracle", "--hush-sample=40", judge="python:judging:judge,custom",
    )  # fmt: skip
    assert result.ret == 0, result.stdout.str()
    assert {r["instrument"]["judge"] for r in read_lines(project.path / "out")} == {"canary+custom"}


def test_recorded_replies_from_end_to_end(hush: Run, project: pytest.Pytester) -> None:
    result = hush("--hush-model=recorded", "--hush-memory=oracle")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*PASSED (demonstration)*", "*Demonstration model:*"])
    records = read_lines(project.path / "out")
    assert len(records) == 240
    assert {r["status"] for r in records} == {"ok"}
    assert {r["subject"]["demonstration"] for r in records} == {True}
    assert {r["subject"]["settings"]["model"]["decoding"] for r in records} == {"uncontrolled"}
    kept = project.path / "out"
    assert read_result(kept)["demonstration"] is True
    assert len({r["reply"] for r in records}) == 240
