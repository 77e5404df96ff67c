"""The JSON result against its published schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_hush
from pytest_hush.model import Record
from pytest_hush.report.result import result, write_result
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

SCHEMA = Path(pytest_hush.__file__).parents[1] / "docs/reference/schemas/result.schema.json"
PLAN = make_plan(make_pack(3, 2), conditions="vector,oracle")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    if not SCHEMA.is_file():
        pytest.skip("result.schema.json: not beside an installed package")
    found: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def measured(v: float = 0.0, **options: Any) -> list[Record]:
    """Records whose instrument and subject are whole, as a run writes them."""
    instrument: dict[str, Any] = {
        "pack": "made-up@1+0",
        "rubric": "r@0",
        "policy": "p",
        "judge": "embedded",
        "judge_version": "1",
        "schema": 1,
        "embedded_build": "",
    }
    subject = {"memory_version": "1", "settings": {"model": {}, "memory": {}}, "prompts": "p@0", "plugin_version": "0"}
    return [
        replace(r, instrument=instrument, subject={**r.subject, **subject, "label": r.condition})
        for r in make_records(PLAN, lambda case: v, **options)
    ]


@pytest.mark.parametrize("v", [0.0, 1.0])
def test_a_result_is_what_the_schema_says(schema: dict[str, Any], v: float) -> None:
    summary = summary_of(measured(v), PLAN)
    jsonschema.Draft202012Validator(schema).validate(result(summary, exit_code=1, plugin_version="0.1.0"))


def test_a_result_of_a_closed_assistant_and_of_a_stopped_run(schema: dict[str, Any]) -> None:
    records = measured(exact=None, retrieved=None)
    for summary in (summary_of(records, PLAN), summary_of(records[:3], PLAN, stopped="interrupted")):
        data = result(summary, exit_code=1, plugin_version="0.1.0")
        jsonschema.Draft202012Validator(schema).validate(data)
    data = result(summary_of(records, PLAN), exit_code=0, plugin_version="0")
    assert [c["known"] for c in data["positive_controls"]] == [False]


def test_no_text_of_a_case_is_in_the_result(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_result(path, result(summary_of(make_records(PLAN), PLAN), exit_code=0, plugin_version="0"))
    text = path.read_text(encoding="utf-8")
    assert "A fern likes shade." not in text
    assert all(p.text not in text for p in PLAN.pack.probes)
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
