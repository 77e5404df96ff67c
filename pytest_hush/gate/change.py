"""A change between two runs, taken apart: what exposure did, and what the replies did with what they saw."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from pytest_hush.gate.arms import Arm
from pytest_hush.gate.reference import Pair
from pytest_hush.model import Record
from pytest_hush.stats.aggregate import score
from pytest_hush.stats.decompose import Stratified, decompose


def change_parts(arm: Arm, theirs: Mapping[Pair, Record], stratum: str) -> tuple[float, float] | None:
    """(exposure part, response part) in points of the UIS change over matched pairs; None where exposure is unknown.

    They add up to the paired difference: each probe weighs alike, whatever number of its repeats has a twin.
    """
    mine = {(r.probe_id, r.repeat): r for r in arm.found(arm.relevant(stratum))}
    nobody: frozenset[str] = frozenset()
    keys = [
        k for k in mine.keys() & theirs.keys()
        if score(mine[k], "uis", nobody) is not None and score(theirs[k], "uis", nobody) is not None
    ]  # fmt: skip
    repeats = Counter(probe for probe, _ in keys)
    new, old = (_stratified([(side[k], 1.0 / repeats[k[0]]) for k in keys]) for side in (mine, theirs))
    if new is None or old is None:
        return None
    exposure, response = decompose(new, old)
    return round(100.0 * exposure, 10) + 0.0, round(100.0 * response, 10) + 0.0


def _stratified(records: list[tuple[Record, float]]) -> Stratified | None:
    """Exposure share and mean scores of `records` with their weights; None where an exposure is unknown."""
    if not records or any(r.exposure.exact is None for r, _ in records):
        return None
    weights: dict[bool, list[float]] = {True: [], False: []}
    weighted: dict[bool, list[float]] = {True: [], False: []}
    for r, weight in records:
        stratum = bool(r.exposure.exact)
        weights[stratum].append(weight)
        weighted[stratum].append(weight * (score(r, "uis", frozenset()) or 0.0))
    size = {e: math.fsum(w) for e, w in weights.items()}
    exposed, other = (math.fsum(weighted[e]) / size[e] if weights[e] else None for e in (True, False))
    return Stratified(size[True] / (size[True] + size[False]), exposed, other)
