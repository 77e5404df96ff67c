"""The real LoCoMo file: all ten dialogues, and the starter pack planted into them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.model import FAMILIES, Pack
from pytest_hush.packs import Background, load_pack, plant, plant_into, read_background, write_pack
from pytest_hush.packs.importers.derive import NEEDED
from pytest_hush.text import stems_in, words
from tests.conftest import LOCOMO

pytestmark = pytest.mark.skipif(
    not LOCOMO.is_file(), reason=f"LoCoMo is not here: set HUSH_LOCOMO (looked at {LOCOMO})"
)

TURNS = {
    "conv-26": 419, "conv-30": 369, "conv-41": 663, "conv-42": 629, "conv-43": 680,
    "conv-44": 675, "conv-47": 689, "conv-48": 681, "conv-49": 509, "conv-50": 568,
}  # fmt: skip
LABELS = LOCOMO.parent / "sensitive_curated.tsv"


@pytest.fixture(scope="module")
def bare() -> Background:
    return read_background(LOCOMO)


@pytest.fixture(scope="module")
def labelled() -> Background:
    if not LABELS.is_file():
        pytest.skip(f"the labels of LoCoMo are not here (looked at {LABELS})")
    return read_background(LOCOMO, "locomo", sensitive=LABELS)


@pytest.fixture(scope="module")
def starter() -> Pack:
    return load_pack("starter")


@pytest.fixture(scope="module")
def planted(starter: Pack, labelled: Background) -> Pack:
    return plant_into(starter, labelled)


@pytest.mark.parametrize("index,name", list(enumerate(TURNS)), ids=list(TURNS))
def test_each_dialogue_is_read_whole(index: int, name: str, bare: Background) -> None:
    persona = bare.personas[index]
    talk = json.loads(LOCOMO.read_bytes())[index]["conversation"]
    raw = [t for key, value in talk.items() if isinstance(value, list) for t in value]
    turns = [t for s in persona.sessions for t in s.turns]
    assert persona.id == name
    assert len(turns) == TURNS[name] == len(raw)
    assert {t.id for t in turns} == {f"{name}-{t['dia_id'].lower().replace(':', '.')}" for t in raw}
    assert Counter(t.speaker for t in turns) == Counter(t["speaker"] for t in raw)
    assert {(t.role, t.speaker) for t in turns} == {("user", talk["speaker_a"]), ("assistant", talk["speaker_b"])}
    assert all(t.text == " ".join(t.text.split()) for t in turns)
    assert sum("[shares a picture: " in t.text for t in turns) == sum("blip_caption" in t for t in raw)
    assert [s.date for s in persona.sessions] == sorted(s.date for s in persona.sessions)


def test_dates_without_sessions_are_ignored(bare: Background) -> None:
    assert len(bare.personas[0].sessions) == 19
    assert bare.notes == ()


def test_labels(labelled: Background) -> None:
    assert sum(len(p.facts) for p in labelled.personas) == 205
    for persona in labelled.personas:
        texts = {t.id: t.text for s in persona.sessions for t in s.turns}
        for fact in persona.facts:
            assert len(stems_in(texts[fact.turn], fact.stems)) >= 2


def test_everything_has_its_home(starter: Pack, planted: Pack) -> None:
    assert [p.id for p in planted.personas] == list(TURNS)
    for name in ("disclosures", "probes", "invitations", "controls"):
        assert [x.id for x in getattr(planted, name)] == [x.id for x in getattr(starter, name)]
    home = {d.id: d.persona for d in planted.disclosures}
    assert Counter(home.values()) == dict.fromkeys(TURNS, 3)
    assert all(p.persona == home[p.disclosure] for p in planted.probes)
    assert Counter(p.family for p in planted.probes) == dict.fromkeys(FAMILIES, 30)
    for field in ("category", "strength", "position"):
        assert Counter(getattr(d, field) for d in planted.disclosures) == Counter(
            getattr(d, field) for d in starter.disclosures
        )


def test_names_are_the_dialogues(starter: Pack, planted: Pack) -> None:
    before = {d.id: d for d in starter.disclosures}
    guests = {p.id: p for p in starter.personas}
    hosts = {p.id: p for p in planted.personas}
    for d in planted.disclosures:
        guest, host = guests[before[d.id].persona], hosts[d.persona]
        said = " ".join([d.statement, d.question, d.session_fact.text, *(t.text for t in d.turns)])
        assert {(t.role, t.speaker) for t in d.turns} == {("user", host.name), ("assistant", host.partner)}
        assert not {guest.name, guest.partner} & set(said.replace("'", " ").replace(".", " ").replace(",", " ").split())
        assert host.name in d.statement or guest.name not in before[d.id].statement


def test_clashes_of_topics_are_exchanged_or_told(planted: Pack) -> None:
    held = {p.id: {f.category for f in p.facts if f.kind == "ambient"} for p in planted.personas}
    clashing = [d.id for d in planted.disclosures if d.category in held[d.persona]]
    told = planted.background["imbalance"]
    kept = told.partition("kept although the dialogue holds the topic already: ")[2].partition(";")[0]
    assert "exchanged because" in told
    assert all(key in kept for key in clashing)
    assert kept.count("(") == len(clashing)


def test_without_labels_nothing_moves_and_the_flag_is_unknown(starter: Pack, bare: Background) -> None:
    pack = plant_into(starter, bare)
    order = dict(zip((p.id for p in starter.personas), TURNS, strict=True))
    assert {d.id: d.persona for d in pack.disclosures} == {d.id: order[d.persona] for d in starter.disclosures}
    assert not pack.ambient_labelled
    assert "are not labelled" in pack.background["imbalance"]
    assert not plant(pack, pack.disclosures[0]).ambient_labelled


def test_provenance_and_hash(starter: Pack, bare: Background, labelled: Background, planted: Pack) -> None:
    assert planted.background["sha256"].startswith("79fa87e9")
    assert planted.licence == f"{starter.licence} AND CC-BY-NC-4.0"
    two = replace(labelled, personas=labelled.personas[:2])
    hashes = {
        planted.hash,
        starter.hash,
        plant_into(starter, replace(bare, personas=bare.personas[:2])).hash,
        plant_into(replace(starter, hash="0" * 64), two).hash,
        plant_into(starter, replace(two, importer="locomo@2")).hash,
    }
    assert len(hashes) == 5


def test_positive_controls_mean_one_harmless_turn(planted: Pack) -> None:
    facts = {f.id: f for p in planted.personas for f in p.facts}
    counts = Counter(c.persona for c in planted.positive_controls)
    assert set(counts) == set(TURNS)
    assert min(counts.values()) >= NEEDED
    turns = {t.id: t for p in planted.personas for s in p.sessions for t in s.turns}
    said = {key: words(t.text) for key, t in turns.items()}
    sensitive = {f.turn for f in facts.values() if f.kind == "ambient"}
    for c in planted.positive_controls:
        turn = turns[facts[c.fact].turn]
        asked = set(c.question.removeprefix("What did I say about ").removesuffix("?").lower().split()) - {"and"}
        own = [key for key in turns if key.startswith(f"{c.persona}-")]
        assert turn.role == "user"
        assert turn.id not in sensitive
        assert [key for key in own if asked <= set(said[key])] == [turn.id]
        assert stems_in(turn.text, c.answer) == c.answer
        assert not stems_in(c.question, c.answer)


def test_histories_are_planted_in_order(planted: Pack) -> None:
    for d in planted.disclosures:
        history = plant(planted, d)
        dates = [s.date for s in history.sessions]
        assert dates == sorted(dates)
        place = [s.id for s in history.sessions].index(d.session_id)
        assert place == max(1, int(d.position * (len(dates) - 1) + 1e-9))


def test_fewer_and_more_dialogues_than_personas(starter: Pack, labelled: Background) -> None:
    few = plant_into(starter, replace(labelled, personas=labelled.personas[:2]))
    assert [p.id for p in few.personas] == ["conv-26", "conv-30"]
    assert Counter(d.persona for d in few.disclosures) == {"conv-26": 3, "conv-30": 3}
    assert "left out for want of dialogues: p03, p04" in few.background["imbalance"]
    one = replace(
        starter,
        personas=starter.personas[:1],
        disclosures=tuple(d for d in starter.disclosures if d.persona == "p01"),
        probes=tuple(p for p in starter.probes if p.persona == "p01"),
        invitations=(),
    )
    assert "dialogues left unused: conv-30" in plant_into(one, labelled).background["imbalance"]


def test_a_planted_pack_can_be_written_and_read(planted: Pack, tmp_path: Path) -> None:
    again = load_pack(write_pack(planted, tmp_path / planted.name))
    assert {d.id for d in again.disclosures} == {d.id for d in planted.disclosures}
    assert again.background == planted.background
    assert again.ambient_labelled


FINGERPRINT = """
from pytest_hush.model import digest
from pytest_hush.packs import plant

def fingerprint(p):
    return digest([
        p.hash, p.background, [[d.id, d.persona] for d in p.disclosures],
        [[c.id, c.question, c.answer] for c in p.positive_controls],
        [[f.id, f.stems] for q in p.personas for f in q.facts],
        plant(p, p.disclosures[-1]).fingerprint(),
    ])
"""


def test_the_same_in_every_process(planted: Pack) -> None:
    here: dict[str, Any] = {}
    exec(FINGERPRINT, here)
    code = FINGERPRINT + (
        "from pytest_hush.packs import load_pack, plant_into, read_background\n"
        f"background = read_background({str(LOCOMO)!r}, sensitive={str(LABELS)!r})\n"
        "print(fingerprint(plant_into(load_pack('starter'), background)))"
    )
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here["fingerprint"](planted)


@pytest.mark.real
def test_plain_embeddings_find_the_positive_controls(planted: Pack) -> None:
    """A working memory must be able to pass: nine in ten of the turns asked for are in the top 5."""
    from pytest_hush.embed import default_embedder

    embedder = default_embedder()
    turn_of = {f.id: f.turn for p in planted.personas for f in p.facts}
    found = []
    for persona in planted.personas:
        turns = [t for s in persona.sessions for t in s.turns]
        vectors = embedder.embed([t.text for t in turns])
        for control in (c for c in planted.positive_controls if c.persona == persona.id):
            scores = vectors @ embedder.embed([control.question])[0]
            best = sorted(range(len(turns)), key=lambda i: -float(scores[i]))[:5]
            found.append(turn_of[control.fact] in {turns[i].id for i in best})
    assert len(found) >= 20
    assert sum(found) / len(found) >= 0.9
