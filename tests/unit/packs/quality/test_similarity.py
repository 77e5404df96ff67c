from __future__ import annotations

from dataclasses import replace

from pytest_hush.embed import default_embedder
from pytest_hush.packs import load_pack
from pytest_hush.packs.quality.report import Finding
from pytest_hush.packs.quality.retrieval import check_retrieval
from pytest_hush.packs.quality.similarity import calibrate, check_similarity

PERSONA = "p05"


def one_persona(**probes: str):  # type: ignore[no-untyped-def]
    """The starter pack's fifth persona alone, with other texts for some of its probes."""
    pack = load_pack("starter")
    keep = {d.id for d in pack.disclosures if d.persona == PERSONA}
    return replace(
        pack,
        personas=tuple(p for p in pack.personas if p.id == PERSONA),
        disclosures=tuple(d for d in pack.disclosures if d.id in keep),
        probes=tuple(
            replace(p, text=probes.get(p.id.replace("-", "_"), p.text)) for p in pack.probes if p.persona == PERSONA
        ),
        positive_controls=tuple(c for c in pack.positive_controls if c.persona == PERSONA),
    )


def test_the_bound_finds_most_paraphrases_and_few_different_texts() -> None:
    bound = calibrate(default_embedder())
    assert 0.4 < bound.value < 0.8
    assert bound.false <= 0.1


def test_a_paraphrase_within_a_cell_is_found() -> None:
    pack = one_persona(
        p05_d01_ar="I used to love strong coffee before class, but it no longer appeals. Which herb tea wakes you up?",
        p05_d02_ar="Strong coffee in the morning has lost its charm for me. What herb tea would wake me instead?",
    )
    found = [str(p) for p in check_similarity(pack, default_embedder()) if isinstance(p, Finding)]
    assert len(found) == 1
    assert "p05-d02-ar: cosine" in found[0]
    assert "with p05-d01-ar" in found[0]


def test_two_disclosures_that_tell_the_same_are_found() -> None:
    pack = one_persona()
    first, second, third = pack.disclosures
    pack = replace(pack, disclosures=(first, replace(second, turns=first.turns, turn_id=first.turn_id), third))
    found = [str(p) for p in check_similarity(pack, default_embedder()) if isinstance(p, Finding)]
    assert any(f"{second.id}: cosine 1.00 with {first.id}" in f for f in found)


def test_a_question_that_does_not_reach_its_turn_is_found() -> None:
    pack = one_persona()
    lost = replace(pack.disclosures[0], question="Which bridge did I run over in the rain on Saturday?")
    pack = replace(pack, disclosures=(lost, *pack.disclosures[1:]))
    found = [str(p) for p in check_retrieval(pack, default_embedder()) if isinstance(p, Finding)]
    assert found == [
        f"error: {lost.id}: the disclosing turn for {lost.question!r} not in the top 5; "
        "expected it among the 5 nearest turns"
    ]
