"""Labelled replies: what readers said of each, and one consensus a reply, for the calibration of judges.

A set has two halves. `tuning` may be read while a judge is made; `held_out` only measures it. Either loader opens the
manifest and the files of its own half, and nothing else of the set: a test with an audit hook holds that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_hush.bundled import bundled, bundled_names
from pytest_hush.errors import LabelError, UsageError

if TYPE_CHECKING:
    from pytest_hush.judges.labels_file import Half, LabelLine
    from pytest_hush.packs.files import Located
    from pytest_hush.packs.problems import Problems

AnnotatorKind = Literal["human", "model", "mixed"]
Part = Literal["tuning", "held-out", "all", "run"]
"""Which part of a set was used. ``run``: labels of a run's own replies, which have no halves."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One reader's scores, or their consensus, each in 0..1; `v` is None on invited turns."""

    v: float | None
    target_uptake: float
    over_scope: float
    helpfulness: float


@dataclass(frozen=True, slots=True)
class Item:
    """One reply that was labelled. `origin`: written by an author, recorded from a model, or of a ``run``."""

    id: str
    pack: str
    probe: str
    invited: bool
    turn: str
    reply: str
    origin: Literal["written", "recorded", "local", "run"]
    where: str = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """An item with its labels. `consensus` is the adjudicated label, else the mean of the passes.

    `first` and `second` are the two independent passes, None where there was none. `kind` says who stands behind the
    consensus; ``mixed`` where people and models do. `used` and `evidence` (passages of the reply): all that they name.
    """

    item: Item
    consensus: Scores
    first: Scores | None
    second: Scores | None
    kind: AnnotatorKind
    used: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Labelled items in file order. `hash` covers both halves and the packs (name -> pack hash).

    `policy` is the one that the readers labelled under, '' where the set does not say.
    """

    name: str
    version: str
    language: str
    hash: str
    part: Part
    packs: Mapping[str, str]
    items: tuple[Labelled, ...]
    source: str
    no_memory: tuple[Item, ...] = ()
    """Replies without history, to uninvited turns: nothing in them can be a use of it. No reader was asked."""
    policy: str = ""
    shared: bool = False
    """The judges' digest lists a persona's other disclosures too: labels of a run with a ``+shared`` condition."""


def tuning(source: str | Path) -> LabelledSet:
    """The tuning half of a labelled set: a folder, or the name of a bundled one.

    Opens the manifest and ``tuning/``, nothing of ``held-out/``. Raises `LabelError` that names file, line and field.
    """
    return _read(source, ("tuning",), "tuning")


def held_out(source: str | Path) -> LabelledSet:
    """The held-out half. Opens the manifest and ``held-out/``, nothing of ``tuning/``. Raises `LabelError`."""
    return _read(source, ("held-out",), "held-out")


def whole(source: str | Path) -> LabelledSet:
    """Both halves, the tuning half first. Raises `LabelError`."""
    return _read(source, ("tuning", "held-out"), "all")


def find_labels(source: str | Path) -> Path:
    """The folder of a labelled set: a path, or the name of a bundled one. Raises `LabelError` that lists what is there.

    A name without a path separator is looked up among the bundled sets first, as names of packs are.
    """
    if isinstance(source, Path) or "/" in source or "\\" in source:
        return Path(source).expanduser()
    try:
        return bundled("probes", source)
    except UsageError:
        if Path(source).is_dir():
            return Path(source)
    known = ", ".join(n for n in bundled_names("probes") if n.startswith("labels-")) or "none"
    raise LabelError(
        f"There is no labelled set {source!r}; bundled are: {known}. Give one of these names, the folder of a set, or "
        f"a run folder that holds labels.jsonl."
    )


def assemble(
    items: Sequence[tuple[Item, Located[Any]]], labels: Sequence[Located[Any]], problems: Problems
) -> tuple[Labelled, ...]:
    """Items with their labels, in the order of the items. What does not fit together goes to `problems`."""
    by_item: dict[str, dict[str, Located[LabelLine]]] = defaultdict(dict)
    known = {item.id: item for item, _ in items}
    if len(known) < len(items):
        seen: set[str] = set()
        for item, place in items:
            if item.id in seen:
                problems.add(place.file, f"read {item.id!r} twice; expected each id once", line=place.line, field="id")
            seen.add(item.id)
    for label in labels:
        _file(label, known, by_item, problems)
    found = []
    for item, place in items:
        own = by_item[item.id]
        if not own:
            problems.add(place.file, f"the item {item.id!r} has no label; expected one at least", line=place.line)
            continue
        found.append(_labelled(item, {name: line.value for name, line in own.items()}))
    return tuple(found)


def _file(
    label: Located[LabelLine],
    known: Mapping[str, Item],
    by_item: dict[str, dict[str, Located[LabelLine]]],
    problems: Problems,
) -> None:
    line = label.value

    def wrong(text: str, field: str) -> None:
        problems.add(label.file, text, line=label.line, field=field)

    item = known.get(line.item)
    if item is None:
        wrong(f"read {line.item!r}; expected the id of an item", "item")
        return
    if (line.v is None) is not item.invited:
        wrong(f"read {line.v!r}; expected {'null, the turn is invited' if item.invited else 'a number'}", "v")
    passes = by_item[line.item]
    if line.pass_ in passes:
        wrong(f"a second label {line.pass_!r} of {line.item!r}; expected one a pass", "pass")
    other = passes.get({"a": "b", "b": "a"}.get(line.pass_, ""))
    if other is not None and other.value.annotator == line.annotator:
        wrong(f"read {line.annotator!r} for both passes; expected two readers that work apart", "annotator")
    passes[line.pass_] = label


def _labelled(item: Item, lines: Mapping[str, LabelLine]) -> Labelled:
    passes = [lines[name] for name in ("a", "b") if name in lines]
    decisive = [lines["adjudicated"]] if "adjudicated" in lines else passes
    kinds = {line.annotator_kind for line in decisive}
    values = [line.v for line in decisive if line.v is not None]
    return Labelled(
        item=item,
        consensus=Scores(
            v=_mean(values) if values else None,
            target_uptake=_mean([line.target_uptake for line in decisive]),
            over_scope=_mean([line.over_scope for line in decisive]),
            helpfulness=_mean([line.helpfulness for line in decisive]),
        ),
        first=_scores(lines.get("a")),
        second=_scores(lines.get("b")),
        kind="mixed" if len(kinds) > 1 else kinds.pop(),
        used=tuple(dict.fromkeys(u for line in decisive for u in line.used)),
        evidence=tuple(dict.fromkeys(line.evidence for line in decisive if line.evidence.strip())),
    )


def _scores(line: LabelLine | None) -> Scores | None:
    return None if line is None else Scores(line.v, line.target_uptake, line.over_scope, line.helpfulness)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _read(source: str | Path, halves: tuple[Half, ...], part: Part) -> LabelledSet:
    from pytest_hush.judges.labels_file import LabelProblems, read_half_files

    root = find_labels(source)
    problems = LabelProblems(root)
    raw = read_half_files(root, halves, problems)
    items = []
    for line in raw.items:
        x = line.value
        if x.pack not in raw.manifest.packs:
            known = ", ".join(sorted(raw.manifest.packs))
            problems.add(line.file, f"read {x.pack!r}; the manifest has {known}", line=line.line, field="pack")
        where = f"{root / line.file}, line {line.line}"
        items.append((Item(x.id, x.pack, x.probe, x.invited, x.turn, x.reply, x.origin, where), line))
    silent = tuple(
        Item(x.value.id, x.value.pack, x.value.probe, False, x.value.turn, x.value.reply, x.value.origin, where=x.file)
        for x in raw.no_memory
    )
    labelled = assemble(items, raw.labels, problems)
    problems.check()
    manifest = raw.manifest
    return LabelledSet(
        name=manifest.name,
        version=manifest.version,
        language=manifest.language,
        hash=manifest.hash,
        part=part,
        packs=dict(manifest.packs),
        items=labelled,
        source=str(root),
        policy=manifest.policy or "",
        no_memory=silent,
    )
