"""What is said where MemU cannot run: on an older Python, and without the one version of its library."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.errors import MissingExtraError
from pytest_hush.memories import resolve_memory
from pytest_hush.memories.stores.memu_library import PACKAGE, require_memu
from pytest_hush.model import Condition
from tests.unit.memories.histories import pack


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    real = importlib.metadata.version

    def fake(name: str) -> str:
        if name != PACKAGE:
            return real(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", fake)


def test_an_older_python_is_told_so_whatever_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, "1.5.1")
    monkeypatch.setattr(sys, "version_info", (3, 12, 8, "final", 0))
    with pytest.raises(
        MissingExtraError, match=r"needs Python 3.13 or later, because memu-py does; this is Python 3.12"
    ):
        resolve_memory(Condition.parse("memu"), pack=pack(), embedder=default_embedder, stores=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [(None, "needs memu-py 1.5.1, which is not installed"), ("1.4.0", "needs memu-py 1.5.1, and 1.4.0 is installed")],
)
def test_another_library_is_named_with_the_install_line(
    monkeypatch: pytest.MonkeyPatch, version: str | None, message: str
) -> None:
    installed(monkeypatch, version)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    with pytest.raises(MissingExtraError, match=f"{message}.*pip install 'pytest-hush.embed.' && hush install memu"):
        require_memu()


def test_another_package_with_a_module_of_that_name_is_not_taken_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "memu.py").write_text("raise RuntimeError('imported')", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(monkeypatch, None)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    with pytest.raises(MissingExtraError, match="not installed"):
        require_memu()
