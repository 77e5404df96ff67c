"""The user's settings of memories and of the guard: tables ``[tool.pytest_hush.memory.NAME]`` and
``[tool.pytest_hush.guard]`` of the project's pyproject.toml.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from pytest_hush.guard import GuardSettings


def read_memory_settings(rootpath: Path, known: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Name of a memory -> its table, from ``pyproject.toml`` under `rootpath`; {} where there is none.

    `known` are the names that exist: one close to such a name and not the same is taken for a slip of the pen.
    Raises `UsageError` that names the table and what was expected.
    """
    path, own = _own(rootpath)
    memories = _table(path, "tool.pytest_hush.memory", own.get("memory", {}))
    for name in memories:
        close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
        if name not in known and close:
            raise UsageError(
                f"{path}: [tool.pytest_hush.memory.{name}]: there is no memory {name!r} (did you mean {close[0]}?)."
            )
    return {name: _table(path, f"tool.pytest_hush.memory.{name}", table) for name, table in memories.items()}


def read_guard_settings(rootpath: Path) -> GuardSettings:
    """The settings of ``+guard``; the defaults where there is no table. Raises `UsageError` that names the key."""
    from pytest_hush.guard import GuardSettings

    path, own = _own(rootpath)
    table = _table(path, "tool.pytest_hush.guard", own.get("guard", {}))
    try:
        return GuardSettings.from_table(table)
    except UsageError as error:
        raise UsageError(f"{path}, [tool.pytest_hush.guard]: {error}") from None


def _own(rootpath: Path) -> tuple[Path, dict[str, Any]]:
    path = rootpath / "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return path, {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read for [tool.pytest_hush] ({error}).") from error
    own = _table(path, "tool.pytest_hush", _table(path, "tool", data.get("tool", {})).get("pytest_hush", {}))
    unknown = sorted(own.keys() - {"memory", "guard"})
    if unknown:
        raise UsageError(
            f"{path}: [tool.pytest_hush] has no {unknown[0]!r}; expected tables [tool.pytest_hush.memory.NAME] and "
            f"[tool.pytest_hush.guard]. Options stand under [tool.pytest.ini_options] as hush_…."
        )
    return path, own


def _table(path: Path, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {name} = {value!r}: expected a table [{name}].")
    return value
