"""How the coefficients of the embedded judge come about: logistic regression on the tuning half of a labelled set.

The held-out half is never opened here (`labels.tuning` opens its own half alone; a test holds it to that).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_hush.judges.agreement import krippendorff_alpha
from pytest_hush.judges.cues import load_cues
from pytest_hush.judges.evidence import Reader
from pytest_hush.judges.features import REPLY, SENTENCE
from pytest_hush.judges.reading import sentences
from pytest_hush.judges.weighing import SURE, reply_row, sentence_rows
from pytest_hush.judges.weights import LEVELS, Logistic, Weights, parse_weights, weights_text
from pytest_hush.text import words

if TYPE_CHECKING:
    from pytest_hush.model import JudgeView
    from pytest_hush.protocols import Embedder

Floats = NDArray[np.float64]

PENALTY: Final = 100.0
"""Ridge penalty of the sentences' regression. Of 10, 30, 100, 300 the one that agreed best with left-out personas."""
REPLY_PENALTY: Final = 1.0
FALSE_USE: Final = 0.002
"""Mean v that the replies without memory may get while the cuts are set: the product's floor is UIS 0.3 to 1."""
MARGIN: Final = 0.3
"""Log-odds by which the cuts lie above those that agree best. A false use turns a gate red for nothing, a hint that was
missed is one of many: of 0, 0.1, 0.2, 0.3, 0.5 the least with no false use in personas that were left out."""
FLOOR_SHARE: Final = 0.8
"""The floor of weak rules lies at this quantile of the replies' strongest sentences."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled reply. `v`: its consensus, the target uptake on invited turns. `helpfulness` None: not labelled.

    `quote`: the passage that readers named, "" where nothing was used. `silent`: the reply of a generator that was
    shown no history, so that nothing in it can be a use. `cluster`: its persona.
    """

    view: JudgeView
    v: float
    quote: str
    helpfulness: float | None
    cluster: str
    silent: bool = False


def train(
    examples: Sequence[Example], embedder: Embedder, about: Mapping[str, str | int | float]
) -> tuple[str, dict[str, float]]:
    """The text of the weights file, and figures of a check with one persona left out at a time.

    `about` goes into the file as it is. Figures: ``alpha`` (Krippendorff, interval scale) and ``mae`` of v, ``silent``
    (mean v of the replies without memory, 0..1), each of replies whose persona was left out.

    Raises:
        ValueError: fewer than two personas, or no reply that uses history.
    """
    data = _Data.of(examples, embedder)
    if len(set(data.cluster)) < 2 or not (data.v > 0).any():
        raise ValueError("training needs replies of two personas or more, some of which use history")
    fitted = _fit_all(data, np.ones(len(data.cluster), dtype=bool))
    trained = {**about, "replies": len(examples), "sentences": len(data.rows), "penalty": PENALTY}
    return weights_text(*fitted, trained), _left_out(data)


@dataclass(frozen=True, slots=True)
class _Data:
    """Arrays over sentences (`rows`, `y`, `owner`) and over replies (the rest)."""

    rows: Floats
    y: Floats
    owner: NDArray[np.int64]
    v: Floats
    plain: NDArray[np.bool_]
    silent: NDArray[np.bool_]
    cluster: NDArray[np.str_]
    replies: Floats
    helpful: Floats

    @classmethod
    def of(cls, examples: Sequence[Example], embedder: Embedder) -> _Data:
        cues = load_cues()
        rows: list[tuple[float, ...]] = []
        y: list[float] = []
        owner: list[int] = []
        replies: list[tuple[float, ...]] = []
        for number, example in enumerate(examples):
            found = sentences(example.view.reply)
            reader = Reader(example.view, found, embedder, cues)
            marked = _quoted([s.text for s in found], example.quote) if example.v else set()
            for index, row in enumerate(sentence_rows(reader, reader.marks())):
                rows.append(row)
                y.append(example.v if index in marked else 0.0)
                owner.append(number)
            replies.append(reply_row(reader, example.view.reply))
        return cls(
            np.array(rows),
            np.array(y),
            np.array(owner),
            np.array([e.v for e in examples]),
            np.array([not e.view.invited for e in examples]),
            np.array([e.silent for e in examples]),
            np.array([e.cluster for e in examples]),
            np.array(replies),
            np.array([np.nan if e.helpfulness is None else e.helpfulness for e in examples]),
        )

    def strongest(self, odds: Floats) -> Floats:
        """The largest log-odds of each reply's sentences."""
        best = np.full(len(self.v), -np.inf)
        np.maximum.at(best, self.owner, odds)
        return best


def _quoted(texts: Sequence[str], quote: str) -> set[int]:
    """The sentences that hold most of the passage that readers named."""
    wanted = set(words(quote))
    if not wanted or not texts:
        return set()
    shares = [len(wanted & set(words(t))) / len(wanted) for t in texts]
    best = max(shares)
    return {i for i, s in enumerate(shares) if s >= 0.9 * best} if best > 0.4 else {int(np.argmax(shares))}


Fitted = tuple[Logistic, tuple[float, ...], float, Logistic]


def _fit_all(data: _Data, use: NDArray[np.bool_]) -> Fitted:
    inside = use[data.owner]
    sentence = fit(data.rows[inside], data.y[inside], SENTENCE, PENALTY)
    best = data.strongest(_odds(sentence, data.rows))
    judged = use & data.plain
    cuts = _cuts(best[judged], data.v[judged], data.silent[judged])
    # Weak rules find as many condolences to anybody as hints: they count where the rest of the sentence agrees.
    floor = round(float(np.quantile(best[judged], FLOOR_SHARE)), 3)
    helped = use & ~np.isnan(data.helpful)
    reply = fit(data.replies[helped], data.helpful[helped], REPLY, REPLY_PENALTY)
    return sentence, cuts, floor, reply


def fit(x: Floats, y: Floats, names: tuple[str, ...], penalty: float) -> Logistic:
    """Ridge logistic regression of shares `y` in 0..1 on the columns of `x`; its numbers rounded to four places."""
    from scipy.optimize import minimize

    centre = np.round(x.mean(axis=0), 4)
    scale = np.round(np.maximum(x.std(axis=0), 1e-3), 4)
    z = np.c_[(x - centre) / scale, np.ones(len(x))]

    def loss(b: Floats) -> tuple[float, Floats]:
        odds = z @ b
        value = float(np.sum(np.logaddexp(0.0, odds) - y * odds)) + penalty * float(np.sum(b[:-1] ** 2))
        return value, z.T @ (1 / (1 + np.exp(-odds)) - y) + 2 * penalty * np.append(b[:-1], 0.0)

    found: Any = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    weight = np.round(found.x, 4)
    columns = (tuple(float(n) for n in column) for column in (centre, scale, weight[:-1]))
    a, b, c = columns
    return Logistic(names, a, b, c, float(weight[-1]))


def _odds(model: Logistic, rows: Floats) -> Floats:
    return np.array([model.odds(row) for row in rows.tolist()])


def _cuts(best: Floats, v: Floats, silent: NDArray[np.bool_]) -> tuple[float, ...]:
    """Four cuts that agree best with `v` while replies without memory get at most `FALSE_USE`."""
    levels = np.array(LEVELS)
    grid = np.unique(np.round(np.quantile(best, np.linspace(0, 1, 61)), 3))

    def scored(cuts: Sequence[float]) -> Floats:
        return levels[np.searchsorted(np.array(cuts), best, side="right")]

    def allowed(cuts: Sequence[float]) -> bool:
        return not silent.any() or float(scored(cuts)[silent].mean()) <= FALSE_USE

    least = next((float(g) for g in grid if allowed([g] * 2 + [grid[-1] + 1] * 2)), float(grid[-1]) + 1)
    cuts = [max(least, float(np.quantile(best, q))) for q in (0.6, 0.7, 0.8, 0.9)]
    kept = _alpha(scored(cuts), v) if allowed(cuts) else -np.inf
    for _ in range(6):
        for place in range(4):
            for value in grid:
                other = [*cuts[:place], float(value), *cuts[place + 1 :]]
                if other != sorted(other) or not allowed(other):
                    continue
                reached = _alpha(scored(other), v)
                if reached > kept + 1e-9:
                    kept, cuts = reached, other
    return tuple(round(c + MARGIN, 3) for c in cuts)


def _alpha(x: Floats, y: Floats) -> float:
    found = krippendorff_alpha([x, y])
    return 1.0 if found is None else found  # nothing varies: they are equal


def _left_out(data: _Data) -> dict[str, float]:
    """Every persona judged by weights that were fitted without it."""
    v = np.zeros(len(data.v))
    for cluster in sorted(set(data.cluster.tolist())):
        use = data.cluster != cluster
        weights: Weights = parse_weights(weights_text(*_fit_all(data, use), {}))
        score = _scorer(weights)
        inside = ~use[data.owner]
        found = np.array([score(row) for row in data.rows[inside].tolist()])
        best = np.zeros(len(v))
        np.maximum.at(best, data.owner[inside], found)
        v[~use] = best[~use]
    judged = data.plain & ~data.silent
    return {
        "alpha": _alpha(v[judged], data.v[judged]),
        "mae": float(np.abs(v - data.v)[judged].mean()),
        "silent": float(v[data.silent].mean()) if data.silent.any() else 0.0,
    }


def _scorer(weights: Weights) -> Callable[[Sequence[float]], float]:
    """What a sentence counts, as `weighing.weigh` has it; the first feature is the rules' score."""

    def score(row: Sequence[float]) -> float:
        odds = weights.sentence.odds(row)
        rule = row[0] if row[0] >= SURE or odds >= weights.floor else 0.0
        return max(rule, weights.level(odds))

    return score
