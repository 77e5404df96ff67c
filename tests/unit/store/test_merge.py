"""Shards put together: the whole of one run, or a refusal that names the shard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.model import Record
from pytest_hush.plan import identity
from pytest_hush.store import RunFolder, merge_shards, usable_labels
from pytest_hush.store.labels import Label, read_labels, write_labels
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.store.test_labels import label

PLAN = make_plan(make_pack(personas=5, per_cell=1))
ABOUT: dict[str, Any] = {
    "plan_hash": PLAN.hash,
    "plan": {"pack": "made-up"},
    "instrument": {"judge": "embedded"},
    "subject": {"plugin_version": "1"},
}


def shard(
    folder: Path, number: tuple[int, int], change: Callable[[list[Record]], Sequence[Record]] = list, **about: Any
) -> Path:
    plan = replace(PLAN, shard=number)
    own = {identity(c) for c in plan.cases if plan.in_shard(c)}
    records = [r for r in make_records(PLAN, lambda c: 0.5) if r.identity in own]
    run = RunFolder.create(folder / f"shard-{number[0]}", ABOUT | {"shard": f"{number[0]}/{number[1]}"} | about)
    run.keep_plan(PLAN)
    log = run.log("main")
    for record in change(records):
        log.append(record)
    log.close()
    return run.path


def test_three_shards_are_the_run(tmp_path: Path) -> None:
    shards = [shard(tmp_path, (i, 3)) for i in (1, 2, 3)]
    merged = merge_shards(shards[::-1], tmp_path / "whole")
    expected = sorted(make_records(PLAN, lambda c: 0.5), key=lambda r: (r.identity, r.key))
    assert merged.records() == expected
    assert merged.plan().hash == PLAN.hash
    assert "shard" not in merged.manifest
    assert [len(RunFolder.open(s).records()) for s in shards] == [len(RunFolder.open(s).records()) for s in shards]


def test_the_order_of_shards_does_not_matter(tmp_path: Path) -> None:
    shards = [shard(tmp_path, (i, 2)) for i in (1, 2)]
    texts = []
    for n, order in enumerate((shards, shards[::-1])):
        merged = merge_shards(order, tmp_path / f"whole-{n}")
        texts.append(b"".join(p.read_bytes() for p in merged.path.glob("records-*.jsonl")))
    assert texts[0] == texts[1]


def labelled(path: Path) -> list[Label]:
    """Labels of every record of the shard, as an import leaves them."""
    records = [r for r in RunFolder.open(path).records() if r.kind == "probe"]
    labels = [
        label(r, **{n: str(r.instrument.get(n, "")) for n in ("judge", "judge_version", "rubric")}) for r in records
    ]
    write_labels(path, labels)
    return labels


def test_readers_labels_come_along_each_once(tmp_path: Path) -> None:
    shards = [shard(tmp_path, (i, 2)) for i in (1, 2)]
    first, second = labelled(shards[0]), labelled(shards[1])
    write_labels(shards[1], [*second, replace(first[0], date="2026-07-01")])
    warned: list[str] = []
    merged = merge_shards(shards, tmp_path / "whole", warn=warned.append)
    found = read_labels(merged.path / "labels.jsonl")
    assert sorted(found, key=lambda x: x.item) == sorted([*first, *second], key=lambda x: x.item)
    usable, why = usable_labels(merged.path, merged.records())
    assert usable is not None, why
    assert len(usable.items) == len(first) + len(second)
    assert warned == []


def test_labels_that_contradict_each_other_are_refused_and_a_shard_without_any_is_named(tmp_path: Path) -> None:
    shards = [shard(tmp_path, (i, 2)) for i in (1, 2)]
    first = labelled(shards[0])
    warned: list[str] = []
    merge_shards(shards, tmp_path / "whole", warn=warned.append)
    assert warned == [f"Readers' labels were there for some shards only: {shards[1]} came without."]
    write_labels(shards[1], [replace(first[3], v=1.0)])
    with pytest.raises(StoreError, match="contradict each other") as told:
        merge_shards(shards, tmp_path / "refused")
    assert first[3].item in str(told.value)
    assert all(str(s / "labels.jsonl") in str(told.value) for s in shards)
    assert not (tmp_path / "refused").exists()


def drop(records: list[Record]) -> list[Record]:
    return records[1:]


def answer_twice(records: list[Record]) -> list[Record]:
    return [*records, replace(records[0], key="another", reply="Another answer.")]


def test_what_is_no_whole_run_is_refused_by_name(tmp_path: Path) -> None:
    one, two = shard(tmp_path, (1, 2)), shard(tmp_path, (2, 2))
    cases: list[tuple[list[Path], str]] = [
        ([one], "Shards are missing: 2/2"),
        ([one, two, one], "Shard 1/2 was given twice"),
        ([one, shard(tmp_path / "a", (2, 3))], "split the plan in different ways"),
        ([one, shard(tmp_path / "b", (2, 2), drop)], "1 of the 20 cases of shard 2/2 have no record"),
        ([one, shard(tmp_path / "c", (2, 2), answer_twice)], "1 cases have two different answers"),
        ([one, shard(tmp_path / "d", (2, 2), instrument={"judge": "openai/gpt-4o"})], "differ in `instrument` (judge)"),
        ([one, shard(tmp_path / "e", (2, 2), subject={"plugin_version": "2"})], "differ in `subject` (plugin_version)"),
        ([one, shard(tmp_path / "f", (2, 2), shard=None)], "this run is no shard"),
    ]
    for n, (shards, expected) in enumerate(cases):
        with pytest.raises(StoreError) as caught:
            merge_shards(shards, tmp_path / f"out-{n}")
        assert expected in str(caught.value)
        assert not (tmp_path / f"out-{n}").exists()


def test_shards_of_two_modes_are_refused_unless_one_is_named(tmp_path: Path) -> None:
    shards = [shard(tmp_path, (1, 2), mode="release"), shard(tmp_path, (2, 2), mode="pr")]
    with pytest.raises(StoreError, match=r"not run in the same mode: pr and release\. Name the mode.* with --mode"):
        merge_shards(shards, tmp_path / "out")
    assert merge_shards(shards, tmp_path / "out", mode="release").manifest["mode"] == "release"
    same = [shard(tmp_path / "same", (i, 2), mode="release") for i in (1, 2)]
    assert merge_shards(same, tmp_path / "whole").manifest["mode"] == "release"


def test_records_under_another_shards_name_are_refused(tmp_path: Path) -> None:
    one, two = shard(tmp_path, (1, 2)), shard(tmp_path, (2, 2))
    stranger = tmp_path / "stranger"
    shutil.copytree(one, stranger)
    manifest = json.loads((stranger / "manifest.json").read_text())
    (stranger / "manifest.json").write_text(json.dumps(manifest | {"shard": "2/2"}))
    with pytest.raises(StoreError, match="cases of another shard"):
        merge_shards([one, stranger], tmp_path / "out")
    assert merge_shards([one, two], tmp_path / "out").records()
