"""The floors of docs/design/architecture.md: a module imports only from floors below its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_hush

PACKAGE = Path(pytest_hush.__file__).parent
FLOORS = {
    0: {"model", "errors", "protocols", "text", "version", "bundled", "loading", "private", "secrets"},
    1: {"packs", "plan", "thresholds", "stats", "embed"},
    2: {"store", "models", "memories", "judges", "guard"},
    3: {"run"},
    4: {"ci", "gate", "report", "reproduce", "review"},
    5: {"plugin", "cli", "_suite"},
}
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names}
# Rooms of one floor that read one another, in this direction only.
BESIDE = {
    ("memories", "guard"),
    ("judges", "models"),
    ("report", "gate"),
    ("ci", "report"),
    ("review", "report"),
    ("reproduce", "gate"),
    ("reproduce", "report"),
    ("cli", "plugin"),
}
# F0 may be read through the package's own public, lazy names.
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem != "__init__")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            yield node.module or ""


def test_every_room_has_a_floor() -> None:
    assert {room(p) for p in MODULES} <= set(FLOOR_OF)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    own = room(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "pytest" or parts[0] == "_pytest":
            assert FLOOR_OF[own] == 5, f"{path.name} imports pytest below the plugin floor"
        if parts[0] != "pytest_hush" or len(parts) == 1:
            continue
        other = parts[1]
        if other != own and (own, other) not in BESIDE:
            lower = FLOOR_OF[other] < FLOOR_OF[own] or FLOOR_OF[own] == 0 == FLOOR_OF[other]
            assert lower, f"{own} (floor {FLOOR_OF[own]}) imports {other} ({FLOOR_OF[other]})"
