"""What a baseline tells of its run: when, which commit, whose probes, how much; and files of before, which do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_hush
from pytest_hush.errors import StoreError
from pytest_hush.report.levels import levels
from pytest_hush.store import load_scores, save_baseline
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import TODAY, run
from tests.unit.store.test_baseline import save, scores

COMMIT = "a" * 40


def full(path: Path) -> Path:
    """A baseline with all that a run folder tells."""
    plan = make_plan(make_pack(4, 2), conditions="vector")
    records = run(plan, 1)
    save_baseline(
        path,
        records,
        plugin_version="0.1",
        today=TODAY,
        measured="2026-06-01T10:00:00+00:00",
        revision={"commit": COMMIT, "dirty": True},
        estimates=levels(records, plan),
    )
    return path


def test_it_tells_when_what_and_how_much(tmp_path: Path) -> None:
    found = load_scores(full(tmp_path / "b.json"))
    assert (found.measured, found.revision) == ("2026-06-01T10:00:00+00:00", {"commit": COMMIT, "dirty": True})
    assert {r.persona for r in found.records} == {"p01", "p02", "p03", "p04"}
    assert {r.probe_id.partition("-")[0] == r.persona for r in found.records} == {True}
    assert [(e["condition"], e["metric"]) for e in found.estimates][:2] == [("none", "uis"), ("none", "exposure")]
    for e in found.estimates:
        assert e["lower"] <= e["value"] <= e["upper"]


def test_it_is_what_its_schema_says(tmp_path: Path) -> None:
    path = Path(pytest_hush.__file__).parents[1] / "docs/reference/schemas/baseline.schema.json"
    if not path.is_file():
        pytest.skip("baseline.schema.json: not beside an installed package")
    schema = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
    save(tmp_path / "bare.json")
    for file in (full(tmp_path / "full.json"), tmp_path / "bare.json"):
        schema.validate(json.loads(file.read_text(encoding="utf-8")))


def test_a_file_of_before_is_read_as_well(tmp_path: Path) -> None:
    path = full(tmp_path / "b.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    for name in ("measured", "revision", "estimates", "personas"):
        del data[name]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    old, new = load_scores(tmp_path / "old.json"), load_scores(path)
    assert [scores(r) for r in old.records] == [scores(r) for r in new.records]
    assert (old.measured, old.revision["commit"], old.estimates) == ("", "", ())


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["estimates"][0].__setitem__("value", 101),
        lambda d: d["estimates"][0].__setitem__("value", True),
        lambda d: d["estimates"][0].pop("lower"),
        lambda d: d.__setitem__("personas", ["p01"]),
        lambda d: d.__setitem__("measured", 5),
    ],
)
def test_damage_in_what_came_later_is_named_too(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(full(tmp_path / "b.json").read_text(encoding="utf-8"))
    change(data)
    (tmp_path / "b.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(StoreError, match="the baseline is damaged"):
        load_scores(tmp_path / "b.json")
