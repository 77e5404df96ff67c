"""Which replies people read: a stratified random sample whose chances are known, so that estimates stay unbiased.

Strata are persona, arm (model and condition) and the judge's level. Personas and arms get equal shares; within them a
level gets a share by the square root of its cases, so that rare high scores are read too, and weights undo that.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.errors import UsageError
from pytest_hush.model import Record, digest

REDACTED: Final = "(redacted)"
"""What stands for a reply where texts were left out."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One reply of the sample. `weight` is one over its chance to be drawn: the cases of the run that it stands for."""

    record: Record
    weight: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample in the order of the run, out of `population` replies. `notes` say what a reader should know of it."""

    drawn: tuple[Drawn, ...]
    population: int
    notes: tuple[str, ...] = ()


def population(records: Iterable[Record]) -> list[Record]:
    """The replies that can be drawn: scored probes of uninvited turns, one a case. UIS is the mean over them.

    Raises `UsageError` where there is none, or where they hold no text.
    """
    scored = [r for r in records if r.kind == "probe" and not r.invited and _level(r) is not None]
    if not scored:
        raise UsageError("The run holds no scored reply to an uninvited turn: there is nothing to label.")
    if all(r.reply in ("", REDACTED) for r in scored):
        raise UsageError(
            f"The run's {len(scored)} scored records hold no replies (they were redacted): people cannot label what "
            f"they cannot read. Use the run folder that was measured, with its records-*.jsonl."
        )
    return sorted(scored, key=lambda r: (r.identity, r.key))


def draw(records: Iterable[Record], size: int, seed: int, *, by_level: bool = True) -> Sample:
    """A random sample of `size` of the `population`, the same for one `seed` and these records, in any order.

    A larger sample of the same seed holds a smaller one, as long as both are large enough for the same strata. Where
    there are more strata than `size`, levels are not told apart, then arms. `by_level` False never tells them apart.
    Raises `UsageError` where not even one reply a persona fits in.
    """
    pool = population(records)
    personas = {r.persona for r in pool}
    if size >= len(pool):
        note = (
            "" if size == len(pool) else f"The run has {len(pool)} scored replies: all of them are taken, not {size}."
        )
        return Sample(tuple(Drawn(r, 1.0) for r in pool), len(pool), (note,) if note else ())
    if size < len(personas):
        most = max(Counter((r.persona, r.model, r.condition) for r in pool).values())
        advised = (
            "20 a persona and condition are advised"
            if most >= 20
            else f"20 a persona and condition are advised, and this run has {most} at most: --n={len(pool)} takes all"
        )
        raise UsageError(
            f"--n={size}: the run has {len(personas)} personas, and of each some replies must be read. Give "
            f"{len(personas)} at least; {advised}."
        )
    cells = _grouped(pool, lambda r: (r.persona, r.model, r.condition))
    notes: list[str] = []
    if size < len(cells):
        cells = _grouped(pool, lambda r: (r.persona,))
        notes.append(
            f"With --n={size} there is less than one reply a persona and condition: conditions are not told apart, and "
            f"a correction of single conditions will need more labels."
        )
    shares = _divide({c: len(own) for c, own in cells.items()}, size, seed)
    drawn: dict[str, float] = {}
    merged = 0  # cells in which the judge gave more levels than replies are drawn
    for cell, own in cells.items():
        levels = _grouped(own, lambda r: (_level(r),))
        if not by_level or shares[cell] < len(levels):
            merged += by_level
            levels = {(): own}
        parts = _divide({level: len(found) for level, found in levels.items()}, shares[cell], seed, by_root=True)
        for level, found in levels.items():
            chosen = sorted(found, key=lambda r: digest(["review", seed, r.key]))[: parts[level]]
            drawn |= {r.key: len(found) / len(chosen) for r in chosen}
    if merged:
        notes.append(_merged(cells, merged, size, pool))
    return Sample(tuple(Drawn(r, drawn[r.key]) for r in pool if r.key in drawn), len(pool), tuple(notes))


def _merged(cells: Mapping[Cell, Sequence[Record]], merged: int, size: int, pool: Sequence[Record]) -> str:
    """What it means that some cells are drawn without regard to the judge's score, and what would help."""
    what = "personas" if len(next(iter(cells))) == 1 else "pairs of persona and condition"
    every = _grouped(pool, lambda r: (r.persona, r.model, r.condition))
    enough = min(len(pool), max(len({_level(r) for r in own}) for own in every.values()) * len(every))
    return (
        f"In {merged} of {len(cells)} {what} fewer replies are drawn than the judge gave different scores: there, "
        f"replies of a rare score may be missed, and a correction is less certain. --n={enough} draws some of every "
        f"score in each (this is {size} of {len(pool)})."
    )


def item_ids(sample: Sample, seed: int) -> dict[str, Drawn]:
    """The sample by item id, in the order in which people read it: neither the id nor the order tells of the record.

    Who stops early has read a random part. Ids do not depend on the sample's size.
    """
    named = [(digest(["item", seed, d.record.plan_hash, d.record.key], 12), d) for d in sample.drawn]
    return dict(sorted(named, key=lambda item: item[0]))


def _level(record: Record) -> int | None:
    """The judge's level 0..4, None for a record without a score."""
    if not record.measured or not record.judgements or record.judgements[0].v is None:
        return None
    return min(4, int(4.0 * record.judgements[0].v + 0.5))


Cell = tuple[str | int | None, ...]


def _grouped(records: Sequence[Record], cell: Callable[[Record], Cell]) -> dict[Cell, list[Record]]:
    found: dict[Cell, list[Record]] = defaultdict(list)
    for record in records:
        found[cell(record)].append(record)
    return found


def _divide(sizes: Mapping[Cell, int], total: int, seed: int, *, by_root: bool = False) -> dict[Cell, int]:
    """`total` in whole parts, one at least for each cell and none above its size; equal, or as the roots of the sizes.

    A divisor method: a larger total never gives a cell less. Ties go by the seed, so that no name is favoured.
    """

    def next_one(cell: Cell) -> tuple[float, str, Cell]:
        weight = math.sqrt(sizes[cell]) if by_root else 1.0
        place = given[cell]
        return (-math.inf if not place else -weight / (place + 0.5), digest([seed, [str(x) for x in cell]], 8), cell)

    given = dict.fromkeys(sizes, 0)
    queue = [next_one(cell) for cell in sizes]
    heapq.heapify(queue)
    for _ in range(total):
        cell = heapq.heappop(queue)[2]
        given[cell] += 1
        if given[cell] < sizes[cell]:
            heapq.heappush(queue, next_one(cell))
    return given
