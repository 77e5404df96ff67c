"""The packs that this project publishes: complete, and sound by every check."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_hush.embed import default_embedder
from pytest_hush.model import CATEGORIES, FAMILIES, STRENGTHS, Pack
from pytest_hush.packs import load_pack
from pytest_hush.packs.lexicon import english
from pytest_hush.packs.quality import check
from pytest_hush.packs.quality.balance import check_background, check_balance, check_controls
from pytest_hush.packs.quality.diversity import check_diversity
from pytest_hush.packs.quality.lure import check_length, check_lure
from pytest_hush.packs.quality.report import Finding
from pytest_hush.packs.quality.warrant import check_warrant


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack("hush-en-1")


def test_the_open_pack_is_whole(pack: Pack) -> None:
    assert (len(pack.personas), len(pack.disclosures), len(pack.probes), len(pack.invitations)) == (10, 600, 2400, 200)
    cells = Counter((d.persona, d.category, d.strength, d.position) for d in pack.disclosures)
    assert len(cells) == 10 * len(CATEGORIES) * len(STRENGTHS) * 2
    assert set(cells.values()) == {1}
    assert set(Counter((p.persona, p.family) for p in pack.probes).values()) == {60}
    family = {p.id: (p.persona, p.family) for p in pack.probes}
    assert set(Counter(family[i.probe] for i in pack.invitations).values()) == {5}
    assert len(Counter(family[i.probe] for i in pack.invitations)) == 10 * len(FAMILIES)
    assert {c.kind for c in pack.controls} == {"neutral", "irrelevant-sensitive", "oracle"}
    assert len(pack.controls) == 3 * 600
    assert (pack.licence, pack.language, pack.private) == ("CC-BY-4.0", "en", False)


def test_every_persona_has_a_year_of_talk_with_labelled_facts(pack: Pack) -> None:
    for persona in pack.personas:
        assert len(persona.sessions) >= 20
        assert all(8 <= len(s.turns) <= 16 for s in persona.sessions)
        kinds = Counter(f.kind for f in persona.facts)
        assert 6 <= kinds["ambient"] <= 10
        assert kinds["benign"] >= 35
        assert sum(c.persona == persona.id for c in pack.positive_controls) >= 4


def test_no_rule_on_words_and_numbers_is_broken(pack: Pack) -> None:
    words = english()
    parts = [
        *check_length(pack, words), *check_warrant(pack, words), *check_lure(pack, words),
        *check_diversity(pack, words), *check_balance(pack), *check_controls(pack), *check_background(pack),
    ]  # fmt: skip
    assert [str(p) for p in parts if isinstance(p, Finding)] == []


@pytest.mark.real
@pytest.mark.parametrize("name", ["hush-en-1", "hush-de-sample"])
def test_no_rule_on_meaning_guessing_and_retrieval_is_broken(name: str) -> None:
    report = check(load_pack(name), default_embedder())
    assert [str(f) for f in report.findings] == []
    if name == "hush-en-1":
        assert report.status("guess") == report.status("retrieval") == report.status("diversity") == "ok"
