"""The storage decision: how sensitive a text is, and of what kind, decided once, when it is written."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.guard.lexicon import CONFIDENCE, Lexicon
from pytest_hush.guard.likeness import Likeness
from pytest_hush.guard.settings import GuardSettings
from pytest_hush.model import Session

_NEAR: Final = 0.08
"""How much nearer to a kind a text need not be where its session is known to hold something of that kind."""


@dataclass(frozen=True, slots=True)
class Label:
    """The kinds of sensitive matter in a text, and by which words or likeness each was found. Falsy for none."""

    categories: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    why: str = ""

    def __bool__(self) -> bool:
        return bool(self.categories)


NOT_SENSITIVE: Final = Label()


class Labeller:
    """Labels texts by the lexicon, and by likeness where embeddings are at hand. Deterministic; thread-safe."""

    def __init__(self, lexicon: Lexicon, settings: GuardSettings, likeness: Likeness | None = None) -> None:
        self.lexicon = lexicon
        self._settings = settings
        self._likeness = likeness
        self._cached = functools.lru_cache(maxsize=8192)(self._label)

    def label(self, text: str, *, near: tuple[str, ...] = ()) -> Label:
        """The label of one text. A name before it (``Mara: …``) is not read.

        `near`: kinds that are known to stand in the text's surroundings; less is needed then.
        """
        return self._cached(without_speaker(text), near)

    def session(self, session: Session) -> Mapping[str, Label]:
        """Turn id -> label. The `spread` turns after a sensitive one belong to it: a reply repeats what it answers."""
        own = [self.label(turn.text) for turn in session.turns]
        found = list(own)
        for index, label in enumerate(own):
            if label:
                for after in range(index + 1, min(index + 1 + self._settings.spread, len(own))):
                    if not found[after]:
                        found[after] = Label(
                            label.categories, label.terms, f"answers what was told before ({label.why})"
                        )
        return {turn.id: label for turn, label in zip(session.turns, found, strict=True)}

    def strong(self, text: str) -> Mapping[str, tuple[str, ...]]:
        """Category -> the strong terms of it in `text`; categories without one are left out."""
        found = {name: c.strong.found(text) for name, c in self.lexicon.categories.items()}
        return {name: terms for name, terms in found.items() if terms}

    def _label(self, text: str, near: tuple[str, ...]) -> Label:
        strong = self.strong(text)
        reasons = {name: f"{', '.join(terms[:3])}" for name, terms in strong.items()}
        terms = [t for found in strong.values() for t in found]
        for name, category in self.lexicon.categories.items():
            if name in reasons:
                continue
            weak = category.weak.found(text)
            # Whoever speaks in confidence needs fewer words to be understood.
            needed = self._settings.weak - (1 if CONFIDENCE in strong or name in near else 0)
            if len(weak) >= max(1, needed):
                reasons[name] = ", ".join(weak[:3])
                terms += weak
        for name, (value, lift) in self._alike(text).items():
            ease = _NEAR if name in near or CONFIDENCE in strong else 0.0
            settings = self._settings
            if name not in reasons and value >= settings.label_at - ease and lift >= settings.label_lift - ease:
                reasons[name] = f"like sentences of this kind ({value:.2f})"
        chosen = tuple(name for name in self.lexicon.categories if name in reasons)
        why = "; ".join(f"{self.lexicon.categories[name].named}: {reasons[name]}" for name in chosen)
        return Label(chosen, tuple(dict.fromkeys(terms)), why) if chosen else NOT_SENSITIVE

    def _alike(self, text: str) -> Mapping[str, tuple[float, float]]:
        return self._likeness.categories(text) if self._likeness is not None and text.strip() else {}


def without_speaker(text: str) -> str:
    """`text` on one line, without a name and a colon before it."""
    head, colon, rest = text.partition(": ")
    names = head.split()
    # A name is up to three words with capitals; "Between us:" is none, nor is a script without capitals told from one.
    if colon and 0 < len(names) <= 3 and not any(word[0].islower() or word[0].isdigit() for word in names):
        text = rest
    return " ".join(text.split())


def lines_of(text: str) -> Sequence[str]:
    """The lines of an entry that are not blank; a whole session has one for each turn."""
    return [line for line in text.splitlines() if line.strip()]
