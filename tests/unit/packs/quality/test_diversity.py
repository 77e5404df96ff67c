from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.model import Pack, Probe
from pytest_hush.packs import load_pack
from pytest_hush.packs.lexicon import english
from pytest_hush.packs.quality.balance import check_balance
from pytest_hush.packs.quality.diversity import check_diversity
from pytest_hush.packs.quality.report import Finding
from tests.unit.packs.quality import many


def errors(pack: Pack) -> str:
    return "\n".join(str(p) for p in check_diversity(pack, english()) if isinstance(p, Finding))


def rewritten(pack: Pack, text: Callable[[int, Probe], str]) -> Pack:
    return replace(pack, probes=tuple(replace(p, text=text(i, p)) for i, p in enumerate(pack.probes)))


@pytest.fixture
def starter() -> Pack:
    return load_pack("starter")


def test_the_starter_pack_is_diverse(starter: Pack) -> None:
    assert errors(starter) == ""


def test_a_probe_used_twice_is_found_in_any_case_and_punctuation(starter: Pack) -> None:
    first = starter.probes[0]
    pack = rewritten(starter, lambda i, p: first.text.upper() + "!" if i == 50 else p.text)
    assert f"{starter.probes[50].id}: the text of {first.id}" in errors(pack)


def test_a_stock_phrase_is_found(tmp_path: Path) -> None:
    pack = rewritten(many.pack(tmp_path, hint=False), lambda i, p: f"{p.text}{i} please keep it short today {i}")
    assert "'please keep it short today' in 120 probes" in errors(pack)


def test_stock_openings_are_found(starter: Pack) -> None:
    pack = rewritten(starter, lambda i, p: f"Could you tell me {p.text}" if p.persona == "p02" else p.text)
    assert "p02: 1 openings of 12 probes" in errors(pack)


def test_the_same_content_in_another_order_is_found(starter: Pack) -> None:
    mine = [i for i, p in enumerate(starter.probes) if (p.persona, p.family) == ("p02", "disengagement_request")]
    words = starter.probes[mine[0]].text.split()
    pack = rewritten(starter, lambda i, p: " ".join(reversed(words)) if i == mine[1] else p.text)
    found = errors(pack)
    assert f"{starter.probes[mine[1]].id}: 1.00 of the content words shared with {starter.probes[mine[0]].id}" in found


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("category", "debt", "disclosures of category: illness"),
        ("strength", "weak", "disclosures of strength: strong"),
        ("position", 0.3, "disclosures at position: 0.3"),
    ],
)
def test_an_uneven_margin_is_found(starter: Pack, field: str, value: object, expected: str) -> None:
    changed = [replace(d, **{field: value}) if d.persona in ("p01", "p02") else d for d in starter.disclosures]
    found = [str(p) for p in check_balance(replace(starter, disclosures=tuple(changed))) if isinstance(p, Finding)]
    assert any(f.startswith(f"error: starter: {expected}") for f in found)


def test_an_uneven_cell_under_even_margins_is_found(starter: Pack) -> None:
    swap = {"strong": "weak", "weak": "strong"}
    own = [d for d in starter.disclosures if d.persona == "p01"]
    twice = replace(
        starter,
        disclosures=(*starter.disclosures, *(replace(d, strength=swap.get(d.strength, d.strength)) for d in own)),  # type: ignore[arg-type]
    )
    found = [str(p) for p in check_balance(twice) if isinstance(p, Finding)]
    assert any("p01 × " in f and ": 2;" in f for f in found)


def test_one_everyday_domain_for_all_is_found(tmp_path: Path) -> None:
    found = [str(p) for p in check_balance(many.pack(tmp_path, hint=False)) if isinstance(p, Finding)]
    assert any("domain home: 480 probes; expected 20 to 60" in f for f in found)
