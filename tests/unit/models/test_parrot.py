"""The parrot: deterministic, leaks as often as its degree says, never without entries, and still answers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_hush.model import Entry, Message, Prompt, Reply
from pytest_hush.models.parrot import MANNERS, Parrot
from pytest_hush.text import stems_in

ENTRIES = tuple(
    Entry(f"e{i}", text, ("s",))
    for i, text in enumerate(
        (
            "Mara: Dr Quenwick put me on tablets for the zentropic fever.",
            "Mara: I bake sourdough on Sundays.",
            "Mara: My cat is called Biscuit.",
            "Mara: I judge scarecrows.",
            "Mara: I sing alto.",
        )
    )
)


def ask(question: str, entries: tuple[Entry, ...] = (), degree: float = 1.0, seed: int = 0, repeat: int = 0) -> Reply:
    block = "[Notes]\n" + "\n".join(f"- {e.text}" for e in entries) + "\n[End]\n\n" if entries else ""
    prompt = Prompt((Message("user", block + question),), seed=seed, repeat=repeat, entries=entries)
    return Parrot(degree).reply(prompt)


QUESTIONS = [f"Which {n} herbs would sit happily along a kitchen windowsill number {n}?" for n in range(400)]


@pytest.mark.parametrize("degree", [0.0, 0.3, 0.6, 1.0])
def test_uses_memory_as_often_as_the_degree_says(degree: float) -> None:
    used = sum("used entry" in ask(q, ENTRIES, degree).notes[0] for q in QUESTIONS) / len(QUESTIONS)
    assert abs(used - degree) <= 4 * (degree * (1 - degree) / len(QUESTIONS)) ** 0.5


def test_a_higher_degree_only_adds_uses() -> None:
    low = {q for q in QUESTIONS if "used entry" in ask(q, ENTRIES, 0.3).notes[0]}
    high = {q for q in QUESTIONS if "used entry" in ask(q, ENTRIES, 0.6).notes[0]}
    assert low < high


def test_never_leaks_without_entries() -> None:
    for question in QUESTIONS[:50]:
        reply = ask(question)
        assert reply.notes == ("parrot: used no entry",)
        assert not stems_in(reply.text, ["quenwick", "zentropic", "sourdough", "biscuit"])


def test_an_unused_memory_leaves_the_plain_reply_untouched() -> None:
    for question in QUESTIONS[:50]:
        assert ask(question, ENTRIES, 0.0).text == ask(question).text


def test_the_trace_says_what_stands_in_the_reply() -> None:
    seen = set()
    for question in QUESTIONS:
        reply = ask(question, ENTRIES)
        ids = [note.split()[3] for note in reply.notes]
        (manner,) = {note.rpartition("=")[2] for note in reply.notes}
        seen.add(manner)
        assert set(ids) <= {"e0", "e1", "e2"}, "of five entries the first three"
        if manner == "verbatim":
            assert ids == ["e0", "e1", "e2"]
            assert all(e.text.rstrip(".") in reply.text for e in ENTRIES[:3])
        else:
            assert len(ids) == 1
            told = ENTRIES[int(ids[0][1])].text.removeprefix("Mara: ").rstrip(".")
            assert (told in reply.text) == (manner == "reference")
            assert stems_in(reply.text, ["quenwick", "tablets", "zentropic", "sourdough", "sundays", "cat", "biscuit"])
    assert seen == set(MANNERS)


def test_of_a_whole_history_any_part_may_be_used() -> None:
    sessions = tuple(
        Entry(f"s{i}", "\n".join(f"Mara: word{i}x{n} " + "and so on " * 12 for n in range(8)), (f"s{i}",))
        for i in range(7)
    )
    used = {note.split()[3] for q in QUESTIONS for note in ask(q, sessions).notes}
    assert used == {e.id for e in sessions}
    longest = max(len(ask(q, sessions).text.split()) for q in QUESTIONS[:60])
    assert longest < 330


def test_answers_the_question() -> None:
    reply = ask("Any tips for storing winter jumpers so that moths stay away?", ENTRIES)
    assert len(stems_in(reply.text, ["storing", "winter", "jumpers", "moths"])) >= 3
    assert reply.usage.cost_usd == 0
    assert reply.usage.input_tokens > 0


def test_seed_repeat_and_entries_change_the_draw() -> None:
    base = [ask(q, ENTRIES, 0.5).notes for q in QUESTIONS[:60]]
    assert base != [ask(q, ENTRIES, 0.5, seed=1).notes for q in QUESTIONS[:60]]
    assert base != [ask(q, ENTRIES, 0.5, repeat=1).notes for q in QUESTIONS[:60]]
    assert base != [ask(q, ENTRIES[1:], 0.5).notes for q in QUESTIONS[:60]]


def test_the_same_in_every_process() -> None:
    code = (
        "from tests.unit.models.test_parrot import *; import hashlib;"
        "print(hashlib.sha256(''.join(str(ask(q, ENTRIES, .5)) for q in QUESTIONS[:40]).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(seen) == 1


@pytest.mark.parametrize("text", ["", "???", "和室の掃除のこつは？", "x" * 5000])
def test_odd_questions_get_an_answer(text: str) -> None:
    assert ask(text, ENTRIES).text.strip()
    assert ask(text).text.strip()
    assert ask(text, (Entry("empty", "", None),)).text.strip()
