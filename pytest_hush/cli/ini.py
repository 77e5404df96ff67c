"""A setting of the project's ini file for commands that start no pytest: found where pytest would find it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import UsageError

_SECTIONS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "pytest.toml": (("pytest",),),
    ".pytest.toml": (("pytest",),),
    "pytest.ini": (("pytest",),),
    ".pytest.ini": (("pytest",),),
    "pyproject.toml": (("tool", "pytest", "ini_options"), ("tool", "pytest")),
    "tox.ini": (("pytest",),),
    "setup.cfg": (("tool:pytest",),),
}
"""pytest's files in its own order, with the places of its table."""
_OWN: Final = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})
"""Files that are pytest's alone: one ends the search even where it is empty."""


def ini_setting(name: str, folder: Path) -> Any:
    """What the ini file of `folder`, or of the nearest folder above that has one, says of `name`; None for nothing.

    A text, or in TOML what stands there. Raises `UsageError` for a file that cannot be read.
    """
    for place in (folder, *folder.parents):
        for file, sections in _SECTIONS.items():
            path = place / file
            if not path.is_file():
                continue
            for section in sections:
                if (table := _table(path, section)) is not None:
                    return table.get(name)
            if file in _OWN:
                return None
    return None


def _table(path: Path, section: tuple[str, ...]) -> Mapping[str, Any] | None:
    import iniconfig

    try:
        if path.suffix != ".toml":
            read = iniconfig.IniConfig(str(path))
            return dict(read[section[0]].items()) if section[0] in read else None
        found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        for part in section:
            found = found.get(part)
            if found is None:
                return None
        return found if isinstance(found, dict) else None
    except (OSError, ValueError, AttributeError, iniconfig.ParseError) as error:
        raise UsageError(f"{path}: pytest's ini file cannot be read ({error}).") from error
