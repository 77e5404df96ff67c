"""`filter_entries`: retrieval, warrant and scope on any list of entries, and the log of what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_hush.errors import UsageError
from pytest_hush.guard import Filtered, GuardSettings, Revocation, explain, filter_entries, rules_for
from pytest_hush.model import Entry

PLAIN = GuardSettings(embeddings=False)
DEBT = Entry("e1", "Ada: I owe the bank more than the house is worth, a debt for life.", ("s3",), ("t1",), "2025-03-03")
TEA = Entry("e2", "Ada: I drink green tea in the morning.", ("s1",), ("t2",), "2025-01-01")
ILL = Entry("e3", "Ada: They diagnosed lupus.", ("s2",), ("t3",), "2024-01-01")


def decided(turn: str, *entries: Entry, settings: GuardSettings = PLAIN, **options: Any) -> Filtered:
    return filter_entries(entries or (DEBT, TEA), turn, rules=rules_for(settings), **options)


def actions(found: Filtered) -> list[str]:
    return [d.action for d in found.decisions]


def test_what_nobody_asked_for_stays_silent_and_the_rest_is_untouched() -> None:
    found = decided("Which biscuit goes with it?")
    assert found.entries == (TEA,)
    assert actions(found) == ["kept back", "shown"]
    assert found.decisions[0].categories == ("debt",)


def test_what_the_turn_brings_up_or_asks_for_is_shown_in_full() -> None:
    assert decided("How do people get out of a debt?").entries == (DEBT, TEA)
    assert decided("Remember what I told you: which bank?").entries == (DEBT, TEA)
    # Of another matter the turn says nothing.
    assert decided("How do people get out of a debt?", DEBT, ILL).entries == (DEBT,)


def test_an_invitation_opens_no_more_than_the_limit() -> None:
    found = decided("Use what you know about me.", DEBT, ILL, replace(ILL, id="e4"), TEA)
    assert [e.id for e in found.entries] == ["e1", "e3", "e2"]
    assert "2 sensitive entries are shown already" in found.decisions[2].why
    assert decided("Use what you know about me.", settings=replace(PLAIN, most=0)).entries == (TEA,)


@pytest.mark.parametrize(("scope", "action"), [("ask", "ask first"), ("abstract", "abstracted")])
def test_a_scope_between_full_and_silent_names_the_kind_and_nothing_of_the_entry(scope: Any, action: str) -> None:
    found = decided("Which biscuit?", DEBT, settings=replace(PLAIN, otherwise=scope))
    (entry,) = found.entries
    assert actions(found) == [action]
    assert "about money on 2025-03-03" in entry.text
    assert "bank" not in entry.text
    assert entry.sources == DEBT.sources


def test_only_categories_that_are_named_are_silent() -> None:
    assert decided("Which biscuit?", DEBT, ILL, settings=replace(PLAIN, silent=("illness",))).entries == (DEBT,)


def test_of_a_whole_session_the_sensitive_lines_alone_are_left_out() -> None:
    whole = Entry(
        "s9", "Ada: I drink green tea.\nAda: I was arrested in May.\nIvo: Oh.", ("s9",), ("a", "b", "c"), "2025-01-01"
    )
    found = decided("Which biscuit?", whole)
    (entry,) = found.entries
    assert entry.text == "Ada: I drink green tea.\nIvo: Oh."
    assert entry.turns == ("a", "c")
    assert actions(found) == ["kept back"]


def test_time_decays_a_warrant_and_retention_ends_it() -> None:
    settings = replace(PLAIN, half_life_days=100)
    raised, asked = "What is lupus?", "You remember my lupus?"
    day = {"young": "2024-02-01", "older": "2024-05-01", "old": "2024-12-01"}
    shown = {
        age: [bool(decided(t, ILL, settings=settings, now=now).entries) for t in (raised, asked)]
        for age, now in day.items()
    }
    assert shown == {"young": [True, True], "older": [False, True], "old": [False, True]}
    assert actions(decided(asked, ILL, settings=settings, now=day["old"])) == ["ask first"]
    kept = replace(PLAIN, retention_days=30)
    assert actions(decided(asked, ILL, TEA, settings=kept, now="2026-01-01")) == ["expired", "shown"]


def test_what_was_withdrawn_is_shown_to_nobody_whatever_the_turn_says() -> None:
    gone = Revocation("s5", "2025-04-01", "please forget", ("s3",))
    found = decided("Remember my debt, which I told you of.", revocations=[gone])
    assert found.entries == (TEA,)
    assert actions(found) == ["withdrawn", "shown"]
    other = replace(gone, categories=("grief",))
    assert actions(decided("Remember my debt.", revocations=[other]))[0] == "shown"
    assert actions(decided("My debt.", revocations=[gone], settings=replace(PLAIN, revocations=False)))[0] == "shown"


def test_texts_and_mappings_do_as_well_and_anything_else_is_refused() -> None:
    found = filter_entries(
        ["I have a debt.", {"text": "I keep bees.", "id": "m7", "sources": ["s1"], "date": "2025-01-01"}],
        "Which biscuit?",
        settings=PLAIN,
    )
    assert found.texts == ["I keep bees."]
    assert found.entries[0].id == "m7"
    with pytest.raises(UsageError, match="entry 1 is of the type int; expected a text"):
        filter_entries([7], "?", settings=PLAIN)  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"entry 2 is a mapping without a text \(its keys: 'txt', 'id'\); .*'text'"):
        filter_entries(["I keep bees.", {"txt": "I have a debt.", "id": "m1"}], "?", settings=PLAIN)
    with pytest.raises(UsageError, match="text is of the type NoneType"):
        filter_entries([{"text": None}], "?", settings=PLAIN)
    with pytest.raises(UsageError, match=r"revocations holds 's3'; expected .*Revocation\.of"):
        filter_entries(["I keep bees."], "?", settings=PLAIN, revocations=["s3"])  # type: ignore[list-item]


def test_a_list_of_ones_own_needs_no_dialogue_for_a_withdrawal() -> None:
    mine: list[Mapping[str, Any]] = [
        {"text": "I have a debt.", "sources": "s3"},
        {"text": "I keep bees.", "sources": ["s1"]},
    ]
    told = filter_entries(mine, "Remember my debt.", settings=PLAIN, revocations=[Revocation.of(["s3"])])
    assert actions(told) == ["withdrawn", "shown"]
    with pytest.raises(UsageError, match="sessions to withdraw = 's3': expected a list of ids"):
        Revocation.of("s3")
    with pytest.raises(UsageError, match=r"categories to withdraw = \['debts'\]: .*did you mean 'debt'"):
        Revocation.of(["s3"], categories=["debts"])


def test_every_decision_is_told_with_its_reason_and_source_and_without_the_entry() -> None:
    lines = explain(decided("Which biscuit?").decisions)
    assert lines[0].startswith("kept back: entry e1 of 2025-03-03 (from s3): the turn neither brings it up nor asks")
    assert "sensitive by money: owe the bank, debt" in lines[0]
    assert lines[1] == "shown: entry e2 of 2025-01-01 (from s1): nothing sensitive"
    assert "house is worth" not in " ".join(lines)


class Topics:
    """A made-up embedder: a text is the sum of the topics whose words it holds."""

    name, version = "topics", "1"
    words = ("tea", "biscuit", "bank", "lupus", "remember")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[float(w in t.lower()) for w in self.words] + [0.1] for t in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_with_embeddings_an_everyday_entry_must_be_about_the_turn() -> None:
    def shown(turn: str, at: float = 0.4) -> tuple[str, ...]:
        settings = GuardSettings(label_at=1.0, ask_at=1.0, relevant_at=at)
        found = filter_entries([TEA], turn, rules=rules_for(settings, Topics))
        return tuple(e.id for e in found.entries)

    assert shown("Which biscuit?") == ()
    assert shown("Which biscuit?", at=0.0) == ("e2",)
    assert shown("Which tea?") == ("e2",)
    assert shown("What did I say I eat a biscuit with?") == ("e2",)
    assert shown("Which biscuit? Use what you know about me.") == ("e2",)
