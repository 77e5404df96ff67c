"""Texts of cases in pieces, grouped by persona: what one case needs is unpacked without the rest.

A persona's cases repeat one another's texts: each memory entry is kept once a persona, and cases name it by its place.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_hush.model import Disclosure, Entry, Judgement, Pack, Record
from pytest_hush.report.show import question

PIECE: Final = 400_000
"""Characters of text after which a piece is closed: what a browser unpacks when one case is opened."""
CAPS: Final = (
    *((silent, 40_000, 8_000) for silent in (40_000, 2_000, 1_600, 1_300, 1_000, 800, 650, 520, 420, 340)),
    (270, 20_000, 4_000),
    (220, 8_000, 2_000),
    (160, 4_000, 1_000),
    (100, 2_000, 600),
    (0, 600, 200),
)
"""Characters kept of a silent case's reply, of another case's, and of an entry, tried in order until the page fits."""
WHOLE: Final = (1 << 60,) * 3
"""Nothing is shortened."""
SAMPLE: Final = 2_000
"""Cases whose packed size tells that of the rest."""
SCALE: Final = 1000
"""Scores are kept as whole numbers of a thousandth; -1 stands for none."""


@dataclass(slots=True)
class Person:
    """What the cases of one persona share, and their rows of text."""

    entries: list[Entry] = field(default_factory=list)
    places: dict[tuple[Any, ...], int] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def place(self, entry: Entry) -> int:
        key = (entry.id, entry.text, entry.sources, entry.date)
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = len(self.entries)
            self.entries.append(entry)
        return found


@dataclass(frozen=True, slots=True)
class Row:
    """The texts of one case before they are shortened. `silent`: nobody will look for it first."""

    record: Record
    entries: list[int]
    flags: list[int]
    other: Record | None
    other_entries: list[int]
    silent: bool


def squeeze(value: Any) -> str:
    """`value` as JSON, gzipped (without a time), in base64."""
    try:
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:  # a lone surrogate is no UTF-8, but JSON can escape it
        raw = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    maker = zlib.compressobj(7, zlib.DEFLATED, 31)
    return base64.b64encode(maker.compress(raw) + maker.flush()).decode("ascii")


def thousandths(value: float | None) -> int:
    return round(SCALE * value) if value is not None and 0 <= value <= 1 else -1


@dataclass(frozen=True, slots=True)
class Known:
    """What the pack tells of a case: which sessions are planted, which turns are sensitive, what an id says."""

    pack: Pack | None
    disclosures: Mapping[str, Disclosure]
    ambient: Mapping[str, frozenset[str]]
    facts: Mapping[str, str]

    @classmethod
    def of(cls, pack: Pack | None) -> Known:
        if pack is None:
            return cls(None, {}, {}, {})
        sensitive = {p.id: {f.turn for f in p.facts if f.kind == "ambient"} for p in pack.personas}
        for d in pack.disclosures:
            sensitive[d.persona].add(d.turn_id)
        return cls(
            pack,
            {d.id: d for d in pack.disclosures},
            {persona: frozenset(turns) for persona, turns in sensitive.items()},
            {f.id: f.text for p in pack.personas for f in p.facts} | {d.id: d.statement for d in pack.disclosures},
        )

    def flag(self, entry: Entry, record: Record) -> int:
        """1: `entry` derives from the planted session; 2: it renders an ambient turn; 3: both; 0: neither is known."""
        planted = self.disclosures.get(record.disclosure_id or "")
        exact = planted is not None and entry.sources is not None and planted.session_id in entry.sources
        own = planted.turn_id if planted is not None else ""
        sensitive = self.ambient.get(record.persona, frozenset())
        ambient = any(turn in sensitive and turn != own for turn in entry.turns)
        return int(exact) + 2 * int(ambient)


def add_case(person: Person, record: Record, other: Record | None, known: Known) -> None:
    name = f"{record.probe_id}+" if record.invited else record.probe_id
    if name not in person.asked and (text := question(record, known.pack)) is not None:
        person.asked[name] = text
    told = known.disclosures.get(record.disclosure_id or "")
    for judgement in record.judgements:
        for used in judgement.used:
            if used in known.facts:
                person.facts[used] = known.facts[used]
            elif used == "target" and told is not None:
                person.facts[told.id] = told.statement
    row = Row(
        record=record,
        entries=[person.place(e) for e in record.entries],
        flags=[known.flag(e, record) for e in record.entries],
        other=other,
        other_entries=[person.place(e) for e in other.entries] if other else [],
        silent=_is_silent(record, other),
    )
    person.rows.append(row)


def _is_silent(record: Record, other: Record | None) -> bool:
    """Nothing was said that the judge scored, here or in the twin: the case that readers look at last."""

    def v(r: Record) -> float:
        return max(((j.v or 0.0) + j.target_uptake for j in r.judgements), default=0.0)

    return record.measured and v(record) == 0 and (other is None or v(other) == 0)


@dataclass(frozen=True, slots=True)
class Pieces:
    """`texts` in base64. `places`: [first case, cases, piece] of each piece of rows; `shared`: each persona's piece."""

    texts: tuple[str, ...]
    places: list[list[int]]
    shared: list[int]
    shortened: int

    @property
    def size(self) -> int:
        return sum(map(len, self.texts))


def fitting_pieces(people: Mapping[str, Person], limit: float) -> Pieces:
    """Pieces that keep as much text as fits into about `limit` bytes; with the last of `CAPS` they may exceed it."""
    few: dict[str, Person] = {}
    for name, person in people.items():
        few[name] = person
        if sum(len(p.rows) for p in few.values()) >= SAMPLE:
            break
    characters = _characters(few, CAPS[0])
    rate = make_pieces(few, CAPS[0]).size / characters if characters else 0.0
    for caps in CAPS[:-1]:
        if rate * _characters(people, caps) > limit:
            continue
        found = make_pieces(people, caps)
        if found.size <= limit:
            return found
    return make_pieces(people, CAPS[-1])


def make_pieces(people: Mapping[str, Person], caps: Sequence[int]) -> Pieces:
    """All texts under `caps`, persona by persona."""
    texts: list[str] = []
    places: list[list[int]] = []
    shared: list[int] = []
    shortened = start = 0
    for person in people.values():
        entries: list[list[Any]] = [[e.id, *_cut(e.text, caps[2]), e.sources, e.date] for e in person.entries]
        shortened += sum(e[2] > 0 for e in entries)
        shared.append(len(texts))
        texts.append(squeeze({"entries": entries, "asked": person.asked, "facts": person.facts}))
        for group in _groups(person.rows, caps):
            rows = [_row(r, caps) for r in group]
            shortened += sum(row[1] > 0 or (row[7] != 0 and row[7][1] > 0) for row in rows)
            places.append([start, len(rows), len(texts)])
            start += len(rows)
            texts.append(squeeze(rows))
    return Pieces(tuple(texts), places, shared, shortened)


def _characters(people: Mapping[str, Person], caps: Sequence[int]) -> int:
    rows = sum(_weight(r, caps) for p in people.values() for r in p.rows)
    return rows + sum(min(len(e.text), caps[2]) + 60 for p in people.values() for e in p.entries)


def _weight(row: Row, caps: Sequence[int]) -> int:
    """About how many characters of JSON the row comes to."""
    kept = min(len(row.record.reply), caps[0] if row.silent else caps[1])
    return kept * (2 if row.other else 1) + 8 * len(row.entries) + 300


def _groups(rows: Iterable[Row], caps: Sequence[int]) -> Iterable[list[Row]]:
    group: list[Row] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += _weight(row, caps)
        if characters >= PIECE:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _row(row: Row, caps: Sequence[int]) -> list[Any]:
    cap = caps[0] if row.silent else caps[1]
    r = row.record
    reply, left = _cut(r.reply, cap)
    other: Any = 0
    if row.other is not None:
        same = row.other.reply == r.reply
        theirs, more = (None, 0) if same else _cut(row.other.reply, cap)
        other = [theirs, more, row.other_entries, [_judged(j) for j in row.other.judgements[:1]]]
    return [reply, left, r.error, list(r.notes), row.entries, row.flags, [_judged(j) for j in r.judgements], other]


def _judged(j: Judgement) -> list[Any]:
    scores = [thousandths(x) for x in (j.v, j.target_uptake, j.over_scope, j.helpfulness)]
    judge = f"{j.judge}, draw {j.draw + 1}" if j.draw else j.judge
    return [judge, *scores, j.evidence[:4000], j.rationale[:4000], list(j.used)]


def _cut(text: str, cap: int) -> tuple[str, int]:
    """The first `cap` characters, and how many are left out."""
    return (text, 0) if len(text) <= cap else (text[:cap], len(text) - cap)
