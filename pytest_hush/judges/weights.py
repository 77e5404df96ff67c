"""The trained part of the embedded judge: one readable file of coefficients, made by ``hush judge train``."""

from __future__ import annotations

import hashlib
import math
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from pytest_hush.judges.features import REPLY, SENTENCE

FILE: Final = "weights-en-1.toml"
LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The rubric's anchors of v: what a sentence counts below the first cut, from the first cut on, …"""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression on standardised features: `odds` is its log-odds."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    bias: float

    def odds(self, values: Sequence[float]) -> float:
        """Log-odds of one row, rounded so that the last digits of another processor decide nothing."""
        parts = zip(values, self.centre, self.scale, self.weight, strict=True)
        return round(math.fsum([self.bias, *((v - c) / s * w for v, c, s, w in parts)]), 3)

    def chance(self, values: Sequence[float]) -> float:
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.odds(values)))))


@dataclass(frozen=True, slots=True)
class Weights:
    """`cuts`: log-odds from which a sentence counts 0.25, 0.5, 0.75, 1. Below `floor` a weak rule counts nothing."""

    sentence: Logistic
    cuts: tuple[float, float, float, float]
    floor: float
    reply: Logistic
    trained: Mapping[str, Any]
    digest: str
    """First 12 hex digits of the file's SHA-256: part of the judge's version."""

    def level(self, odds: float) -> float:
        """What a sentence of these log-odds counts: one of `LEVELS`."""
        return LEVELS[bisect_right(self.cuts, odds)]


def parse_weights(text: str) -> Weights:
    """The weights of a file's text. Raises ValueError when a feature is missing, unknown or out of place."""
    raw = tomllib.loads(text)
    cuts = tuple(float(c) for c in raw["sentence"]["cuts"])
    if len(cuts) != 4 or list(cuts) != sorted(cuts):
        raise ValueError(f"{FILE}: cuts = {raw['sentence']['cuts']}; expected four log-odds, ascending")
    return Weights(
        _logistic(raw["sentence"], SENTENCE),
        (cuts[0], cuts[1], cuts[2], cuts[3]),
        float(raw["sentence"]["floor"]),
        _logistic(raw["reply"], REPLY),
        raw["trained"],
        hashlib.sha256(text.encode()).hexdigest()[:12],
    )


@cache
def load_weights() -> Weights:
    """The bundled English weights."""
    text = (resources.files("pytest_hush.judges") / FILE).read_text(encoding="utf-8")
    return parse_weights(text.replace("\r\n", "\n"))


def _logistic(table: Mapping[str, Any], names: tuple[str, ...]) -> Logistic:
    rows = table["features"]
    if tuple(rows) != names:
        raise ValueError(f"{FILE}: features {list(rows)}; expected {list(names)}, in this order")
    columns = list(zip(*([float(r[k]) for k in ("centre", "scale", "weight")] for r in rows.values()), strict=True))
    if any(not s > 0 for s in columns[1]):
        raise ValueError(f"{FILE}: a scale is not above 0")
    return Logistic(names, columns[0], columns[1], columns[2], float(table["bias"]))


def weights_text(
    sentence: Logistic, cuts: Sequence[float], floor: float, reply: Logistic, trained: Mapping[str, str | int | float]
) -> str:
    """The file's text. Numbers are rounded to four places: what is written is what judges."""
    lines = [
        "# Coefficients of the embedded judge (log-odds; features are (value - centre) / scale). features.py says what",
        "# the features are, weighing.py how they are used. Made by `hush judge train`: do not edit by hand.",
        "",
        "[trained]",
        *(f"{k} = {_toml(v)}" for k, v in trained.items()),
        "",
        "[sentence]  # does this sentence use history?",
        f"bias = {sentence.bias:.4f}",
        f"cuts = [{', '.join(f'{c:.3f}' for c in cuts)}]  # from here on a sentence counts 0.25, 0.5, 0.75, 1",
        f"floor = {floor:.3f}  # below, a rule that gives less than 0.75 counts nothing",
        "",
        *_rows("sentence", sentence),
        "",
        "[reply]  # does the reply answer the turn?",
        f"bias = {reply.bias:.4f}",
        "",
        *_rows("reply", reply),
    ]
    return "\n".join(lines) + "\n"


def _rows(table: str, model: Logistic) -> list[str]:
    head = f"[{table}.features]"
    rows = zip(model.names, model.centre, model.scale, model.weight, strict=True)
    return [head, *(f"{n} = {{ centre = {c:.4f}, scale = {s:.4f}, weight = {w:.4f} }}" for n, c, s, w in rows)]


def _toml(value: str | int | float) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
