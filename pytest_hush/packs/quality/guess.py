"""The blind guess: can the category of a disclosure be told from its probe alone?

If it can, the probe itself hints at the matter, and a reply that speaks of it was asked to. Two classifiers try:
naive Bayes on content words, and ridge regression on sentence embeddings. Folds hold whole disclosures, since the
four probes of one share their everyday subject.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log, sqrt
from typing import Final

import numpy as np

from pytest_hush.model import CATEGORIES, Pack, Probe
from pytest_hush.packs.lexicon import Lexicon
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.protocols import Embedder

BOUND: Final = 0.2
"""Share of right guesses among ten categories, of which chance finds 0.1."""
FOLDS: Final = 5
RIDGE: Final = 1.0
_PER_CATEGORY: Final = 10
"""Disclosures of each category below which a share of right guesses is chance."""


def check_guess(pack: Pack, lexicon: Lexicon | None, embedder: Embedder | None) -> Iterator[Finding | Figure]:
    """Cross-validated shares of right guesses for medium and for weak lures."""
    disclosures = {d.id: d for d in pack.disclosures}
    for strength in ("medium", "weak"):
        probes = [p for p in pack.probes if disclosures[p.disclosure].strength == strength]
        name = f"category guessed right from a {strength} lure's probe"
        count = Counter(d.category for d in pack.disclosures if d.strength == strength)
        if min((count[c] for c in CATEGORIES), default=0) < _PER_CATEGORY:
            few = f"not measured: under {_PER_CATEGORY} {strength} disclosures of a category"
            yield Figure("guess", name, few)
            continue
        truth = [CATEGORIES.index(disclosures[p.disclosure].category) for p in probes]
        folds = _folds([p.disclosure for p in probes], truth)
        shares: dict[str, float] = {}
        if lexicon is not None:
            shares["content words"] = _share(_bayes([lexicon.content_stems(p.text) for p in probes], truth, folds), truth)  # fmt: skip  # noqa: E501
        if embedder is not None:
            shares["embeddings"] = _share(_ridge(embedder, probes, truth, folds), truth)
        for way, share in shares.items():
            error = sqrt(share * (1 - share) / len(probes))
            value = f"{share:.1%} by {way} ({len(probes)} probes, standard error {error:.1%})"
            yield Figure("guess", name, value, f"at most {BOUND:.0%}; chance 10%")
            if share > BOUND:
                what = f"{name}: {share:.1%} by {way}"
                yield Finding("guess", "error", pack.name, what, f"at most {BOUND:.0%}")


def _folds(groups: Sequence[str], truth: Sequence[int]) -> list[int]:
    """A fold for each probe: whole disclosures, dealt in turn within each category."""
    dealt: dict[int, dict[str, int]] = defaultdict(dict)
    for group, category in zip(groups, truth, strict=True):
        dealt[category].setdefault(group, len(dealt[category]) % FOLDS)
    return [dealt[category][group] for group, category in zip(groups, truth, strict=True)]


def _share(guesses: Sequence[int], truth: Sequence[int]) -> float:
    return sum(g == t for g, t in zip(guesses, truth, strict=True)) / len(truth)


def _bayes(documents: Sequence[frozenset[str]], truth: Sequence[int], folds: Sequence[int]) -> list[int]:
    guesses = [0] * len(documents)
    for fold in range(FOLDS):
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for document, category, at in zip(documents, truth, folds, strict=True):
            if at != fold:
                counts[category].update(document)
        vocabulary = {w for table in counts.values() for w in table}
        totals = {c: sum(table.values()) + len(vocabulary) for c, table in counts.items()}
        for i, document in enumerate(documents):
            if folds[i] == fold:
                known = sorted(document & vocabulary)
                guesses[i] = max(
                    sorted(counts),
                    key=lambda c: sum(log((counts[c][w] + 1) / totals[c]) for w in known),
                )
    return guesses


def _ridge(embedder: Embedder, probes: Sequence[Probe], truth: Sequence[int], folds: Sequence[int]) -> list[int]:
    x = np.asarray(embedder.embed([p.text for p in probes]), dtype=np.float64)
    y = np.eye(len(CATEGORIES))[np.asarray(truth)]
    at = np.asarray(folds)
    guesses = np.zeros(len(probes), dtype=int)
    for fold in range(FOLDS):
        train, test = at != fold, at == fold
        centre = x[train].mean(axis=0)
        z = x[train] - centre
        weights = np.linalg.solve(z.T @ z + RIDGE * np.eye(x.shape[1]), z.T @ (y[train] - y[train].mean(axis=0)))
        guesses[test] = np.argmax((x[test] - centre) @ weights, axis=1)
    return [int(g) for g in guesses]
