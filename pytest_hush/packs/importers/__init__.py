"""Third-party dialogues as backgrounds: one module a format, found by name or by the file's look."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from pytest_hush.errors import PackError
from pytest_hush.packs.files import read_bytes
from pytest_hush.packs.importers.background import Background, Reading
from pytest_hush.packs.importers.sensitive import with_labels

FORMATS: Final = ("locomo", "memorybank", "madial", "jsonl")
"""Names of the formats; each is a module of this package that is an `Importer`."""


class Importer(Protocol):
    """What a format's module defines. `VERSION` rises whenever the same file gives another result."""

    VERSION: str
    LICENCE: str
    PRIVATE: bool

    def recognises(self, body: bytes) -> bool: ...

    def read(self, path: Path, body: bytes) -> Reading: ...


def read_background(path: str | Path, format: str = "auto", *, sensitive: str | Path | None = None) -> Background:
    """The dialogues of a third-party file.

    `format` is one of `FORMATS`, or ``auto`` to tell it from the file. `sensitive` is a tab-separated file of
    turns that are sensitive already (`pytest_hush.packs.importers.sensitive`); without it the ambient flag of
    exposure stays unknown. Raises one `PackError` for a missing, cut-off or foreign file.
    """
    file = Path(path).expanduser()
    if format != "auto" and format not in FORMATS:
        raise PackError(f"background format {format!r}: expected auto or one of {', '.join(FORMATS)}.")
    if not file.is_file():
        raise PackError(f"{file} is no file; expected a dialogue file to plant the pack into.")
    body = read_bytes(file)
    name = format if format != "auto" else _tell(file, body)
    importer = _importer(name)
    reading = importer.read(file, body)
    background = Background(
        format=name,
        sha256=hashlib.sha256(body).hexdigest(),
        licence=importer.LICENCE,
        importer=f"{name}@{importer.VERSION}",
        personas=reading.personas,
        notes=reading.notes,
        ambient_labelled=reading.ambient_labelled,
        private=importer.PRIVATE,
    )
    return background if sensitive is None else with_labels(background, Path(sensitive).expanduser())


def _importer(name: str) -> Importer:
    return cast(Importer, import_module(f"{__name__}.{name}"))


def _tell(path: Path, body: bytes) -> str:
    for name in FORMATS:
        if _importer(name).recognises(body):
            return name
    raise PackError(
        f"{path} looks like none of the known dialogue formats; expected one of {', '.join(FORMATS)}. "
        f"Name the format to see what is wrong with the file."
    )
