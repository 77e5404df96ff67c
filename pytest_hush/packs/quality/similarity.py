"""Diversity by meaning: sentence embeddings under a bound that is set on pairs whose likeness is known.

A cosine means something else for every embedder, so the bound is no constant: it is the value that finds most of
the known paraphrases of ``paraphrases.jsonl`` with the embedder at hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_hush.model import Pack
from pytest_hush.packs.quality.diversity import cells
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.packs.quality.texts import told_by_id
from pytest_hush.protocols import Embedder

CAUGHT: Final = 0.9
"""Share of the known paraphrases that lie above the bound."""
_PAIRS: Final = Path(__file__).with_name("paraphrases.jsonl")


@dataclass(frozen=True, slots=True)
class Bound:
    """`value`: the cosine above which two texts count as one; `false`: the share of known different pairs above it."""

    value: float
    false: float
    pairs: int


def calibrate(embedder: Embedder) -> Bound:
    """The bound of `embedder` on the known pairs: `CAUGHT` of the paraphrases lie at or above it."""
    pairs = [json.loads(line) for line in _PAIRS.read_text(encoding="utf-8").splitlines() if line]
    left, right = embedder.embed([p["a"] for p in pairs]), embedder.embed([p["b"] for p in pairs])
    cosines = np.einsum("ij,ij->i", left, right)
    same = np.array([p["same"] for p in pairs], dtype=bool)
    value = float(np.quantile(cosines[same], 1 - CAUGHT, method="lower"))
    return Bound(value, float(np.mean(cosines[~same] >= value)), len(pairs))


def check_similarity(pack: Pack, embedder: Embedder) -> Iterator[Finding | Figure]:
    """Pairs of probes within a cell, and of disclosures within a persona, that mean the same."""
    bound = calibrate(embedder)
    yield Figure(
        "diversity",
        "cosine that counts as the same text",
        f"{bound.value:.2f} with {embedder.name} ({CAUGHT:.0%} of the paraphrases and {bound.false:.0%} of the "
        f"different ones among {bound.pairs} known pairs lie above)",
    )
    told = told_by_id(pack)
    groups = [(f"probes of {cell}", {p.id: p.text for p in probes}) for cell, probes in cells(pack).items()]
    for persona in pack.personas:
        own = {d.id: told[d.id] for d in pack.disclosures if d.persona == persona.id}
        groups.append((f"disclosures of {persona.id}", own))
    nearest = {"probes": (-1.0, ""), "disclosures": (-1.0, "")}
    for name, texts in groups:
        kind, ids = name.partition(" ")[0], list(texts)
        if len(ids) < 2:
            continue
        vectors = embedder.embed(list(texts.values()))
        cosines = np.triu(np.asarray(vectors @ vectors.T, dtype=np.float32), 1)
        i, j = np.unravel_index(int(np.argmax(cosines)), cosines.shape)
        nearest[kind] = max(nearest[kind], (float(cosines[i, j]), f" ({ids[i]}, {ids[j]})"))
        yield from _above(name, ids, cosines, bound.value)
    for kind, group in (("probes", "a cell"), ("disclosures", "a persona")):
        value, pair = nearest[kind]
        if pair:
            yield Figure("diversity", f"cosine of {kind} within {group}, at most", f"{value:.2f}{pair}", f"under {bound.value:.2f}")  # fmt: skip  # noqa: E501


def _above(name: str, ids: list[str], cosines: NDArray[np.float32], bound: float) -> Iterator[Finding]:
    for i, j in np.argwhere(cosines >= bound):
        what = f"cosine {cosines[i, j]:.2f} with {ids[i]}"
        yield Finding("diversity", "error", ids[j], what, f"under {bound:.2f} among the {name}")
