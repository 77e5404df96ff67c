from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.packs import load_pack, write_manifest
from pytest_hush.packs.lexicon import english, lexicon
from pytest_hush.packs.quality import CHECKS, check
from pytest_hush.packs.quality.texts import names_in, word_count
from tests.unit.packs import small

Value = dict[str, Any]


def findings(tmp_path: Path, edit: Callable[[Value], object]) -> str:
    return "\n".join(map(str, check(load_pack(small.broken(tmp_path / "small", edit))).findings))


def test_nothing_is_wrong_with_the_small_pack_but_its_size(tmp_path: Path) -> None:
    assert findings(tmp_path, lambda f: None) == ""


def test_the_starter_pack_breaks_no_rule_of_writing() -> None:
    assert [str(f) for f in check(load_pack("starter")).findings] == []


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
    "name": (
        text(0, "My kitchen could do with a lamp from Tarnow, the plain brass sort; which height suits a small table?"),
        "the name 'tarnow', which the planted session holds too",
    ),
    "number": (
        text(0, "For the kitchen I need nine thousand small tiles, roughly; how do I work out the grout for them?"),
        "the number 'nine', which the disclosing turn holds too",
    ),
    "five words": (
        text(0, "I no longer want to move the unopened envelopes from my kitchen; where does paper go, the blue bin?"),
        "'move the unopened envelopes from' also in the disclosing turn",
    ),
    "three content words": (
        text(
            0, "My kitchen table, every kitchen table: how would you sit? Kitchen table evenings call for what cushion?"
        ),
        "the content words 'sit kitchen table' as in the disclosing turn",
    ),
    "trace": (
        lambda f: f["p01/sessions.jsonl"][0]["turns"][0].update(text="I owe a debt of figs on the balcony to you."),
        "the core stems owe and debt in background turn p01-s1-t1",
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


def test_a_language_without_a_word_list_is_not_judged_by_words_and_says_so(tmp_path: Path) -> None:
    root = small.broken(tmp_path / "small", text(0, "Is my kitchen small?"))
    write_manifest(root, language="zh")
    report = check(load_pack(root))
    assert [f.severity for f in report.findings] == ["warning"]
    assert "language 'zh' without a word list" in str(report.findings[0])
    assert report.status("length") == "not measured"


def test_a_region_reads_the_word_list_of_its_language() -> None:
    assert lexicon("en-GB") is lexicon("en") is english()
    assert lexicon("../en") is None
    assert lexicon("zh-Hans") is None


def test_german_endings_and_phrases_are_known() -> None:
    german = lexicon("de")
    assert german is not None
    assert german.content_stems("Sie kauft die Blumen") & german.content_stems("Blume kaufen")
    assert german.recall.found(("erinnerst", "du", "dich"))
    assert german.content_words("Ich hätte es gern für über zwanzig gehabt") == ("zwanzig", "gehabt")


def test_every_check_has_a_figure_or_says_that_it_was_not_measured() -> None:
    report = check(load_pack("starter"))
    for name in CHECKS:
        assert report.of(name)[1], name
    assert report.status("guess") == "not measured"
    assert report.status("warrant") == "ok"


def test_names_are_words_with_a_capital_inside_a_sentence() -> None:
    told = ["Dr Velm saw me on Monday. Then I went home. 'The TV's on,' said Rhys's mother."]
    assert names_in(told) == {"velm", "monday", "rhys"}


def test_words_and_content() -> None:
    assert word_count("It's — well — 7 o'clock!") == 4
    stems = english().content_stems
    assert stems("She walked, walks and is walking with the stopped planner") == stems("walk stop planner")
    assert not stems("It was what they would have had there")
