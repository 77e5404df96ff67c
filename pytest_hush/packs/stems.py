"""Stems split once and matched against many texts: the rule of `pytest_hush.text.has_stem`, made fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pytest_hush.text import words


@lru_cache(maxsize=65536)
def word_tuple(text: str) -> tuple[str, ...]:
    """`pytest_hush.text.words` of `text`, remembered: a pack's texts are compared many times."""
    return tuple(words(text))


class StemSet:
    """Stems ready for matching. `found` agrees with `pytest_hush.text.stems_in`."""

    def __init__(self, stems: Iterable[str]) -> None:
        self.stems = tuple(stems)
        self._parts = [word_tuple(s) for s in self.stems]
        self._starts = tuple(parts[0] for parts in self._parts if parts)
        self._single = tuple(parts[0] for parts in self._parts if len(parts) == 1)
        self._phrases = [parts for parts in self._parts if len(parts) > 1]

    def occurs(self, text_words: Sequence[str]) -> bool:
        """True when at least one of the stems occurs in `text_words`."""
        if self._single and any(w.startswith(self._single) for w in text_words):
            return True
        return any(_matches(text_words, parts) for parts in self._phrases)

    def found(self, text_words: Sequence[str]) -> tuple[str, ...]:
        """Those of the stems that occur in `text_words`, in the order given."""
        # Most texts hold none of the stems: one call per word, over all the stems, settles those.
        starts = self._starts
        if not starts:
            return ()
        for w in text_words:
            if w.startswith(starts):
                break
        else:
            return ()
        return tuple(s for s, parts in zip(self.stems, self._parts, strict=True) if _matches(text_words, parts))


def _matches(text_words: Sequence[str], parts: tuple[str, ...]) -> bool:
    if not parts:
        return False
    first, rest = parts[0], parts[1:]
    for i in range(len(text_words) - len(rest)):
        if text_words[i].startswith(first) and all(text_words[i + k].startswith(p) for k, p in enumerate(rest, 1)):
            return True
    return False


class StemIndex:
    """Which of many stems, each with an owner, occur in a text: looked up by word starts, not one by one."""

    def __init__(self, owners: Iterable[tuple[str, str]]) -> None:
        self._by_start: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for stem, owner in owners:
            parts = word_tuple(stem)
            if parts:
                self._by_start.setdefault(parts[0], []).append((parts, owner))
        self._lengths = sorted({len(start) for start in self._by_start})
        # Hardly any word begins like a stem: one look at its first letters settles the others.
        self._head = self._lengths[0] if self._lengths else 0
        self._heads = {start[: self._head] for start in self._by_start}

    def owners_in(self, text: str) -> list[str]:
        """Owners of the stems that occur in `text`, in the text's order."""
        text_words = word_tuple(text)
        hits: list[str] = []
        for i, word in enumerate(text_words):
            if word[: self._head] not in self._heads:
                continue
            for length in self._lengths:
                if length > len(word):
                    break
                for parts, owner in self._by_start.get(word[:length], ()):
                    if _matches(text_words[i : i + len(parts)], parts):
                        hits.append(owner)
        return hits
