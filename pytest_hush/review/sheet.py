"""The readers' CSV: written blind, and read back with an error for every line that cannot stand.

Texts that a spreadsheet would take for a formula get an apostrophe in front; it is taken off again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_hush.errors import LabelError, UsageError
from pytest_hush.review.material import Shown
from pytest_hush.store.folder import write_atomically

SCORES: Final = ("v", "target_uptake", "over_scope", "helpfulness")
COLUMNS: Final = ("item", *SCORES, "evidence", "annotator")
"""Columns that are read back. What else a file holds is for the reader's eye."""
TEXTS: Final = ("turn", "reply", "disclosure", "disclosing_turn", "facts")
MOST_PROBLEMS: Final = 20
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Row:
    """One filled line: scores in 0..1, and the number of its first line in the file."""

    item: str
    v: float
    target_uptake: float
    over_scope: float
    helpfulness: float
    evidence: str
    line: int

    @property
    def scores(self) -> tuple[float, float, float, float]:
        return (self.v, self.target_uptake, self.over_scope, self.helpfulness)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One reader's file: `rows` by item, `blank` lines without any score, and what is odd but can stand."""

    path: Path
    annotator: str
    rows: Mapping[str, Row]
    blank: int
    warnings: tuple[str, ...]


def sheet_text(items: Iterable[Shown], *, more: Mapping[str, Sequence[str]] | None = None) -> str:
    """The CSV of `items`, scores empty, in UTF-8 with a byte order mark (spreadsheets ask for it).

    `more`: extra columns by name, one cell an item, between the scores and the texts.
    """
    extra = dict(more or {})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *extra, *TEXTS])
    for place, item in enumerate(items):
        facts = "\n".join(f"{'[sensitive] ' if sensitive else ''}{text}" for sensitive, text in item.facts)
        cells = [*(cells[place] for cells in extra.values()), item.turn, item.reply, item.disclosure, item.told, facts]
        writer.writerow([item.id, *[""] * (len(COLUMNS) - 1), *(harmless(c) for c in cells)])
    return "\ufeff" + out.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write `text` readable by its owner only; half of a surrogate pair is escaped. Raises `UsageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, text.encode("utf-8", "backslashreplace").decode())
    except OSError as error:
        raise UsageError(f"{path}: it cannot be written: {error.strerror}.") from error


def harmless(cell: str) -> str:
    """`cell` as a spreadsheet shows and never computes it."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def read_sheet(path: Path, replies: Mapping[str, str]) -> Sheet:
    """One reader's file; `replies` are the texts of the items that it may hold.

    Separators are commas or semicolons, decimals points or commas. Lines without any score are passed over. Raises
    `LabelError` with every line that cannot stand: an unknown item, one given twice, a score that is missing or out
    of 0..1, scores that contradict one another, two annotators in one file.
    """
    columns, lines = _table(path)
    problems: list[str] = []
    rows: dict[str, Row] = {}
    names: dict[str, int] = {}
    blank = 0
    odd: dict[str, list[int]] = {}
    for line, cells in lines:
        given = {name: cells[at].strip() if at < len(cells) else "" for name, at in columns.items()}
        if not any(given[s] for s in SCORES):
            blank += any(c.strip() for c in cells)
            continue
        if (name := _plain(given.get("annotator", ""))) not in names:
            names[name] = line
        found = _row(given, line, rows, replies)
        if isinstance(found, str):
            problems.append(f"{path}:{line}: {found}")
            continue
        rows[found.item] = found
        for what in _oddities(found, replies[found.item]):
            odd.setdefault(what, []).append(line)
    named = [n for n in names if n]
    if len(named) > 1:
        problems.append(
            f"{path}:{names[named[1]]}: annotator: read {named[1]!r}; expected {named[0]!r} as in line "
            f"{names[named[0]]}: one file is one reader's"
        )
    if problems:
        rest = len(problems) - MOST_PROBLEMS
        more = [f"and {rest} more"] if rest > 0 else []
        raise LabelError("\n".join(["Labels that cannot be read:", *problems[:MOST_PROBLEMS], *more]))
    if not rows:
        raise LabelError(f"{path}: no line holds a score; expected labels in the columns {', '.join(SCORES)}.")
    warnings = tuple(f"{path}: {what} in {_places(at)}." for what, at in odd.items())
    return Sheet(path, named[0] if named else path.stem, rows, blank, warnings)


def _table(path: Path) -> tuple[dict[str, int], list[tuple[int, list[str]]]]:
    """Places of the columns, and the lines below the head with their numbers."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise LabelError(f"{path}: there is no such file. Give the CSV that a reader filled in.") from None
    except UnicodeDecodeError:
        raise LabelError(f"{path}: it is not UTF-8 text. Save it as CSV in UTF-8.") from None
    except OSError as error:
        raise LabelError(f"{path}: it cannot be read: {error.strerror}.") from error
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";" if head.count(";") > head.count(",") else ",")
    lines: list[tuple[int, list[str]]] = []
    try:
        start = 1
        for cells in reader:
            if cells:
                lines.append((start, cells))
            start = reader.line_num + 1
    except csv.Error as error:
        raise LabelError(f"{path}:{reader.line_num}: not CSV: {error}.") from None
    names = [c.strip().lower() for c in lines[0][1]] if lines else []
    missing = [c for c in ("item", *SCORES) if c not in names]
    if missing:
        raise LabelError(
            f"{path}:1: the column {missing[0]!r} is missing; expected {', '.join(COLUMNS)}, as in the file that "
            f"`hush review export` wrote."
        )
    return {c: names.index(c) for c in COLUMNS if c in names}, lines[1:]


def _row(given: Mapping[str, str], line: int, rows: Mapping[str, Row], replies: Mapping[str, str]) -> Row | str:
    """The row, or what is wrong with it."""
    item = _plain(given["item"])
    if item not in replies:
        return f"item: read {item!r}; expected an item of this run's review (the same run, --seed and --n)"
    if item in rows:
        return f"item: {item} stands in line {rows[item].line} too; expected each item once"
    scores = []
    for name in SCORES:
        value = _number(given[name])
        if value is None:
            read = repr(given[name]) if given[name] else "nothing, though another score is given"
            return f"{name}: read {read}; expected a number from 0 to 1"
        scores.append(value)
    if scores[0] == 0 and scores[1] > 0:
        return (
            f"target_uptake: read {scores[1]:g} beside v = 0; expected 0, or a v above 0: a reply that uses the "
            f"disclosure uses history"
        )
    v, uptake, scope, help_ = scores
    return Row(item, v, uptake, scope, help_, _plain(given.get("evidence", "")), line)


def _number(cell: str) -> float | None:
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None  # also refuses NaN


def _oddities(row: Row, reply: str) -> list[str]:
    from pytest_hush.judges.answer import occurs  # pydantic

    found = []
    if row.target_uptake > row.v:
        found.append("target_uptake is above v, which the rubric rules out,")
    if row.over_scope < row.v:
        found.append("over_scope is below v, which the rubric rules out on a turn that invites nothing,")
    if row.evidence and not occurs(row.evidence, reply):
        found.append("the evidence is no passage of the reply")
    return found


def _plain(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _places(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:8]))
    more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}"
