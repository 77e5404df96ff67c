"""`hush ci measure` and `hush ci gate`: the command that is run, and everything that the last job leaves behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.plan import identity
from pytest_hush.report.markdown import MARKER
from pytest_hush.store import RunFolder, load_scores
from tests.unit.ci.conftest import Job
from tests.unit.factories import make_pack, make_plan, make_records

PLAN = make_plan(make_pack(personas=6, per_cell=3))
COMMIT = "a" * 40
STRICT = """
schema = 1
name = "strict"
version = "1"
policy = "conservative-1"
[[gate]]
id = "uis"
metric = "uis"
condition = "vector"
at_most = 40.0
"""
NO_PYTEST = """
import json, os, sys
json.dump(sys.argv[1:], open("asked.json", "w"))
sys.exit(int(os.environ.get("CODE", "0")))
"""


def shards(folder: Path, count: int, v: float = 0.0, **about: Any) -> Path:
    """Run folders of all shards, as downloaded artifacts lie: each in a folder of its own."""
    records = make_records(PLAN, lambda case: v)
    for number in range(1, count + 1):
        part = replace(PLAN, shard=(number, count))
        own = {identity(c) for c in part.cases if part.in_shard(c)}
        named = {"plan_hash": PLAN.hash, "private": False, "shard": f"{number}/{count}"} | about
        named.setdefault("revision", {"commit": COMMIT, "dirty": False})
        run = RunFolder.create(folder / f"hush-shard-{number}", named)
        run.keep_plan(PLAN)
        run.keep_session(10 * number, number)
        log = run.log("main")
        for record in records:
            if record.identity in own:
                log.append(record)
        log.close()
    return folder


def test_everything_is_written_and_says_the_same(job: Job) -> None:
    result = job.run("gate", shards(job.folder / "shards", 3), "--out", "gate")
    assert result.exit_code == 0, result.output
    found = json.loads(Path("gate/result.json").read_text(encoding="utf-8"))
    assert (found["status"], found["exit_code"]) == ("passed", 0)
    assert found["revision"] == {"commit": COMMIT, "dirty": False}
    assert found["calls"] == {"made": 60, "from_cache": 6}
    comment = Path("gate/comment.md").read_text(encoding="utf-8")
    assert comment.startswith(f"{MARKER}\n### ✅ hush: PASSED")
    assert f"commit {COMMIT[:12]}" in comment
    assert job.summary == comment.removeprefix(f"{MARKER}\n")
    page = Path("gate/report.html").read_text(encoding="utf-8")
    assert 'data-status="passed" data-exit-code="0"' in page
    assert COMMIT[:12] in page
    assert "60 calls of all roles were made, 6 answers came from the cache" in page
    saved = load_scores(Path("gate/hush-baseline.json"))
    assert saved.revision == {"commit": COMMIT, "dirty": False}
    assert len(saved.records) == len(PLAN.probe_cases())
    assert "PASS: " in result.output


def test_a_gate_that_fails_fails_the_job_and_is_annotated(job: Job) -> None:
    (job.folder / "strict.toml").write_text(STRICT, encoding="utf-8")
    job.environ("HUSH_GATE_THRESHOLDS", "strict.toml")
    result = job.run("gate", shards(job.folder / "shards", 1, v=1.0), "--out", "gate")
    assert result.exit_code == 1, result.output
    assert "::error title=hush" in result.output
    assert json.loads(Path("gate/result.json").read_text(encoding="utf-8"))["exit_code"] == 1
    assert "### ❌ hush" in job.summary


@pytest.mark.parametrize(
    "file, text",
    [
        ("pytest.ini", "[pytest]\nhush_thresholds = strict.toml\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nhush_thresholds = 'strict.toml'\n"),
        ("setup.cfg", "[tool:pytest]\nhush_thresholds = strict.toml\n"),
    ],
)
def test_without_a_gate_file_the_projects_own_holds_as_for_the_shards(job: Job, file: str, text: str) -> None:
    (job.folder / "strict.toml").write_text(STRICT, encoding="utf-8")
    (job.folder / file).write_text(text, encoding="utf-8")
    result = job.run("gate", shards(job.folder / "shards", 1, thresholds="demo@2026.1+0123456789ab"), "--out", "gate")
    found = json.loads(Path("gate/result.json").read_text(encoding="utf-8"))
    assert found["thresholds"]["name"] == "strict"
    assert "was measured with the gate file demo@2026.1+0123456789ab and is judged by strict@1+" in result.output


def test_one_artifact_lies_in_the_folder_itself(job: Job) -> None:
    lone = shards(job.folder / "shards", 1) / "hush-shard-1"
    assert job.run("gate", lone, "--out", "gate").exit_code == 0


@pytest.mark.parametrize("lost", ["shard", "all"])
def test_what_cannot_be_judged_does_not_leave_an_old_comment_standing(job: Job, lost: str) -> None:
    folder = shards(job.folder / "shards", 2)
    assert job.run("gate", folder, "--out", "gate").exit_code == 0
    (job.folder / "summary.md").unlink()
    for path in folder.iterdir():
        if lost == "all" or path.name.endswith("2"):
            path.rename(job.folder / f"gone-{path.name}")
    result = job.run("gate", folder, "--out", "gate")
    assert result.exit_code == 4
    told = "Shards are missing: 2/2" if lost == "shard" else "no run folder is there"
    assert told in result.output
    assert "::error title=hush%3A no verdict::" in result.output
    comment = Path("gate/comment.md").read_text(encoding="utf-8")
    assert comment.startswith(f"{MARKER}\n### ❌ hush: no verdict\n")
    assert told in comment
    assert told in job.summary
    assert sorted(p.name for p in Path("gate").iterdir()) == [".gitignore", "comment.md", "run"]


def test_shards_of_two_commits_are_judged_and_name_none(job: Job) -> None:
    folder = shards(job.folder / "shards", 2)
    manifest = folder / "hush-shard-2" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(COMMIT, "b" * 40), encoding="utf-8")
    result = job.run("gate", folder, "--out", "gate")
    assert "measured at different commits (aaaaaaaaaaaa, bbbbbbbbbbbb)" in result.output
    found = json.loads(Path("gate/result.json").read_text(encoding="utf-8"))
    assert found["revision"] == {"commit": "", "dirty": None}


def test_redaction_reaches_every_file_but_the_records(job: Job) -> None:
    job.run("gate", shards(job.folder / "shards", 1), "--out", "gate", "--redact")
    for path in Path("gate").iterdir():
        if path.is_file():
            assert "A fern likes shade." not in path.read_text(encoding="utf-8"), path
    assert "Redacted on request" in Path("gate/report.html").read_text(encoding="utf-8")


def test_the_baseline_of_the_main_branch_stands_beside(job: Job) -> None:
    job.run("gate", shards(job.folder / "main", 1), "--out", "main-gate")
    folder = shards(job.folder / "shards", 1, v=0.5)
    result = job.run("gate", folder, "--out", "gate", "--baseline=main-gate/hush-baseline.json", "--anchor=none.json")
    assert "nothing to compare with: there is no file none.json" in result.output
    found = json.loads(Path("gate/result.json").read_text(encoding="utf-8"))
    assert [c["value"] for c in found["contrasts"] if c["versus"] == "baseline" and c["metric"] == "uis"] == [0.0, 50.0]


# ---- measuring --------------------------------------------------------------------------------------


def test_the_command_comes_from_the_environment(job: Job) -> None:
    (job.folder / "pytest.py").write_text(NO_PYTEST, encoding="utf-8")
    (job.folder / "b.json").write_text("{}", encoding="utf-8")
    for name, value in {
        "MODEL": "openai/a\n  openai/b ",
        "MEMORY": "vector,mem0",
        "JUDGE": "",
        "POLICY": "safety-aware-1",
        "SHARD": "2/4",
        "CALIBRATION": os.pathsep.join(("a.json", "b.json")),
        "ARGS": "--hush-sample=40 -k 'not slow' --hush-out=\"$(touch owned)\"",
    }.items():
        job.environ(f"HUSH_GATE_{name}", value)
    job.environ("CODE", "3")
    result = job.run("measure", "--out", "run", "--baseline", "b.json")
    assert result.exit_code == 3, result.output
    assert json.loads(Path("asked.json").read_text(encoding="utf-8")) == [
        "--hush-model=openai/a",
        "--hush-model=openai/b",
        "--hush-memory=vector,mem0",
        "--hush-policy=safety-aware-1",
        "--hush-shard=2/4",
        "--hush-calibration=a.json",
        "--hush-calibration=b.json",
        "--hush-baseline=b.json",
        "--hush-out=run",
        "--junitxml=run.xml",
        "--hush-sample=40",
        "-k",
        "not slow",
        "--hush-out=$(touch owned)",
    ]
    assert not Path("owned").exists()
    job.environ("CODE", "0")
    result = job.run("measure", "--out", "run")
    assert result.exit_code != 0, "a process that ended itself with 0 has judged nothing"
    assert "left no run/result.json" in result.output.replace("\n", " ")
    Path("run").mkdir()
    Path("run/result.json").write_text("{}", encoding="utf-8")
    assert job.run("measure", "--out", "run").exit_code == 0


def test_no_model_and_torn_quotes_are_clear_errors(job: Job) -> None:
    assert job.run("measure", "--out", "run").exit_code == 2
    torn = job.run("measure", "--out", "run", "--model=parrot", "--args='half")
    assert (torn.exit_code, "--args=" in torn.output) == (4, True)
