"""The labels of a run's own replies (`hush review import`) as a labelled set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from pytest_hush.errors import LabelError, PackError
from pytest_hush.judges.labelled_views import LabelledView, labelled_views
from pytest_hush.judges.labels import Item, LabelledSet, assemble
from pytest_hush.judges.labels_file import LabelLine, LabelProblems
from pytest_hush.model import Pack, Record
from pytest_hush.packs.files import Located
from pytest_hush.report.show import question
from pytest_hush.run.provenance import DIGEST
from pytest_hush.store import RunFolder
from pytest_hush.store.labels import LABELS, Label, read_labels, reply_digest


class RunProblems(LabelProblems):
    """The defects found in the labels of a run."""

    kind = "labels of the run"

    def then(self) -> str:
        return "or bring the labels in once more with `hush review import`"


def read_run_labels(folder: Path, load: Callable[[str], Pack]) -> tuple[LabelledSet, tuple[LabelledView, ...]]:
    """The labelled replies of the run in `folder`, and what a judge sees of each.

    Raises `LabelError`: labels that do not fit the run, replies that are others than were read, a pack that is not at
    hand.
    """
    problems = RunProblems(folder)
    labels = read_labels(folder / LABELS)
    run = RunFolder.open(folder)
    plan = run.plan()
    records = {r.key: r for r in run.records()}
    lines = [Located(LABELS, number, _line(label)) for number, label in enumerate(labels, start=1)]
    for label, line in zip(labels, lines, strict=True):
        record = records.get(label.item)
        if record is not None and reply_digest(record.reply) != label.reply:
            problems.add(LABELS, "the reply of this record is another one than was read", line=line.line, field="reply")
    problems.check()
    found = [records[key] for key in dict.fromkeys(label.item for label in labels) if key in records]
    pack = _pack(plan.pack.name, load)
    items = [(_item(r, pack, folder), Located(LABELS, None, None)) for r in found]
    labelled = assemble(items, lines, problems)
    problems.check()
    if not labelled:
        raise LabelError(f"{folder / LABELS}: it holds no label. Bring labels in with `hush review import`.")
    policies = sorted({str(r.instrument.get("policy", "")) for r in found})
    labelled_set = LabelledSet(
        name=folder.resolve().name,
        version=plan.hash[:12],
        language=pack.language,
        hash=hashlib.sha256((folder / LABELS).read_bytes()).hexdigest(),
        part="run",
        packs={pack.name: plan.pack.hash},
        items=labelled,
        source=str(folder),
        policy=policies[0] if len(policies) == 1 else "",
        shared=any(DIGEST in r.instrument for r in found),
    )
    return labelled_set, labelled_views(labelled_set, load)


def _line(label: Label) -> LabelLine:
    names = ("item", "annotator", "annotator_kind", "v", "target_uptake", "over_scope", "helpfulness", "evidence")
    return LabelLine.model_validate({**{name: getattr(label, name) for name in names}, "pass": label.pass_})


def _pack(name: str, load: Callable[[str], Pack]) -> Pack:
    try:
        return load(name)
    except PackError as error:
        raise LabelError(f"The run measured the pack {name!r}: {error} Name its folder with --pack.") from None


def _item(record: Record, pack: Pack, folder: Path) -> Item:
    turn = question(record, pack)
    where = f"{folder / LABELS}, item {record.key[:12]}"
    if turn is None or record.kind != "probe":
        raise LabelError(
            f"{where}: {record.probe_id!r} is no probe of {pack.name} here. Name the pack measured with --pack."
        )
    return Item(record.key, pack.name, record.probe_id, record.invited, turn, record.reply, "run", where)
