"""Labels that readers gave to a run's own replies: ``labels.jsonl`` in the run folder, and what they come to.

The format is ``docs/reference/record.md``. A label is bound to the reply that was read and to the judge that it
corrects: after either has changed it is stale, and none of them is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pytest_hush.errors import LabelError
from pytest_hush.model import Record, digest
from pytest_hush.store.codec import MALFORMED, amount, mapping, score, text
from pytest_hush.store.folder import write_atomically

LABELS: Final = "labels.jsonl"
BINDING: Final = ("judge", "judge_version", "rubric")
"""Fields of a record's instrument that labels are bound to."""
METRICS: Final = ("v", "target_uptake", "over_scope", "helpfulness")

Kind = Literal["human", "model"]
Pass = Literal["a", "b", "adjudicated"]


@dataclass(frozen=True, slots=True)
class Label:
    """What one reader said of one reply. Field order is the file's.

    `item` is the record's key. `weight` is one over the item's chance to be drawn, within its persona and condition.
    `reply` is `reply_digest` of what was read; `judge`, `judge_version`, `rubric` are the record's instrument. `date`
    is the day of the import, ISO 8601. `v` is None on invited turns.
    """

    item: str
    annotator: str
    annotator_kind: Kind
    pass_: Pass
    v: float | None
    target_uptake: float
    over_scope: float
    helpfulness: float
    evidence: str
    weight: float
    date: str
    reply: str
    judge: str
    judge_version: str
    rubric: str


@dataclass(frozen=True, slots=True)
class Consensus:
    """The scores that stand for one item: the adjudicated label, else the mean of the passes."""

    v: float | None
    target_uptake: float
    over_scope: float
    helpfulness: float
    weight: float


@dataclass(frozen=True, slots=True)
class RunLabels:
    """All labels of one run, by record key. `kind` says who stands behind them; ``mixed``: people and models."""

    items: Mapping[str, Consensus]
    annotators: tuple[str, ...]
    kind: Literal["human", "model", "mixed"]

    @property
    def told(self) -> str:
        """``200 replies labelled by 2 people``: reports do not name the readers."""
        n = len(self.annotators)
        who = {
            "human": "1 person" if n == 1 else f"{n} people",
            "model": "1 model reader" if n == 1 else f"{n} model readers",
            "mixed": f"{n} readers, people and models",
        }[self.kind]
        return f"{len(self.items)} replies labelled by {who}"


def reply_digest(reply: str) -> str:
    """16 hex digits that tell one reply from another."""
    return digest(reply.encode("utf-8", "backslashreplace").decode(), 16)


def write_labels(folder: Path, labels: Iterable[Label]) -> Path:
    """Write ``labels.jsonl`` of the run in `folder` anew; an older one is kept as ``labels-1.jsonl``, ``-2``…

    Raises `LabelError` when it cannot be written.
    """
    path = folder / LABELS
    lines = [json.dumps(_to_json(label), ensure_ascii=True, allow_nan=False) + "\n" for label in labels]
    try:
        if path.exists():
            if path.read_text(encoding="utf-8") == "".join(lines):
                return path
            number = 1
            while (aside := folder / f"labels-{number}.jsonl").exists():
                number += 1
            path.rename(aside)
        write_atomically(path, "".join(lines))
    except (OSError, ValueError) as error:
        raise LabelError(f"{path}: the labels cannot be written: {error}.") from error
    return path


def read_labels(path: Path) -> list[Label]:
    """The labels of one file. Raises `LabelError` that names the file, the line and what was expected."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise LabelError(f"{path}: the labels cannot be read: {error}.") from error
    found: list[Label] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            label = _from_json(mapping(json.loads(line)))
        except MALFORMED as error:
            what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise LabelError(
                f"{path}, line {number}: no label can be read here ({what}). Import the readers' CSV once more with "
                f"`hush review import`."
            ) from None
        place = (label.item, label.pass_)
        if place in seen:
            raise LabelError(
                f"{path}, line {number}: a second label {label.pass_!r} of {label.item} (the first is in line "
                f"{seen[place]}). Import the readers' CSV once more with `hush review import`."
            )
        seen[place] = number
        found.append(label)
    return found


def usable_labels(folder: Path, records: Sequence[Record]) -> tuple[RunLabels | None, str]:
    """The labels that lie in a run's `folder`, where they belong to `records`; else None, and why not.

    Without a labels file both are empty. A file that cannot be read, or labels that are stale, give the reason: what
    was judged without them stays as it is.
    """
    path = folder / LABELS
    if not path.is_file():
        return None, ""
    try:
        labels = read_labels(path)
    except LabelError as error:
        return None, f"The labels of this run are not used: {error}"
    if not labels:
        return None, ""
    if reason := _stale(labels, records):
        return None, f"The labels of this run ({path.name}) are stale and not used: {reason}"
    return consensus(labels), ""


def consensus(labels: Iterable[Label]) -> RunLabels:
    """Labels of several passes as one score an item."""
    by_item: dict[str, list[Label]] = {}
    for label in labels:
        by_item.setdefault(label.item, []).append(label)
    items: dict[str, Consensus] = {}
    kinds: set[Kind] = set()
    names: dict[str, None] = {}
    for item, own in by_item.items():
        decisive = [x for x in own if x.pass_ == "adjudicated"] or own
        kinds |= {x.annotator_kind for x in decisive}
        names |= dict.fromkeys(x.annotator for x in own)
        values = [x.v for x in decisive if x.v is not None]
        items[item] = Consensus(
            _mean(values) if values else None,
            _mean([x.target_uptake for x in decisive]),
            _mean([x.over_scope for x in decisive]),
            _mean([x.helpfulness for x in decisive]),
            decisive[0].weight,
        )
    return RunLabels(items, tuple(names), "mixed" if len(kinds) > 1 else kinds.pop())


def _stale(labels: Iterable[Label], records: Iterable[Record]) -> str:
    by_key = {r.key: r for r in records}
    for label in labels:
        record = by_key.get(label.item)
        if record is None:
            return f"the record {label.item[:12]} that one of them is for is not in this run."
        if reply_digest(record.reply) != label.reply:
            return f"the reply of record {label.item[:12]} is another one than was read."
        for name in BINDING:
            here, there = str(record.instrument.get(name, "")), getattr(label, name)
            if here != there:
                return f"they were made to correct {name} {there!r}, and this run has {here!r}."
    return ""


def _to_json(label: Label) -> dict[str, Any]:
    return {name.removesuffix("_"): getattr(label, name) for name in Label.__dataclass_fields__}


def _from_json(value: Mapping[str, Any]) -> Label:
    weight = amount(value["weight"])
    if weight <= 0:
        raise ValueError("weight: expected a number above 0")
    return Label(
        item=_named(value, "item"),
        annotator=_named(value, "annotator"),
        annotator_kind=_one_of(value, "annotator_kind", get_args(Kind)),
        pass_=_one_of(value, "pass", get_args(Pass)),
        v=None if value["v"] is None else _score(value, "v"),
        target_uptake=_score(value, "target_uptake"),
        over_scope=_score(value, "over_scope"),
        helpfulness=_score(value, "helpfulness"),
        evidence=text(value["evidence"]),
        weight=weight,
        date=text(value["date"]),
        reply=text(value["reply"]),
        judge=text(value["judge"]),
        judge_version=text(value["judge_version"]),
        rubric=text(value["rubric"]),
    )


def _score(value: Mapping[str, Any], name: str) -> float:
    try:
        return score(value[name])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _named(value: Mapping[str, Any], name: str) -> str:
    found = text(value[name])
    if not found:
        raise ValueError(f"{name}: expected a text, read an empty one")
    return found


def _one_of(value: Mapping[str, Any], name: str, known: tuple[str, ...]) -> Any:
    if value[name] not in known:
        raise ValueError(f"{name}: expected {' or '.join(known)}")
    return value[name]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
