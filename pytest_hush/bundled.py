"""Where the data that ships with the package lies: probe packs, threshold files, JSON Schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pytest_hush.errors import UsageError

_PACKAGE: Final = Path(__file__).resolve().parent
_IN_REPOSITORY: Final = {"schemas": "docs/reference/schemas"}
_ONE: Final = {"probes": "pack", "thresholds": "threshold file", "schemas": "schema"}


def _folders(kind: str) -> tuple[Path, ...]:
    """The wheel's copy first, then the repository's: an editable install has no ``_data``."""
    return (_PACKAGE / "_data" / kind, _PACKAGE.parent / _IN_REPOSITORY.get(kind, kind))


def bundled_names(kind: str) -> tuple[str, ...]:
    """Sorted names of what ships as `kind` (``probes``, ``thresholds`` or ``schemas``); empty when nothing does."""
    for folder in _folders(kind):
        if folder.is_dir():
            return tuple(sorted(p.name for p in folder.iterdir() if not p.name.startswith((".", "_"))))
    return ()


def bundled(kind: str, name: str) -> Path:
    """The path of the bundled file or folder `name` of `kind` (``probes``, ``thresholds`` or ``schemas``).

    Raises `UsageError` that lists what is bundled, also for a name that would leave the folder.
    """
    if name and Path(name).name == name and name not in {".", ".."}:
        for folder in _folders(kind):
            if (folder / name).exists():
                return folder / name
    # Beside the packs lie a README, labelled sets and recorded replies: no packs.
    names = [n for n in bundled_names(kind) if kind != "probes" or not n.startswith(("README", "labels-", "recorded-"))]
    known = ", ".join(names) or "none (the installation is incomplete)"
    raise UsageError(f"There is no bundled {_ONE[kind]} {name!r}; there are: {known}.")
