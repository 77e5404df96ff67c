"""Matching words across the packs, the exposure flags and the judges: one rule, so that they agree.

A *stem* matches at the start of a word, ignoring case, width and accents; a stem of several words matches
consecutive words, each by its start (``docs/reference/pack-format.md``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# Letters by their Unicode category, though nothing is drawn for them.
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_FEW = 16
"""Up to so many kinds of accents are taken out one by one, which is many times as fast in a long text."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def fold(text: str) -> str:
    """Lower case, NFKC, no accents, no invisible characters: what two texts are compared in."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    if text.isascii():
        return text
    text = unicodedata.normalize("NFD", text)
    # By kind of character, not by position: packs hold a million characters of some eighty kinds.
    marks = [c for c in set(text) if unicodedata.combining(c)]
    if len(marks) > _FEW:
        return text.translate(dict.fromkeys(map(ord, marks)))
    for mark in marks:
        text = text.replace(mark, "")
    return text


def is_blank(text: str) -> bool:
    """True when `text` holds no letter and no digit of any script: nobody could read a word in it."""
    return not any(c.isalnum() and c not in _FILLERS for c in fold(text))


def number_of(number: int, thing: str) -> str:
    """``1 case``, ``2 cases``: the count of a `thing` whose plural takes an ``s``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def words(text: str) -> list[str]:
    """The folded words of `text`, in order; digits count as words, apostrophes stay inside one."""
    return [w.replace("’", "'") for w in _WORD.findall(fold(text))]


def has_stem(text_words: list[str], stem: str) -> bool:
    """True when `stem` (one or more words) matches consecutive words of `text_words` by their starts."""
    parts = words(stem)
    if not parts:
        return False
    return any(
        all(text_words[i + k].startswith(p) for k, p in enumerate(parts))
        for i in range(len(text_words) - len(parts) + 1)
    )


def stems_in(text: str, stems: Iterable[str]) -> tuple[str, ...]:
    """Those of `stems` that occur in `text`, in the order given."""
    found = words(text)
    return tuple(s for s in stems if has_stem(found, s))
