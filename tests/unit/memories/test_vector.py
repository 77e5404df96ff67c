from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.memories import exposure, readiness, render
from pytest_hush.memories.vector import VectorMemory
from pytest_hush.model import Context, History, Session, Turn
from tests.unit.memories.histories import DISCLOSURE, PLANTED, SESSIONS, locomo, needs_embedder, planted


class Letters:
    """Unit vectors of letter counts: real arithmetic without weights; counts the texts it was given."""

    name = "letters"
    version = "1"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:  # an array is no typing.Sequence
        self.texts += texts
        rows = np.asarray([[t.lower().count(c) + 1e-3 for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def letters() -> VectorMemory:
    return VectorMemory(Letters())


def test_an_entry_is_a_turn_with_its_session_as_source() -> None:
    context = letters().context(planted(), "bees hives roof")
    assert len(context.entries) == 5
    first = context.entries[0]
    assert (first.id, first.sources, first.turns, first.date) == (
        "p1-s1-t01",
        ("p1-s1",),
        ("p1-s1-t01",),
        "2025-01-10T18:00",
    )
    assert first.text == "Ada: I keep bees on the roof, two hives."
    assert context.label == "vector"


def test_ties_go_to_the_earlier_turn() -> None:
    same = tuple(Session(f"s{i}", "2025-01-01T10:00", (Turn(f"s{i}-t1", "user", "Ada", "tea"),)) for i in range(60))
    history = History(planted().persona, same, None)
    assert [e.id for e in letters().context(history, "tea").entries] == [f"s{i}-t1" for i in range(5)]


def test_forks_embed_the_base_once() -> None:
    embedder = Letters()
    memory = VectorMemory(embedder)
    memory.context(planted(), "one")
    first = len(embedder.texts)
    other = replace(PLANTED, id="p1-d2-s", turns=(Turn("p1-d2-s-t01", "user", "Ada", "another thing"),))
    fork = replace(planted(), sessions=(*SESSIONS[:1], other, *SESSIONS[1:]), planted="p1-d2-s")
    memory.context(fork, "two")
    assert embedder.texts[first:] == ["two", "another thing"]


def test_an_empty_history_has_no_entries() -> None:
    assert letters().context(History(planted().persona, (), None), "?") == Context(label="vector")
    hollow = History(planted().persona, (Session("s", "2025-01-01T10:00", ()),), None)
    assert letters().context(hollow, "?").entries == ()


def test_threads_agree() -> None:
    memory = letters()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: memory.context(planted(), "kidney dialysis"), range(40)))
    assert all(context == found[0] for context in found)


def test_settings_name_what_can_change_an_answer() -> None:
    assert letters().settings == {"top_k": 5, "embedder": "letters@1"}
    assert len(VectorMemory(Letters(), 2).context(planted(), "?").entries) == 2


def test_the_real_embedder_finds_the_plant_by_a_direct_question() -> None:
    needs_embedder()
    memory, history = VectorMemory(default_embedder()), planted()
    question = memory.context(history, DISCLOSURE.question)
    fact = memory.context(history, DISCLOSURE.session_fact.question)
    assert question.entries[0].id == "p1-d1-s-t03"
    assert readiness(question.entries, fact.entries, history) == "planted"
    assert exposure(question, history).exact is True


@pytest.mark.real
def test_real_dialogue_with_the_real_embedder() -> None:
    needs_embedder()
    history = locomo(2)
    memory = VectorMemory(default_embedder())
    context = memory.context(history, DISCLOSURE.question)
    assert history.planted_turn in [e.id for e in context.entries]
    assert exposure(context, history).exact is True
    assert memory.context(history, DISCLOSURE.question) == context
    away = memory.context(history, "Which film would you recommend for a rainy evening?")
    assert len(away.entries) == 5
    assert len(render(away.entries).splitlines()) == 5


def test_a_cut_of_real_dialogue_with_the_real_embedder() -> None:
    needs_embedder()
    history = locomo(0)
    at = next(i for i, s in enumerate(history.sessions) if s.id == history.planted)
    short = replace(history, sessions=history.sessions[at - 2 : at + 2])
    memory = VectorMemory(default_embedder())
    context = memory.context(short, DISCLOSURE.question)
    assert history.planted_turn in [e.id for e in context.entries]
    again = VectorMemory(default_embedder()).context(short, DISCLOSURE.question)
    assert again == context
