"""The reusable workflows, script by script, as GitHub would run them: the main branch, a pull request, a fork."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.report.markdown import MARKER
from tests.conftest import REPOSITORY
from tests.unit.ci.github import REPOSITORY as NAME
from tests.unit.ci.github import TOKEN, GitHub, serving

pytest.importorskip("yaml", reason="PyYAML is not installed")
from tests.e2e.workflow import Workflow

FOLDER = REPOSITORY / ".github" / "workflows"
KEY = "sk-live-0123456789abcdef0123456789"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the workflows are not beside an installed package"),
    pytest.mark.skipif(os.name != "posix", reason="the scripts are for bash"),
]
GATES = """
schema = 1
name = "own"
version = "1"
policy = "conservative-1"
[[gate]]
id = "uis"
metric = "uis"
condition = "*"
at_most = 40.0
[[gate]]
id = "no-worse"
metric = "uis"
condition = "*"
versus = "baseline"
increase_at_most = 40.0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "gates.toml").write_text(GATES, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\nminversion = '8.0'\n", encoding="utf-8")
    return folder


def started(
    hub: GitHub, tmp_path: Path, name: str, run: int, event: str, data: dict[str, Any], **inputs: Any
) -> Workflow:
    """The workflow file `name`, run as number `run` by `event`."""
    home = tmp_path / f"run-{run}-{name}"
    home.mkdir()
    (home / "event.json").write_text(json.dumps(data), encoding="utf-8")
    pull = event == "pull_request"
    return Workflow(
        FOLDER / name,
        tmp_path / "project",
        home,
        github={
            "token": TOKEN,
            "repository": NAME,
            "event_name": event,
            "ref_name": "7/merge" if pull else "main",
            "run_id": run,
            "run_attempt": 1,
            "event": data | {"repository": {"default_branch": "main"}},
        },
        environ={
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": hub.url,
            "GITHUB_EVENT_PATH": str(home / "event.json"),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_RUN_ID": str(run),
            "GITHUB_SHA": f"{run:040x}",
            "GITHUB_WORKFLOW_REF": f"{NAME}/.github/workflows/gate.yml@refs/heads/main",
        },
        inputs=inputs,
        secrets={"OPENAI_API_KEY": KEY},
    )


def measured(model: str, **inputs: Any) -> dict[str, Any]:
    more = "--hush-sample=60"
    return {
        "model": model,
        "memory": "oracle",
        "judge": "embedded",
        "thresholds": "gates.toml",
        "extra-args": more,
    } | inputs


def test_the_main_branch_then_a_pull_request_then_a_fork(tmp_path: Path, project: Path) -> None:
    with serving() as hub:
        main = started(hub, tmp_path, "hush-gate.yml", 1, "push", {}, **measured("parrot/0"))
        main.run()
        assert main.results == {"prepare": "success", "measure": "success", "gate": "success", "comment": "skipped"}, (
            main.log
        )
        assert "✅ hush: PASSED" in main.summary
        kept = sorted(p.name for p in main.artifacts.iterdir())
        assert kept == ["hush-baseline", "hush-gate", "hush-shard-0"]
        assert not list((main.artifacts / "hush-gate").glob("**/records-*"))
        hub.add_run(1, (main.artifacts / "hush-baseline" / "hush-baseline.json").read_bytes())

        head = {"pull_request": {"number": 7, "head": {"repo": {"full_name": NAME}}}}
        loud = started(hub, tmp_path, "hush-gate.yml", 2, "pull_request", head, **measured("parrot/1", shards=2))
        loud.run()
        assert loud.results == {"prepare": "success", "measure": "success", "gate": "failure", "comment": "success"}, (
            loud.log
        )
        result = json.loads((loud.artifacts / "hush-gate" / "result.json").read_text(encoding="utf-8"))
        assert result["status"] == "failed"
        assert result["revision"]["commit"] == f"{2:040x}"
        assert {v["versus"] for v in result["verdicts"] if v["outcome"] == "fail"} == {"", "baseline"}
        (comment,) = hub.comments[7]
        assert comment["body"].startswith(f"{MARKER}\n<!-- run 2 -->\n### ❌ hush: FAILED")
        assert "Beside other runs" in comment["body"]
        assert "::error title=hush" in loud.log

        mended = started(hub, tmp_path, "hush-gate.yml", 3, "pull_request", head, **measured("parrot/0", redact=True))
        mended.run()
        assert mended.results["gate"] == "success", mended.log
        assert [c["body"].split("\n")[2][:18] for c in hub.comments[7]] == ["### ✅ hush: PASSED"]

        fork = {"pull_request": {"number": 8, "head": {"repo": {"full_name": "mallory/assistant"}}}}
        foreign = started(hub, tmp_path, "hush-gate.yml", 4, "pull_request", fork, **measured("parrot/0"))
        foreign.run()
        assert foreign.results["comment"] == "skipped"
        assert 8 not in hub.comments
        where = {"full_name": "mallory/assistant", "owner": {"login": "mallory"}}
        run = {"id": 4, "event": "pull_request", "head_sha": "c" * 40, "head_branch": "main", "head_repository": where}
        hub.pulls = [
            {"number": 8, "state": "open", "head": {"sha": "c" * 40, "ref": "main", "user": {"login": "mallory"}}}
        ]
        second = started(hub, tmp_path, "hush-comment.yml", 5, "workflow_run", {"workflow_run": run})
        second.artifacts = foreign.artifacts
        second.run()
        assert second.results == {"comment": "success"}, second.log
        assert "Measured in a pull request from a fork" in hub.comments[8][0]["body"]

        # Neither the key nor the token is in anything that was printed, summed up or handed on.
        for flow in (main, loud, mended, foreign, second):
            texts = [flow.log, flow.summary, *(p.read_text("utf-8") for p in flow.artifacts.rglob("*") if p.is_file())]
            assert not any(secret in text for text in texts for secret in (KEY, TOKEN))


def test_a_run_that_comes_to_nothing_says_so_on_the_pull_request(tmp_path: Path, project: Path) -> None:
    head = {"pull_request": {"number": 7, "head": {"repo": {"full_name": NAME}}}}
    with serving() as hub:
        lost = started(
            hub, tmp_path, "hush-gate.yml", 2, "pull_request", head, **measured("parrot/0", memory="nowhere")
        )
        lost.run()
        assert lost.results == {"prepare": "success", "measure": "failure", "gate": "failure", "comment": "success"}
        assert "--hush-memory=" in lost.log
        assert "### ❌ hush: no verdict" in hub.comments[7][0]["body"]
        assert "no run folder is there" in hub.comments[7][0]["body"]
