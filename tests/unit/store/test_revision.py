"""Which commit was measured: git's word where there is a repository, else the CI server's variable, else nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.store import RunFolder, revision_from, revision_of, revision_text
from pytest_hush.store.revision import NOBODY_KNOWS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ACTOR = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
with_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder above may be a repository: git does not look further up than this one."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *ACTOR, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@with_git
def test_the_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert revision_of(tmp_path, {}) == NOBODY_KNOWS  # no commit yet
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "untracked.txt").write_text("new", encoding="utf-8")
    index = (tmp_path / ".git" / "index").read_bytes()
    (tmp_path / "below").mkdir()
    assert revision_of(tmp_path / "below", {"GITHUB_SHA": COMMIT}) == {"commit": head, "dirty": False}
    (tmp_path / "a.txt").write_text("two", encoding="utf-8")
    found = revision_of(tmp_path, {})
    assert found == {"commit": head, "dirty": True}
    assert revision_text(found) == f"{head[:12]} with uncommitted changes"
    assert (tmp_path / ".git" / "index").read_bytes() == index


@pytest.mark.parametrize(
    "environ, commit",
    [
        ({"GITHUB_SHA": COMMIT}, COMMIT),
        ({"CI_COMMIT_SHA": COMMIT.upper()}, COMMIT),
        ({"GITHUB_SHA": "main; rm -rf"}, ""),
        ({"GITHUB_SHA": "", "CI_COMMIT_SHA": COMMIT}, COMMIT),
        ({}, ""),
    ],
)
def test_without_a_repository_the_server_is_believed(tmp_path: Path, environ: dict[str, str], commit: str) -> None:
    assert revision_of(tmp_path, environ) == {"commit": commit, "dirty": None}


def test_without_git_nothing_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision_of(tmp_path, {"GITHUB_SHA": COMMIT}) == {"commit": COMMIT, "dirty": None}


@pytest.mark.skipif(os.name != "posix", reason="a script stands in for git")
def test_a_git_that_hangs_or_talks_nonsense_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho not a commit\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert revision_of(tmp_path, {}) == NOBODY_KNOWS
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    monkeypatch.setattr("pytest_hush.store.revision._LIMIT_S", 0.2)
    assert revision_of(tmp_path, {}) == NOBODY_KNOWS


@pytest.mark.parametrize(
    "value", [None, "x", [], {}, {"commit": 5}, {"commit": "zz", "dirty": True}, {"commit": "", "dirty": True}]
)
def test_what_is_no_revision_is_unknown(value: Any) -> None:
    assert revision_from(value) == NOBODY_KNOWS


def test_what_sessions_took_is_summed_up_and_a_torn_line_is_not_counted(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", {"plan_hash": "0" * 32})
    assert run.sessions() is None
    run.keep_session(10, 3)
    run.keep_session(5, 90)
    with (run.path / "sessions.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"calls": 7')
    assert RunFolder.open(run.path).sessions() == (15, 93)
    if os.name == "posix":
        assert (run.path / "sessions.jsonl").stat().st_mode & 0o077 == 0
