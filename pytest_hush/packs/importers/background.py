"""What every importer gives: third-party dialogues as personas, with where they came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pytest_hush.model import Persona, Turn

PICTURE: Final = " [shares a picture: "
"""Begins the part of a turn's text that tells a picture by its caption; ``]`` ends it."""


@dataclass(frozen=True, slots=True)
class Background:
    """Dialogues to plant a pack into. Nothing of them is ever written by this package but on the user's word.

    `sha256` is of the file read, `importer` is ``name@version`` (part of the hash of a planted pack), `notes`
    are what the importer did to the data: turns dropped, dates out of order. `ambient_labelled` is True when
    somebody labelled the sensitive turns; `labels_sha256` is then of the file that says so, else
    empty. `private`: a pack planted into them is.
    """

    format: str
    sha256: str
    licence: str
    importer: str
    personas: tuple[Persona, ...]
    notes: tuple[str, ...] = ()
    ambient_labelled: bool = False
    labels_sha256: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What one importer read of a file: the dialogues, what it did to the data, and whether turns are labelled."""

    personas: tuple[Persona, ...]
    notes: tuple[str, ...] = ()
    ambient_labelled: bool = False


def id_safe(text: str) -> str:
    """`text` as an id of the pack format: ``D1:3`` becomes ``d1.3``, other foreign characters ``-``; may be empty."""
    return re.sub(r"[^a-z0-9.-]+", "-", text.strip().lower().replace(":", ".")).strip("-.")


def spoken(turn: Turn) -> str:
    """The turn's own words: its text without the caption of a shared picture."""
    return turn.text.partition(PICTURE.strip())[0].strip()
