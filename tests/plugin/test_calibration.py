"""A gate file that asks for a calibrated judge: what a run says without one, and with one."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from pytest_hush.bundled import bundled
from pytest_hush.cli import main
from pytest_hush.judges.calibration import JudgeId
from tests.plugin.conftest import Run, read_result
from tests.unit.judges.calibrating import POOR, calibration, write

PLAN = ("--hush-model=parrot/0", "--hush-memory=oracle", "--hush-sample=40", "--hush-thresholds=asks.toml")
ASKS = """
schema = 1
name = "asks"
version = "1"
policy = "conservative-1"
[judge]
min_alpha = 0.667
annotators = "human"
[[gate]]
id = "uis"
metric = "uis"
condition = "oracle"
at_most = 60.0
[[gate]]
id = "complete"
metric = "completeness"
condition = "*"
at_least = 90.0
severity = "warn"
"""
JUDGE = JudgeId("canary", "1", "canary-1@0", "conservative-1", "")
LINE = "judge canary: alpha 1.00 [1.00, 1.00] on labels-test, calibrated against model readers"
WARNS = "WARNING: calibrated against model readers: asks@1 asks for a judge that was calibrated against people"


def test_gates_are_invalid_without_a_calibration_and_judged_with_one(
    hush: Run, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.path.joinpath("asks.toml").write_text(ASKS)
    write(project.path / "good.json", calibration(JUDGE))
    write(project.path / "poor.json", calibration(JUDGE, POOR))
    refused = hush(*PLAN)
    assert refused.ret == 1
    text = " ".join(refused.stdout.str().split())
    # Said before the first call, and once more in the end.
    assert "hush: every gate will be invalid: asks@1 asks for a calibrated judge" in text
    assert "INVALID: uis-parrot/0-oracle: UIS under oracle cannot be judged." in text
    assert (
        "no calibration of judge canary was given (--hush-calibration). Run: hush judge calibrate labels-en-1" in text
    )
    result = read_result(project.path / "out")
    assert {v["outcome"] for v in result["verdicts"]} == {"invalid"}
    assert result["status"] == "invalid"

    # From the ini file, relative to where pytest was called; nothing is asked twice.
    project.makeini("[pytest]\nhush_calibration = good.json\n")
    passed = hush(*PLAN, "--hush-report=page.html")
    assert passed.ret == 0, passed.stdout.str()
    text = " ".join(passed.stdout.str().split())
    assert "will be invalid" not in text
    assert LINE in text
    assert WARNS in text
    result = read_result(project.path / "out")
    jsonschema.validate(result, json.loads(bundled("schemas", "result.schema.json").read_text()))
    assert [f["alpha"] for f in result["calibration"]["fits"]] == [pytest.approx(1.0)]
    assert any(LINE in notice for notice in result["notices"])
    page = (project.path / "page.html").read_text()
    assert LINE in page
    assert "Calibration of canary" in page

    monkeypatch.chdir(project.path)

    def judged(command: str, *args: str) -> tuple[int, str]:
        found = CliRunner().invoke(main, [command, "out", "--thresholds=asks.toml", *args])
        return found.exit_code, " ".join(found.output.split())

    assert judged("gate")[0] == 1
    assert judged("gate", "--calibration=good.json")[0] == 0
    code, text = judged("gate", "--calibration=poor.json")
    assert (code, "alpha of judge canary on labels-test is -" in text) == (1, True)
    assert judged("report", "--calibration=good.json", "--markdown=c.md")[0] == 0
    comment = Path("c.md").read_text()
    assert "judge canary: alpha 1.00" in comment
    assert "WARNING: calibrated against model readers" in comment
