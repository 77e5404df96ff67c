"""Importers on made-up dialogues in LoCoMo's shape: each hazard, each error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import PackError
from pytest_hush.packs import read_background
from pytest_hush.packs.importers.background import id_safe
from pytest_hush.packs.importers.locomo import parse_date
from pytest_hush.packs.importers.sensitive import category_of

Value = list[dict[str, Any]]


def turn(dia: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dia, "text": text, **more}


def dialogue(name: str = "Conv 7") -> dict[str, Any]:
    return {
        "sample_id": name,
        "qa": [{"question": 3, "evidence": ["D99:1"]}],
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Bo",
            "session_10_date_time": "12:06 am on 2 March, 2024",
            "session_10": [turn("D10:1", "Bo", "Late, isn't it?")],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                turn("D2:1", "Ana", "  I sold\nthe boat. 🛶 \n"),
                turn("D2:2", "Bo", "Nice!", blip_caption="a photo of\na  harbour"),
                turn("D2:3", "Ana", " ", img_url=["x"], blip_caption="a red kite"),
                turn("D2:4", "Bo", "  "),
            ],
            "session_3_date_time": "9:00 am on 9 May, 2023",
            "session_3": [],
            "session_20_date_time": "9:00 am on 9 May, 2029",
        },
    }


def write(folder: Path, value: object) -> Path:
    path = folder / "dialogues.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_hazards(tmp_path: Path) -> None:
    background = read_background(write(tmp_path, [dialogue()]))
    (persona,) = background.personas
    assert (persona.id, persona.name, persona.partner) == ("conv-7", "Ana", "Bo")
    assert [(s.id, s.date) for s in persona.sessions] == [
        ("conv-7-s02", "2023-05-08T13:56"),
        ("conv-7-s10", "2024-03-02T00:06"),
    ]
    assert [(t.id, t.role, t.text) for t in persona.sessions[0].turns] == [
        ("conv-7-d2.1", "user", "I sold the boat. 🛶"),
        ("conv-7-d2.2", "assistant", "Nice! [shares a picture: a photo of a harbour]"),
        ("conv-7-d2.3", "user", "[shares a picture: a red kite]"),
    ]
    assert background.format == "locomo"
    assert background.licence == "CC-BY-NC-4.0"
    assert not background.ambient_labelled
    assert background.notes == (
        "dialogue Conv 7, session_2: 1 turns without text or picture dropped",
        "dialogue Conv 7: session_3 has no turns and is left out",
    )


def test_sessions_keep_their_order_when_dates_do_not(tmp_path: Path) -> None:
    value = dialogue()
    value["conversation"]["session_10_date_time"] = "8:00 am on 1 January, 2020"
    background = read_background(write(tmp_path, [value]))
    assert [s.id for s in background.personas[0].sessions] == ["conv-7-s02", "conv-7-s10"]
    assert any("conv-7-s10 not later" in note for note in background.notes)


@pytest.mark.parametrize(
    "text,iso",
    [
        ("12:06 am on 11 November, 2022", "2022-11-11T00:06"),
        ("12:06 pm on 11 November, 2022", "2022-11-11T12:06"),
        ("7:31 pm on 21 January, 2022", "2022-01-21T19:31"),
        ("13:31 pm on 21 January, 2022", None),
        ("7:31 pm on 31 February, 2022", None),
        ("7:31 pm on 21 Janvier, 2022", None),
        ("2022-01-21", None),
    ],
)
def test_dates(text: str, iso: str | None) -> None:
    assert parse_date(text) == iso


def talk(**fields: Any) -> Callable[[Value], None]:
    return lambda value: value[0]["conversation"].update(fields)


ERRORS: dict[str, tuple[Callable[[Value], object], str]] = {
    "twice": (lambda v: v.append(dialogue()), "`sample_id`: read 'conv-7'; expected an id that no other"),
    "no id": (lambda v: v[0].pop("sample_id"), "`sample_id`: read None"),
    "nameless": (lambda v: v[0].update(sample_id="??"), "letters or digits"),
    "no talk": (lambda v: v[0].pop("conversation"), "dialogue 1: read"),
    "no speaker": (talk(speaker_b=""), "`speaker_b`"),
    "one speaker": (talk(speaker_b="Ana"), "another speaker"),
    "third speaker": (
        talk(session_3=[turn("D3:1", "Cy", "Hi")]),
        "'session_3|`session_3`, turn 1, `speaker`: read 'Cy'",
    ),
    "dia twice": (talk(session_3=[turn("D2:1", "Bo", "Hi")]), "`dia_id`: read 'conv-7-d2.1'"),
    "no dia": (talk(session_3=[{"speaker": "Bo", "text": "Hi"}]), "`dia_id`: read None"),
    "text": (talk(session_3=[turn("D3:1", "Bo", 5)]), "`text`: read 5"),  # type: ignore[arg-type]
    "turn": (talk(session_3=["Hi"]), "turn 1: read 'Hi'"),
    "session": (talk(session_3={"a": 1}), "`session_3`: read"),
    "date": (talk(session_3_date_time="May"), "`session_3_date_time`: read 'May'"),
    "undated": (talk(session_4=[turn("D4:1", "Bo", "Hi")]), "`session_4_date_time`: read None"),
    "no sessions": (
        lambda v: v[0].update(conversation={"speaker_a": "A", "speaker_b": "B"}),
        "sessions named session_1",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, tmp_path: Path) -> None:
    edit, expected = ERRORS[name]
    value = [dialogue()]
    edit(value)
    with pytest.raises(PackError, match=expected):
        read_background(write(tmp_path, value), "locomo")


def test_files_that_are_no_dialogues(tmp_path: Path) -> None:
    cut = json.dumps([dialogue()])[:-40]
    with pytest.raises(PackError, match="not whole JSON"):
        read_background(write(tmp_path, cut))
    with pytest.raises(PackError, match="the top level"):
        read_background(write(tmp_path, {"a": 1}), "locomo")
    with pytest.raises(PackError, match="the top level"):
        read_background(write(tmp_path, []), "locomo")
    with pytest.raises(PackError, match="none of the known dialogue formats"):
        read_background(write(tmp_path, {"a": 1}))
    with pytest.raises(PackError, match="is no file"):
        read_background(tmp_path / "absent.json")
    with pytest.raises(PackError, match="expected auto or one of locomo"):
        read_background(write(tmp_path, []), "locoma")


HEADER = "sample_id\tdia_id\tspeaker\ttopic\tlevel\ttext\n"


def test_labels_become_ambient_facts(tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text(HEADER + 'Conv 7\tD2:1\tAna\thealth_injury\tH\tI "sold\nConv 7\tD10:1\tBo\tpolitics\tT\tx\n')
    background = read_background(write(tmp_path, [dialogue()]), sensitive=labels)
    facts = background.personas[0].facts
    assert [(f.kind, f.turn, f.category) for f in facts] == [
        ("ambient", "conv-7-d2.1", "illness"),
        ("ambient", "conv-7-d10.1", "politics"),
    ]
    assert set(facts[0].stems) == {"boat", "sold"}
    assert len(facts[1].stems) == 2
    assert background.ambient_labelled
    assert len(background.labels_sha256) == 64


@pytest.mark.parametrize(
    "rows,expected",
    [
        ("a\tb\n", "line 1: read the columns a, b; expected sample_id"),
        ("", "line 1: read the columns none"),
        (HEADER + "Conv 7\tD2:1\tAna\n", "line 2: read 3 columns"),
        (HEADER + "Conv 7\tD2:1\tAna\tgrief\tX\tt\n", "line 2, column `level`: read 'X'"),
        (HEADER + "Conv 7\tD2:1\tAna\t\tH\tt\n", "line 2, column `topic`"),
        (HEADER + "\nConv 7\tD9:1\tAna\tgrief\tH\tt\n", "line 3: read Conv 7 D9:1; expected a turn"),
        (HEADER + "Conv 8\tD2:1\tAna\tgrief\tH\tt\n", "line 2: read Conv 8 D2:1"),
        (HEADER + "Conv 7\tD2:1\tBo\tgrief\tH\tt\n", "column `speaker`: read 'Bo'; expected 'Ana'"),
    ],
)
def test_labels_are_validated(rows: str, expected: str, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text(rows)
    with pytest.raises(PackError, match=expected):
        read_background(write(tmp_path, [dialogue()]), sensitive=labels)


def test_names() -> None:
    assert id_safe(" D1:3 ") == "d1.3"
    assert id_safe("Conv_é 26!") == "conv-26"
    assert category_of("grief_pet") == "grief"
    assert category_of("debt") == "debt"
    assert category_of("politics") == "politics"
