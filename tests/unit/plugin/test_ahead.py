"""The order in which cases start."""

from __future__ import annotations

import pytest

from pytest_hush.plugin.ahead import next_block, shuffled


def walk(count: int, window: int, seed: int) -> tuple[list[int], int]:
    """The order in which `count` items start when their tests run one after the other, and the most ahead of a test."""
    items, started, cursor, most = list(range(count)), [], 0, 0
    for start in items:
        block, cursor = next_block(items, start, cursor, window, seed)
        started += [i for i in dict.fromkeys((*block, start)) if i not in started]
        most = max(most, len(started) - start)
    return started, most


@pytest.mark.parametrize("window", [1, 2, 3, 8, 64])
def test_every_item_starts_once_and_within_the_window(window: int) -> None:
    started, most = walk(50, window, seed=0)
    assert sorted(started) == list(range(50))
    assert most <= max(window, 2)


def test_the_seed_decides_the_order_and_nothing_else() -> None:
    assert walk(50, 16, 3) == walk(50, 16, 3)
    assert walk(50, 16, 3)[0] != walk(50, 16, 4)[0]
    assert walk(50, 16, 3)[0] != list(range(50))


def test_no_condition_always_comes_first() -> None:
    """Four conditions a probe, as a plan lists them: over many probes each place is taken about equally often."""
    started, _ = walk(4 * 200, 32, seed=0)
    rank = {item: n for n, item in enumerate(started)}
    first = [min(range(4), key=lambda c: rank[4 * probe + c]) for probe in range(200)]
    assert all(30 <= first.count(c) <= 70 for c in range(4))


def test_shuffled_keeps_what_it_is_given() -> None:
    assert sorted(shuffled([3, 1, 2], 0)) == [1, 2, 3]
    assert shuffled([], 0) == []
