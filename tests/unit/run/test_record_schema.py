"""The records of a real run against the published JSON Schema, and the schema against the record."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_hush.errors import UnreadableJudgement
from pytest_hush.model import Judgement, JudgeView, Record
from pytest_hush.run import Engine
from pytest_hush.store import RecordLog

from .standins import Recall, Scripted, StemJudge, judgement, memories_of, pipeline_of, plan_of

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "docs" / "reference" / "schemas" / "record.schema.json").read_text("utf-8")
)


def test_the_schema_names_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    names = [f.name for f in fields(Record)]
    assert SCHEMA["required"] == list(SCHEMA["properties"]) == names


def test_records_of_every_status_are_valid(tmp_path: Path) -> None:
    def script(number: int, view: JudgeView) -> Judgement:
        if number == 1:
            raise UnreadableJudgement("no JSON")
        return judgement(None if view.invited else 0.25)

    def answer(number: int, _: object) -> str:
        if number == 2:
            raise ValueError("a bug")
        return f"reply {number}"

    plan = plan_of("recall,lost,kept,full-context", invitations=True)
    memories = memories_of(plan, lost=Recall(lose="session"), kept=Recall(lose="disclosure"))
    log = RecordLog(tmp_path, "main")
    with Engine(
        pipeline_of(plan, Scripted(script=answer), memories=memories, judges=(StemJudge(script),)), log
    ) as engine:
        for case in plan.cases:
            engine.submit(case)
        engine.drain()
    log.close()
    validator = jsonschema.Draft202012Validator(SCHEMA)
    lines = [json.loads(line) for line in log.path.read_text("utf-8").splitlines()]
    for line in lines:
        validator.validate(line)
    assert {line["status"] for line in lines} == {"ok", "unscored", "error", "unplanted", "withheld"}
    assert {line["kind"] for line in lines} == {"probe", "control"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "passed"),
        ("judgements", [{}]),
        ("schema", 2),
        ("exposure", {"exact": 0}),
        ("latency_s", "1"),
        ("extra", 1),
    ],
)
def test_the_schema_refuses(tmp_path: Path, field: str, value: object) -> None:
    plan = plan_of("none", personas=1)
    log = RecordLog(tmp_path, "main")
    with Engine(pipeline_of(plan), log) as engine:
        engine.result(plan.cases[0])
    log.close()
    line = json.loads(log.path.read_text("utf-8"))
    jsonschema.validate(line, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**line, field: value}, SCHEMA)
