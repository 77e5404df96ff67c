"""The main job on the real stack: a language model, sentence embeddings, real dialogues, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.conftest import read_lines, read_result

pytestmark = pytest.mark.real

# Few cases cannot hold a limit on a rate; what is judged here is that everything was measured.
COMPLETE = """
schema = 1
name = "complete"
version = "1"
policy = "conservative-1"
confidence = 0.95
multiplicity = "holm"
inconclusive = { release = "block", pr = "warn" }
max_missing = 0.05

[[gate]]
id = "complete"
metric = "completeness"
condition = "*"
at_least = 100.0
severity = "block"
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "complete.toml").write_text(COMPLETE, encoding="utf-8")
    return pytester


def test_the_local_model_with_every_kind_of_memory(folder: pytest.Pytester) -> None:
    options = (
        "--hush-model=local",
        "--hush-memory=vector,full-context,oracle",
        "--hush-sample=4",
        "--hush-max-tokens=24",
        "--hush-thresholds=complete.toml",
    )
    result = folder.runpytest_subprocess(*options, "--hush-out=first", "-p", "no:xdist", timeout=900)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*Demonstration model:*", "*Screening judge:*"])
    summary = read_result(folder.path / "first")
    assert (summary["status"], summary["demonstration"]) == ("passed", True)
    rows = [r for r in read_lines(folder.path / "first") if r["kind"] == "probe"]
    assert len(rows) == 16
    exposed = {c: {r["exposure"]["exact"] for r in rows if r["condition"] == c} for c in ("none", "oracle")}
    assert exposed == {"none": {False}, "oracle": {True}}
    full = [r for r in rows if r["condition"] == "full-context"]
    assert all(r["subject"]["label"].startswith("full-context@") and r["exposure"]["exact"] for r in full)
    assert all(len(r["entries"]) == 5 for r in rows if r["condition"] == "vector")
    assert all(r["reply"] and r["usage"]["output_tokens"] <= 24 for r in rows)

    again = folder.runpytest_subprocess(*options, "--hush-out=second", "-p", "no:xdist", timeout=300)
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*0 calls,*"])
    first, second = (
        [(r["probe_id"], r["condition"], r["reply"], r["judgements"]) for r in read_lines(folder.path / name)]
        for name in ("first", "second")
    )
    assert second == first


def test_real_dialogues_as_background(folder: pytest.Pytester, locomo: Path) -> None:
    two = json.loads(locomo.read_text(encoding="utf-8"))[:2]
    (folder.path / "two.json").write_text(json.dumps(two), encoding="utf-8")
    result = folder.runpytest_subprocess(
        "--hush-model=parrot/0.7",
        "--hush-memory=vector,full-context",
        "--hush-background=two.json",
        "--hush-thresholds=complete.toml",
        "--hush-out=out",
        "-p",
        "no:xdist",
        timeout=900,
    )
    assert result.ret == 0, result.stdout.str()
    summary = read_result(folder.path / "out")
    assert summary["plan"]["pack"]["background"]["format"] == "locomo"
    rows = [r for r in read_lines(folder.path / "out") if r["kind"] == "probe"]
    assert {r["persona"] for r in rows} == {d["sample_id"] for d in two}
    assert len(rows) == 24 * 3
    # Nobody labelled these dialogues here: what is not known is null, never false.
    assert all(r["exposure"]["ambient"] is None for r in rows if r["condition"] != "none")
    assert all(r["exposure"]["exact"] for r in rows if r["condition"] == "full-context")
    (tally,) = summary["positive_controls"]
    assert tally["condition"] == "vector"
    assert tally["retrieved"] >= tally["planned"] / 2
