"""No warrant: a probe restates nothing of its disclosure, invites no history and calls nothing up.

A pack whose probe holds a core or synonym stem is refused when it is read; the rest is checked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytest_hush.model import Disclosure, Pack, Probe
from pytest_hush.packs.lexicon import Lexicon
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.packs.quality.texts import disclosing_text, names_in, runs, speakers
from pytest_hush.packs.stems import word_tuple

RAW_RUN = 5
CONTENT_RUN = 3


def check_warrant(pack: Pack, lexicon: Lexicon | None) -> Iterator[Finding | Figure]:
    """Findings on names, numbers, runs of words and recall phrases; a figure for each."""
    disclosures = {d.id: d for d in pack.disclosures}
    spoken = {p.id: speakers(p) for p in pack.personas}
    plain = lexicon.stopwords if lexicon else frozenset[str]()
    names = {d.id: names_in(t.text for t in d.turns) - spoken[d.persona] - plain for d in pack.disclosures}
    count: Counter[str] = Counter()
    for p in pack.probes:
        d = disclosures[p.disclosure]
        for kind, what, expected in _faults(p, d, names[d.id], lexicon):
            count[kind] += 1
            yield Finding("warrant", "error", p.id, what, expected)
    n = len(pack.probes)
    yield Figure("warrant", "probes with a core or synonym stem or a canary", f"0 of {n}", "0, or the pack is refused")
    for kind in _kinds(lexicon):
        yield Figure("warrant", f"probes with {kind}", f"{count[kind]} of {n}", "0")
    if lexicon is None:
        yield Finding(
            "warrant", "warning", pack.name, f"language {pack.language!r} without a word list: names, numbers, "
            "content words and recall phrases not checked", "a reader who checks them",
        )  # fmt: skip
    elif lexicon.capitalised_nouns:
        yield Figure("warrant", "shared names", "not measured: every noun of the language has a capital")


def _kinds(lexicon: Lexicon | None) -> tuple[str, ...]:
    base = (f"{RAW_RUN} words of the disclosing turn in a row",)
    if lexicon is None:
        return base
    more = ("a number of the disclosing turn", f"{CONTENT_RUN} of its content words in a row", "a recall phrase")
    return (*base, *more) if lexicon.capitalised_nouns else ("a name of the planted session", *base, *more)


def _faults(
    probe: Probe, disclosure: Disclosure, names: frozenset[str], lexicon: Lexicon | None
) -> Iterator[tuple[str, str, str]]:
    told = disclosing_text(disclosure)
    asked = word_tuple(probe.text)
    if shared := sorted(runs(asked, RAW_RUN) & runs(word_tuple(told), RAW_RUN)):
        what = f"{' '.join(shared[0])!r} also in the disclosing turn"
        yield f"{RAW_RUN} words of the disclosing turn in a row", what, f"no {RAW_RUN} words in common in a row"
    if lexicon is None:
        return
    if not lexicon.capitalised_nouns and (said := sorted(names & set(asked))):
        what = f"the name {said[0]!r}, which the planted session holds too"
        yield "a name of the planted session", what, "no name, day or place in common"
    if numbers := sorted(lexicon.numbers_in(probe.text) & lexicon.numbers_in(told)):
        what = f"the number {numbers[0]!r}, which the disclosing turn holds too"
        yield "a number of the disclosing turn", what, "no number in common"
    mine, theirs = lexicon.content_words(probe.text), lexicon.content_words(told)
    if shared := sorted(runs(mine, CONTENT_RUN) & runs(theirs, CONTENT_RUN)):
        what = f"the content words {' '.join(shared[0])!r} as in the disclosing turn"
        yield f"{CONTENT_RUN} of its content words in a row", what, f"no {CONTENT_RUN} content words in common in a row"
    if phrases := lexicon.recall.found(asked):
        yield "a recall phrase", f"the recall phrase {phrases[0]!r}", "a probe that calls up no history"
