"""What the checks read of a pack's texts: word counts, runs of words, names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_hush.model import Disclosure, Pack, Persona
from pytest_hush.protocols import Embedder
from pytest_hush.text import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?:…\"“”»]")


def word_count(text: str) -> int:
    """Words as a reader counts them: what stands between blanks and holds a letter or digit."""
    return sum(1 for token in text.split() if any(c.isalnum() for c in token))


def disclosing_text(disclosure: Disclosure) -> str:
    """The text of the turn that tells the disclosure."""
    return next(t.text for t in disclosure.turns if t.id == disclosure.turn_id)


def runs(sequence: Sequence[str], n: int) -> frozenset[tuple[str, ...]]:
    """Every run of `n` consecutive words of `sequence`."""
    return frozenset(tuple(sequence[i : i + n]) for i in range(len(sequence) - n + 1))


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Words with a capital that no sentence's beginning explains, folded: names of people, places, days, months.

    For languages in which a capital tells a name. *I* and abbreviations of capitals (*TV*) are none.
    """
    found: set[str] = set()
    for text in texts:
        tokens = list(_TOKEN.finditer(text))
        for before, token in pairwise(tokens):
            word = re.sub(r"['’].*", "", token.group())
            begins = _SENTENCE_END.search(text, before.end(), token.start())
            if len(word) > 1 and word[0].isupper() and not word.isupper() and not begins:
                found.update(words(word))
    return frozenset(found)


def speakers(persona: Persona) -> frozenset[str]:
    """The folded names of the two who speak: to say one of them is no recall."""
    return frozenset(words(f"{persona.name} {persona.partner}"))


def told_by_id(pack: Pack) -> dict[str, str]:
    """Disclosure id → text of its disclosing turn."""
    return {d.id: disclosing_text(d) for d in pack.disclosures}


class Remembered:
    """`inner` with every vector kept: the checks compare each text many times."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.name = inner.name
        self.version = inner.version

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        if absent := sorted(set(texts) - set(self._vectors)):
            self._vectors.update(zip(absent, self._inner.embed(absent), strict=True))
        return np.stack([self._vectors[t] for t in texts])
