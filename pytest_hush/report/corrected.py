"""The judge's figures beside those corrected by readers' labels, as rows that every surface shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len

from pytest_hush.gate.corrected import Correction, Review
from pytest_hush.gate.words import NAMES
from pytest_hush.report.visible import visible

TITLE: Final = "Corrected by readers"
HEAD: Final = ("condition", "", "labels", "judge alone", "corrected", "shift")
ABOUT: Final = "shift: mean of reader minus judge over the labelled part, which corrects the judge's mean over all"


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one condition in words. `note` says why nothing is corrected, or is empty."""

    where: str
    metric: str
    labels: str
    judge: str
    corrected: str
    bias: str
    note: str


def lines(review: Review, *, several: bool) -> list[Line]:
    """A line for each correction. `several` models in the plan: each names its own."""
    return [
        Line(
            where=f"{c.condition} ({c.model})" if several else c.condition,
            metric=NAMES[c.metric],
            labels=str(c.labels),
            judge=_interval(c.raw, c.raw_lower, c.raw_upper),
            corrected=_interval(c.value, c.lower, c.upper),
            bias="-" if c.bias is None else f"{c.bias:+.1f}",
            note=c.note,
        )
        for c in review.corrections
    ]


def notes(review: Review, *, several: bool) -> list[tuple[str, str]]:
    """(conditions, why they are not corrected), each reason once."""
    found: dict[str, dict[str, None]] = {}
    for line, c in zip(lines(review, several=several), review.corrections, strict=True):
        if c.value is None:
            found.setdefault(line.note, {})[line.where] = None
    return [(", ".join(where), note) for note, where in found.items()]


def text_table(review: Review, *, several: bool, width: int = 100) -> list[str]:
    """Lines of plain text: a title, the table, and what could not be corrected; empty where there are no labels.

    Where a row would be wider than `width`, each is a sentence instead.
    """
    rows: list[Sequence[str]] = [HEAD]
    rows += [
        (visible(x.where), x.metric, x.labels, x.judge, x.corrected, x.bias) for x in lines(review, several=several)
    ]
    if len(rows) == 1:
        return []
    widths = [max(cell_len(row[k]) for row in rows) for k in range(len(HEAD))]
    told = [f"{TITLE}: {visible(review.who)}"]
    for row in rows:
        left = [cell + " " * (w - cell_len(cell)) for cell, w in zip(row[:2], widths[:2], strict=True)]
        right = [cell.rjust(w) for cell, w in zip(row[2:], widths[2:], strict=True)]
        told.append(" ".join([*left, *right]).rstrip())
    if max(map(cell_len, told[1:])) > width:
        told[1:] = [
            f"{where}, {metric}: judge alone {own}, corrected by {read} labels {now}, shift {shift}"
            for where, metric, read, own, now, shift in rows[1:]
        ]
    told.append(ABOUT)
    return [*told, *(f"not corrected under {visible(w)}: {n}" for w, n in notes(review, several=several))]


def _interval(value: float | None, lower: float | None, upper: float | None) -> str:
    if value is None or lower is None or upper is None:
        return "-"
    return f"{value:.1f} [{lower:.1f}, {upper:.1f}]"


def data(review: Review) -> dict[str, object]:
    """The review as JSON data (`docs/reference/result.md`)."""
    return {
        "labels": review.who,
        "corrections": [_row(c) for c in review.corrections],
        "notes": list(review.notes),
    }


def _row(c: Correction) -> dict[str, object]:
    return {name: getattr(c, name) for name in Correction.__dataclass_fields__}
