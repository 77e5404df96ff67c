"""The warrant decision: does the current turn bring a matter up again, or ask for earlier context?

It is read from the user's turn alone. That a stored entry lies near the turn is what retrieval is for, no warrant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pytest_hush.guard.labels import Label, Labeller
from pytest_hush.guard.lexicon import CONFIDENCE, Phrases
from pytest_hush.guard.likeness import Likeness
from pytest_hush.guard.settings import GuardSettings

_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Warrant:
    """What the turn gives a reason for. `asked`: it asks for earlier context, by the words in `by`.

    `own`: it asks for facts of the user's own, which is a reason for everyday memory only.
    `raised`: kind -> the terms by which the turn itself brings it up. `turn` is its text.
    """

    turn: str
    asked: bool = False
    by: str = ""
    own: bool = False
    raised: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class WarrantReader:
    """Reads turns by phrases, by strong terms, and by likeness where embeddings are at hand."""

    def __init__(
        self, labeller: Labeller, phrases: Phrases, settings: GuardSettings, likeness: Likeness | None = None
    ) -> None:
        self._labeller = labeller
        self._phrases = phrases
        self._settings = settings
        self._likeness = likeness

    def read(self, turn: str) -> Warrant:
        """The warrant that `turn` gives."""
        by = "" if self._phrases.not_now.found(turn) else self._asks(turn)
        return Warrant(turn, bool(by), by, self._own(turn), self._labeller.strong(turn))

    def about(self, warrant: Warrant, text: str) -> bool:
        """Whether an everyday `text` may be shown: it is near the turn in meaning, or the turn asks for such facts."""
        if warrant.asked or warrant.own or self._likeness is None or not self._settings.relevant_at:
            return True
        return self._likeness.between(warrant.turn, text) >= self._settings.relevant_at

    def covers(self, warrant: Warrant, label: Label, text: str) -> str:
        """Why `warrant` brings up the matter of an entry with `label` and `text`; '' where it does not.

        The kind alone is not enough: a turn about one illness gives no reason to name another. A term in common or a
        near meaning shows that it is the same matter; without embeddings a content word in common does. A question for
        facts of the user's own asks for the entry that it is near to, whatever its kind.
        """
        if warrant.own and self._near(warrant.turn, text, 2):
            return "the turn asks for it"
        shared = [name for name in label.categories if name in warrant.raised and name != CONFIDENCE]
        if not shared:
            return ""
        named = ", ".join(self._labeller.lexicon.categories[name].named for name in shared)
        terms = {t for name in shared for t in warrant.raised[name]}
        if terms & set(label.terms):
            return f"the turn brings it up ({', '.join(sorted(terms & set(label.terms)))})"
        return f"the turn brings up {named}, near in meaning" if self._near(warrant.turn, text) else ""

    def _near(self, turn: str, text: str, words: int = 1) -> bool:
        """Near in meaning; without embeddings so many content words in common."""
        if self._likeness is not None:
            return self._likeness.between(turn, text) >= self._settings.same_matter
        return len(self._content(turn) & self._content(text)) >= words

    def _content(self, text: str) -> set[str]:
        """Long words, cut: without embeddings they stand for what a text is about."""
        found = re.findall(r"[^\W\d_]{5,}", text.casefold())
        return {word[:6] for word in found if word not in self._phrases.common}

    def _own(self, turn: str) -> bool:
        return any(self._is_own(s) for s in _SENTENCE.split(turn) if s.rstrip().endswith("?"))

    def _is_own(self, question: str) -> bool:
        opening = " ".join(question.split()[:5])
        return bool(
            self._phrases.question_words.found(opening)
            and self._phrases.of_the_user.found(question)
            and not self._phrases.advice.found(question)
        )

    def _asks(self, turn: str) -> str:
        if found := self._phrases.asks.found(turn):
            return f"the turn asks for what was told before ({found[0]})"
        if self._likeness is not None:
            for sentence in _SENTENCE.split(turn):
                if len(sentence.split()) < 3:
                    continue
                value, lift = self._likeness.asking(sentence)
                if value >= self._settings.ask_at and lift >= self._settings.ask_lift:
                    return f"the turn asks for what was told before (like it, {value:.2f})"
        return ""
