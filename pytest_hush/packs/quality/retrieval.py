"""What a plain memory finds: the direct questions, which must reach their turn, and the probes, which may.

The share of probes whose disclosure lies in the top five is the pack's difficulty: the paper's memory systems
rendered the exact target in 23 to 30 % of the cases (exposure table).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_hush.model import STRENGTHS, Disclosure, Pack, Persona, Turn
from pytest_hush.packs.quality.report import Figure, Finding
from pytest_hush.packs.stems import StemSet, word_tuple
from pytest_hush.protocols import Embedder

TOP: Final = 5
PAPER: Final = "the paper's systems: 23 to 30 %"
Scores = NDArray[np.float64]
Scorer = Callable[[Sequence[str], Sequence[str]], Scores]
"""(questions, turns) → scores of shape (questions, turns); higher is nearer."""


def check_retrieval(pack: Pack, embedder: Embedder | None) -> Iterator[Finding | Figure]:
    """Direct questions that miss their turn, and the share of probes whose disclosure is found, by strength."""
    ways: dict[str, Scorer] = {"BM25": _bm25_scores}
    if embedder is not None:
        ways = {"embeddings": _embedding_scorer(embedder), **ways}
    for way, scorer in ways.items():
        found: dict[str, list[bool]] = defaultdict(list)
        for persona in pack.personas:
            yield from _persona(pack, persona, scorer, found, report=way == "embeddings")
        for kind in ("disclosure asked for", "session fact asked for", "positive control asked for"):
            if found[kind]:
                share = f"{sum(found[kind])} of {len(found[kind])}"
                bound = "all" if way == "embeddings" else ""
                yield Figure("retrieval", f"{kind}, in the top {TOP} by {way}", share, bound)
        for strength in STRENGTHS:
            if hits := found[strength]:
                value = f"{np.mean(hits):.0%} of {len(hits)}"
                yield Figure("retrieval", f"{strength} lures that find their disclosure by {way}", value)
        every = [hit for s in STRENGTHS for hit in found[s]]
        yield Figure("retrieval", f"probes that find their disclosure by {way}", f"{np.mean(every):.0%}; {PAPER}")


def _persona(
    pack: Pack, persona: Persona, scorer: Scorer, found: dict[str, list[bool]], *, report: bool
) -> Iterator[Finding]:
    background = [t for s in persona.sessions for t in s.turns]
    own = [d for d in pack.disclosures if d.persona == persona.id]
    controls = [c for c in pack.positive_controls if c.persona == persona.id]
    ranks = _ranks(scorer([c.question for c in controls], [t.text for t in background]))
    for control, order in zip(controls, ranks, strict=True):
        answer = StemSet(control.answer)
        hit = any(_answers(answer, background[i]) for i in order[:TOP])
        found["positive control asked for"].append(hit)
        if report and not hit:
            yield _missed(control.id, "its answer")
    for d in own:
        probes = [p for p in pack.probes if p.disclosure == d.id]
        turns = [*background, *d.turns]
        questions = [d.question, d.session_fact.question, *(p.text for p in probes)]
        orders = _ranks(scorer(questions, [t.text for t in turns]))
        tops = [[turns[i] for i in order[:TOP]] for order in orders]
        for kind, hit, what in _direct(d, tops):
            found[kind].append(hit)
            if report and not hit:
                yield _missed(d.id, what)
        found[d.strength] += [any(t.id == d.turn_id for t in top) for top in tops[2:]]


def _direct(d: Disclosure, tops: list[list[Turn]]) -> Iterator[tuple[str, bool, str]]:
    told = any(t.id == d.turn_id for t in tops[0])
    yield "disclosure asked for", told, f"the disclosing turn for {d.question!r}"
    answer = StemSet(d.session_fact.answer)
    own = {t.id for t in d.turns} - {d.turn_id}
    fact = any(t.id in own and _answers(answer, t) for t in tops[1])
    yield "session fact asked for", fact, f"the session fact for {d.session_fact.question!r}"


def _missed(where: str, what: str) -> Finding:
    return Finding("retrieval", "error", where, f"{what} not in the top {TOP}", f"it among the {TOP} nearest turns")


def _answers(answer: StemSet, turn: Turn) -> bool:
    return len(answer.found(word_tuple(turn.text))) == len(answer.stems)


def _ranks(scores: Scores) -> list[list[int]]:
    # A stable sort: of equal scores the older turn comes first, on every machine.
    return [list(np.argsort(-row, kind="stable")) for row in scores]


def _embedding_scorer(embedder: Embedder) -> Scorer:
    def scores(questions: Sequence[str], turns: Sequence[str]) -> Scores:
        if not questions:
            return np.zeros((0, len(turns)))
        left, right = embedder.embed(list(questions)), embedder.embed(list(turns))
        return np.asarray(left @ right.T, dtype=np.float64)

    return scores


@lru_cache(maxsize=65536)
def _table(text: str) -> Counter[str]:
    return Counter(word_tuple(text))


def _bm25_scores(questions: Sequence[str], turns: Sequence[str], k1: float = 1.5, b: float = 0.75) -> Scores:
    """Okapi BM25 of each question against each turn (Robertson and Zaragoza 2009, eq. 3.15)."""
    tables = [_table(t) for t in turns]
    lengths = np.array([sum(t.values()) for t in tables], dtype=np.float64)
    holders = Counter(w for table in tables for w in table)
    norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1.0))
    scores = np.zeros((len(questions), len(turns)))
    for row, question in enumerate(questions):
        for word in sorted(set(word_tuple(question)) & set(holders)):
            weight = log(1 + (len(turns) - holders[word] + 0.5) / (holders[word] + 0.5))
            tf = np.array([table[word] for table in tables], dtype=np.float64)
            scores[row] += weight * tf * (k1 + 1) / (tf + norm)
    return scores
