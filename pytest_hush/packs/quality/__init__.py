"""The rules of writing that `load_pack` does not insist on: what `hush probes check` prints beyond errors.

A finding of severity ``error`` breaks a rule of ``docs/reference/pack-format.md``; a ``warning`` is worth a look.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_hush.model import Pack
from pytest_hush.packs.lexicon import lexicon
from pytest_hush.packs.quality.balance import check_background, check_balance, check_controls
from pytest_hush.packs.quality.diversity import check_diversity
from pytest_hush.packs.quality.lure import check_length, check_lure
from pytest_hush.packs.quality.report import CHECKS, CheckName, Figure, Finding, QualityReport, collect
from pytest_hush.packs.quality.texts import Remembered
from pytest_hush.packs.quality.warrant import check_warrant
from pytest_hush.protocols import Embedder

__all__ = ["CHECKS", "CheckName", "Figure", "Finding", "QualityReport", "check"]


def check(pack: Pack, embedder: Embedder | None = None) -> QualityReport:
    """Every finding and figure on a loaded pack. Without `embedder` what compares meanings is not measured.

    The rules on words apply to languages with a word list (``packs/lexicons``); for others the report says so.
    """
    return collect(_parts(pack, Remembered(embedder) if embedder else None))


def _parts(pack: Pack, embedder: Embedder | None) -> Iterator[Finding | Figure]:
    words = lexicon(pack.language)
    yield from check_length(pack, words)
    yield from check_warrant(pack, words)
    yield from check_lure(pack, words)
    yield from check_diversity(pack, words)
    yield from check_balance(pack)
    yield from check_controls(pack)
    yield from check_background(pack)
    # numpy and the weights are met only here, so that a check by words costs neither.
    from pytest_hush.packs.quality.guess import check_guess
    from pytest_hush.packs.quality.retrieval import check_retrieval

    yield from check_guess(pack, words, embedder)
    yield from check_retrieval(pack, embedder)
    if embedder is not None:
        from pytest_hush.packs.quality.similarity import check_similarity

        yield from check_similarity(pack, embedder)
