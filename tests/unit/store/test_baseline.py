"""A baseline on disk: it compares as the run did, holds no text, is the same bytes in any order, says what is wrong."""

from __future__ import annotations

import json
import os
import random
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.gate import comparisons, contrasts, reference
from pytest_hush.model import Exposure, Record
from pytest_hush.store import RunFolder, load_scores, save_baseline
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import TODAY, failed, gates, probes, run, verdicts

PLAN = make_plan(make_pack(5, 4), conditions="vector,oracle", models=["openai/a", "openai/b"], invitations=True)
SECRET = "Since the bakery failed I owe everyone."


def measured() -> list[Record]:
    """A run with repeated texts, unknown exposures, odd scores, and errors."""
    rng = random.Random(5)
    found = []
    for k, r in enumerate(run(PLAN, 1)):
        if r.kind == "probe":
            flags = Exposure(rng.choice([True, False, None]), rng.choice([True, False, None]), None)
            judged = replace(
                r.judgements[0], v=None if r.invited else rng.random(), over_scope=1 / 3, helpfulness=0.25,
                target_uptake=rng.choice([0.0, 0.1]), used=("target", "p01-a1") if k % 3 else (), evidence=SECRET,
                rationale=SECRET,
            )  # fmt: skip
            r = replace(r, exposure=flags, judgements=(judged,), reply=SECRET, notes=(SECRET,))
        found.append(failed(r) if k % 50 == 7 else r)
    return found


RECORDS = measured()


def save(path: Path, records: list[Record] = RECORDS) -> int:
    return save_baseline(path, records, plugin_version="0.1", today=TODAY)


def folder(path: Path, records: list[Record] = RECORDS) -> Path:
    started = RunFolder.create(path, {"plan_hash": PLAN.hash})
    log = started.log("main")
    for record in records:
        log.append(record)
    log.close()
    return path


def scores(record: Record) -> tuple[Any, ...]:
    """All that a comparison looks at."""
    j = record.judgements[0]
    return (
        record.identity, record.status, record.exposure, j.v, j.target_uptake, j.over_scope, j.helpfulness, j.used,
        record.instrument, record.subject, record.plan_hash,
    )  # fmt: skip


# ---- the round trip ---------------------------------------------------------------------------------


def test_scores_come_back_as_they_were(tmp_path: Path) -> None:
    kept = [r for r in RECORDS if r.measured and r.kind == "probe"]
    assert save(tmp_path / "b.json") == len(kept)
    found = load_scores(tmp_path / "b.json")
    assert sorted(map(repr, map(scores, found.records))) == sorted(map(repr, map(scores, kept)))
    assert (found.plan_hash, found.saved, found.texts) == (PLAN.hash, "2026-06-01", False)
    assert found.instrument == kept[0].instrument
    assert any(r.invited for r in found.records)


@pytest.mark.parametrize("kind", ["folder", "jsonl"])
def test_a_saved_baseline_compares_as_the_run_does(tmp_path: Path, kind: str) -> None:
    path = folder(tmp_path / "run")
    if kind == "jsonl":
        (path,) = path.glob("records-*.jsonl")
    save(tmp_path / "b.json")
    whole, saved = load_scores(path), load_scores(tmp_path / "b.json")
    assert whole.texts
    new = run(PLAN, 2)
    thresholds = gates(
        'versus = "baseline"\ncondition = "*"\nincrease_at_most = 3',
        'versus = "baseline"\nmetric = "uis_sensitive"\nincrease_at_most = 3',
        'versus = "baseline"\nmetric = "helpfulness"\ndecrease_at_most = 5',
        head="max_missing = 0.3",
    )
    found = []
    for given in (whole, saved):
        references = {"baseline": reference("baseline", "main", given.records)}
        found.append(
            (
                verdicts(new, PLAN, thresholds, references=references),
                contrasts(new, PLAN, references),
                comparisons(new, PLAN, references),
            )
        )
    assert found[0] == found[1]
    assert {v.value is None for v in found[0][0]} == {False}
    assert any(c.unpaired for c in found[0][2])


# ---- the file ---------------------------------------------------------------------------------------


def test_no_text_of_a_case_is_kept(tmp_path: Path) -> None:
    save(tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text(encoding="utf-8")
    for private in (SECRET, "bakery", "fern", "Name1", "bank"):
        assert private not in text
    assert "p01-d01" in text
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "b.json").stat().st_mode) == 0o600


def test_the_same_run_gives_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    save(tmp_path / "a.json")
    save(tmp_path / "b.json", random.Random(1).sample(RECORDS, len(RECORDS)))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_one_changed_score_is_one_changed_line(tmp_path: Path) -> None:
    chosen = next(r for r in probes(RECORDS) if r.measured)
    judged = replace(chosen.judgements[0], v=0.123)
    save(tmp_path / "a.json")
    save(tmp_path / "b.json", [replace(r, judgements=(judged,)) if r is chosen else r for r in RECORDS])
    old, new = ((tmp_path / n).read_text(encoding="utf-8").splitlines() for n in ("a.json", "b.json"))
    differing = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(differing) == 1
    assert chosen.probe_id in differing[0][1]
    assert "0.123" in differing[0][1]


def test_it_is_small_enough_to_commit(tmp_path: Path) -> None:
    kept = save(tmp_path / "b.json")
    assert (tmp_path / "b.json").stat().st_size < 120 * kept + 2000


# ---- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, named",
    [
        (lambda r: replace(r, instrument={**r.instrument, "judge_version": "2"}), "instrument"),
        (lambda r: replace(r, plan_hash="f" * 32), "plan_hash"),
    ],
)
def test_two_runs_are_no_baseline(tmp_path: Path, change: Callable[[Record], Record], named: str) -> None:
    mixed = [change(r) if r.kind == "probe" and k % 2 else r for k, r in enumerate(RECORDS)]
    with pytest.raises(StoreError, match=f"differ in `{named}`"):
        save(tmp_path / "b.json", mixed)
    assert not (tmp_path / "b.json").exists()
    with pytest.raises(StoreError, match=f"differ in `{named}`: they are not one run"):
        load_scores(folder(tmp_path / "run", mixed))


def test_a_run_without_a_score_is_no_baseline(tmp_path: Path) -> None:
    nothing = [failed(r) if r.kind == "probe" else r for r in RECORDS]
    with pytest.raises(StoreError, match="no measured probe case"):
        save(tmp_path / "b.json", nothing)
    with pytest.raises(StoreError, match="no measured probe case"):
        load_scores(folder(tmp_path / "run", nothing))


def test_a_failed_save_leaves_the_old_baseline(tmp_path: Path) -> None:
    save(tmp_path / "b.json")
    before = (tmp_path / "b.json").read_bytes()
    with pytest.raises(StoreError):
        save(tmp_path / "b.json", [failed(r) for r in RECORDS])
    assert (tmp_path / "b.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]
    with pytest.raises(StoreError, match=r"cannot be written.*--out"):
        save(tmp_path / "b.json" / "below.json")


def damaged(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["arms"][0]["cases"][0].pop(),
        lambda d: d["arms"][0]["cases"][0].__setitem__(7, 1.5),
        lambda d: d["arms"][0]["cases"][0].__setitem__(7, "high"),
        lambda d: d["arms"][0]["cases"][0].__setitem__(3, 7),
        lambda d: d["columns"].reverse(),
        lambda d: d["arms"].clear(),
        lambda d: d.pop("instrument"),
        lambda d: d.__setitem__("arms", {"a": 1}),
    ],
)
def test_a_damaged_baseline_is_one_clear_error(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = damaged(tmp_path / "b.json", change)
    with pytest.raises(StoreError, match=r"b.json: the baseline is damaged .*hush baseline save"):
        load_scores(path)


@pytest.mark.parametrize(
    "change, read",
    [
        (lambda d: d.__setitem__("schema", 2), "schema 2"),
        (lambda d: d.__setitem__("kind", "a result"), "kind 'a result'"),
    ],
)
def test_another_kind_of_file_is_named(tmp_path: Path, change: Callable[[dict[str, Any]], object], read: str) -> None:
    with pytest.raises(StoreError, match=rf"{read}.*expected"):
        load_scores(damaged(tmp_path / "b.json", change))


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", '"a"', "[" * 100_000])
def test_what_is_no_baseline_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "b.json").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"b.json: .*hush baseline save"):
        load_scores(tmp_path / "b.json")


def test_a_cut_file_is_not_whole(tmp_path: Path) -> None:
    save(tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text(encoding="utf-8")
    (tmp_path / "b.json").write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(StoreError, match="not a whole baseline"):
        load_scores(tmp_path / "b.json")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no such baseline\. Expected a run folder, a records file or a saved"):
        load_scores(tmp_path / "b.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="no run here"):
        load_scores(tmp_path / "empty")


def doubled(record: Record) -> Record:
    return replace(record, judgements=(replace(record.judgements[0], over_scope=0.75),))


def test_a_run_with_two_answers_of_one_case_is_no_baseline(tmp_path: Path) -> None:
    one = next(r for r in RECORDS if r.kind == "probe" and r.measured)
    said = rf"1 cases have two different answers \(first {one.probe_id}, repeat 0"
    with pytest.raises(StoreError, match=said):
        save(tmp_path / "b.json", [*RECORDS, doubled(one)])
    assert not (tmp_path / "b.json").exists()
    with pytest.raises(StoreError, match=f"run: {said}"):
        load_scores(folder(tmp_path / "run", [*RECORDS, doubled(one)]))
    (lines,) = (tmp_path / "run").glob("records-*.jsonl")
    with pytest.raises(StoreError, match=f"jsonl: {said}"):
        load_scores(lines)
    assert save(tmp_path / "same.json", [*RECORDS, one]) == save(tmp_path / "b.json")


def test_a_saved_baseline_with_a_case_or_an_arm_twice_is_refused(tmp_path: Path) -> None:
    def twice(data: dict[str, Any]) -> None:
        cases = data["arms"][0]["cases"]
        row = next(r for r in cases if r[7] is not None)
        cases.append([*row[:7], 1.0 - row[7], *row[8:]])

    with pytest.raises(StoreError, match=r"b.json: 1 cases have two different answers \(first p01.* of openai/a"):
        load_scores(damaged(tmp_path / "b.json", twice))
    with pytest.raises(StoreError, match=r"b.json: the arm of openai/a under none is in it twice"):
        load_scores(damaged(tmp_path / "b.json", lambda d: d["arms"].append(d["arms"][0])))
