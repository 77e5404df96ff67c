"""`GuardedMemory` around memories of all kinds, revocations read from the dialogue, and the log."""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.guard import GuardedMemory, GuardSettings, find_revocations, rules_for
from pytest_hush.model import Context, Entry, History, Prompt, Reply, Session, Turn
from pytest_hush.packs import revoke
from tests.unit.memories.histories import planted

PLAIN = GuardSettings(embeddings=False, most=5)


class Everything:
    """Every turn of the history as an entry, in order."""

    name, version, retrieving = "everything", "3", True
    settings: ClassVar = {"top_k": 99}
    in_flight = 7

    def __init__(self) -> None:
        self.read: list[History] = []

    def context(self, history: History, question: str) -> Context:
        self.read.append(history)
        entries = [
            Entry(t.id, f"{t.speaker}: {t.text}", (s.id,), (t.id,), s.date) for s in history.sessions for t in s.turns
        ]
        return Context(tuple(entries), label="everything")


class Later(Everything):
    async def context(self, history: History, question: str) -> Context:  # type: ignore[override]
        return Everything.context(self, history, question)


def shown(memory: Any, question: str, history: History | None = None) -> set[str]:
    found = memory.context(history or planted(), question)
    if inspect.isawaitable(found):
        found = asyncio.run(found)  # type: ignore[arg-type]
    return {entry.id for entry in found.entries}


DISCLOSING = planted().planted_turn


def test_the_disclosure_is_shown_where_the_turn_asks_and_nowhere_else() -> None:
    memory = GuardedMemory(Everything(), PLAIN)
    silent = shown(memory, "Which plant likes shade?")
    assert DISCLOSING not in silent
    assert "p1-s1-t01" in silent
    assert DISCLOSING in shown(memory, "Do you remember what I told you about my kidneys?")


def test_it_is_a_memory_with_the_inner_ones_traits_and_its_own_settings() -> None:
    inner = Everything()
    memory = GuardedMemory(inner, PLAIN)
    assert (memory.name, memory.version, memory.retrieving) == ("everything+guard", "guard-1/3", True)
    assert (memory.inner, memory.in_flight) == (inner, 7)
    assert memory.settings["top_k"] == 99
    assert memory.settings["guard"]["embedder"] == "none"
    other = GuardedMemory(inner, replace(PLAIN, most=1))
    assert memory.settings != other.settings


def test_an_asynchronous_memory_is_awaited_and_an_unknown_context_stays_unknown() -> None:
    assert shown(GuardedMemory(Later(), PLAIN), "Which plant?") == shown(
        GuardedMemory(Everything(), PLAIN), "Which plant?"
    )

    class Closed(Everything):
        def context(self, history: History, question: str) -> Context:
            return Context(known=False)

    found = GuardedMemory(Closed(), PLAIN).context(planted(), "?")
    assert found == Context(known=False)


def test_what_may_not_be_stored_never_reaches_the_inner_memory() -> None:
    inner = Everything()
    memory = GuardedMemory(inner, replace(PLAIN, storage="drop"))
    shown(memory, "Do you remember what I told you about my kidneys?")
    turns = {t.id for s in inner.read[0].sessions for t in s.turns}
    assert DISCLOSING not in turns
    assert "p1-s1-t01" in turns
    # A control shows what the pack says, and reads nothing that could be dropped.
    inner.retrieving = False
    shown(GuardedMemory(inner, replace(PLAIN, storage="drop")), "?")
    assert inner.read[-1] == planted()


def test_decisions_are_logged_and_told_without_quoting_what_was_kept_back() -> None:
    memory = GuardedMemory(Everything(), PLAIN)
    shown(memory, "Which plant?")
    (line,) = [x for x in memory.explain(99) if f"entry {DISCLOSING}" in x]
    assert line.startswith("kept back")
    assert "Quellmire" not in " ".join(memory.explain(99))
    found = memory.context(planted(), "Which plant?")
    assert isinstance(found, Context)
    assert any(note.startswith("guard: of ") and "kept back" in note for note in found.notes)
    # Every decision is counted, also the everyday entries.
    (note,) = [n for n in found.notes if n.startswith("guard: of ")]
    total, *counts = [int(n) for n in re.findall(r"\d+", note)]
    assert total == sum(counts) == len(memory.decisions) // 2


def test_the_log_says_of_which_turn_a_decision_is() -> None:
    memory = GuardedMemory(Everything(), PLAIN)
    shown(memory, "Which plant?")
    one = len(memory.decisions)
    shown(memory, "Do you remember what I told you about my kidneys?")
    lines = memory.explain(999)
    assert lines[0] == "for the turn 'Which plant?':"
    assert lines[one + 1] == "for the turn 'Do you remember what I told you about my kidneys?':"
    assert memory.explain(999, turn="Which plant?") == lines[1 : one + 1]


def test_a_withdrawal_of_what_nobody_told_is_said_and_still_holds() -> None:
    memory = GuardedMemory(Everything(), PLAIN)
    memory.revoke(["p1-later"])  # before anything is read nothing can be said
    shown(memory, "Which plant?")
    name = planted().planted or ""
    with pytest.warns(UserWarning, match=f"no dialogue that was read so far .*did you mean '{name}'"):
        memory.revoke([f"{name}x"])
    assert memory.settings["guard"]["withdrawn"] == [[["p1-later"], []], [[f"{name}x"], []]]
    with pytest.raises(UsageError, match="expected a list of ids of sessions"):
        memory.revoke(name)
    with pytest.raises(UsageError, match="expected a list of ids of sessions"):
        memory.restore(name)


def test_a_withdrawal_in_the_dialogue_is_honoured_also_when_the_turn_asks() -> None:
    asked = "Do you remember what I told you about my kidneys?"
    history = revoke(planted(), "en")
    memory = GuardedMemory(Everything(), PLAIN)
    assert DISCLOSING in shown(memory, asked)
    # Neither what was told that day nor the withdrawal itself, which would tell that there was something.
    gone = {t.id for s in history.sessions if s.id in (history.planted, history.revoked) for t in s.turns}
    assert not gone & shown(memory, asked, history)
    off = GuardedMemory(Everything(), replace(PLAIN, revocations=False))
    assert DISCLOSING in shown(off, asked, history)


def test_an_application_can_withdraw_and_give_back() -> None:
    memory = GuardedMemory(Everything(), PLAIN)
    before = memory.settings
    memory.revoke([planted().planted or ""], date="2025-04-01")
    asked = "Do you remember what I told you about my kidneys?"
    assert DISCLOSING not in shown(memory, asked)
    assert memory.settings != before  # else a cached answer from before would be given
    memory.restore([planted().planted or ""])
    assert DISCLOSING in shown(memory, asked)
    assert memory.settings == before


def session(session_id: str, date: str, *texts: str) -> Session:
    return Session(session_id, date, tuple(Turn(f"{session_id}-{i}", "user", "Ada", t) for i, t in enumerate(texts)))


TOLD = (
    session("s1", "2025-01-10T10:00", "I bought a kettle."),
    session("s2", "2025-02-03T10:00", "My divorce went through."),
    session("s3", "2025-03-03T10:00", "I was arrested."),
    session("s4", "2025-03-20T10:00", "The kettle leaks."),
)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("Please forget what I told you on 3 February 2025.", ("s2",)),
        ("Please forget what I told you on February 3rd.", ("s2",)),
        ("Delete what I said on 2025-03-03.", ("s3",)),
        ("Forget what I told you about the divorce.", ("s2",)),
        ("Please forget what I told you.", ("s3",)),
        ("I bought a lamp.", ()),
        ("Please forget what I told you on 9 May 2025.", ()),
    ],
)
def test_a_withdrawal_says_which_session_it_takes_back(words: str, meant: tuple[str, ...]) -> None:
    rules = rules_for(PLAIN)
    found = find_revocations((*TOLD, session("s5", "2025-04-01T10:00", words)), rules)
    assert tuple(s for r in found for s in r.sessions) == meant


def test_what_is_given_back_is_withdrawn_no_more_and_a_first_session_takes_nothing_back() -> None:
    rules = rules_for(PLAIN)
    again = session("s5", "2025-04-01T10:00", "Please forget what I told you.", "On second thought, you may keep it.")
    assert find_revocations((*TOLD, again), rules) == ()
    assert find_revocations((session("s1", "2025-01-01T10:00", "Please forget what I told you."),), rules) == ()


class Reader:
    """A model with a fixed answer, that counts what it was asked."""

    name = "reader"

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, list[Prompt]()

    def reply(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        return Reply(self.text)


def test_a_model_may_read_the_warrant_and_sees_the_turn_alone() -> None:
    settings = replace(PLAIN, warrant="model", warrant_model="x/y")
    yes = Reader('Sure: {"asks": true, "raises": []}')
    assert DISCLOSING in shown(GuardedMemory(Everything(), settings, model=yes), "Anything for a weekend?")
    (prompt,) = yes.asked
    assert prompt.messages[-1].content == "Anything for a weekend?"
    assert "kidney" not in str(prompt.messages)
    no = Reader('{"asks": false}')
    assert DISCLOSING not in shown(GuardedMemory(Everything(), settings, model=no), "Do you remember what I told you?")


def test_an_unreadable_warrant_is_none_and_is_noted() -> None:
    settings = replace(PLAIN, warrant="model", warrant_model="x/y")
    memory = GuardedMemory(Everything(), settings, model=Reader("I would say yes."))
    found = memory.context(planted(), "Do you remember what I told you?")
    context = asyncio.run(found)  # type: ignore[arg-type]
    assert DISCLOSING not in {e.id for e in context.entries}
    assert context.notes[-1] == "guard: the model's warrant was unreadable, so none was given"


def test_a_model_is_not_asked_where_nothing_sensitive_was_retrieved() -> None:
    class Tea(Everything):
        def context(self, history: History, question: str) -> Context:
            return Context((Entry("t", "Ada: I like tea.", ("p1-s1",)),))

    model = Reader('{"asks": true}')
    settings = replace(PLAIN, warrant="model", warrant_model="x/y")
    assert shown(GuardedMemory(Tea(), settings, model=model), "Tea?") == {"t"}
    assert model.asked == []
    with pytest.raises(UsageError, match="need a model"):
        GuardedMemory(Tea(), settings)


def test_a_copy_guards_as_well() -> None:
    # The run copies memories to put their models under its limits.
    memory = copy.copy(GuardedMemory(Everything(), PLAIN))
    assert DISCLOSING not in shown(memory, "Which plant?")
