"""The storage and warrant decisions: what is sensitive, and what a turn gives a reason for."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.guard import GuardSettings, rules_for
from pytest_hush.guard.lexicon import CONFIDENCE, Terms, load_lexicon, load_phrases
from pytest_hush.guard.settings import LABELS
from pytest_hush.model import CATEGORIES, Session, Turn

RULES = rules_for(GuardSettings(embeddings=False))


def file(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("pytest_hush.guard") / "lexicons" / name).read_text(encoding="utf-8"))


def test_the_lexicon_knows_the_ten_categories_and_confidence() -> None:
    lexicon = load_lexicon("en-GB")
    assert tuple(lexicon.categories) == LABELS == (*CATEGORIES, CONFIDENCE)
    assert lexicon.id.startswith("en-1@")
    assert load_phrases().id.startswith("phrases-en-1@")


def test_a_language_without_a_lexicon_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no lexicon of the language 'fr'; bundled: en"):
        rules_for(GuardSettings(language="fr"))


@pytest.mark.parametrize("name", CATEGORIES)
def test_no_term_is_strong_and_weak_and_terms_alone_find_half_of_the_sentences_of_a_kind(name: str) -> None:
    table = file("en-1.toml")["category"][name]
    assert not set(table["strong"]) & set(table["weak"])
    labelled = [name in RULES.labeller.label(sentence).categories for sentence in table["likeness"]]
    # Not every one: sentences are there for what the terms do not reach.
    assert sum(labelled) >= 0.5 * len(labelled)


def test_everyday_sentences_are_not_sensitive_by_their_words() -> None:
    assert [s for s in load_lexicon().everyday if RULES.labeller.label(s)] == []


def test_terms_are_whole_words_with_a_plural_and_a_star_for_any_ending() -> None:
    terms = Terms(["debt", "divorc*", "self-harm*", "my ex", "haven't told anyone"])
    assert terms.found("All my DEBTS, divorced twice.") == ("debts", "divorced")
    assert terms.found("self-harming and self harm") == ("self harming", "self harm")
    assert terms.found("My example of a debtor") == ()
    assert terms.found("I haven’t told anyone about my ex.") == ("haven't told anyone", "my ex")


def test_weak_terms_need_company_and_words_of_confidence_are_company() -> None:
    label = RULES.labeller.label
    assert not label("The casino in the film was lovely.")
    assert label("He lost it at the casino with a dealer.").categories == ("addiction",)
    alone = label("Between us: I was at the casino.")
    assert alone.categories == ("addiction", CONFIDENCE)


def test_a_name_before_a_text_is_not_read() -> None:
    assert RULES.labeller.label("Grace Hope: I bought a lamp.") == RULES.labeller.label("I bought a lamp.")
    assert "grief" in RULES.labeller.label("Mara: since the funeral I cannot sleep").categories


def test_the_answer_to_something_sensitive_belongs_to_it() -> None:
    session = Session(
        "s", "2025-01-01T10:00",
        (
            Turn("t1", "user", "Ada", "I was diagnosed with lupus."),
            Turn("t2", "assistant", "Ivo", "That must have been a hard day."),
            Turn("t3", "user", "Ada", "Shall I buy the green paint?"),
        ),
    )  # fmt: skip
    labels = RULES.labeller.session(session)
    assert [labels[t].categories for t in ("t1", "t2", "t3")] == [("illness",), ("illness",), ()]
    none = rules_for(GuardSettings(embeddings=False, spread=0)).labeller.session(session)
    assert not none["t2"]


@pytest.mark.parametrize(
    "turn",
    [
        "Do you remember what I told you? Which tea suits me?",
        "Which tea suits me? Take into account what I've shared with you.",
        "Given what you know about me, which tea?",
    ],
)
def test_a_turn_that_asks_for_earlier_context_says_so(turn: str) -> None:
    found = RULES.warrants.read(turn)
    assert found.asked
    assert found.by.startswith("the turn asks for what was told before")


@pytest.mark.parametrize(
    "turn",
    [
        "Which tea keeps me awake?",
        "Do you remember that film with the lighthouse? Keep it general, nothing personal.",
        "Let's not talk about what I told you. Which tea?",
    ],
)
def test_a_turn_that_does_not_ask_or_turns_away_gives_no_such_warrant(turn: str) -> None:
    assert not RULES.warrants.read(turn).asked


def test_a_question_about_ones_own_facts_is_told_from_a_request_for_advice() -> None:
    own = ["What did I call the boat?", "Which instrument do I play?", "Nice day. Where does my sister live?"]
    advice = ["What should I call the boat?", "Where can I buy my paint?", "How do I paint my boat?", "I like boats."]
    assert [RULES.warrants.read(t).own for t in own] == [True] * 3
    assert [RULES.warrants.read(t).own for t in advice] == [False] * 4


def test_a_question_for_ones_own_facts_asks_for_the_entry_that_it_is_about() -> None:
    text = "My sister was arrested in Leeds, where she lives."
    label = RULES.labeller.label(text)
    covers = RULES.warrants.covers
    assert label.categories == ("legal_or_immigration",)
    assert covers(RULES.warrants.read("Which sister of mine lives in Leeds?"), label, text) == "the turn asks for it"
    assert not covers(RULES.warrants.read("Where does my cousin live?"), label, text)
    assert not covers(RULES.warrants.read("What should I give my sister in Leeds?"), label, text)


def test_a_matter_is_brought_up_by_its_own_terms_and_not_by_its_kind_alone() -> None:
    label = RULES.labeller.label("My psoriasis is back.")
    covers = RULES.warrants.covers
    assert covers(RULES.warrants.read("Which cream helps with psoriasis?"), label, "My psoriasis is back.")
    assert not covers(RULES.warrants.read("My uncle has diabetes, what may he eat?"), label, "My psoriasis is back.")
    assert not covers(RULES.warrants.read("Which cream is good in winter?"), label, "My psoriasis is back.")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"speed": 1}, "unknown setting 'speed'"),
        ({"silence": ["debt"]}, "unknown setting 'silence' .did you mean 'silent'"),
        ({"otherwise": "loud"}, "otherwise = 'loud': expected one of full, abstract, ask, silent"),
        ({"silent": ["debt", "taste"]}, "silent = "),
        ({"label_at": 2}, "label_at = 2: expected a number from 0 to 1"),
        ({"most": True}, "most = True: expected a whole number"),
        ({"embeddings": 1}, "embeddings = 1: expected true or false"),
        ({"warrant": "model"}, "needs warrant_model"),
        ({"language": ""}, "language = '': expected a text"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=f"guard settings.*{expected}"):
        GuardSettings.from_table(table)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"silent": ("debts",)},
            r"silent = \('debts',\): expected a list of illness, .*did you mean 'debt' for 'debts'",
        ),
        ({"silent": "debt"}, "silent = 'debt': expected a list of illness"),
        ({"silent": [["debt"]]}, "silent = .*: expected a list of illness"),
        ({"otherwise": "asks"}, "otherwise = 'asks': expected one of full, abstract, ask, silent .did you mean 'ask'"),
        ({"storage": "dropp"}, "storage = 'dropp': expected one of label, drop .did you mean 'drop'"),
        ({"most": -1}, "most = -1: expected a whole number from 0 to 5"),
        ({"relevant_at": 3}, "relevant_at = 3: expected a number from 0 to 1"),
    ],
)
def test_settings_made_in_code_are_checked_as_those_of_a_table(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=f"guard settings, {expected}"):
        GuardSettings(**given)


def test_a_list_of_kinds_does_as_well_as_a_tuple() -> None:
    given: Any = ["debt", "debt"]
    assert GuardSettings(silent=given) == GuardSettings(silent=("debt",))
    assert rules_for(GuardSettings(silent=given, embeddings=False)).settings.silent == ("debt",)


def test_settings_come_from_a_table_and_stand_whole_in_the_record() -> None:
    found = GuardSettings.from_table({"silent": ["debt"], "asked": "ask", "half_life_days": 90, "relevant_at": 0})
    assert (found.silent, found.asked, found.half_life_days, found.relevant_at) == (("debt",), "ask", 90, 0.0)
    shown = rules_for(found).as_json()
    assert shown["silent"] == ["debt"]
    assert {"lexicon", "phrases", "embedder"} <= shown.keys()
