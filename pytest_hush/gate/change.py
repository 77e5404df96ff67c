"""A change between two runs, taken apart: what exposure did, and what the replies did with what they saw."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_hush.gate.arms import Arm
from pytest_hush.gate.reference import Pair
from pytest_hush.model import Record
from pytest_hush.stats.aggregate import score
from pytest_hush.stats.decompose import Stratified, decompose


def change_parts(arm: Arm, theirs: Mapping[Pair, Record], stratum: str) -> tuple[float, float] | None:
    """(exposure part, response part) in points of the UIS change over matched pairs; None where exposure is unknown.

    They add up to the change of the pairs' mean. Repeats weigh alike here, as they do in the mean of equal repeats.
    """
    mine = {(r.probe_id, r.repeat): r for r in arm.found(arm.relevant(stratum))}
    nobody: frozenset[str] = frozenset()
    keys = [
        k for k in mine.keys() & theirs.keys()
        if score(mine[k], "uis", nobody) is not None and score(theirs[k], "uis", nobody) is not None
    ]  # fmt: skip
    new, old = (_stratified([side[k] for k in keys]) for side in (mine, theirs))
    if new is None or old is None:
        return None
    exposure, response = decompose(new, old)
    return round(100.0 * exposure, 10) + 0.0, round(100.0 * response, 10) + 0.0


def _stratified(records: list[Record]) -> Stratified | None:
    if not records or any(r.exposure.exact is None for r in records):
        return None
    groups: dict[bool, list[float]] = {True: [], False: []}
    for r in records:
        groups[bool(r.exposure.exact)].append(score(r, "uis", frozenset()) or 0.0)
    exposed, other = (math.fsum(g) / len(g) if g else None for g in (groups[True], groups[False]))
    return Stratified(len(groups[True]) / len(records), exposed, other)
