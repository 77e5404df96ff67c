"""In which order cases start: ahead of their tests, in blocks that the seed shuffles.

A plan lists the conditions of a probe one after the other, always in the same order. Were they measured so, whatever
drifts while a run goes on (a provider's load, a judge behind an API) would lean on the conditions alike each time. The
order of a block is drawn from the seed instead. It changes no score: a record is a function of its case alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def next_block(items: Sequence[_T], start: int, cursor: int, window: int, seed: int) -> tuple[list[_T], int]:
    """What is to be started when the item at `start` is reached, and the new cursor: what lies before it was started.

    A block is half of `window`, and the next one starts when the one before is reached, so that at most `window` items
    are under way or waiting for their test.
    """
    half = max(1, window // 2)
    if cursor >= start + half:
        return [], cursor
    first = max(cursor, start)
    return shuffled(items[first : first + half], seed, first), first + half


def shuffled(items: Sequence[_T], seed: int, salt: int = 0) -> list[_T]:
    """`items` in an order that `seed` and `salt` decide."""
    found = list(items)
    random.Random(f"{seed}|{salt}").shuffle(found)
    return found
