"""Cases as the page carries them: an index that is read at once, and texts in pieces that are unpacked on demand.

Every piece is JSON, gzipped, in base64. Texts are grouped by persona, where they repeat one another: each memory
entry is kept once a persona and cases name it by its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pytest_hush.gate import Reference
from pytest_hush.model import Pack, Record
from pytest_hush.report.html.pieces import (
    WHOLE,
    Known,
    Person,
    add_case,
    fitting_pieces,
    make_pieces,
    squeeze,
    thousandths,
)
from pytest_hush.stats.judges import one_judgement

BUDGET: Final = 4_400_000
"""Bytes of the pieces in base64 for `FULL` cases and below; more cases may take more in proportion."""
FULL: Final = 12_000


@dataclass(frozen=True, slots=True)
class Packed:
    """`index` and `pieces` in base64. `shortened` replies or entries are not whole in the page."""

    index: str
    pieces: tuple[str, ...]
    cases: int
    shortened: int


@dataclass(slots=True)
class _Names:
    """A list of distinct names and the place of each."""

    names: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> int:
        found = self.places.get(name)
        if found is None:
            found = self.places[name] = len(self.names)
            self.names.append(name)
        return found


def pack_cases(
    records: Iterable[Record],
    *,
    pack: Pack | None,
    reference: Reference | None,
    texts: bool,
    refused: frozenset[tuple[str, str]] = frozenset(),
    whole: bool = False,
    budget: int = BUDGET,
    aggregate: str = "first",
    sides: tuple[str, str] | None = None,
) -> Packed:
    """`records` for the page. `pack` gives the probes' texts where it is at hand; without `texts` only scores go in.

    `reference` is the run whose cases stand beside them; its texts are used where it has them. Nothing stands beside
    the (model, condition) pairs in `refused`, which may not be compared with it. `whole` keeps every text, however
    large the page becomes. `sides`: what the page calls the reference and these records, where the change between them
    is what it is about. Of several judgements the index has what `aggregate` makes of them, and the texts have all.
    """
    ordered = sorted(records, key=lambda r: (r.persona, r.probe_id, r.condition, r.model, r.invited, r.repeat))
    lists = {name: _Names() for name in ("model", "condition", "persona", "probe", "disclosure", *_TAGS)}
    columns: dict[str, list[int]] = {name: [] for name in (*lists, *_NUMBERS)}
    people: dict[str, Person] = {}
    known = Known.of(pack)
    for record in ordered:
        other = None if (record.model, record.condition) in refused else _twin(record, reference)
        (scored,) = one_judgement([record], aggregate)
        beside = one_judgement([other], aggregate)[0] if other else None
        for name, value in zip(lists, _named(scored), strict=True):
            columns[name].append(lists[name].place(value))
        for name, number in zip(_NUMBERS, _numbers(scored, beside), strict=True):
            columns[name].append(number)
        if texts:
            add_case(people.setdefault(record.persona, Person()), record, other, known)
    limit = budget * max(1.0, len(ordered) / FULL)
    pieces = make_pieces(people, WHOLE) if whole else fitting_pieces(people, limit)
    index = {
        "lists": {name: found.names for name, found in lists.items()},
        "columns": columns,
        "pieces": pieces.places,
        "shared": pieces.shared,
        "texts_are": texts,
        "other": None
        if reference is None
        else {"role": reference.role, "source": reference.source, "texts": _has_texts(reference) and texts}
        | ({"name": sides[0], "here": sides[1]} if sides else {}),
    }
    return Packed(squeeze(index), pieces.texts, len(ordered), pieces.shortened)


# ---- the index ------------------------------------------------------------------------------------

_TAGS: Final = ("family", "category", "strength", "status")
_NUMBERS: Final = (
    "kind", "repeat", "v", "uptake", "scope", "help", "exact", "residue", "ambient",
    "ms", "tokens_in", "tokens_out", "micro", "attempts", "paired", "other_v",
)  # fmt: skip


def _named(r: Record) -> tuple[str, ...]:
    return (
        r.model, r.condition, r.persona, r.probe_id, r.disclosure_id or "", r.family, r.category, r.strength, r.status
    )  # fmt: skip


def _numbers(r: Record, other: Record | None) -> tuple[int, ...]:
    j = r.judgements[0] if r.judgements and r.measured else None
    theirs = other.judgements[0] if other and other.judgements else None
    cost = r.usage.cost_usd
    e = r.exposure
    return (
        1 if r.kind == "control" else 2 if r.invited else 0,
        r.repeat,
        *(thousandths(x) for x in ((j.v, j.target_uptake, j.over_scope, j.helpfulness) if j else (None,) * 4)),
        *(_flag(x) for x in (e.exact, e.residue, e.ambient)),
        round(1000 * r.latency_s),
        r.usage.input_tokens,
        r.usage.output_tokens,
        -1 if cost is None else round(1_000_000 * cost),
        r.attempts,
        int(other is not None),
        thousandths(theirs.v) if theirs else -1,
    )


def _flag(value: bool | None) -> int:
    return 2 if value is None else int(value)


def _twin(r: Record, reference: Reference | None) -> Record | None:
    if reference is None or r.kind != "probe" or r.invited:
        return None
    model, _ = reference.model_for(r.model, r.condition)
    return reference.records.get((model, r.condition), {}).get((r.probe_id, r.repeat))


def _has_texts(reference: Reference) -> bool:
    return any(r.reply for arm in reference.records.values() for r in arm.values())
