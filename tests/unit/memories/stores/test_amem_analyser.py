from __future__ import annotations

import pytest

from pytest_hush.memories.stores.analyser import analyse, analyser_version, no_evolution


def test_the_longest_content_words_are_the_keywords_without_the_speakers_name() -> None:
    found = analyse(
        "Mara Lindqvist: Mara here, 7 o'clock: the doctor said my kidneys are failing, dialysis starts soon."
    )
    assert found["keywords"] == ["dialysis", "kidneys", "failing", "doctor", "starts"]
    assert "mara" not in found["keywords"]


def test_a_word_told_twice_is_one_keyword_and_equal_lengths_keep_their_order() -> None:
    assert analyse("Ada: Goats, hives, goats, roofs.")["keywords"] == ["goats", "hives", "roofs"]


@pytest.mark.parametrize(
    ("said", "context"),
    [
        ("It does. I should say it once: my kidneys fail.", "my kidneys fail"),
        ("I keep bees, and I keep goats.", "I keep bees"),
        ("We row on Fridays, they swim on Mondays.", "We row on Fridays"),
        ("Oh, no!", "Oh, no!"),
        ("Well - we moved to the coast last year – for good.", "we moved to the coast last year"),
        (" ".join(f"word{i}" for i in range(30)), " ".join(f"word{i}" for i in range(12))),
        ("", "General"),
    ],
)
def test_the_context_is_the_clause_that_says_most(said: str, context: str) -> None:
    assert analyse(f"Ada: {said}")["context"] == context


def test_a_german_note_is_read_by_german_function_words() -> None:
    found = analyse("Ada: Ich habe dir noch nicht erzählt, dass meine Nieren versagen und die Dialyse beginnt.")
    assert found["keywords"][:3] == ["versagen", "erzahlt", "dialyse"]
    assert not {"nicht", "noch", "dass", "meine", "und", "die"} & set(found["keywords"])


def test_questions_are_told_from_statements() -> None:
    assert analyse("Ada: Does it whistle?")["tags"] == ["conversation", "question"]
    assert analyse("Ada: It does.")["tags"] == ["conversation", "statement"]


def test_the_same_note_gets_the_same_answer_and_nothing_evolves() -> None:
    note = "Ada: I keep bees on the roof, two hives."
    assert analyse(note) == analyse(note)
    assert no_evolution()["should_evolve"] is False
    assert analyser_version() == analyser_version()
