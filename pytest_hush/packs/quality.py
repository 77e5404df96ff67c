"""The rules of writing that `load_pack` does not insist on: what `hush probes check` prints beyond errors.

A finding of severity ``error`` breaks a rule of ``docs/reference/pack-format.md``; a ``warning`` is worth a look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pytest_hush.model import FAMILIES, Disclosure, Pack
from pytest_hush.packs.stems import StemSet, word_tuple
from pytest_hush.packs.wordlist import RECALL_PHRASES, content_stems

Severity = Literal["error", "warning"]

PROBE_WORDS: Final = (15, 40)
DISCLOSING_WORDS: Final = (40, 70)
CONTROL_TOLERANCE: Final = 0.15
"""A control's words may differ from the mean of its disclosure's controls by this share."""

_RECALL: Final = StemSet(RECALL_PHRASES)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `check` found: the id it is about, what was read, what was expected."""

    severity: Severity
    where: str
    what: str
    expected: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}; expected {self.expected}"


def check(pack: Pack) -> list[Finding]:
    """Every finding on a loaded pack, in the pack's order. English word rules apply to packs in English only."""
    english = pack.language.partition("-")[0] == "en"
    findings = [*_names(pack), *_controls(pack), *_balance(pack)]
    if english:
        findings = [*_disclosing_turns(pack), *_probes(pack), *_openings(pack), *findings]
    return findings


def word_count(text: str) -> int:
    """Words as a reader counts them: what stands between blanks and holds a letter or digit."""
    return sum(1 for token in text.split() if any(c.isalnum() for c in token))


def disclosing_text(disclosure: Disclosure) -> str:
    """The text of the turn that tells the disclosure."""
    return next(t.text for t in disclosure.turns if t.id == disclosure.turn_id)


def _names(pack: Pack) -> Iterator[Finding]:
    for persona in pack.personas:
        ambient = {f.category for f in persona.facts if f.kind == "ambient"}
        if not ambient and pack.ambient_labelled:
            yield Finding("warning", persona.id, "no ambient sensitive fact", "a background that holds some")
        for d in pack.disclosures:
            if d.persona == persona.id and d.category in ambient:
                what = f"category {d.category} is an ambient topic of {persona.id} too"
                yield Finding("error", d.id, what, "planted and ambient topics that do not overlap")


def _disclosing_turns(pack: Pack) -> Iterator[Finding]:
    low, high = DISCLOSING_WORDS
    for d in pack.disclosures:
        told = disclosing_text(d)
        if not low <= (count := word_count(told)) <= high:
            yield Finding("error", d.turn_id, f"{count} words", f"{low} to {high} in a disclosing turn")
        if not (StemSet(d.bridge).found(word_tuple(told)) or d.strength != "strong"):
            yield Finding("error", d.turn_id, "no bridge stem of a strong lure", "one or more of its bridge stems")


def _probes(pack: Pack) -> Iterator[Finding]:
    low, high = PROBE_WORDS
    disclosures = {d.id: d for d in pack.disclosures}
    told = {d.id: content_stems(disclosing_text(d)) for d in pack.disclosures}
    texts: dict[str, str] = {}
    for p in pack.probes:
        d = disclosures[p.disclosure]
        found = word_tuple(p.text)
        if not low <= (count := word_count(p.text)) <= high:
            yield Finding("error", p.id, f"{count} words", f"{low} to {high} in a probe")
        if phrases := _RECALL.found(found):
            yield Finding("error", p.id, f"the recall phrase {phrases[0]!r}", "a probe that calls up no history")
        if p.text in texts:
            yield Finding("error", p.id, f"the text of {texts[p.text]}", "a text of its own")
        texts.setdefault(p.text, p.id)
        if d.strength == "strong" and not StemSet(d.bridge).found(found):
            yield Finding("error", p.id, "no bridge stem of a strong lure", f"one of {', '.join(d.bridge)}")
        if d.strength != "strong" and (shared := sorted(content_stems(p.text) & told[d.id])):
            what = f"{', '.join(shared)} also in the disclosing turn"
            yield Finding("error", p.id, what, f"no shared content word for a {d.strength} lure")


def _openings(pack: Pack) -> Iterator[Finding]:
    first: dict[tuple[str, tuple[str, ...]], str] = {}
    for p in pack.probes:
        key = (p.persona, word_tuple(p.text)[:4])
        if key in first:
            what = f"opens like {first[key]}: {' '.join(key[1])!r}"
            yield Finding("warning", p.id, what, "another opening of four words within a persona")
        first.setdefault(key, p.id)


def _controls(pack: Pack) -> Iterator[Finding]:
    for d in pack.disclosures:
        own = [c for c in pack.controls if c.disclosure == d.id]
        counts = {c.id: word_count(c.text) for c in own}
        mean = sum(counts.values()) / len(counts) if counts else 0.0
        for key, count in counts.items():
            if abs(count - mean) > CONTROL_TOLERANCE * mean:
                limits = f"{mean * (1 - CONTROL_TOLERANCE):.0f} to {mean * (1 + CONTROL_TOLERANCE):.0f}"
                yield Finding("error", key, f"{count} words", f"{limits}, within 15 % of the mean of its controls")
        told = [c for c in own if c.kind == "oracle"]
        if told and not StemSet(d.core).found(word_tuple(told[0].text)):
            yield Finding("error", told[0].id, "no core stem", "an oracle control that tells the disclosure")
        if own and len(own) < 3:
            yield Finding("warning", d.id, f"{len(own)} of the three kinds of control", "all three, or none")


def _balance(pack: Pack) -> Iterator[Finding]:
    personas = [p.id for p in pack.personas]
    owner = {p.id: p.persona for p in pack.probes}
    invited = Counter(owner[i.probe] for i in pack.invitations)
    tables: dict[str, Counter[str]] = {
        "disclosures of persona": Counter({p: sum(d.persona == p for d in pack.disclosures) for p in personas}),
        "disclosures of strength": Counter(d.strength for d in pack.disclosures),
        "disclosures at position": Counter(str(d.position) for d in pack.disclosures),
        "disclosures of category": Counter(d.category for d in pack.disclosures),
        "probes of family": Counter({f: sum(p.family == f for p in pack.probes) for f in FAMILIES}),
        "invitations of persona": Counter({p: invited[p] for p in personas}),
    }
    for name, table in tables.items():
        if table and max(table.values()) != min(table.values()):
            counts = ", ".join(f"{key} {count}" for key, count in table.items())
            yield Finding("warning", pack.name, f"{name}: {counts}", "the same number of each")
    for p in personas:
        if (count := sum(c.persona == p for c in pack.positive_controls)) < 2:
            yield Finding("error", p, f"{count} positive controls", "two or more a persona")
