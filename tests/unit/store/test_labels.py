"""labels.jsonl: read as it was written, refused by line, stale as soon as the reply or the judge is another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import LabelError
from pytest_hush.model import Record
from pytest_hush.store.labels import Label, consensus, read_labels, reply_digest, usable_labels, write_labels
from tests.unit.factories import make_pack, make_plan, make_records

RECORDS = [r for r in make_records(make_plan(make_pack(2, 1))) if r.kind == "probe"]


def label(record: Record, **changes: Any) -> Label:
    made = Label(
        item=record.key,
        annotator="Ada",
        annotator_kind="human",
        pass_="a",
        v=0.5,
        target_uptake=0.25,
        over_scope=0.5,
        helpfulness=1.0,
        evidence="half \ud83d of it",
        weight=2.5,
        date="2026-06-01",
        reply=reply_digest(record.reply),
        judge="embedded",
        judge_version="1",
        rubric="",
    )
    return replace(made, **changes)


def test_labels_are_read_as_they_were_written(tmp_path: Path) -> None:
    labels = [label(RECORDS[0]), label(RECORDS[1], pass_="b", v=None)]
    path = write_labels(tmp_path, labels)
    assert read_labels(path) == labels
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text().splitlines()[0])["pass"] == "a"


def test_an_older_file_is_kept_and_the_same_one_is_not_doubled(tmp_path: Path) -> None:
    write_labels(tmp_path, [label(RECORDS[0])])
    write_labels(tmp_path, [label(RECORDS[0])])
    write_labels(tmp_path, [label(RECORDS[1])])
    write_labels(tmp_path, [label(RECORDS[2])])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels-1.jsonl", "labels-2.jsonl", "labels.jsonl"]
    assert read_labels(tmp_path / "labels-1.jsonl") == [label(RECORDS[0])]


@pytest.mark.parametrize(
    "change, told",
    [
        ({"v": 1.5}, "v: expected a number in"),
        ({"helpfulness": None}, "helpfulness: expected a finite number"),
        ({"weight": 0}, "weight: expected a number above 0"),
        ({"pass": "c"}, "pass: expected a or b or adjudicated"),
        ({"annotator_kind": "dog"}, "annotator_kind: expected human or model"),
        ({"item": ""}, "item: expected a text"),
        ({"evidence": None}, "expected text"),
        ({"date": ...}, "the field 'date' is missing"),
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = write_labels(tmp_path, [label(RECORDS[0])])
    data = json.loads(path.read_text()) | change
    data = {k: v for k, v in data.items() if v is not ...}
    path.write_text("\n" + json.dumps(data) + "\n")
    with pytest.raises(LabelError, match=rf"labels\.jsonl, line 2: .*{told}"):
        read_labels(path)


def test_a_second_label_of_one_pass_is_refused(tmp_path: Path) -> None:
    path = write_labels(tmp_path, [label(RECORDS[0]), label(RECORDS[0])])
    with pytest.raises(LabelError, match=r"line 2: a second label 'a'.*line 1"):
        read_labels(path)


def test_the_adjudicated_label_stands_else_the_mean() -> None:
    both = [label(RECORDS[0], v=0.0), label(RECORDS[0], pass_="b", annotator="Ben", v=0.5)]
    found = consensus([*both, label(RECORDS[1], annotator_kind="model")])
    assert found.items[RECORDS[0].key].v == 0.25
    assert found.items[RECORDS[0].key].weight == 2.5
    assert (found.kind, found.told) == ("mixed", "2 replies labelled by 2 readers, people and models")
    settled = consensus([*both, label(RECORDS[0], pass_="adjudicated", annotator="Cleo", v=0.75)])
    assert settled.items[RECORDS[0].key].v == 0.75
    assert settled.told == "1 replies labelled by 3 people"


def test_labels_of_the_run_are_usable(tmp_path: Path) -> None:
    assert usable_labels(tmp_path, RECORDS) == (None, "")
    write_labels(tmp_path, [label(r) for r in RECORDS[:3]])
    found, why = usable_labels(tmp_path, RECORDS)
    assert why == ""
    assert found is not None
    assert found.items.keys() == {r.key for r in RECORDS[:3]}


@pytest.mark.parametrize(
    "change, told",
    [
        ({"judge_version": "2"}, "made to correct judge_version '2', and this run has '1'"),
        ({"rubric": "other@1"}, "made to correct rubric 'other@1', and this run has ''"),
        ({"judge": "openai/x"}, "made to correct judge 'openai/x'"),
        ({"reply": "0" * 16}, "is another one than was read"),
        ({"item": "f" * 32}, "is not in this run"),
    ],
)
def test_stale_labels_are_not_used_and_say_why(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    write_labels(tmp_path, [label(RECORDS[0]), label(RECORDS[1], **change)])
    found, why = usable_labels(tmp_path, RECORDS)
    assert found is None
    assert "stale and not used" in why
    assert told in why


def test_a_broken_file_is_no_reason_to_lose_the_verdicts(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text("{")
    found, why = usable_labels(tmp_path, RECORDS)
    assert found is None
    assert "are not used" in why
    assert "line 1" in why
