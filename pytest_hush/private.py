"""Folders and files that are their owner's alone: disclosures and replies are sensitive by nature."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final


def make_private_folder(path: Path) -> None:
    """Make `path` and the folders above it that are missing, each with mode 0700. Raises `OSError`.

    A folder that is there keeps its rights: it may be the user's own.
    """
    missing = []
    for folder in (path, *path.parents):
        if folder.exists():
            break
        missing.append(folder)
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not missing and not path.is_dir():
        path.mkdir()  # says what stands in the way


IGNORE: Final = ".gitignore"


def is_fresh(path: Path) -> bool:
    """Whether nothing of anybody's stands in `path`: it is absent, or a folder that holds no file but our ignore file.

    Raises `OSError`.
    """
    if not path.exists():
        return True
    return path.is_dir() and all(p.name == IGNORE and _is_ours(p) for p in path.iterdir())


def keep_from_git(path: Path) -> None:
    """Write a ``.gitignore`` of ``*`` into the folder `path`, where it has none. Raises `OSError`.

    For a folder of our own making alone: in another it would hide the files of its owner.
    """
    ignore = path / IGNORE
    if not ignore.exists():
        write_private(ignore, "*\n")


def _is_ours(ignore: Path) -> bool:
    return ignore.read_text(encoding="utf-8", errors="replace") == "*\n"


def make_private_file(path: Path) -> None:
    """Make the file `path` empty with mode 0600 where it is absent. Raises `OSError`.

    sqlite gives its ``-wal`` and ``-shm`` the rights of the file that they belong to.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def write_private(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`; a file made for it has mode 0600, one that is there keeps its own. `OSError`."""
    if not path.exists():
        make_private_file(path)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
