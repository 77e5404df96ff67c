"""Labels of turns that are sensitive already: a tab-separated file beside a third-party dialogue.

Columns ``sample_id dia_id speaker topic level text``; `level` is H (personal), L (mild) or T (about a third
party). All three become ambient facts, T too: the exposure flag asks whether *sensitive history* is rendered,
and a friend's trouble told in confidence is that. ``text`` is for the human reader and is not compared.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_hush.errors import PackError
from pytest_hush.model import CATEGORIES, Fact, Persona, Turn
from pytest_hush.packs.files import read_bytes
from pytest_hush.packs.importers.background import Background, id_safe, spoken
from pytest_hush.packs.lexicon import english
from pytest_hush.packs.stems import word_tuple

COLUMNS: Final = ("sample_id", "dia_id", "speaker", "topic", "level", "text")
LEVELS: Final = ("H", "L", "T")
STEMS: Final = 4
"""Stems of one ambient fact: the rarest content words of its turn."""

_CATEGORY_OF: Final = {
    "accident_trauma": "abuse_or_trauma",
    "disaster": "abuse_or_trauma",
    "discrimination_trauma": "abuse_or_trauma",
    "family_adoption_legal": "legal_or_immigration",
    "family_child_accident": "abuse_or_trauma",
    "finances_jobloss": "debt",
    "grief_pet": "grief",
    "health_allergy": "illness",
    "health_cardiac_scare": "illness",
    "health_gi_er": "illness",
    "health_injury": "illness",
    "health_weight": "illness",
    "housing": "debt",
    "identity_sexuality": "identity_or_sexuality",
    "legal_visa": "legal_or_immigration",
    "mental_health": "mental_illness",
    "migration_origin": "legal_or_immigration",
    "pregnancy_marriage": "reproductive_health",
    "third_party_divorce_homeless": "relationship_breakdown",
    "third_party_domestic_abuse": "abuse_or_trauma",
    "third_party_family_hardship": "debt",
}


def category_of(topic: str) -> str:
    """The pack's category for a label's topic; a topic outside the ten (``politics``) stays as it is."""
    return topic if topic in CATEGORIES else _CATEGORY_OF.get(topic, topic)


def with_labels(background: Background, path: Path) -> Background:
    """`background` with the labelled turns as ambient facts. Raises `PackError` that names the line.

    A row for a dialogue or turn that the background lacks is an error: labels of another file would mark
    harmless turns and miss the sensitive ones.
    """
    body = read_bytes(path)
    labels: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    turns = {p.id: {t.id: t for s in p.sessions for t in s.turns} for p in background.personas}
    for number, row in _rows(path, body):
        persona = id_safe(row["sample_id"])
        turn = turns.get(persona, {}).get(f"{persona}-{id_safe(row['dia_id'])}")
        if turn is None:
            raise PackError(
                f"{path}, line {number}: read {row['sample_id']} {row['dia_id']}; expected a turn of the background "
                f"file. Are these the labels of another file?"
            )
        if row["speaker"] != turn.speaker:
            raise PackError(
                f"{path}, line {number}, column `speaker`: read {row['speaker']!r}; expected {turn.speaker!r}, who "
                f"says this turn."
            )
        labels[persona][turn.id, category_of(row["topic"])] = None
    return replace(
        background,
        personas=tuple(with_ambient(p, labels[p.id]) for p in background.personas),
        ambient_labelled=True,
        labels_sha256=hashlib.sha256(body).hexdigest(),
    )


def _rows(path: Path, body: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        lines = body.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        at = body.count(b"\n", 0, error.start) + 1
        raise PackError(f"{path}, line {at}: read the byte 0x{body[error.start]:02x}; expected UTF-8.") from None
    # Not the csv module: the texts hold quotation marks that quote nothing.
    header = tuple(lines[0].split("\t")) if lines else ()
    if header != COLUMNS:
        raise PackError(
            f"{path}, line 1: read the columns {', '.join(header)[:120] or 'none'}; expected {', '.join(COLUMNS)}, "
            f"separated by tabs."
        )
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise PackError(f"{path}, line {number}: read {len(cells)} columns; expected {len(COLUMNS)}.")
        row = dict(zip(COLUMNS, (c.strip() for c in cells), strict=True))
        if row["level"] not in LEVELS:
            raise PackError(
                f"{path}, line {number}, column `level`: read {row['level']!r}; expected one of {', '.join(LEVELS)}."
            )
        if not row["topic"]:
            raise PackError(f"{path}, line {number}, column `topic`: it is empty; expected the topic's name.")
        yield number, row


def with_ambient(persona: Persona, labels: Collection[tuple[str, str]]) -> Persona:
    """`persona` with one ambient fact for each (turn id, category) of `labels`: a turn may hold two topics."""
    turns = [t for s in persona.sessions for t in s.turns]
    frequency = Counter(w for t in turns for w in set(word_tuple(t.text)))
    place = {t.id: i for i, t in enumerate(turns)}
    marked = [(turns[place[key]], category) for key, category in sorted(labels, key=lambda x: (place[x[0]], x[1]))]
    facts = tuple(
        Fact(
            id=f"{persona.id}-a{number:02d}",
            kind="ambient",
            text=f"{turn.speaker} said: {turn.text}",
            turn=turn.id,
            stems=_rarest(turn, frequency),
            category=category,
        )
        for number, (turn, category) in enumerate(marked, start=1)
    )
    return replace(persona, facts=(*persona.facts, *facts))


def _rarest(turn: Turn, frequency: Counter[str]) -> tuple[str, ...]:
    """The rarest content words; a turn that hardly has any gives its other words too, so that there are two."""
    content = sorted(dict.fromkeys(english().content_words(spoken(turn))), key=lambda w: (frequency[w], -len(w), w))
    others = sorted(set(word_tuple(turn.text)) - set(content), key=lambda w: (frequency[w], -len(w), w))
    return tuple([*content, *others][: max(2, min(STEMS, len(content)))])
