"""Terminal, JSON, JUnit, Markdown, HTML, annotations and the exit code say the same, whatever the verdicts are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_hush.report.wording import MARK, WORD
from tests.plugin.conftest import Run, read_result
from tests.unit.report.pages import Page

PLAN = ("--hush-memory=oracle,neutral", "--hush-sample=40")
# Says what memory showed in one of three answers: neither a clean run nor a hopeless one.
LEAKY = """
import zlib

def reply(messages):
    text = "\\n".join(m["content"] for m in messages)
    return text if zlib.crc32(text.encode()) % 3 == 0 else "Keep it simple."

def silent(messages):
    return "Keep it simple."

def broken(messages):
    text = "\\n".join(m["content"] for m in messages)
    if zlib.crc32(text.encode()) % 3 == 0:
        raise RuntimeError("the backend is down")
    return "Keep it simple."
"""
HEAD = """
schema = 1
name = "mine"
version = "1"
policy = "conservative-1"
multiplicity = "none"
inconclusive = { release = "block", pr = "block" }
"""
UIS = 'metric = "uis"\ncondition = "oracle"\n'
WAIVED = '\nwaive = { reason = "r", by = "Ada", expires = 2999-01-01 }'
WARNS = '\nseverity = "warn"'
GATES = {
    "pass": f"{UIS}at_most = 80.0",
    "pass-waived": f"{UIS}at_most = 80.0{WAIVED}",
    "fail": f"{UIS}at_most = 10.0",
    "fail-waived": f"{UIS}at_most = 10.0{WAIVED}",
    "fail-expired": f"{UIS}at_most = 10.0{WAIVED.replace('2999', '2020')}",
    "fail-warns": f"{UIS}at_most = 10.0{WARNS}",
    "inconclusive": f"{UIS}at_most = 35.0",
    "inconclusive-warns": f"{UIS}at_most = 35.0{WARNS}",
    "regressed": f'{UIS}versus = "baseline"\nincrease_at_most = 80.0',
    # The baseline has no such condition.
    "invalid": f'{UIS.replace("oracle", "neutral")}versus = "baseline"\nincrease_at_most = 30.0\nbaseline = "required"',
    "skipped": f"{UIS.replace('oracle', 'mem0')}at_most = 30.0",
}
OUTCOMES = {
    "pass": ("pass", False), "pass-waived": ("pass", False), "fail": ("fail", True), "fail-waived": ("fail", False),
    "fail-expired": ("fail", True), "fail-warns": ("fail", False), "inconclusive": ("inconclusive", True),
    "inconclusive-warns": ("inconclusive", False), "regressed": ("pass, regressed", False),
    "invalid": ("invalid", True), "skipped": ("skipped", False),
}  # fmt: skip
FAILING_TEST = "def test_mine(hush_record):\n    assert hush_record.condition == 'none'\n"


@pytest.fixture
def surfaces(hush: Run, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run with these gates; gives what every surface says, after holding them against one another."""
    project.makepyfile(leaky=LEAKY)

    def start(*gates: str, model: str = "reply", more: tuple[str, ...] = ()) -> dict[str, Any]:
        file = project.path / "mine.toml"
        file.write_text(HEAD + "".join(f'[[gate]]\nid = "{g}"\n{GATES[g]}\n' for g in gates), encoding="utf-8")
        if any("baseline" in GATES[g] for g in gates):
            done = hush("--hush-model=python:leaky:silent", "--hush-memory=oracle", "--hush-sample=40", "hush")
            assert done.ret == 0
            (project.path / "out").rename(project.path / "main")
            more += ("--hush-baseline=main",)
        monkeypatch.setenv("COLUMNS", "2000")
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
        done = hush(f"--hush-model=python:leaky:{model}", *PLAN, "--hush-thresholds=mine.toml", "--junitxml=j.xml",
                    "--hush-report=r.html", *more)  # fmt: skip
        return agreed(project.path, done)

    return start


def agreed(folder: Path, done: pytest.RunResult) -> dict[str, Any]:
    """The JSON result, when all other surfaces say the same."""
    data = read_result(folder / "out")
    said = {v["id"]: (v["outcome"], v["blocks"]) for v in data["verdicts"]}
    assert done.ret == data["exit_code"]
    terminal = done.stdout.str()
    word = WORD[data["status"]]
    assert re.search(rf"^{word}\b", terminal, re.MULTILINE), terminal

    page = Page((folder / "r.html").read_text(encoding="utf-8"))
    (html,) = page.all("html")
    assert (html["data-status"], html["data-exit-code"]) == (data["status"], str(done.ret))
    assert {
        a["data-gate"]: (a["data-outcome"], a["data-blocks"] == "yes") for a in page.all("li") if "data-gate" in a
    } == said

    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert re.search(rf"^### \S+ hush: {word}\b", summary, re.MULTILINE)
    assert summary.count("### ") == 1, "appended once"
    assert f"exit code {done.ret}" in summary

    junit = {case.get("name"): case for case in ElementTree.parse(folder / "j.xml").getroot().iter("testcase")}
    commands = [line for line in terminal.splitlines() if line.startswith("::")]
    for name, (outcome, blocks) in said.items():
        mark = MARK[outcome]  # type: ignore[index]
        assert re.search(rf"^{mark}[^:]*: {re.escape(name)}: ", terminal, re.MULTILINE)
        assert re.search(
            rf"^\| {mark}[^|]*\| <code>{re.escape(name.replace('_', '&#95;'))}</code>", summary, re.MULTILINE
        )
        case = junit[f"gate[{name}]"]
        told = [p.get("value") for p in case.iter("property") if p.get("name") == "hush.outcome"]
        assert told == [outcome]
        assert (case.find("failure") is not None) is blocks
        kind = "::error" if blocks else "::warning"
        assert any(c.startswith(kind) and f" {name}::" in c.replace("%3A", ":") for c in commands) is (
            outcome not in ("pass", "skipped")
        )
    failures = [c for c in junit.values() if c.find("failure") is not None or c.find("error") is not None]
    assert bool(failures) is bool(done.ret)
    assert len(commands) <= 10
    return data


def outcomes(data: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    return {v["gate"]: (v["outcome"], v["blocks"]) for v in data["verdicts"]}


def test_every_outcome_of_a_gate_is_the_same_everywhere(surfaces: Any) -> None:
    data = surfaces(*GATES)
    assert outcomes(data) == OUTCOMES
    assert (data["status"], data["exit_code"]) == ("failed", 1)


@pytest.mark.parametrize(
    "gates, status, code",
    [
        (("pass", "skipped"), "passed", 0),
        (("regressed", "fail-waived", "fail-warns", "inconclusive-warns"), "passed", 0),
        (("invalid", "pass"), "invalid", 1),
        (("inconclusive", "pass"), "inconclusive", 1),
    ],
)
def test_the_worst_that_blocks_names_the_run(surfaces: Any, gates: tuple[str, ...], status: str, code: int) -> None:
    data = surfaces(*gates)
    assert outcomes(data) == {g: OUTCOMES[g] for g in gates}
    assert (data["status"], data["exit_code"]) == (status, code)


def test_a_run_that_was_not_measured(surfaces: Any) -> None:
    data = surfaces("pass", model="broken")
    assert (data["status"], data["exit_code"]) == ("invalid", 1)


def test_a_selection_gives_no_verdict(surfaces: Any) -> None:
    assert surfaces("pass", more=("-k", "p01"))["status"] == "skipped"


def test_a_selection_that_is_meant(surfaces: Any) -> None:
    data = surfaces("pass", more=("-k", "p01", "--hush-allow-no-verdict"))
    assert (data["status"], data["exit_code"]) == ("skipped", 0)


def test_a_session_that_failed_beside_passing_gates(surfaces: Any, project: pytest.Pytester) -> None:
    project.makepyfile(test_mine=FAILING_TEST)
    data = surfaces("pass")
    assert (data["status"], data["exit_code"]) == ("error", 1)


def test_a_run_that_stopped(surfaces: Any, project: pytest.Pytester) -> None:
    project.makepyfile(test_mine=FAILING_TEST)
    data = surfaces("pass", more=("-x",))
    assert (data["status"], data["exit_code"], data["verdicts"]) == ("stopped", 1, [])


def test_a_report_that_cannot_be_written_is_refused_before_any_call(hush: Run, project: pytest.Pytester) -> None:
    (project.path / "file").write_text("", encoding="utf-8")
    result = hush("--hush-model=parrot/0", *PLAN, "--hush-report=file/r.html")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "r.html: it cannot be written: " in text
    assert not (project.path / "out").exists(), "nothing was measured"


def test_a_step_summary_that_cannot_be_written_changes_nothing(
    hush: Run, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    result = hush("--hush-model=parrot/0", *PLAN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*The step summary * cannot be written: *"])


def test_under_workers_the_controller_alone_reports(
    run: Run, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    result = run("--hush-model=parrot/1", *PLAN, "--hush-report=r.html")
    assert (project.path / "summary.md").read_text(encoding="utf-8").count("### ❌ hush: FAILED (demonstration)") == 1
    commands = [line for line in result.stdout.lines if line.startswith("::")]
    assert len(commands) == len(set(commands)) > 0
    assert len(Page((project.path / "r.html").read_text(encoding="utf-8")).cases()) == 120


def test_outside_of_github_there_is_no_command(hush: Run, project: pytest.Pytester) -> None:
    result = hush("--hush-model=parrot/1", *PLAN)
    assert not any(line.startswith("::") for line in result.stdout.lines)
