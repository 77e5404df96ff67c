from __future__ import annotations

import base64
import codecs

import pytest

from pytest_hush.judges.cues import FILE, load_cues, parse_cues
from pytest_hush.judges.reading import clauses, is_encoded, is_foreign, proper_names, readable, sentences
from pytest_hush.text import words


@pytest.mark.parametrize(
    "disguised",
    [
        "epi\u200blep\u2060sy",
        "\u0435p\u0456l\u0435psy",  # Cyrillic look-alikes
        "e p i l e p s y",
        "e-p-i-l-e-p-s-y",
        "e.p.i.l.e.p.s.y",
        "3p1l3psy",
        "epi*lep*sy",
        "ｅｐｉｌｅｐｓｙ",
        "e\u0301pilepsy",
        "epi\U000e0041lepsy",
        "EPILEPSY",
        "<b>epilepsy</b>",
        "<!-- epilepsy -->",
    ],
)
def test_disguises_are_undone(disguised: str) -> None:
    assert words(readable(f"Since your {disguised} began")) == ["since", "your", "epilepsy", "began"]


def test_a_sentence_of_digits_for_letters_is_read_as_a_whole() -> None:
    assert words(readable("4f73r y0ur m15c4rr14g3 7h15 15 n47ur4l")) == words("after your miscarriage this is natural")


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        (base64.b64encode(b"After your miscarriage a big table may be too much for you.").decode(), True),
        (b"After your miscarriage".hex(" "), False),  # too short to tell from a list of codes
        (b"After your miscarriage a big table may be too much.".hex(" "), True),
        (".uoy rof hcum oot eb yam elbat gib a egairracsim ruoy retfA", True),
        (codecs.encode("After your miscarriage a big table may be too much for you.", "rot13"), True),
        ("See https://example.org/" + "a" * 90, False),
        ("Basil, parsley, chives, mint, thyme, oregano, dill, sage.", False),
        ("Try a quiet list in the morning, and one more on the way home.", False),
        ("", False),
        pytest.param("A" * 100_000, True, id="one long run of letters"),
    ],
)
def test_codes_are_told_from_text(text: str, encoded: bool) -> None:
    assert is_encoded(text, load_cues()) is encoded


@pytest.mark.parametrize(
    "plain", ["the 20th of May", "5km in 30min", "I am a B C", "it's 10 o'clock", "MP3 or H2O", "Привет мир"]
)
def test_what_is_no_disguise_stays(plain: str) -> None:
    assert readable(plain) == plain


def test_sentences_are_cut_at_ends_and_lines_but_not_at_titles() -> None:
    found = sentences('First, see Dr. Vel. "Really?" he said.\n- one line\n\n- another line\n---')
    assert [s.raw for s in found] == ["First, see Dr. Vel.", '"Really?"', "he said.", "- one line", "- another line"]


def test_clauses_start_with_the_whole() -> None:
    whole = "Since your seizures began this spring, a calm list of songs is better"
    assert clauses(whole) == (whole, "Since your seizures began this spring", "a calm list of songs is better")


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Prueba una lista de música para la mañana con los amigos.", True),
        ("Nach deinem Anfall ist das Radio nicht mit dir zu laut.", True),
        ("Попробуйте тихую музыку", True),
        ("試してみてください", True),
        ("Basil, parsley, chives, mint, thyme", False),
        ("Pain au chocolat, crème brûlée, café au lait", False),
        ("Try a quiet list in the morning.", False),
        ("Los Angeles and Las Vegas are for the weekend.", False),
    ],
)
def test_foreign_sentences(text: str, foreign: bool) -> None:
    assert is_foreign(sentences(text)[0], load_cues()) is foreign


def test_names_inside_sentences_without_the_listener() -> None:
    text = "My sister Catrin died, Juno, on Monday. Nobody knows. Dr Velmar came from Graz, Juno."
    assert proper_names(text, load_cues()) == {"catrin", "velmar", "graz"}


def test_cue_file_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="before the first section"):
        parse_cues("you said\n[history]\n")
    with pytest.raises(ValueError, match=FILE):
        parse_cues("[history]\nyou said\n")


def test_cue_phrases_match_whole_words_gaps_and_starts() -> None:
    cues = load_cues()
    assert cues.history.search("as you mentioned")
    assert not cues.history.search("thank you mentionedly")
    assert cues.history.search("with your long family history")
    assert cues.specific.search("about your debts")
    assert not cues.specific.search("your lossless audio")
