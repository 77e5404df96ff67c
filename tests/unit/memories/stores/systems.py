"""What the tests of the memory systems' libraries share: what they need, how they are made, where they may write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_hush.errors import MissingExtraError
from pytest_hush.memories.stores import amem_library
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.bases import MARKER
from tests.unit.memories.histories import needs_embedder
from tests.unit.memories.stores.memu_extraction import needs_memu

Make = Callable[..., StoreMemory]
"""The fixture ``make``: an extraction model or None, and settings, to the memory of the module's ``SYSTEM``."""
KIDNEYS = "What did I tell you about my kidneys?"
ROOT = Path(__file__).parents[4]


def needs_mem0() -> None:
    for module in ("mem0", "faiss"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra 'mem0')")
    needs_embedder()


def needs_amem() -> None:
    pytest.importorskip("chromadb", reason="chromadb is not installed (extra 'a-mem')")
    needs_embedder()
    try:
        found = amem_library.edition()
    except MissingExtraError:
        pytest.skip("a-mem is not installed (hush install a-mem)")
    if not found.keeps_notes:
        pytest.skip("the authors' edition of A-Mem is installed; these tests are of the one on PyPI")


NEEDS = {"mem0": needs_mem0, "a-mem": needs_amem, "memu": needs_memu}


def bases(folder: Path) -> list[Path]:
    return sorted(p.parent for p in folder.rglob(MARKER))


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def with_sources() -> dict[str, str]:
    """This environment for a process that imports these tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def isolated(tmp_path: Path) -> dict[str, str]:
    """An environment whose home, working and temporary folders are empty ones of the test."""
    for name in ("home", "work", "tmp"):
        (tmp_path / name).mkdir()
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT")}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
