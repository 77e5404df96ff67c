"""The tables as lines of a terminal: aligned where a row fits, else a row's figures below its name."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pytest_hush.report.visible import visible
from pytest_hush.reproduce.tables import Table


def lines(table: Table, width: int) -> list[str]:
    """Title, what the figures are, and the rows, at most `width` (80 at least) characters wide but for long names."""
    width = max(width, 80)
    rows = [tuple(visible(cell) for cell in row) for row in table.rows]
    columns = list(zip(table.head, *rows, strict=True))
    wide = [max(len(cell) for cell in column) for column in columns]
    found = [table.title, *textwrap.wrap(table.about, width)]
    if sum(wide) + 2 * (len(wide) - 1) <= width:
        return found + [_aligned(row, wide, table.labels) for row in (table.head, *rows)]
    for row in rows:
        found.append(" under ".join(row[: table.labels]))
        told = [f"{name} {cell}" for name, cell in zip(table.head[table.labels :], row[table.labels :], strict=True)]
        found += textwrap.wrap("; ".join(told), width, initial_indent="  ", subsequent_indent="  ")
    return found


def _aligned(row: Sequence[str], wide: Sequence[int], labels: int) -> str:
    cells = [cell.ljust(w) if n < labels else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, wide, strict=True))]
    return "  ".join(cells).rstrip()
