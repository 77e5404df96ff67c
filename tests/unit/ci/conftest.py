"""The environment of a job in GitHub Actions, with a server on this machine for its API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_hush.ci import api
from pytest_hush.cli import main
from tests.unit.ci.github import REPOSITORY, TOKEN, GitHub, serving


@dataclass
class Job:
    """One step: `folder` is its working directory, `waits` are the seconds that were slept."""

    folder: Path
    hub: GitHub
    waits: list[float]
    environ: Callable[[str, str], None]

    def run(self, *args: object) -> Result:
        """`hush ci ARGS`; the token is in nothing that is printed."""
        result = CliRunner().invoke(main, ["ci", *map(str, args)])
        assert TOKEN not in result.output
        return result

    def event(self, data: Mapping[str, Any]) -> None:
        (self.folder / "event.json").write_text(json.dumps(data), encoding="utf-8")

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    waits: list[float] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api.Api.__init__, "__kwdefaults__", {"say": str, "sleep": waits.append})
    with serving() as hub:
        for name, value in {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": hub.url,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "500",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/gate.yml@refs/pull/7/merge",
        }.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "output").touch()
        (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}), encoding="utf-8")
        yield Job(tmp_path, hub, waits, monkeypatch.setenv)
