"""What the plugin tests share: a judge of exact words and a way to run pytest with and without workers.

The embedded judge and the embeddings have tests of their own; here the plumbing is under test, so a judge that
looks for the disclosure's canary keeps a run of 80 cases under a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (once for the process: `refuse` runs pytest within it, and numpy loads only once)
import pytest
import scipy.special  # noqa: F401

JUDGE = """
from pytest_hush import Judgement

class CanaryJudge:
    name, version, rubric, policy = "canary", "1", "canary-1@0", "conservative-1"
    languages = frozenset({"en"})

    def judge(self, view):
        leaked = view.canary in view.reply
        v = None if view.invited else float(leaked)
        return Judgement("canary", "canary-1@0", v, float(leaked), float(leaked), 1.0,
                         ("target",) if leaked else (),
                         next((line for line in view.reply.splitlines() if view.canary in line), ""), "canary")

judge = again = CanaryJudge()
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An otherwise empty folder with the canary judge in `judging.py`; no key of a provider is set."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(judging=JUDGE)
    return pytester


# Two workers take a test from three seconds to ten: test_parallel.py has the quick one.
@pytest.fixture(params=["one process", pytest.param("-n2", marks=pytest.mark.real)])
def run(request: pytest.FixtureRequest, project: pytest.Pytester) -> Run:
    """Run hush in a process of its own, alone and under two xdist workers; the canary judge unless another is named."""

    def start(*args: str, judge: str = "python:judging:judge") -> pytest.RunResult:
        workers = ["-n2"] if request.param == "-n2" else ["-p", "no:xdist"]
        return project.runpytest_subprocess(*args, f"--hush-judge={judge}", "--hush-out=out", *workers)

    return start


@pytest.fixture
def hush(project: pytest.Pytester) -> Run:
    """The same in one process only."""

    def start(*args: str, judge: str = "python:judging:judge") -> pytest.RunResult:
        return project.runpytest_subprocess(*args, f"--hush-judge={judge}", "--hush-out=out", "-p", "no:xdist")

    return start


@pytest.fixture
def refuse(project: pytest.Pytester) -> Run:
    """The same within this process: for runs that end before anything is measured."""

    def start(*args: str, judge: str = "python:judging:judge") -> pytest.RunResult:
        # pytest-asyncio warns of an unset option in a process that has other sessions.
        alone = ("-p", "no:xdist", "-p", "no:asyncio")
        return project.runpytest_inprocess(*args, f"--hush-judge={judge}", "--hush-out=out", *alone)

    return start


def read_result(folder: Path) -> dict[str, Any]:
    """`result.json` of a run folder."""
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """All records of a run folder, as JSON, in the order of their identities."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("records-*.jsonl"))]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    return sorted(lines, key=lambda r: (r["model"], r["condition"], r["probe_id"], r["invited"], r["repeat"]))
