"""How near a text lies to sentences of a kind, by sentence embeddings; nothing without an embedder."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_hush.guard.lexicon import Lexicon, Phrases
from pytest_hush.protocols import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Likeness:
    """Cosines to the sentences of a lexicon and of its phrases, rounded to six digits. Thread-safe.

    The sentences are embedded at the first question.
    """

    def __init__(self, embedder: Embedder, lexicon: Lexicon, phrases: Phrases) -> None:
        self._embedder = embedder
        self._lexicon, self._phrases = lexicon, phrases
        self._lock = threading.Lock()
        self._rows: dict[str, NDArray[np.float64]] = {}

    @property
    def build(self) -> str:
        """``name@version`` of the embeddings."""
        return f"{self._embedder.name}@{getattr(self._embedder, 'version', '')}"

    def categories(self, text: str) -> Mapping[str, tuple[float, float]]:
        """Category -> (largest cosine to its sentences, that less the largest to the everyday ones)."""
        own = self._vector(text)
        plain = self._largest("everyday", self._lexicon.everyday, own)
        near = {n: self._largest(n, c.likeness, own) for n, c in self._lexicon.categories.items() if c.likeness}
        return {name: (value, round(value - plain, 6)) for name, value in near.items()}

    def asking(self, sentence: str) -> tuple[float, float]:
        """The same for a sentence of the user's turn that may ask for earlier context."""
        own = self._vector(sentence)
        value = self._largest("asks", self._phrases.asks_likeness, own)
        return value, round(value - self._largest("asks nothing", self._phrases.asks_nothing, own), 6)

    def between(self, one: str, other: str) -> float:
        """The cosine of two texts."""
        return round(float(self._vector(one) @ self._vector(other)), 6)

    def _largest(self, name: str, sentences: Sequence[str], own: NDArray[np.float64]) -> float:
        with self._lock:
            rows = self._rows.get(name)
            if rows is None:
                rows = self._rows[name] = self._embed(sentences)
        return round(float((rows @ own).max()), 6)

    def _vector(self, text: str) -> NDArray[np.float64]:
        row: NDArray[np.float64] = self._embed([" ".join(text.split())])[0]
        return row

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        import numpy as np

        return np.asarray(self._embedder.embed(list(texts)), dtype=np.float64)
