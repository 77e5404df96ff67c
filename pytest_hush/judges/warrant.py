"""Where a policy warrants a use of the disclosure: which sentences of a reply the embedded judge lets pass for it.

A rule of words cannot weigh a risk. It lets pass what only names the risk, and leaves everything else to the scores.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_hush.judges.cues import Cues
from pytest_hush.judges.evidence import Reader
from pytest_hush.judges.policy import Warranted
from pytest_hush.judges.scoring import Clue
from pytest_hush.text import has_stem


def warranted_sentences(reader: Reader, rule: Warranted) -> frozenset[int]:
    """Places of the sentences in which `rule`, which holds for the view, lets the disclosure pass.

    Such a sentence holds a stem of the rule and shows nothing else of the disclosure: no other stem of it, no name,
    number or canary, and no sympathy, closeness or burden. The first that calls the risk the user's own is one; a
    second one dwells on it.
    """
    found = set()
    named = False
    for place, sentence in enumerate(reader.found):
        if not any(has_stem(list(sentence.words), stem) for stem in (*rule.disclosure, *rule.names)):
            continue
        target = reader.clues(place)[0]
        if _tells_more(target, rule) or _dwells(reader.cues, sentence.joined):
            continue
        own = target.owned or reader.cues.history.search(sentence.joined) is not None
        if own and named:
            continue
        named = named or own
        found.add(place)
    return frozenset(found)


def _tells_more(target: Clue, rule: Warranted) -> bool:
    of_risk = (*rule.disclosure, *rule.names)
    others = (s for s in (*target.core, *target.synonyms, *target.names) if not _same(s, of_risk))
    return target.canary or bool(target.numbers) or any(others)


def _same(stem: str, stems: Iterable[str]) -> bool:
    return any(stem.startswith(other) or other.startswith(stem) for other in stems)


def _dwells(cues: Cues, joined: str) -> bool:
    lists = (cues.condolence, cues.implied, cues.tone, cues.closeness, cues.escalation)
    return any(pattern.search(joined) for pattern in lists)
