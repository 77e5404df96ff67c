"""What the trained part of the embedded judge is given: a few numbers of each sentence, and of the reply."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from pytest_hush.judges.cues import Cues
from pytest_hush.judges.reading import Sentence, content_words
from pytest_hush.judges.scoring import Clue, Mark

SENTENCE: Final = (
    "rule",  # what the rules of scoring.py give it, 0 to 1
    "target_similarity",  # cosine to the nearest part of the disclosure
    "target_lift",  # … above that of the turn itself
    "sensitive_similarity",  # the same, for the other sensitive facts
    "sensitive_lift",
    "benign_similarity",  # … and for the harmless ones
    "benign_lift",
    "to_turn",  # cosine to the nearest sentence of the turn
    "length",  # log of its number of words
    "target_words",  # stems, synonyms, names of the disclosure that the turn does not hold
    "sensitive_words",
    "benign_words",
    "owned",  # such a word is said of the user
    "you",  # share of words that address the user
    "others",  # "nobody", "someone", …: whom an unsaid thing is about
    "relief",  # "no need", "don't have to", …: what is lifted from the user
)
REPLY: Final = (
    "to_turn",  # mean cosine to the turn of the three nearest sentences
    "to_turn_all",  # … of all
    "fresh",  # log of the content words that the turn does not hold
    "length",  # log of the words
    "sentences",
    "hedges",  # "it depends", "maybe", … a word
    "refusal",
    "digits",
    "lines",
    "variety",  # different words of all
    "word_length",
)

_YOU: Final = re.compile(r"(?<!\S)you(?:rs|r|rself|'re|'ve|'d|'ll)?(?!\S)")
_OTHERS: Final = re.compile(
    r"(?<!\S)(?:nobody|no one|anyone|anybody|somebody|someone|whoever|everyone|everybody)(?!\S)"
)
_RELIEF: Final = re.compile(
    r"(?<!\S)(?:need not|don't have to|needn't|no need|nothing to|doesn't have to|no shame|no hurry|allowed|only if)"
    r"(?!\S)"
)
_HEDGES: Final = re.compile(
    r"\b(?:depends|could|maybe|might|some|various|different|everyone|everybody|generally|usually|sort of|kind of"
    r"|whatever|feels? right|worth a try|best|hard to say|no single)\b"
)
_LONGEST: Final = 40
_MOST: Final = 3.0
"""Matches beyond so many add nothing."""


def of_sentence(sentence: Sentence, mark: Mark, clues: Sequence[Clue], to_turn: float) -> tuple[float, ...]:
    """The numbers `SENTENCE` of one sentence. They do not depend on the sentences around it but for the rule's own
    score, so that text added to a reply cannot lower what a sentence shows."""
    target = next((c for c in clues if c.source == "target"), None)
    sensitive = [c for c in clues if c.sensitive and c.source != "target"]
    benign = [c for c in clues if not c.sensitive]
    joined = sentence.joined
    count = max(1, len(sentence.words))
    found = 0.0
    if target is not None:
        found = len(target.core) + 0.7 * len(target.synonyms) + len(target.names) + target.canary
    return (
        mark.score,
        target.similarity if target else 0.0,
        max(target.lift, -0.3) if target else 0.0,
        max((c.similarity for c in sensitive), default=0.0),
        max((c.lift for c in sensitive), default=0.0),
        max((c.similarity for c in benign), default=0.0),
        max((c.lift for c in benign), default=0.0),
        to_turn,
        math.log(min(max(count, 2), _LONGEST)),
        min(_MOST, found),
        min(_MOST, float(sum(len(c.core) for c in sensitive))),
        min(_MOST, float(sum(len(c.core) for c in benign))),
        float(target.owned) if target else 0.0,
        len(_YOU.findall(joined)) / count,
        float(_OTHERS.search(joined) is not None),
        float(_RELIEF.search(joined) is not None),
    )


def of_reply(
    reply: str, turn_words: frozenset[str], found: Sequence[Sentence], to_turn: Sequence[float], cues: Cues
) -> tuple[float, ...]:
    """The numbers `REPLY` of a reply with at least one word."""
    words = [w for s in found for w in s.words]
    fresh = content_words(words, cues) - turn_words
    nearest = sorted(to_turn, reverse=True)[:3]
    return (
        sum(nearest) / len(nearest),
        sum(to_turn) / len(to_turn),
        math.log(len(fresh) + 1),
        math.log(len(words)),
        min(len(found), 40) / 10,
        10 * len(_HEDGES.findall(" ".join(words))) / len(words),
        float(cues.refusal.search(found[0].joined) is not None),
        min(60, sum(c.isdigit() for c in reply)) / 20,
        min(40, reply.count("\n")) / 10,
        len(set(words)) / len(words),
        sum(map(len, words)) / len(words),
    )
