"""Which words of an English text carry content, and which phrases ask for a memory."""

from __future__ import annotations

from typing import Final

from pytest_hush.packs.stems import word_tuple

_STOPWORDS: Final = """
a about above after again against ago ah ain't all almost along already also although always am among an and
another any anybody anymore anyone anything anyway are aren't around as ask at away back be became because become
been before began begin being below best better between big both bring but by bye call came can can't cannot come
could couldn't course cool day days did didn't different do does doesn't doing don't done down during each either
else end enough even ever every everyone everything far feel feeling few find fine first for found from front full
gave get gets getting give given go goes going gone gonna good got gotta great had hadn't half happen hard has
hasn't have haven't having he he'd he'll he's hello help her here here's hers herself hey hi him himself his how
how's however i i'd i'll i'm i've idea if in instead into is isn't it it'd it'll it's its itself just keep kind
knew know last late later least left less let let's like little long look looking looks lot lots love made make
makes making many may maybe me mean might mind mine month months more morning most much must my myself near need
never new next nice night no nobody none nope nor not nothing now of off often oh ok okay old on once one ones only
onto or other others our ours out over own part people perhaps place please point pretty put quite rather real
really right said same saw say says see seem seems seen several shall she she'd she'll she's should shouldn't since
small so some somebody someone something sometimes somewhere soon sort still stuff such sure take taken takes
taking talk tell than thank thanks that that'd that'll that's the their theirs them themselves then there there's
these they they'd they'll they're they've thing things think this those though thought through time times to today
together told too took totally toward tried try trying turn two under until up upon us use used usual usually very
wait wanna want wanted wants was wasn't way we we'd we'll we're we've week weeks well went were weren't what what's
whatever when where where's whether which while who who's whole whose why will with within without won't work would
wouldn't wow yeah year years yes yet you you'd you'll you're you've your yours yourself
"""
STOPWORDS: Final = frozenset(_STOPWORDS.split())

RECALL_PHRASES: Final = (
    "remember",
    "remind me what",
    "as i said",
    "as i told",
    "as i mentioned",
    "like i said",
    "like i told",
    "last time",
    "you know",
    "you knew",
    "told you",
    "we talked",
    "we spoke",
    "we discussed",
    "earlier conversation",
)
"""Phrases that call up an earlier conversation, as stems: a probe with one of them invites history."""

_ENDINGS: Final = ("ingly", "edly", "ings", "ing", "ies", "ed", "es", "ly", "s")


def content_words(text: str) -> tuple[str, ...]:
    """The folded words of `text` that are no stopwords, in order; a possessive loses its ending."""
    plain = (w.removesuffix("'s").removesuffix("'") for w in word_tuple(text))
    return tuple(w for w in plain if len(w) > 2 and w not in STOPWORDS)


def content_stems(text: str) -> frozenset[str]:
    """Content words cut to a crude stem, so that *walks*, *walked* and *walking* count as shared."""
    return frozenset(_cut(w) for w in content_words(text))


def _cut(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    # A doubled consonant or a silent e is what English adds or drops before these endings.
    if len(word) > 3 and (word[-1] == word[-2] or word[-1] == "e"):
        word = word[:-1]
    return word
