"""MemoryBank, MADial-Bench and one's own dialogues: real files where they are at hand, made-up ones for each error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import PackError
from pytest_hush.packs import load_pack, plant_into, read_background, write_pack
from pytest_hush.packs.importers.background import Background


def planted(background: Background, folder: Path) -> dict[str, str]:
    """The starter pack in `background`, written, read again and compared; its provenance."""
    pack = plant_into(load_pack("starter"), background)
    write_pack(pack, folder)
    again = load_pack(folder)
    for name in ("personas", "disclosures", "probes", "controls", "positive_controls"):
        # A pack on disk is in the order of its folders' names.
        assert sorted(getattr(again, name), key=str) == sorted(getattr(pack, name), key=str)
    assert again.private == background.private
    return dict(again.background)


def test_memorybank_as_published(third_party_dialogues: Path, tmp_path: Path) -> None:
    background = read_background(third_party_dialogues / "memorybank_en.json")
    assert (background.format, background.licence, len(background.personas)) == ("memorybank", "MIT", 15)
    jason = background.personas[4]
    assert (jason.id, jason.name, len(jason.sessions)) == ("jason", "Jason", 10)
    assert sum(len(s.turns) for p in background.personas for s in p.sessions) == 2 * 566
    assert jason.sessions[0].date == "2023-04-27T12:00"
    provenance = planted(background, tmp_path / "pack")
    assert provenance["sha256"] == background.sha256
    assert provenance["licence"] == "MIT"
    assert "dialogues left unused: jack" in provenance["imbalance"]


def test_memorybank_in_chinese_is_read_and_refused_for_english_probes(third_party_dialogues: Path) -> None:
    background = read_background(third_party_dialogues / "memorybank_cn.json")
    assert (background.personas[0].id, len(background.personas)) == ("user-01", 15)
    with pytest.raises(PackError, match="0 of its turns can be asked for"):
        plant_into(load_pack("starter"), background)


def test_madial_as_published(third_party_dialogues: Path, tmp_path: Path) -> None:
    background = read_background(third_party_dialogues / "madialbench_en_dialogue.jsonl")
    assert [(p.id, p.name, len(p.sessions)) for p in background.personas] == [
        ("bart", "Bart", 76),
        ("lisa", "Lisa", 84),
    ]
    texts = [t.text for p in background.personas for s in p.sessions for t in s.turns]
    assert not [t for t in texts if t.startswith(("<", '"')) or t.endswith('"') or "EOD" in t]
    provenance = planted(background, tmp_path / "pack")
    assert "p03, p04" in provenance["imbalance"]
    assert "160 undated talks dated one a day from 2024-01-01" in provenance["notes"]
    assert "18 turns without a speaker" in provenance["notes"]


THINGS = [
    ("the copper kettle", "a whistling spout", "marmalade"),
    ("the attic window", "a brass hinge", "pigeons"),
    ("my wicker basket", "the corner bakery", "rye"),
    ("our garden swing", "a squeaky bolt", "oil"),
]


def own(folder: Path, *, sensitive: bool = False, **changes: Any) -> Path:
    """Ten small dialogues of four sessions, as a user's own file; `changes` replace fields of the third session."""
    lines = []
    for d in range(10):
        for s, (first, second, third) in enumerate(THINGS):
            said = f"I looked at {first} and at {second}, then {third}{'abcdefghij'[d] * 3} came up at last."
            turns: list[dict[str, Any]] = [
                {"role": "user", "content": said},
                {"role": "assistant", "content": "I see."},
            ]
            if sensitive and s == 1:
                turns[0]["sensitive"] = "grief"
            lines.append(
                {
                    "dialogue": f"Talk {d}",
                    "date": f"2025-0{s + 1}-03T09:00",
                    "user": "Ada",
                    "partner": "Bo",
                    "messages": turns,
                }
            )
    lines[2].update(changes)
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_own_dialogues_make_a_private_pack(tmp_path: Path) -> None:
    background = read_background(own(tmp_path))
    assert (background.format, background.private, background.ambient_labelled) == ("jsonl", True, False)
    assert background.personas[0].id == "talk-0"
    assert background.personas[0].sessions[1].turns[0].id == "talk-0-s02-t01"
    provenance = planted(background, tmp_path / "pack")
    assert provenance["licence"] == "LicenseRef-Own-Dialogues"
    assert load_pack(tmp_path / "pack").private


def test_a_labelled_turn_becomes_an_ambient_fact_whose_topic_is_not_planted(tmp_path: Path) -> None:
    background = read_background(own(tmp_path, sensitive=True))
    assert background.ambient_labelled
    fact = background.personas[0].facts[0]
    assert (fact.kind, fact.category, fact.turn) == ("ambient", "grief", "talk-0-s02-t01")
    pack = plant_into(load_pack("starter"), background)
    assert "grief" in pack.background["imbalance"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"date": "yesterday"}, "line 3, `date`: read 'yesterday'; expected an ISO date"),
        ({"date": "2025-01-03T09:00"}, "line 3, `date`: read '2025-01-03T09:00'; expected a date after"),
        ({"messages": []}, "line 3, `messages`: read []"),
        ({"messages": [{"role": "system", "content": "x"}]}, "line 3, `messages.0.role`: read 'system'"),
        ({"messages": [{"role": "user", "content": " "}]}, "line 3, `messages.0.content`: read ' '"),
        ({"partner": "Cy"}, "line 3: read 'Ada'; expected the speakers of the dialogue, Ada and Bo"),
        ({"mood": "fine"}, "line 3, `mood`: read 'fine'"),
    ],
)
def test_each_fault_of_an_own_file_is_named(changes: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        read_background(own(tmp_path, **changes), "jsonl")
    assert expected in str(caught.value)


def test_a_cut_file_is_no_shorter_file(tmp_path: Path) -> None:
    path = own(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(PackError, match="line 40: not whole JSON"):
        read_background(path)


MEMORYBANK: dict[str, Any] = {
    "Ann": {"name": " Ann ", "history": {"2023-04-27": [{"query": "Hello.", "response": "Hi."}]}},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, "the top level: read {}"),
        ({"Ann": {"name": "Ann"}}, "user 'Ann': read"),
        ({"Ann": {"name": "Ann", "history": {"May": []}}}, "user 'Ann', `history`: read 'May'; expected a day"),
        ({"Ann": {"name": "Ann", "history": {"2023-04-27": []}}}, "expected one day or more with exchanges"),
        (
            {"Ann": {"name": "Ann", "history": {"2023-04-27": [{"query": "Hi."}]}}},
            "user 'Ann', 2023-04-27, exchange 1, `response`: read None; expected a text",
        ),
        ({**MEMORYBANK, "Ann ": MEMORYBANK["Ann"]}, "read 'ann'; expected a name that no other user has"),
    ],
)
def test_each_fault_of_memorybank_is_named(value: object, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "memory_bank.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(PackError) as caught:
        read_background(path, "memorybank")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"dialogue": ["<A>: \"x\""]}, "line 1, `user-id`: read None; expected a whole number"),
        ({"user-id": 1, "dialogue": []}, "line 1, `dialogue`: read []"),
        ({"user-id": 1, "dialogue": [3]}, "line 1, turn 1: read 3"),
        ({"user-id": 1, "dialogue": ['<A>: "x"', '<B>: "y"']}, "user-1: read ['A', 'B']; expected one name besides"),
    ],
)  # fmt: skip
def test_each_fault_of_madial_is_named(row: dict[str, Any], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "dialogue.json"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(PackError) as caught:
        read_background(path, "madial")
    assert expected in str(caught.value)
