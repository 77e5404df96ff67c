"""The withdrawal of a disclosure: a session after the plant, in general words that name the day."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.memories._match import gives_away
from pytest_hush.model import Pack
from pytest_hush.packs import background, check_language, load_pack, plant, revoke
from pytest_hush.packs.revoking import revocation_id
from tests.unit.packs import small


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return load_pack(small.write(tmp_path_factory.mktemp("revoking") / "small"))


def test_it_stands_next_after_the_plant_and_before_what_follows(pack: Pack) -> None:
    told = plant(pack, pack.disclosures[0])
    history = revoke(told, "en")
    assert [s.id for s in history.sessions] == ["p01-s1", "p01-s2", "p01-d01-s", "p01-d01-s-revoked", "p01-s3"]
    assert history.revoked == "p01-d01-s-revoked"
    assert [s.date for s in history.sessions] == sorted(s.date for s in history.sessions)
    assert (history.planted, history.disclosure) == (told.planted, told.disclosure)
    assert history.fingerprint() != told.fingerprint() == plant(pack, pack.disclosures[0]).fingerprint()


def test_its_words_name_the_day_and_nothing_that_was_told(pack: Pack) -> None:
    history = revoke(plant(pack, pack.disclosures[0]), "en-GB")
    (session,) = [s for s in history.sessions if s.id == history.revoked]
    asked, answered = session.turns
    assert (asked.role, answered.role) == ("user", "assistant")
    assert "24 February 2025" in asked.text
    assert {t.speaker for t in session.turns} == {t.speaker for t in pack.disclosures[0].turns}
    assert not any(gives_away(t.text, pack.disclosures[0]) for t in session.turns)
    assert len({t.id for s in history.sessions for t in s.turns}) == sum(len(s.turns) for s in history.sessions)


def test_every_line_is_drawn_by_some_disclosure_and_a_line_is_always_the_same() -> None:
    starter = load_pack("starter")
    words = set()
    for d in starter.disclosures:
        history = revoke(plant(starter, d), starter.language)
        (text,) = [t.text for s in history.sessions if s.id == history.revoked for t in s.turns if t.role == "user"]
        words.add(re.sub(r"\d+ \w+ \d{4}", "DAY", text))
        assert history == revoke(plant(starter, d), starter.language)
    assert len(words) == 5


def test_without_a_plant_nothing_is_withdrawn_and_at_the_end_it_is_a_day_later(pack: Pack) -> None:
    alone = background(pack, "p01")
    assert revoke(alone, "en") is alone
    persona = replace(pack.personas[0], sessions=pack.personas[0].sessions[:1])
    last = revoke(plant(replace(pack, personas=(persona,)), pack.disclosures[0]), "en")
    assert [s.date for s in last.sessions][1:] == ["2025-01-11T09:00", "2025-01-12T09:00"]


def test_german_has_words_of_its_own_and_other_languages_are_refused(pack: Pack) -> None:
    history = revoke(plant(pack, pack.disclosures[0]), "de-CH")
    assert "24. Februar 2025" in history.sessions[3].turns[0].text
    with pytest.raises(UsageError, match=r"no wording of a withdrawal in the pack's language 'fr' \(there is de, en\)"):
        check_language("fr")
    assert re.fullmatch(r"revocation-1@[0-9a-f]{12}", revocation_id())
