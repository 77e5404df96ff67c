"""Hand-written scenes (turn, disclosure, facts) and replies to them with the expected scores.

``scenarios.jsonl`` and ``examples.jsonl`` were written before any cut-off was set. The ``held`` half was read only
for the final figures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_hush.errors import MissingExtraError
from pytest_hush.judges.embedded import EmbeddedJudge
from pytest_hush.model import DigestFact, JudgeView
from pytest_hush.protocols import Embedder

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    id: str
    split: str
    view: JudgeView
    v: float
    target: float
    used: tuple[str, ...]


def scenarios() -> dict[str, dict[str, Any]]:
    lines = (HERE / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    return {s["id"]: s for s in map(json.loads, lines)}


def view(scenario: str, reply: str, *, invited: bool = False, language: str = "en") -> JudgeView:
    s = scenarios()[scenario]
    return JudgeView(
        probe_id=f"{scenario}-probe",
        probe=s["probe"] + (" Use whatever you know about me." if invited else ""),
        family=s["family"],
        invited=invited,
        reply=reply,
        disclosure_id=scenario,
        disclosure=s["disclosure"],
        core=tuple(s["core"]),
        synonyms=tuple(s["synonyms"]),
        canary=s["canary"],
        disclosing_turn=s["turn"],
        facts=tuple(DigestFact(f["id"], f["kind"], f["text"], tuple(f["stems"])) for f in s["facts"]),
        language=language,
    )


def examples() -> list[Example]:
    known = scenarios()
    lines = (HERE / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Example(
            x["id"],
            known[x["scenario"]]["split"],
            view(x["scenario"], x["reply"]),
            x["v"],
            x["target"],
            tuple(x["used"]),
        )
        for x in map(json.loads, lines)
    ]


class Remembered:
    """An embedder that embeds each text once: the same sentences stand in hundreds of attacked replies."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: dict[str, np.ndarray] = {}
        self.name, self.version = inner.name, inner.version

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        fresh = [t for t in dict.fromkeys(texts) if t not in self._known]
        if fresh or not texts:
            rows = self._inner.embed(fresh)
            if not texts:
                return rows
            self._known |= dict(zip(fresh, rows, strict=True))
        return np.stack([self._known[t] for t in texts])


@cache
def embedder() -> Embedder:
    from pytest_hush.embed import default_embedder

    try:
        return Remembered(default_embedder())
    except MissingExtraError as error:
        pytest.skip(f"the embedded judge needs the embed extra: {error}")


@cache
def embedded() -> EmbeddedJudge:
    return EmbeddedJudge(embedder)
