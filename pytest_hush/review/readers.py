"""Readers' sheets put together: labels of the run, how far two readers agree, and what is left to adjudicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_hush.errors import LabelError
from pytest_hush.model import Record
from pytest_hush.review.key import Key
from pytest_hush.review.sheet import SCORES, Row, Sheet
from pytest_hush.store.labels import Kind, Label, Pass

if TYPE_CHECKING:
    from pytest_hush.judges.agreement import Agreement

APART: Final = (0.25, 0.5, 0.5, 0.5)
"""How far apart in each of `SCORES` two readers make an item one to adjudicate: one anchor of v, two of the others."""
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Apart:
    """An item on which the two readers disagree."""

    item: str
    first: Row
    second: Row

    @property
    def distance(self) -> float:
        return max(abs(a - b) for a, b in zip(self.first.scores, self.second.scores, strict=True))


def check_readers(sheets: Sequence[Sheet], adjudicated: Sheet | None) -> None:
    """Raises `LabelError`: two passes by one reader, no item that both read, an adjudication of what nobody read."""
    if len(sheets) == 2:
        first, second = sheets
        if first.annotator == second.annotator:
            raise LabelError(
                f"{second.path}: annotator: read {second.annotator!r}, as in {first.path}; expected two readers that "
                f"work apart. Fill in the column annotator."
            )
        if not first.rows.keys() & second.rows.keys():
            raise LabelError(
                f"{second.path}: it has no item that {first.path} has too: two readers label the same ones."
            )
    if adjudicated is not None:
        read = {item for sheet in sheets for item in sheet.rows}
        for item, row in adjudicated.rows.items():
            if item not in read:
                raise LabelError(
                    f"{adjudicated.path}:{row.line}: item: {item} is adjudicated, but no reader labelled it; expected "
                    f"an item of {' or '.join(str(s.path) for s in sheets)}."
                )


def run_labels(
    sheets: Sequence[Sheet],
    adjudicated: Sheet | None,
    key: Key,
    records: Mapping[str, Record],
    *,
    kind: Kind,
    date: str,
) -> list[Label]:
    """Every label, item by item: the passes ``a`` and ``b``, then the adjudicated one. `records` by key."""
    passes: list[tuple[Pass, Sheet]] = list(zip(("a", "b"), sheets, strict=False))
    if adjudicated is not None:
        passes.append(("adjudicated", adjudicated))
    found = []
    for item, known in key.items.items():
        record = records[known.record]
        for name, sheet in passes:
            if (row := sheet.rows.get(item)) is not None:
                found.append(
                    Label(
                        item=known.record,
                        annotator=sheet.annotator,
                        annotator_kind=kind,
                        pass_=name,
                        v=row.v,
                        target_uptake=row.target_uptake,
                        over_scope=row.over_scope,
                        helpfulness=row.helpfulness,
                        evidence=row.evidence,
                        weight=known.weight,
                        date=date,
                        reply=known.reply,
                        judge=str(record.instrument.get("judge", "")),
                        judge_version=str(record.instrument.get("judge_version", "")),
                        rubric=str(record.instrument.get("rubric", "")),
                    )
                )
    return found


def agreements(first: Sheet, second: Sheet, personas: Mapping[str, str]) -> dict[str, Agreement]:
    """How far two readers agree on each of `SCORES`, over the items that both read. `personas` by item."""
    from pytest_hush.judges.agreement import agreement  # numpy

    both = [item for item in first.rows if item in second.rows]
    clusters = [personas[item] for item in both]
    found = {}
    for place, name in enumerate(SCORES):
        a, b = ([sheet.rows[item].scores[place] for item in both] for sheet in (first, second))
        found[name] = agreement(a, b, clusters)
    return found


def apart(first: Sheet, second: Sheet, adjudicated: Sheet | None) -> list[Apart]:
    """Items on which the readers are apart and which nobody has adjudicated, the furthest first."""
    settled = adjudicated.rows if adjudicated is not None else {}
    found = [
        Apart(item, row, second.rows[item])
        for item, row in first.rows.items()
        if item in second.rows and item not in settled and _differ(row, second.rows[item])
    ]
    return sorted(found, key=lambda x: (-x.distance, x.item))


def _differ(a: Row, b: Row) -> bool:
    return any(abs(x - y) >= far - _ROUNDING for x, y, far in zip(a.scores, b.scores, APART, strict=True))
