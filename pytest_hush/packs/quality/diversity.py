"""Diversity by words: no probe that is another one with other words, no stock phrase, no stock opening."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from pytest_hush.model import Pack, Probe
from pytest_hush.packs.lexicon import Lexicon
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.packs.quality.texts import runs
from pytest_hush.packs.stems import word_tuple

JACCARD: Final = 0.5
PHRASE_WORDS: Final = 5
PHRASE_PROBES: Final = 3
OPENING_WORDS: Final = 4
DISTINCT_OPENINGS: Final = 0.7
_CELL_FROM: Final = 10
"""Probes of a (persona, family) cell from which openings are judged within it; below, within the persona."""


def cells(pack: Pack) -> dict[str, list[Probe]]:
    """The probes of each (persona, family) cell, by a readable name."""
    found: dict[str, list[Probe]] = defaultdict(list)
    for p in pack.probes:
        found[f"{p.persona} {p.family}"].append(p)
    return dict(found)


def check_diversity(pack: Pack, lexicon: Lexicon | None) -> Iterator[Finding | Figure]:
    """Findings on verbatim probes, phrases, openings and content-word overlap; a figure for each."""
    yield from _verbatim(pack)
    yield from _phrases(pack)
    yield from _openings(pack)
    if lexicon is not None:
        yield from _overlap(pack, lexicon)


def _verbatim(pack: Pack) -> Iterator[Finding | Figure]:
    first: dict[tuple[str, ...], str] = {}
    for p in pack.probes:
        key = word_tuple(p.text)
        if key in first:
            yield Finding("diversity", "error", p.id, f"the text of {first[key]}", "a text of its own")
        first.setdefault(key, p.id)
    yield Figure("diversity", "probes with a text of their own", f"{len(first)} of {len(pack.probes)}", "all")


def _phrases(pack: Pack) -> Iterator[Finding | Figure]:
    most = 0
    for cell, probes in cells(pack).items():
        holders: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for p in probes:
            for phrase in runs(word_tuple(p.text), PHRASE_WORDS):
                holders[phrase].append(p.id)
        for phrase, ids in sorted(holders.items()):
            most = max(most, len(ids))
            if len(ids) > PHRASE_PROBES:
                what = f"{' '.join(phrase)!r} in {len(ids)} probes: {', '.join(ids[:4])}"
                expected = f"no {PHRASE_WORDS} words in a row in more than {PHRASE_PROBES} probes of a cell"
                yield Finding("diversity", "error", cell, what, expected)
    name = f"probes of a cell with the same {PHRASE_WORDS} words in a row, at most"
    yield Figure("diversity", name, str(most), str(PHRASE_PROBES))


def _openings(pack: Pack) -> Iterator[Finding | Figure]:
    groups: dict[str, list[Probe]] = defaultdict(list)
    for cell, probes in cells(pack).items():
        groups[cell if len(probes) >= _CELL_FROM else probes[0].persona].extend(probes)
    least = 1.0
    for name, probes in groups.items():
        first: dict[tuple[str, ...], str] = {}
        twice: list[str] = []
        for p in probes:
            key = word_tuple(p.text)[:OPENING_WORDS]
            if key in first:
                twice.append(f"{p.id} opens like {first[key]}: {' '.join(key)!r}")
            first.setdefault(key, p.id)
        share = len(first) / len(probes)
        least = min(least, share)
        if share < DISTINCT_OPENINGS:
            what = f"{len(first)} openings of {len(probes)} probes ({twice[0]})"
            expected = f"{DISTINCT_OPENINGS:.0%} distinct openings of {OPENING_WORDS} words"
            yield Finding("diversity", "error", name, what, expected)
    name = f"distinct openings of {OPENING_WORDS} words in a cell, at least"
    yield Figure("diversity", name, f"{least:.0%}", f"{DISTINCT_OPENINGS:.0%}")


def _overlap(pack: Pack, lexicon: Lexicon) -> Iterator[Finding | Figure]:
    most, pair = 0.0, ""
    for probes in cells(pack).values():
        stems = {p.id: lexicon.content_stems(p.text) for p in probes}
        for a, b in combinations(probes, 2):
            union = stems[a.id] | stems[b.id]
            share = len(stems[a.id] & stems[b.id]) / len(union) if union else 0.0
            if share > most:
                most, pair = share, f" ({a.id}, {b.id})"
            if share >= JACCARD:
                what = f"{share:.2f} of the content words shared with {a.id}"
                yield Finding("diversity", "error", b.id, what, f"under {JACCARD} within a cell")
    yield Figure("diversity", "content-word Jaccard within a cell, at most", f"{most:.2f}{pair}", f"under {JACCARD}")
