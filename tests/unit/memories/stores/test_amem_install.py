"""``hush install a-mem`` without a download: what is run, and what is said."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_hush.cli.install_amem import SHA256, install_amem, installer
from pytest_hush.errors import HushError, UsageError


class Runs:
    """Stands for `subprocess.run`: the n-th command ends with the n-th code."""

    def __init__(self, *codes: int, words: str = "") -> None:
        self.commands: list[list[str]] = []
        self.wanted: list[str] = []
        self._codes = list(codes)
        self._words = words

    def __call__(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if "-r" in command:
            self.wanted.append(Path(command[-1]).read_text("utf-8"))
        return subprocess.CompletedProcess(command, self._codes.pop(0), "", self._words)


def test_it_is_installed_by_its_hash_and_alone() -> None:
    said: list[str] = []
    run = Runs(1, 0, 0)
    install_amem(said.append, run=run)
    command = run.commands[1]
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert {"--no-deps", "--require-hashes", "--only-binary"} <= set(command)
    assert run.wanted == [f"a-mem==0.2.6 --hash=sha256:{SHA256}\n"]
    assert not Path(command[-1]).exists()
    assert said[1].startswith("Checked: sha256 a92cf0ef")
    assert said[2].startswith(("Ready: pytest", "Still missing"))


def test_where_it_is_nothing_is_installed() -> None:
    run = Runs(0)
    said: list[str] = []
    install_amem(said.append, run=run)
    assert len(run.commands) == 1
    assert said[0].startswith("Already installed")


@pytest.mark.parametrize(
    ("codes", "part"),
    [
        ((1, 1), r"Installing a-mem==0.2.6 failed with exit code 1 .*hash.*`hush install a-mem`"),
        ((1, 0, 1), "exit code 1"),
    ],
)
def test_a_failure_is_one_sentence_with_the_installers_words(codes: tuple[int, ...], part: str) -> None:
    with pytest.raises(HushError, match=part):
        install_amem(lambda _: None, run=Runs(*codes, words="ERROR: the hash does not match"))


def test_uv_where_pip_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    assert installer(tmp_path)[:5] == ["/bin/uv", "pip", "install", "--python", sys.executable]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UsageError, match="Neither pip nor uv"):
        installer(tmp_path)
