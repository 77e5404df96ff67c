"""Which words of a text carry content, which name a number, and which phrases ask for a memory, by language.

A language has its file in ``lexicons/``. Where there is none, the checks that need it are not made, and say so.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pytest_hush.packs.stems import StemSet, word_tuple
from pytest_hush.text import words

_FOLDER: Final = Path(__file__).with_name("lexicons")


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """What the checks know of one language. All words are folded as `pytest_hush.text.words` folds them."""

    language: str
    stopwords: frozenset[str]
    numbers: frozenset[str]
    recall: StemSet
    endings: tuple[str, ...]
    capitalised_nouns: bool

    def content_words(self, text: str) -> tuple[str, ...]:
        """The folded words of `text` that are no stopwords, in order; a possessive loses its ending."""
        plain = (w.removesuffix("'s").removesuffix("'") for w in word_tuple(text))
        return tuple(w for w in plain if len(w) > 2 and w not in self.stopwords)

    def content_stems(self, text: str) -> frozenset[str]:
        """Content words cut to a crude stem, so that *walks*, *walked* and *walking* count as shared."""
        return frozenset(self._cut(w) for w in self.content_words(text))

    def numbers_in(self, text: str) -> frozenset[str]:
        """Digits and number words of `text`."""
        return frozenset(w for w in word_tuple(text) if w in self.numbers or w.isdigit())

    def _cut(self, word: str) -> str:
        for ending in self.endings:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word.removesuffix(ending)
                break
        # A doubled consonant or a silent e is what is added or dropped before these endings.
        if len(word) > 3 and (word[-1] == word[-2] or word[-1] == "e"):
            word = word[:-1]
        return word


def lexicon(language: str) -> Lexicon | None:
    """The lexicon of a BCP 47 tag by its primary subtag (``en-GB`` is ``en``), or None when there is none."""
    return _read(language.partition("-")[0].lower())


@cache
def _read(primary: str) -> Lexicon | None:
    path = _FOLDER / f"{primary}.toml"
    if not primary.isalpha() or not path.is_file():
        return None
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Lexicon(
        language=data["language"],
        stopwords=frozenset(words(data["stopwords"])),
        numbers=frozenset(words(data["numbers"])),
        recall=StemSet(data["recall"]),
        endings=tuple(data["endings"]),
        capitalised_nouns=data["capitalised_nouns"],
    )


def english() -> Lexicon:
    """The lexicon of English, which the importers of English dialogues read."""
    found = _read("en")
    assert found is not None, "lexicons/en.toml is part of the package"
    return found
