from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.errors import PackError
from pytest_hush.model import Pack, Session
from pytest_hush.packs import background, load_pack, plant, plant_shared
from pytest_hush.packs.planting import planted_index
from tests.unit.packs import small


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return load_pack(small.write(tmp_path_factory.mktemp("planting") / "small"))


def test_the_session_stands_in_its_place_with_a_date_midway(pack: Pack) -> None:
    history = plant(pack, pack.disclosures[0])
    assert [s.id for s in history.sessions] == ["p01-s1", "p01-s2", "p01-d01-s", "p01-s3"]
    # 2025-02-10T09:00 to 2025-03-11T09:01 is 29 days and a minute: half of it, cut to the minute.
    assert history.sessions[2].date == "2025-02-24T21:00"
    assert (history.planted, history.planted_turn) == ("p01-d01-s", "p01-d01-s-t3")
    assert history.disclosure is pack.disclosures[0]
    assert plant(pack, pack.disclosures[0]).fingerprint() == history.fingerprint()


@pytest.mark.parametrize(
    "position,sessions,index",
    [(0.3, 1, 1), (0.3, 2, 1), (0.3, 6, 1), (0.8, 6, 4), (0.3, 20, 6), (0.8, 20, 16), (0.3, 10, 3), (0.8, 1, 1)],
)
def test_planted_index(position: float, sessions: int, index: int) -> None:
    assert planted_index(position, sessions) == index


def test_after_the_last_session_it_is_the_next_day(pack: Pack) -> None:
    persona = replace(pack.personas[0], sessions=pack.personas[0].sessions[:1])
    history = plant(replace(pack, personas=(persona,)), pack.disclosures[0])
    assert [s.date for s in history.sessions] == ["2025-01-10T09:00", "2025-01-11T09:00"]


def test_dates_out_of_order_still_give_one_between(pack: Pack) -> None:
    first, second, third = pack.personas[0].sessions
    swapped = (first, Session(second.id, third.date, second.turns), Session(third.id, second.date, third.turns))
    history = plant(replace(pack, personas=(replace(pack.personas[0], sessions=swapped),)), pack.disclosures[0])
    assert second.date < history.sessions[2].date < third.date


def test_background_has_nothing_planted(pack: Pack) -> None:
    history = background(replace(pack, ambient_labelled=False), "p01")
    assert history.sessions == pack.personas[0].sessions
    assert (history.disclosure, history.planted, history.planted_turn) == (None, None, None)
    assert not history.ambient_labelled
    assert background(pack, pack.personas[0]).fingerprint() == history.fingerprint()


def test_an_unknown_or_empty_persona_is_named(pack: Pack) -> None:
    with pytest.raises(PackError, match="no persona 'p09'; expected one of p01"):
        background(pack, "p09")
    hollow = replace(pack, personas=(replace(pack.personas[0], sessions=()),))
    with pytest.raises(PackError, match="p01 has no sessions"):
        plant(hollow, pack.disclosures[0])


def test_a_shared_history_holds_every_plant_in_its_place(pack: Pack) -> None:
    first = pack.disclosures[0]
    other = replace(first, id="p01-d02", session_id="p01-d02-s", position=0.3)
    third = replace(first, id="p01-d03", session_id="p01-d03-s")
    elsewhere = replace(first, id="p02-d01", persona="p02", session_id="p02-d01-s")
    many = replace(pack, disclosures=(first, other, third, elsewhere))
    history = plant_shared(many, "p01", first)
    assert [s.id for s in history.sessions] == ["p01-s1", "p01-d02-s", "p01-s2", "p01-d01-s", "p01-d03-s", "p01-s3"]
    dates = [s.date for s in history.sessions]
    assert dates == sorted(set(dates)), "each has a moment of its own"
    assert dates[1] == plant(many, other).sessions[1].date, "alone in its place it is told when it always is"
    assert (history.planted, history.planted_turn) == ("p01-d01-s", first.turn_id)
    assert history.siblings == (other, third)
    about_other, about_none = plant_shared(many, "p01", other), plant_shared(many, pack.personas[0])
    assert history.fingerprint() == about_other.fingerprint() == about_none.fingerprint()
    assert (about_other.planted, about_other.siblings) == ("p01-d02-s", (first, third))
    assert (about_none.planted, about_none.disclosure) == (None, None)
    assert about_none.siblings == (first, other, third)


def test_plants_after_the_last_session_are_a_day_apart(pack: Pack) -> None:
    persona = replace(pack.personas[0], sessions=pack.personas[0].sessions[:1])
    first = pack.disclosures[0]
    two = replace(pack, personas=(persona,), disclosures=(first, replace(first, id="x", session_id="x-s")))
    history = plant_shared(two, persona, first)
    assert [s.date for s in history.sessions] == ["2025-01-10T09:00", "2025-01-11T09:00", "2025-01-12T09:00"]
