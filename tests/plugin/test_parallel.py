"""The same records, estimates and verdicts from one process, four workers, another order and another hash seed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

WHOLE = ("--hush-model=parrot/0.6", "--hush-memory=oracle", "--hush-judge=python:judging:judge", "--hush-cache=off")
REVERSED = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""


def measure(project: pytest.Pytester, folder: str, *args: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = project.runpytest_subprocess(*WHOLE, f"--hush-out={folder}", *args)
    assert result.ret in (0, 1), result.stdout.str()
    records = read_lines(project.path / folder)
    for record in records:
        record["latency_s"] = 0
    summary = read_result(project.path / folder)
    return records, {name: summary[name] for name in ("status", "estimates", "verdicts", "positive_controls", "plan")}


def test_four_workers_give_what_one_process_gives(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    alone = measure(project, "alone", "-p", "no:xdist")
    assert len(alone[0]) == 240
    monkeypatch.setenv("PYTHONHASHSEED", "4242")
    workers = measure(project, "workers", "-n4")
    assert workers[1] == alone[1]
    assert workers[0] == alone[0]


def test_the_order_of_items_does_not_matter(project: pytest.Pytester, hush: Run) -> None:
    alone = measure(project, "alone", "-p", "no:xdist", "--hush-sample=40")
    project.makeconftest(REVERSED)
    turned = measure(project, "turned", "-p", "no:xdist", "--hush-sample=40")
    assert turned == alone


def test_merged_shards_are_judged_like_the_whole_run(project: pytest.Pytester) -> None:
    alone = measure(project, "alone", "-p", "no:xdist", "--hush-sample=40")
    for i in (1, 2, 3):
        part = project.runpytest_subprocess(
            *WHOLE, f"--hush-out=shard-{i}", f"--hush-shard={i}/3", "-p", "no:xdist", "--hush-sample=40"
        )
        assert part.ret == 0, part.stdout.str()
    merged = project.run(
        "hush", "merge", "shard-3", "shard-1", "shard-2", "--out=whole", "--thresholds=demo", "--json=m.json"
    )
    assert merged.ret in (0, 1), merged.stderr.str()
    found = json.loads((project.path / "m.json").read_text())
    assert {name: found[name] for name in alone[1]} == alone[1]
