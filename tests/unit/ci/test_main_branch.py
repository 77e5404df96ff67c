"""`hush ci baseline`: the newest good run of the branch that left one, and nothing of a pull request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_hush.ci import api, main_branch
from pytest_hush.store import load_scores, save_baseline
from tests.unit.ci.conftest import Job
from tests.unit.ci.github import Failure, zipped
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import TODAY, run

PLAN = make_plan(make_pack(3, 2), conditions="vector")
OUT = "baseline/main.json"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "b.json"
    save_baseline(path, run(PLAN, 1), plugin_version="0.1", today=TODAY)
    return path.read_bytes()


def test_the_newest_good_run_gives_it(job: Job, content: bytes) -> None:
    job.hub.add_run(101, content)
    job.hub.add_run(102, content)
    job.hub.add_run(103, content, conclusion="failure")
    result = job.run("baseline", "--out", OUT)
    assert result.exit_code == 0, result.output
    assert result.output == (
        f"wrote {OUT}: baseline of run 102, commit 000000000000 https://github.com/acme/assistant/actions/runs/102\n"
    )
    assert Path(OUT).read_bytes() == content
    assert len(load_scores(Path(OUT)).records) == len(PLAN.probe_cases())
    assert job.outputs == {"found": "true"}
    assert "secret-signature" not in result.output


@pytest.mark.parametrize(
    "changes",
    [
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"head_repository": {"full_name": "mallory/assistant"}},
        {"head_repository": None},
        {"head_branch": "feature"},
    ],
)
def test_a_run_of_others_code_is_passed_over(job: Job, content: bytes, changes: dict[str, object]) -> None:
    job.hub.add_run(101, content)
    job.hub.add_run(102, content, **changes)
    assert "baseline of run 101" in job.run("baseline", "--out", OUT).output


@pytest.mark.parametrize(
    "bad, told",
    [
        (b"{}", "expected 'pytest-hush baseline'"),
        (b"\xff\xfe", "not a whole baseline"),
        (None, ""),
    ],
)
def test_what_is_no_baseline_is_passed_over(job: Job, content: bytes, bad: bytes | None, told: str) -> None:
    job.hub.add_run(101, content)
    job.hub.add_run(102, bad)
    result = job.run("baseline", "--out", OUT)
    assert "baseline of run 101" in result.output
    assert told in result.output


def test_a_broken_archive_and_another_file_are_passed_over(job: Job, content: bytes) -> None:
    job.hub.add_run(101, content)
    job.hub.add_run(102, content, name="other.json")
    job.hub.add_run(103, content)
    job.hub.files[1030] = zipped({"hush-baseline.json": content})[:-40]
    job.hub.add_run(104, content)
    del job.hub.files[1040]
    result = job.run("baseline", "--out", OUT)
    assert "baseline of run 101" in result.output, result.output
    assert "the artifact holds no hush-baseline.json" in result.output
    assert "cannot be unpacked" in result.output
    assert "answered 404" in result.output


def test_no_baseline_yet_is_no_error(job: Job, content: bytes) -> None:
    job.hub.add_run(101, content, expired=True)
    result = job.run("baseline", "--out", OUT)
    assert (result.exit_code, job.outputs) == (0, {"found": "false"})
    assert result.output == "no baseline: no successful run of main has left an artifact hush-baseline\n"
    assert not Path(OUT).exists()


def test_a_server_that_is_down_is_an_error(job: Job, content: bytes) -> None:
    job.hub.add_run(101, content)
    job.hub.failures = [Failure(503)] * api.TRIES
    result = job.run("baseline", "--out", OUT)
    assert (result.exit_code, "answered 503" in result.output) == (4, True)
    assert len(job.waits) == api.TRIES - 1


def test_an_archive_that_swells_is_not_unpacked(job: Job, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    job.hub.add_run(101, b"0" * 200_000)
    monkeypatch.setattr(main_branch, "LIMIT", 100_000)
    assert "has over 100,000 bytes" in job.run("baseline", "--out", OUT).output


def test_a_redirect_away_from_https_is_not_followed(job: Job, content: bytes) -> None:
    job.hub.add_run(101, content)
    job.hub.store = "http://store.example.com"
    result = job.run("baseline", "--out", OUT)
    assert (result.exit_code, "redirect away from https" in result.output) == (4, True)


@pytest.mark.parametrize(
    "name, value, told",
    [
        ("GITHUB_REPOSITORY", "acme", "--repo='acme'"),
        ("GITHUB_REPOSITORY", "../../x", "--repo='../../x'"),
        ("GITHUB_WORKFLOW_REF", "", "--workflow=''"),
        ("GITHUB_API_URL", "nowhere", "GITHUB_API_URL='nowhere'"),
    ],
)
def test_a_wrong_environment_is_one_clear_error(job: Job, name: str, value: str, told: str) -> None:
    job.environ(name, value)
    result = job.run("baseline", "--out", OUT)
    assert (result.exit_code, told in result.output) == (4, True)
    assert job.hub.asked == []


def test_shards_for_a_matrix(job: Job) -> None:
    assert json.loads(job.run("shards", 3).output) == ["1/3", "2/3", "3/3"]
    assert json.loads(job.outputs["shards"]) == ["1/3", "2/3", "3/3"]
    assert job.run("shards", 257).exit_code == 2
