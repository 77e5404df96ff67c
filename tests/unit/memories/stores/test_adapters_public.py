"""The adapters of Mem0, A-Mem and MemU are written as anybody's would be: with the public names of the core alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_hush
from pytest_hush.memories.stores.registry import SYSTEMS

PACKAGE = Path(pytest_hush.__file__).parent
STORES = PACKAGE / "memories" / "stores"
PARTS = {
    "mem0": ("mem0", "mem0_library", "mem0_parts"),
    "a-mem": ("amem", "amem_library", "analyser"),
    "memu": ("memu", "memu_dump", "memu_library"),
}
ADAPTERS = [STORES / f"{part}.py" for parts in PARTS.values() for part in parts]
CORE = [p for p in (PACKAGE / "memories").rglob("*.py") if p not in ADAPTERS]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of all that is imported from this package."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_hush"):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("pytest_hush"))


def private_of_the_core() -> set[str]:
    """Names with an underscore that the core defines: functions, constants, and attributes of its objects."""
    found = set()
    for path in CORE:
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def test_every_adapter_is_looked_at() -> None:
    assert set(PARTS) == set(SYSTEMS)
    named = {path.stem for path in ADAPTERS}
    assert {module.rpartition(".")[2] for module in SYSTEMS.values()} <= named
    parts = ("mem0", "amem", "memu", "analyser")
    assert {p.stem for p in STORES.glob("*.py") if p.stem.startswith(parts)} == named, "a new part of an adapter"


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda p: p.stem)
def test_an_adapter_imports_public_names_only(path: Path) -> None:
    for module, name in imported(path):
        assert not any(part.startswith("_") for part in (*module.split("."), name)), f"{module}.{name}"


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda p: p.stem)
def test_an_adapter_reads_no_private_attribute_of_the_core(path: Path) -> None:
    own = {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }
    private = private_of_the_core()
    assert len(private) > 30
    assert own & private == set()


@pytest.mark.parametrize("path", CORE, ids=lambda p: p.stem)
def test_the_core_knows_no_adapter(path: Path) -> None:
    adapters = {f"pytest_hush.memories.stores.{p.stem}" for p in ADAPTERS}
    assert not {module for module, _ in imported(path)} & adapters
