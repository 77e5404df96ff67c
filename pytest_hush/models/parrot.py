"""A deterministic generator that repeats what memory shows it, to a set degree: it needs no key and no network.

It is an instrument for learning what a failing gate looks like and for testing the arithmetic, not a language model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_hush.errors import UsageError
from pytest_hush.model import Entry, Prompt, Reply, Usage, digest
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS, ModelSettings
from pytest_hush.models.tokens import count_tokens
from pytest_hush.protocols import Model
from pytest_hush.text import words

Manner = Literal["hint", "reference", "verbatim"]
MANNERS: Final[tuple[Manner, ...]] = ("hint", "reference", "verbatim")

_DEFAULT_DEGREE = 0.5
_MOST_ENTRIES = 3
_MOST_WORDS = {"hint": 4, "reference": 14, "verbatim": 70}
_COMMON = frozenset(
    words(
        "a about after all along also always am an and any are around as at be been before being but by can "
        "could did do does doing for from get give go going gone good had has have having he her here him his "
        "how i if in into is it its i'm i've i'd i'll just keep let let's like little lot make many me more "
        "most much my need never no not nothing now of off on one only or our out over please quite really "
        "rather she should simple so some such tell than that that's the their them then there these they "
        "thing things this those to today too two up us very want wants was way we were what what's when "
        "where whether which while who why will with without would you your user assistant"
    )
)
OPENINGS: Final = ("Here is a simple way to go about", "A few practical ideas for", "Three small steps should do for")
HINT: Final = "With {0} in mind, go gently."
REFERENCE: Final = "Given what you told me ({0}), here is what I would do."
VERBATIM: Final = "You told me: {0}"
"""How a use of memory is worded, before the plain answer. The test judge `trace` reads these and `OPENINGS`."""
_STEPS = (
    "First decide what matters most about {0}; then try {1} for a week, and note what works for {2}.",
    "Start small with {0}, choose the easiest form of {1}, and leave {2} until the end.",
    "Make a short list for {0}, compare two choices for {1}, and pick the plainer one for {2}.",
)


@dataclass(frozen=True, slots=True)
class Parrot:
    """Uses memory with probability `degree` (0 to 1), drawn by hash from question, entries, seed and repeat.

    Where it does, one hash draw decides the manner: a *hint* (a few words of one entry), a *reference* (one entry in
    part) or *verbatim* (up to three entries). Of five entries or fewer it reads the first three; of more (a whole
    history) three drawn by hash. `Reply.notes` says what was used, one line an entry. Without entries it never leaks.
    """

    degree: float = _DEFAULT_DEGREE
    name: str = "parrot"
    max_tokens: int = DEFAULT_MAX_TOKENS

    demonstration = True
    deterministic = True
    context_window = 32_768

    @classmethod
    def create(cls, degree: str, settings: ModelSettings) -> Model:
        """``parrot`` (`degree` empty) or ``parrot/<degree>``. Raises `UsageError` unless it is a number in [0, 1]."""
        max_tokens = settings.max_tokens or DEFAULT_MAX_TOKENS
        if not degree:
            return cls(max_tokens=max_tokens)
        try:
            value = float(degree)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(f"Model 'parrot/{degree}': the degree is a number from 0 to 1, for example parrot/0.6.")
        return cls(value, f"parrot/{degree}", max_tokens)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes an answer besides the prompt; `version` is that of the parrot's own wording."""
        return {"degree": self.degree, "version": 1}

    @property
    def answers_as(self) -> tuple[object, ...]:
        """What two names of one parrot have in common."""
        return ("parrot", self.degree, self.max_tokens)

    def count_tokens(self, text: str) -> int:
        """Four characters are one token."""
        return count_tokens(text)

    def reply(self, prompt: Prompt) -> Reply:
        """A plain answer that echoes the question's key words, with or without a use of `prompt.entries`."""
        question = _question(prompt)
        seed: list[object] = [question, [[e.id, e.text] for e in prompt.entries], prompt.seed, prompt.repeat]
        answer = _plain(question, prompt.seed)
        notes: tuple[str, ...] = ("parrot: used no entry",)
        if prompt.entries and _draw("use", seed) < self.degree:
            manner = MANNERS[int(_draw("manner", seed) * len(MANNERS))]
            used = _pick(prompt.entries, manner, seed)
            answer = f"{_woven(used, manner, seed)} {answer}"
            notes = tuple(f"parrot: used entry {e.id} manner={manner}" for e in used)
        sent = sum(count_tokens(m.content) for m in prompt.messages)
        return Reply(answer, self.name, Usage(sent, count_tokens(answer), 0.0), notes=notes)


def _draw(purpose: str, seed: list[object]) -> float:
    """Uniform in [0, 1), a function of its arguments alone."""
    return int(digest([purpose, *seed], 13), 16) / 16**13


def _question(prompt: Prompt) -> str:
    """The user's own words: the last user message after the rendered memory, which templates put before it."""
    text = next((m.content for m in reversed(prompt.messages) if m.role == "user"), "")
    for entry in prompt.entries:
        if entry.text:
            text = text.rpartition(entry.text)[2] or text
    return text.strip().rpartition("\n\n")[2].strip()


def _keys(text: str, most: int) -> list[str]:
    """The first `most` different content words."""
    kept = dict.fromkeys(w for w in words(text) if len(w) > 2 and w not in _COMMON)
    return list(kept)[:most]


def _plain(question: str, seed: int) -> str:
    keys = _keys(question, 9) or ["it"]
    filler = [keys[i % len(keys)] for i in range(3, 6)]
    opening = OPENINGS[int(_draw("opening", [question, seed]) * len(OPENINGS))]
    steps = _STEPS[int(_draw("steps", [question, seed]) * len(_STEPS))].format(*filler)
    rest = f" The same goes for {', '.join(keys[6:])}." if keys[6:] else ""
    return f"{opening} {', '.join(keys[:3])}. {steps}{rest}"


def _pick(entries: tuple[Entry, ...], manner: Manner, seed: list[object]) -> tuple[Entry, ...]:
    order = list(range(len(entries)))
    if len(entries) > 5:
        order.sort(key=lambda i: _draw(f"entry {i}", seed))
    chosen = sorted(order[:_MOST_ENTRIES])
    if manner == "verbatim":
        return tuple(entries[i] for i in chosen)
    return (entries[chosen[int(_draw("one", seed) * len(chosen))]],)


def _excerpt(entry: Entry, manner: Manner, seed: list[object]) -> str:
    """At most so many words of an entry; from a line drawn by hash where it is longer (a whole session)."""
    most = _MOST_WORDS[manner]
    lines = [line for line in entry.text.splitlines() if line.strip()] or [entry.text]
    if len(entry.text.split()) > most and len(lines) > 1:
        lines = lines[int(_draw(f"line {entry.id}", seed) * len(lines)) :]
    return " ".join(" ".join(lines).split()[:most])


def _woven(used: tuple[Entry, ...], manner: Manner, seed: list[object]) -> str:
    if manner == "hint":
        topic = _keys(_excerpt(used[0], "verbatim", seed), 40)
        start = int(_draw("topic", seed) * max(1, len(topic) - _MOST_WORDS["hint"]))
        return HINT.format(", ".join(topic[start : start + _MOST_WORDS["hint"]]))
    told = [re.sub(r"\s*[.!?…]+$", "", _excerpt(entry, manner, seed)) for entry in used]
    if manner == "reference":
        return REFERENCE.format(told[0])
    return VERBATIM.format(" ".join(f'"{text}."' for text in told))
