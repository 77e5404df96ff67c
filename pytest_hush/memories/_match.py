"""Stems found in entries, remembered: the same sessions are searched for every case of a full-context run."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pytest_hush.model import Disclosure
from pytest_hush.text import has_stem, words

_LONG = 100_000
"""Characters. No session is so long; a reply or entry that is comes once, and its words would fill the memory."""


def _split(text: str) -> tuple[list[str], str]:
    found = words(text)
    return found, " " + " ".join(found)


_words = functools.lru_cache(maxsize=4096)(_split)


def found_stems(text: str, stems: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `stems` that occur in `text`: `text.stems_in`, faster on long texts."""
    return _among(*_split(text), stems) if len(text) > _LONG else _remembered(text, stems)


@functools.lru_cache(maxsize=65536)
def _remembered(text: str, stems: tuple[str, ...]) -> tuple[str, ...]:
    return _among(*_words(text), stems)


def _among(found: list[str], joined: str, stems: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        # A substring test in C first: most stems are absent from most sessions.
        stem
        for stem in stems
        if all(f" {part}" in joined for part in words(stem)) and has_stem(found, stem)
    )


def holds_all(text: str, stems: Sequence[str]) -> bool:
    """True when `text` contains every one of `stems`, and there is at least one."""
    return bool(stems) and len(found_stems(text, tuple(stems))) == len(stems)


def gives_away(text: str, disclosure: Disclosure) -> bool:
    """True when the canary or two core stems stand in `text`: the residue rule of the protocol."""
    return bool(found_stems(text, (disclosure.canary,))) or len(found_stems(text, disclosure.core)) >= 2
