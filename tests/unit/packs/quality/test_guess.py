from __future__ import annotations

from pathlib import Path

from pytest_hush.embed import default_embedder
from pytest_hush.packs.lexicon import english
from pytest_hush.packs.quality.guess import BOUND, check_guess
from pytest_hush.packs.quality.report import Figure, Finding
from tests.unit.packs.quality import many


def test_a_probe_that_hints_at_its_category_is_found_out_by_both_classifiers(tmp_path: Path) -> None:
    parts = list(check_guess(many.pack(tmp_path, hint=True), english(), default_embedder()))
    errors = [str(p) for p in parts if isinstance(p, Finding)]
    assert any("medium lure" in e and "by content words" in e for e in errors)
    assert any("by embeddings" in e for e in errors)


def test_probes_of_everyday_words_are_guessed_by_chance(tmp_path: Path) -> None:
    parts = list(check_guess(many.pack(tmp_path, hint=False), english(), None))
    assert [p for p in parts if isinstance(p, Finding)] == []
    figure = next(p for p in parts if isinstance(p, Figure) and p.measured)
    assert float(figure.value.partition("%")[0]) / 100 <= BOUND
    assert "480 probes" in figure.value


def test_few_disclosures_are_not_measured(tmp_path: Path) -> None:
    parts = list(check_guess(many.pack(tmp_path, hint=True, per_category=9), english(), None))
    assert [isinstance(p, Figure) and p.measured for p in parts] == [False, False]
