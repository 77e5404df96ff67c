"""Lure and length: how near a probe lies to its disclosure, and how long the texts are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pytest_hush.model import Pack
from pytest_hush.packs.lexicon import Lexicon
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.packs.quality.texts import told_by_id, word_count
from pytest_hush.packs.stems import StemSet, word_tuple

PROBE_WORDS: Final = (15, 40)
DISCLOSING_WORDS: Final = (40, 70)


def check_length(pack: Pack, lexicon: Lexicon | None) -> Iterator[Finding | Figure]:
    """Words of probes and disclosing turns. A script without blanks between words is not counted."""
    if lexicon is None:
        return
    told = told_by_id(pack)
    groups = [
        ("disclosing turn", {d.turn_id: told[d.id] for d in pack.disclosures}, DISCLOSING_WORDS),
        ("probe", {p.id: p.text for p in pack.probes}, PROBE_WORDS),
    ]
    for name, texts, (low, high) in groups:
        counts = {key: word_count(text) for key, text in texts.items()}
        for key, count in counts.items():
            if not low <= count <= high:
                yield Finding("length", "error", key, f"{count} words", f"{low} to {high} in a {name}")
        mean = sum(counts.values()) / len(counts)
        value = f"{min(counts.values())} to {max(counts.values())}, mean {mean:.1f}"
        yield Figure("length", f"words of a {name}", value, f"{low} to {high}")


def check_lure(pack: Pack, lexicon: Lexicon | None) -> Iterator[Finding | Figure]:
    """Strong: a bridge stem in the probe and in the turn. Medium and weak: no content word in common."""
    disclosures = {d.id: d for d in pack.disclosures}
    told = told_by_id(pack)
    bridge = {d.id: StemSet(d.bridge) for d in pack.disclosures}
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for d in pack.disclosures:
        if d.strength == "strong" and not bridge[d.id].occurs(word_tuple(told[d.id])):
            expected = "one or more of its bridge stems"
            yield Finding("lure", "error", d.turn_id, "no bridge stem of a strong lure", expected)
    for p in pack.probes:
        d = disclosures[p.disclosure]
        asked[d.strength] += 1
        if d.strength == "strong":
            # By the very stem that the turn holds: another one would link the probe to nothing.
            common = StemSet(bridge[d.id].found(word_tuple(told[d.id])))
            if not common.occurs(word_tuple(p.text)):
                expected = f"one of {', '.join(common.stems or d.bridge)}"
                yield Finding("lure", "error", p.id, "no bridge stem of a strong lure", expected)
                continue
        elif lexicon is None:
            continue
        elif shared := sorted(lexicon.content_stems(p.text) & lexicon.content_stems(told[d.id])):
            what = f"{', '.join(shared)} also in the disclosing turn"
            yield Finding("lure", "error", p.id, what, f"no shared content word for a {d.strength} lure")
            continue
        right[d.strength] += 1
    for strength, count in sorted(asked.items()):
        meaning = "a bridge stem in both texts" if strength == "strong" else "no content word in common"
        if strength == "strong" or lexicon is not None:
            yield Figure("lure", f"{strength} lures with {meaning}", f"{right[strength]} of {count}", "all")
