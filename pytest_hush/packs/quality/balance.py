"""Balance, controls and background: the design's cells, and what stands beside the probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from pytest_hush.model import CATEGORIES, FAMILIES, STRENGTHS, Pack
from pytest_hush.packs.quality.report import Figure, Finding, Severity
from pytest_hush.packs.quality.texts import word_count
from pytest_hush.packs.schema import DOMAINS, POSITIONS
from pytest_hush.packs.stems import StemSet, word_tuple

CONTROL_TOLERANCE: Final = 0.15
"""A control's words may differ from the mean of its disclosure's controls by this share."""
DOMAIN_SHARE: Final = (0.5, 1.5)
"""Times its even share: how seldom and how often a domain may occur."""
_DOMAINS_FROM: Final = 240
"""Probes from which the domains are judged: fewer do not spread over twelve."""


def check_balance(pack: Pack) -> Iterator[Finding | Figure]:
    """Exact counts: every margin, and every cell, differs by one at most, and by none where the total allows it.

    A pack that is planted into a third party's dialogues tells its imbalance itself: there it is a warning.
    """
    personas = [p.id for p in pack.personas]
    owner = {p.id: p.persona for p in pack.probes}
    strength, position, category = (
        [str(getattr(d, name)) for d in pack.disclosures] for name in ("strength", "position", "category")
    )
    who = [d.persona for d in pack.disclosures]
    margins: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("disclosures of persona", who, personas),
        ("disclosures of strength", strength, STRENGTHS),
        ("disclosures at position", position, [str(p) for p in POSITIONS]),
        ("disclosures of category", category, CATEGORIES),
        ("probes of family", [p.family for p in pack.probes], FAMILIES),
        ("invitations of persona", [owner[i.probe] for i in pack.invitations], personas),
    ]
    severity: Severity = "warning" if pack.background else "error"
    for name, found, keys in margins:
        table = Counter(found)
        low, high = min(table[k] for k in keys), max(table[k] for k in keys)
        yield Figure("balance", name, _span(low, high))
        if found and high - low > (len(found) % len(keys) != 0):
            counts = ", ".join(f"{key} {table[key]}" for key in keys)
            yield Finding("balance", severity, pack.name, f"{name}: {counts}", "the same number of each")
    design = list(product(personas, CATEGORIES, STRENGTHS, [str(p) for p in POSITIONS]))
    cells = Counter(zip(who, category, strength, position, strict=True))
    low, high = min(cells[c] for c in design), max(cells[c] for c in design)
    yield Figure("balance", "disclosures of persona × category × strength × position", _span(low, high))
    if high - low > (len(pack.disclosures) % len(design) != 0):
        worst = next(c for c in design if cells[c] == (low if len(pack.disclosures) >= len(design) else high))
        what = f"{' × '.join(worst)}: {cells[worst]}"
        yield Finding("balance", severity, pack.name, what, "the same number in every cell of the design")
    yield from _domains(pack)


def _span(low: int, high: int) -> str:
    return f"{low} each" if low == high else f"{low} to {high}"


def _domains(pack: Pack) -> Iterator[Finding | Figure]:
    table = Counter(p.domain for p in pack.probes)
    even = len(pack.probes) / len(DOMAINS)
    low, high = even * DOMAIN_SHARE[0], even * DOMAIN_SHARE[1]
    span = _span(min(table[d] for d in DOMAINS), max(table[d] for d in DOMAINS))
    judged = len(pack.probes) >= _DOMAINS_FROM
    yield Figure("balance", "probes of domain", span, f"{low:.0f} to {high:.0f}" if judged else "")
    for domain in DOMAINS if judged else ():
        if not low <= table[domain] <= high:
            what = f"domain {domain}: {table[domain]} probes"
            yield Finding("balance", "error", pack.name, what, f"{low:.0f} to {high:.0f}, about an even share")


def check_controls(pack: Pack) -> Iterator[Finding | Figure]:
    """Control memories of one length, an oracle that tells the disclosure, two positive controls or more a persona."""
    kinds: Counter[str] = Counter(c.kind for c in pack.controls)
    for d in pack.disclosures:
        own = [c for c in pack.controls if c.disclosure == d.id]
        counts = {c.id: word_count(c.text) for c in own}
        mean = sum(counts.values()) / len(counts) if counts else 0.0
        for key, count in counts.items():
            if abs(count - mean) > CONTROL_TOLERANCE * mean:
                limits = f"{mean * (1 - CONTROL_TOLERANCE):.0f} to {mean * (1 + CONTROL_TOLERANCE):.0f}"
                expected = f"{limits}, within 15 % of the mean of its controls"
                yield Finding("controls", "error", key, f"{count} words", expected)
        told = [c for c in own if c.kind == "oracle"]
        if told and not StemSet(d.core).found(word_tuple(told[0].text)):
            yield Finding(
                "controls", "error", told[0].id, "no core stem", "an oracle control that tells the disclosure"
            )
        if own and len(own) < 3:
            what = f"{len(own)} of the three kinds of control"
            yield Finding("controls", "warning", d.id, what, "all three, or none")
    positive = Counter(c.persona for c in pack.positive_controls)
    for p in pack.personas:
        if positive[p.id] < 2:
            what = f"{positive[p.id]} positive controls"
            yield Finding("controls", "error", p.id, what, "two or more a persona")
    yield Figure("controls", "control memories", ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())) or "none")
    least = min(positive[p.id] for p in pack.personas)
    yield Figure("controls", "positive controls of a persona", f"{least} or more", "2")


def check_background(pack: Pack) -> Iterator[Finding | Figure]:
    """Ambient sensitive facts that are there, and whose topics and stems are none of what is planted."""
    if not pack.ambient_labelled:
        yield Figure("background", "ambient sensitive turns", "not labelled: the ambient flag is unknown")
        return
    counts: list[int] = []
    for persona in pack.personas:
        ambient = [f for f in persona.facts if f.kind == "ambient"]
        counts.append(len(ambient))
        if not ambient:
            yield Finding(
                "background", "warning", persona.id, "no ambient sensitive fact", "a background that holds some"
            )
        topics = {f.category for f in ambient}
        turns = {t.id: t.text for s in persona.sessions for t in s.turns}
        for d in pack.disclosures:
            if d.persona != persona.id:
                continue
            if d.category in topics:
                what = f"category {d.category} is an ambient topic of {persona.id} too"
                expected = "planted and ambient topics that do not overlap"
                yield Finding("background", "error", d.id, what, expected)
            core = StemSet(d.core)
            for key, text in turns.items():
                if len(both := core.found(word_tuple(text))) >= 2:
                    what = f"the core stems {' and '.join(both[:2])} in background turn {key}"
                    severity: Severity = "warning" if pack.background else "error"
                    expected = "no turn that would count as a trace of the plant"
                    yield Finding("background", severity, d.id, what, expected)
    yield Figure("background", "ambient sensitive facts of a persona", _span(min(counts), max(counts)))
