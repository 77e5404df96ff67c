"""Packs of many disclosures for what is judged over many: built from the small one, every text generated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_hush.model import CATEGORIES, FAMILIES, Disclosure, Pack, Probe
from pytest_hush.packs import load_pack
from tests.unit.packs import small

# Everyday words that tell nothing of a category, dealt by number so that no two probes are alike.
THINGS = [
    "lamp",
    "shelf",
    "kettle",
    "scarf",
    "ladder",
    "button",
    "marble",
    "pencil",
    "carpet",
    "basket",
    "violin",
    "saddle",
    "tunnel",
    "rocket",
    "window",
]


def pack(tmp_path: Path, *, hint: bool, per_category: int = 12, strength: str = "medium") -> Pack:
    """`per_category` disclosures of each category; with `hint` every probe names a word of its category."""
    base = load_pack(small.write(tmp_path / "small"))
    disclosures: list[Disclosure] = []
    probes: list[Probe] = []
    for c, category in enumerate(CATEGORIES):
        for k in range(per_category):
            key = f"p01-x{c}-{k}"
            d = base.disclosures[0]
            disclosures.append(replace(d, id=key, category=category, strength=strength))  # type: ignore[arg-type]
            for f, family in enumerate(FAMILIES):
                i = c * 31 + k * 7 + f * 11
                said = [THINGS[(i * m + m) % len(THINGS)] for m in (1, 2, 4, 7)]
                words = ([f"word{c}"] if hint else []) + said
                probes.append(Probe(f"{key}-{f}", "p01", key, family, "home", " ".join(words)))
    return replace(base, disclosures=tuple(disclosures), probes=tuple(probes), invitations=())
