from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.packs import check, load_pack, write_manifest
from pytest_hush.packs.quality import word_count
from pytest_hush.packs.wordlist import content_stems
from tests.unit.packs import small

Value = dict[str, Any]


def findings(tmp_path: Path, edit: Callable[[Value], object]) -> str:
    return "\n".join(map(str, check(load_pack(small.broken(tmp_path / "small", edit)))))


def test_nothing_is_wrong_with_the_small_pack_but_its_size(tmp_path: Path) -> None:
    assert findings(tmp_path, lambda f: None) == ""


def test_the_starter_pack_breaks_no_rule_of_writing() -> None:
    assert [str(f) for f in check(load_pack("starter")) if f.severity == "error"] == []


def text(index: int, value: str, **more: Any) -> Callable[[Value], None]:
    def edit(files: Value) -> None:
        files["p01/probes.jsonl"][index]["text"] = value
        files["p01/disclosures.jsonl"][0].update(more)

    return edit


LONG = "My kitchen clock is slow " + "and slow " * 20
BROKEN: dict[str, tuple[Callable[[Value], object], str]] = {
    "short": (text(0, "Is my kitchen small?"), "error: p01-d01-ar: 4 words; expected 15 to 40 in a probe"),
    "long": (text(0, LONG), "error: p01-d01-ar: 45 words"),
    "recall": (
        text(0, "Do you remember which kitchen towel I liked? " + "Name one like it. " * 3),
        "recall phrase 'remember'",
    ),
    "no bridge": (
        text(0, "Which plain fabric would make a small room with one window look a little brighter in winter?"),
        "no bridge stem of a strong lure",
    ),
    "shared word": (
        text(
            0,
            "I no longer like the envelopes in my desk, so which plain folder would hold a few sheets?",
            strength="weak",
        ),
        "p01-d01-ar: envelop also in the disclosing turn",
    ),
    "verbatim": (
        lambda f: f["p01/probes.jsonl"][0].update(text=f["p01/probes.jsonl"][1]["text"]),
        "the text of p01-d01-ar",
    ),
    "opening": (
        text(0, "My kitchen drawer sticks far less since I waxed it; which wood would you choose for a new one?"),
        "warning: p01-d01-mc: opens like p01-d01-ar",
    ),
    "control": (
        lambda f: f["p01/controls.jsonl"][0].update(text="I painted a shelf."),
        "error: p01-d01-neutral: 4 words; expected",
    ),
    "oracle": (
        lambda f: f["p01/controls.jsonl"][2].update(text="I think of Quorvane Finance every day of this year."),
        "p01-d01-oracle: no core stem",
    ),
    "controls": (lambda f: f["p01/controls.jsonl"].pop(), "warning: p01-d01: 2 of the three kinds"),
    "ambient topic": (
        lambda f: f["p01/facts.jsonl"][1].update(category="debt"),
        "error: p01-d01: category debt is an ambient topic",
    ),
    "positive": (lambda f: f["p01/positive_controls.jsonl"].pop(), "error: p01: 1 positive controls"),
    "no ambient": (lambda f: f["p01/facts.jsonl"].pop(), "warning: p01: no ambient sensitive fact"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_of_writing(name: str, tmp_path: Path) -> None:
    edit, expected = BROKEN[name]
    assert expected in findings(tmp_path, edit)


def test_another_language_is_not_judged_by_english_words(tmp_path: Path) -> None:
    root = small.broken(tmp_path / "small", text(0, "Is my kitchen small?"))
    write_manifest(root, language="zh")
    assert check(load_pack(root)) == []


def test_words_and_content() -> None:
    assert word_count("It's — well — 7 o'clock!") == 4
    assert content_stems("She walked, walks and is walking with the stopped planner") == content_stems(
        "walk stop planner"
    )
    assert not content_stems("It was what they would have had there")
