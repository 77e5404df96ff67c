"""How far a judge agrees with readers: the figures of one judge on one labelled set.

A calibration is bound to what was calibrated (judge, version, rubric, policy, embeddings) and to what it was calibrated
on (the labels' hash and part). It says nothing of any other. Imports numpy.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from pytest_hush.judges.agreement import (
    LEVELS,
    Agreement,
    Figure,
    Group,
    Roc,
    agreement,
    by_group,
    krippendorff_alpha,
    nearest_level,
    roc,
)
from pytest_hush.judges.labelled_views import LabelledView
from pytest_hush.judges.labels import AnnotatorKind, LabelledSet, Part, Scores
from pytest_hush.model import CATEGORIES, FAMILIES, Judgement
from pytest_hush.protocols import Judge

SCHEMA: Final = 1
SCORES: Final = ("v", "target_uptake", "over_scope", "helpfulness")
_STRICT: Final = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How pydantic reads a file of this shape, here and in all that it holds."""


@dataclass(frozen=True, slots=True)
class JudgeId:
    """What must be equal for a calibration to speak of a run's judge: the judge's part of the *instrument*.

    `digest` is '' where the judge was told of a persona's background facts alone, as in every labelled set.
    """

    name: str
    version: str
    rubric: str
    policy: str
    embedded_build: str
    digest: str = ""

    @classmethod
    def of(cls, judge: Judge, digest: str = "") -> JudgeId:
        """The identity of `judge`. May load its embeddings, and so raise `MissingExtraError`."""
        name = str(getattr(judge, "name", "") or type(judge).__name__)
        about = {a: str(getattr(judge, a, "") or "") for a in ("version", "rubric", "policy", "embedded_build")}
        return cls(name, **about, digest=digest)


@dataclass(frozen=True, slots=True)
class LabelsId:
    """The labelled set and the part of it that was used; `packs` maps each pack's name to its hash."""

    name: str
    version: str
    hash: str
    language: str
    part: Part
    packs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Limit:
    """Only the first `taken` of `of` items were judged: a partial calibration, which satisfies no gate."""

    taken: int
    of: int


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """Over `n` replies without any use: 100 times the judge's mean `v`, and percent that it scored above 0.

    `unreadable` more got no readable judgement.
    """

    n: int
    uis: float | None
    share: float | None
    unreadable: int


@dataclass(frozen=True, slots=True)
class ItemScore:
    """One item: the consensus `v` of its readers (`label`), the judge's (`judged`), and the judge's other scores.

    `label` is None on invited turns, and so is `judged`. All of the judge's are None where it gave no readable answer.
    """

    item: str
    label: float | None
    judged: float | None
    target_uptake: float | None
    over_scope: float | None
    helpfulness: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The figures of one judge on one part of a labelled set (``docs/reference/calibration.md``).

    `n` items were asked, `unreadable` of them without an answer: these are in no figure. `annotators` counts items by
    who stands behind their consensus. `scores` and `ceiling` are by score name; `ceiling` is the agreement of the two
    annotator passes with each other, which no judge can be expected to pass by much. `bias` is of `v`, by ``level``,
    ``family``, ``category``, ``origin``. `roc` is of `v`, for ``above-0`` and ``half`` (v >= 0.5) in the consensus.
    `false_positives` are items of consensus 0; `no_memory` replies of generators that were shown no history, which no
    reader scored and no other figure holds.
    """

    __pydantic_config__: ClassVar = _STRICT
    schema: int
    made: str
    plugin_version: str
    judge: JudgeId
    labels: LabelsId
    partial: Limit | None
    annotators: Mapping[AnnotatorKind, int]
    n: int
    unreadable: int
    personas: int
    scores: Mapping[str, Agreement]
    ceiling: Mapping[str, Agreement]
    bias: Mapping[str, tuple[Group, ...]]
    roc: Mapping[str, Roc]
    false_positives: FalsePositives
    no_memory: FalsePositives
    items: tuple[ItemScore, ...]

    @property
    def alpha(self) -> Figure:
        """Krippendorff's alpha of `v`: what a gate's `min_alpha` is held against."""
        return self.scores["v"].alpha

    def data(self) -> dict[str, Any]:
        """The calibration as the JSON data of its file."""
        return asdict(self)


def calibrate(
    views: Sequence[LabelledView],
    judgements: Sequence[Judgement | None],
    labels: LabelledSet,
    judge: JudgeId,
    *,
    made: datetime.date,
    plugin_version: str,
    of: int | None = None,
    no_memory: Sequence[Judgement | None] = (),
) -> Calibration:
    """The figures of `judgements` (None: unreadable) on `views`, one each. `of`: how many items the part has in all.

    `no_memory` are judgements of the part's replies without history.
    """
    x = [v.labelled for v in views]
    clusters = [v.cluster for v in views]
    truth, judged, first, second = (
        {name: _column(rows, name) for name in SCORES}
        for rows in ([i.consensus for i in x], judgements, [i.first for i in x], [i.second for i in x])
    )
    v, seen = truth["v"], judged["v"]
    groups: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "level": ([_level(value) for value in v], [f"{level:g}" for level in LEVELS]),
        "family": ([view.family for view in views], FAMILIES),
        "category": ([view.category for view in views], CATEGORIES),
        "origin": ([i.item.origin for i in x], ("written", "recorded", "run")),
    }
    of = len(views) if of is None else of
    return Calibration(
        schema=SCHEMA,
        made=made.isoformat(),
        plugin_version=plugin_version,
        judge=judge,
        labels=LabelsId(labels.name, labels.version, labels.hash, labels.language, labels.part, dict(labels.packs)),
        partial=None if of == len(views) else Limit(len(views), of),
        annotators=dict(sorted(Counter(i.kind for i in x).items())),
        n=len(views),
        unreadable=sum(j is None for j in judgements),
        personas=len(set(clusters)),
        scores={name: agreement(truth[name], judged[name], clusters) for name in SCORES},
        ceiling={name: agreement(first[name], second[name], clusters) for name in SCORES},
        bias={kind: by_group(v, seen, names, order) for kind, (names, order) in groups.items()},
        roc={"above-0": _roc(v, seen, lambda t: t > 0), "half": _roc(v, seen, lambda t: t >= 0.5)},
        false_positives=_false_positives([j for t, j in zip(v, seen, strict=True) if t == 0]),
        no_memory=_false_positives(_column(no_memory, "v")),
        items=tuple(_item(i.item.id, i.consensus.v, j) for i, j in zip(x, judgements, strict=True)),
    )


def recomputed_alpha(items: Sequence[ItemScore]) -> float | None:
    """Alpha of `v` from the items alone: what the figure in a file must be."""
    return krippendorff_alpha([[_number(i.label) for i in items], [_number(i.judged) for i in items]])


def _column(rows: Sequence[Scores | Judgement | None], name: str) -> list[float]:
    return [_number(getattr(row, name)) if row is not None else math.nan for row in rows]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _level(v: float) -> str:
    return "invited" if math.isnan(v) else f"{LEVELS[int(nearest_level(v))]:g}"


def _roc(truth: Sequence[float], judged: Sequence[float], positive: Callable[[float], bool]) -> Roc:
    kept = [(t, j) for t, j in zip(truth, judged, strict=True) if not math.isnan(t)]
    return roc([j for _, j in kept], [positive(t) for t, _ in kept])


def _false_positives(judged: Sequence[float]) -> FalsePositives:
    found = [j for j in judged if not math.isnan(j)]
    unreadable = len(judged) - len(found)
    if not found:
        return FalsePositives(0, None, None, unreadable)
    uis, share = 100.0 * sum(found) / len(found), 100.0 * sum(j > 0 for j in found) / len(found)
    return FalsePositives(len(found), uis, share, unreadable)


def _item(name: str, label: float | None, judged: Judgement | None) -> ItemScore:
    if judged is None:
        return ItemScore(name, label, None, None, None, None)
    return ItemScore(name, label, judged.v, judged.target_uptake, judged.over_scope, judged.helpfulness)
