from __future__ import annotations

import pytest

from pytest_hush.errors import MemoryStoreError, UsageError
from pytest_hush.memories import render
from pytest_hush.memories.full_context import FullContext, four_characters
from tests.unit.memories.histories import locomo, planted, unplanted


def test_everything_fits_in_a_large_budget() -> None:
    context = FullContext().context(planted(), "?")
    assert [e.id for e in context.entries] == ["p1-s1", "p1-s2", "p1-d1-s", "p1-s3"]
    assert context.label == "full-context@24000"
    assert context.notes == ()
    first = context.entries[0]
    assert (first.sources, first.turns, first.date) == (
        ("p1-s1",),
        ("p1-s1-t01", "p1-s1-t02"),
        "2025-01-10T18:00",
    )


def costs() -> dict[str, int]:
    return {e.id: four_characters(render([e]) + "\n") for e in FullContext().context(planted(), "?").entries}


def test_the_oldest_go_first_and_the_planted_one_never() -> None:
    cost = costs()
    seen = []
    for window in range(sum(cost.values()), cost["p1-d1-s"] - 1, -1):
        ids = tuple(e.id for e in FullContext(window).context(planted(), "?").entries)
        assert sum(cost[i] for i in ids) <= window
        if ids not in seen:
            seen.append(ids)
    assert seen == [
        ("p1-s1", "p1-s2", "p1-d1-s", "p1-s3"),
        ("p1-s2", "p1-d1-s", "p1-s3"),
        ("p1-d1-s", "p1-s3"),
        ("p1-d1-s",),
    ]


def test_a_dropped_session_is_noted_and_the_budget_is_in_label_and_settings() -> None:
    cost = costs()
    memory = FullContext(sum(cost.values()) - 1)
    context = memory.context(planted(), "?")
    assert context.label == f"full-context@{memory.budget}"
    assert context.notes == ("full-context: 1 of 4 sessions dropped, oldest first",)
    assert memory.settings == {"budget": memory.budget, "counter": "characters/4"}


def test_a_short_session_is_not_kept_behind_a_dropped_longer_one() -> None:
    # A gap in the middle would be another history: dropping stops at the first session that does not fit.
    cost = costs()
    window = cost["p1-d1-s"] + cost["p1-s3"] + min(cost["p1-s1"], cost["p1-s2"] - 1)
    ids = [e.id for e in FullContext(window).context(planted(), "?").entries]
    assert ids == ["p1-d1-s", "p1-s3"]


def test_a_plant_longer_than_the_budget_is_one_clear_error() -> None:
    with pytest.raises(MemoryStoreError, match=r"full-context@10: the planted session p1-d1-s needs \d+ tokens"):
        FullContext(10).context(planted(), "?")


def test_nothing_left_for_memory_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="-3 tokens are left"):
        FullContext(-3)


def test_the_limit_holds_whatever_the_model_can_take() -> None:
    assert FullContext(1_000_000).budget == 24_000


def test_the_models_own_counter_decides() -> None:
    memory = FullContext(9, count_tokens=lambda text: 3)
    assert [e.id for e in memory.context(planted(), "?").entries] == ["p1-s2", "p1-d1-s", "p1-s3"]
    assert memory.settings == {"budget": 9, "counter": "model"}


def test_a_background_alone_keeps_the_newest() -> None:
    assert [e.id for e in FullContext(40).context(unplanted(), "?").entries] == ["p1-s3"]


@pytest.mark.parametrize("window", [1_000, 3_584, 24_000])
@pytest.mark.parametrize("number", [0, 4])
def test_real_dialogue_fits_the_budget_as_rendered(number: int, window: int) -> None:
    history = locomo(number)
    context = FullContext(window).context(history, "?")
    ids = [e.id for e in context.entries]
    assert history.planted in ids
    assert four_characters(render(context.entries)) <= window
    order = [s.id for s in history.sessions]
    others = [i for i in ids if i != history.planted]
    assert others == [i for i in order if i != history.planted][len(order) - 1 - len(others) :]
    assert ids == [i for i in order if i in ids]
