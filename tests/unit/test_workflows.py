"""The workflows as data: least permissions, pinned actions, nothing of others in a script, commands that exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from pytest_hush.cli import main
from tests.conftest import REPOSITORY

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
FOLDER = REPOSITORY / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
GUIDE = REPOSITORY / "docs" / "guide" / "ci.md"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
WORDS = {"actionlint", "check-jsonschema", "hush", "if", "mkdir", "mv", "mypy", "pip", "pytest", "python", "read", "rm"}
WORDS |= {"ruff", "twine", "zizmor"}
PERMISSIONS = {
    "contents": {"read"},
    "actions": {"read"},
    "pull-requests": {"write"},
    "id-token": {"write"},
    "attestations": {"write"},
}

pytestmark = pytest.mark.skipif(not FILES, reason="the workflows are not beside an installed package")
each = pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps(workflow: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(script: str) -> Iterator[list[str]]:
    """The words of each line of a script; a line that ends in a backslash goes on."""
    for line in script.replace("\\\n", " ").splitlines():
        if line.strip() and not line.strip().startswith("#"):
            yield shlex.split(line, comments=True)


def unknown(words: list[str]) -> list[str]:
    """What of a `hush …` command line the program does not have."""
    command: click.Command = main
    rest = words[1:]
    while isinstance(command, click.Group):
        if rest[0] not in command.commands:
            return [f"command {rest[0]}"]
        command = command.commands[rest.pop(0)]
    known = {o for p in command.params for o in p.opts}
    return [w for w in rest if w.startswith("--") and w.partition("=")[0] not in known]


@each
def test_nothing_is_granted_that_a_job_does_not_ask_for(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["permissions"], name
        for what, level in job["permissions"].items():
            assert level in PERMISSIONS[what], f"{name}: {what}: {level}"
        assert "uses" in job or "timeout-minutes" in job, f"{name}: it may hang for six hours"


@each
def test_every_action_is_pinned_by_commit_with_its_tag_beside_it(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\s*(?:- )?uses: (\S+)(.*)", line):
            local = found[1].startswith("./.github/workflows/")
            assert local or (PINNED.fullmatch(found[1]) and re.match(r" # v\d+\.\d+\.\d+$", found[2])), line


def test_one_action_has_one_commit_everywhere() -> None:
    texts = [p.read_text(encoding="utf-8") for p in (*FILES, GUIDE)]
    found = {m for t in texts for m in re.findall(r"uses: ([\w.-]+/[\w.-]+)\S*@([0-9a-f]{40}) # (\S+)", t)}
    assert len({name for name, _, _ in found}) == len(found), sorted(found)


@each
def test_no_script_holds_an_expression(path: Path) -> None:
    """What a branch, a title or an input says would be run as code; in `env` it is a value."""
    assert [s["run"] for s in steps(load(path)) if "${{" in s.get("run", "")] == []


@each
def test_scripts_call_only_what_exists(path: Path) -> None:
    for step in steps(load(path)):
        for words in commands(step.get("run", "")):
            assert words[0] in WORDS or re.fullmatch(r"\w+\+?=\(.*\)", words[0]), words
            if words[0] == "hush":
                assert unknown(words) == []


def test_a_checkout_keeps_no_token() -> None:
    for path in FILES:
        for step in steps(load(path)):
            if "actions/checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False, path.name


def test_what_may_write_runs_no_code_of_the_pull_request() -> None:
    for path in FILES:
        for job in load(path)["jobs"].values():
            if "write" in job["permissions"].get("pull-requests", "") and "steps" in job:
                (checkout,) = [s for s in job["steps"] if "actions/checkout@" in s.get("uses", "")]
                assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
                assert not any("secrets." in str(s.get("env")) for s in job["steps"])


def test_keys_go_to_the_one_step_that_calls() -> None:
    holders = [
        (path.name, step.get("id"))
        for path in FILES
        for step in steps(load(path))
        if "secrets." in str(step).replace("secrets.GITHUB_TOKEN", "")
    ]
    assert holders == [("hush-gate.yml", "measure")]


def checked(schema: str, *files: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_workflows_and_those_of_the_guide_are_what_githubs_schema_says(tmp_path: Path) -> None:
    found = [b for b in blocks(GUIDE.read_text(encoding="utf-8"), "yaml") if "\njobs:" in b]
    assert found
    files = [tmp_path / f"{k}.yml" for k in range(len(found))]
    for file, text in zip(files, found, strict=True):
        file.write_text(text, encoding="utf-8")
    checked("vendor.github-workflows", *FILES, *files)


def test_the_recipe_for_gitlab_is_what_its_schema_says(tmp_path: Path) -> None:
    (found,) = [b for b in blocks(GUIDE.read_text(encoding="utf-8"), "yaml") if "\nstages:" in f"\n{b}"]
    (tmp_path / "gitlab.yml").write_text(found, encoding="utf-8")
    checked("vendor.gitlab-ci", tmp_path / "gitlab.yml")
    for job in yaml.safe_load(found).values():
        for line in job.get("script", []) if isinstance(job, dict) else []:
            for words in commands(line):
                if words[0] == "hush":
                    assert unknown(words) == []


def test_every_command_of_the_guide_exists() -> None:
    lines = [w for b in blocks(GUIDE.read_text(encoding="utf-8"), "bash") for w in commands(b)]
    found = [w for w in lines if w[0] == "hush"]
    assert found
    assert [unknown(w) for w in found if unknown(w)] == []


def test_an_auditor_of_workflows_finds_nothing() -> None:
    program = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    if program is None:
        pytest.skip("zizmor is not installed")
    done = subprocess.run([program, "--offline", "--no-progress", str(FOLDER)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "tag, built, changelog, told",
    [
        ("v1.2.3", ["pytest_hush-1.2.3-py3-none-any.whl", "pytest_hush-1.2.3.tar.gz"], "\n## [1.2.3] - 2026", []),
        ("1.2.3", [], "", ["is no version"]),
        ("v1.2.3; rm", [], "", ["is no version"]),
        ("v1.2.3", ["pytest_hush-1.2.4.tar.gz"], "\n## [1.2.3]", ["holds pytest_hush-1.2.4.tar.gz; expected"]),
        ("v1.2.3", [], "## [Unreleased]", ["holds nothing", "has no section [1.2.3]"]),
    ],
)
def test_a_tag_releases_only_what_it_names(
    tmp_path: Path, tag: str, built: list[str], changelog: str, told: list[str]
) -> None:
    script: dict[str, Any] = {"__name__": "check_tag"}
    exec((REPOSITORY / ".github/scripts/check_tag.py").read_text(encoding="utf-8"), script)
    (tmp_path / "dist").mkdir()
    for name in built:
        (tmp_path / "dist" / name).touch()
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    found = script["faults"](tag, tmp_path / "dist", tmp_path / "CHANGELOG.md")
    assert len(found) == len(told)
    assert all(part in fault for part, fault in zip(told, found, strict=True))
