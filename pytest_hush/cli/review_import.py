"""``hush review import``: readers' labels back into the run, their agreement, and the corrected figures."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pytest_hush.cli.common import print_line
from pytest_hush.cli.review_run import review_pack, run_records
from pytest_hush.cli.runs import opened
from pytest_hush.errors import LabelError, UsageError

if TYPE_CHECKING:
    from pytest_hush.judges.agreement import Agreement, Figure
    from pytest_hush.model import Pack, Record
    from pytest_hush.review.readers import Apart
    from pytest_hush.review.sample import Drawn
    from pytest_hush.review.sheet import Sheet
    from pytest_hush.store import RunFolder


@click.command("import")
@click.argument("run", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("sheets", nargs=-1, required=True, metavar="CSV [CSV2]", type=click.Path(path_type=Path))
@click.option("--adjudicated", type=click.Path(path_type=Path), help="Decisions where two readers were apart, as CSV.")
@click.option(
    "--annotator-kind",
    "kind",
    type=click.Choice(["human", "model"]),
    default="human",
    show_default=True,
    help="Who labelled: people, or a model that was asked as if it were a reader.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write disagreements. [default: in the run]")
@click.option(
    "--confidence", type=click.FloatRange(0.8, 0.9999), default=0.95, show_default=True, help="Of each bound."
)
@click.option("--pack", "pack_source", default="", help="The pack that was measured, where it is not a bundled one.")
def import_labels(
    run: Path,
    sheets: tuple[Path, ...],
    adjudicated: Path | None,
    kind: Literal["human", "model"],
    out: Path | None,
    confidence: float,
    pack_source: str,
) -> None:
    """Read the labels of one or two readers of RUN back: into labels.jsonl of the run folder.

    Of two readers it prints how far they agree, and writes disagreements.csv with the items to decide. Then it shows
    the judge's figures beside the corrected ones. `hush report` and `hush gate` show them from then on.
    """
    from pytest_hush.review.key import read_key
    from pytest_hush.review.readers import agreements, apart, check_readers, run_labels
    from pytest_hush.review.sample import Drawn
    from pytest_hush.review.sheet import read_sheet
    from pytest_hush.store import write_labels
    from pytest_hush.store.labels import consensus

    if len(sheets) > 2:
        raise UsageError(f"{len(sheets)} CSV files; expected those of one or two readers.")
    folder = opened(run)
    records = run_records(folder)
    key = read_key(folder.path, records)
    by_key = {r.key: r for r in records}
    replies = {item: by_key[x.record].reply for item, x in key.items.items()}
    read = [read_sheet(path, replies) for path in sheets]
    decided = read_sheet(adjudicated, replies) if adjudicated is not None else None
    check_readers(read, decided)
    labels = run_labels(read, decided, key, by_key, kind=kind, date=_today())
    for sheet in (*read, *([decided] if decided else [])):
        left = f", {len(key.items) - len(sheet.rows)} not labelled" if len(sheet.rows) < len(key.items) else ""
        print_line(f"{sheet.path}: {len(sheet.rows)} of {len(key.items)} replies by {sheet.annotator}{left}")
        for warning in sheet.warnings:
            click.echo(f"WARNING: {warning}", err=True)
    if len(read) == 2:
        personas = {item: by_key[x.record].persona for item, x in key.items.items()}
        for line in _agreement_lines(agreements(read[0], read[1], personas)):
            print_line(line)
        open_ones = apart(read[0], read[1], decided)
        if open_ones:
            chosen = {x.item: Drawn(by_key[key.items[x.item].record], key.items[x.item].weight) for x in open_ones}
            path = _free(out or folder.path / "disagreements.csv")
            _write_disagreements(path, open_ones, chosen, read, review_pack(records, pack_source))
            print_line(
                f"{len(open_ones)} items to adjudicate: wrote {path}. Fill in its scores and give it back with "
                f"--adjudicated; until then the mean of the two readers stands."
            )
        else:
            print_line("No item is left to adjudicate.")
    path = write_labels(folder.path, labels)
    print_line(f"wrote {path}: {consensus(labels).told}")
    for line in _figures(folder, records, confidence):
        print_line(line)


def _agreement_lines(found: Mapping[str, Agreement]) -> list[str]:
    """How far two readers agree, a line a score."""
    n = next(iter(found.values())).n
    lines = [
        f"Agreement of the two readers on {n} replies (alpha: Krippendorff, interval scale; kappa: quadratic weights "
        f"on the five levels; [95 % interval over personas])"
    ]
    for name, a in found.items():
        exact = "-" if a.exact is None else f"{100 * a.exact:.0f} %"
        apart = "-" if a.mae is None else f"{a.mae:.2f}"
        lines.append(
            f"  {name:<14} alpha {_figure(a.alpha)}  kappa {_figure(a.kappa)}  same level {exact}, apart {apart}"
        )
    return lines


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return "not defined (the scores do not vary)"
    bounds = "" if figure.lower is None or figure.upper is None else f" [{figure.lower:.2f}, {figure.upper:.2f}]"
    return f"{figure.value:.2f}{bounds}"


def _free(path: Path) -> Path:
    """`path`, or where a file stands there, perhaps filled in already, the next free name."""
    number, found = 1, path
    while found.exists():
        found = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return found


def _write_disagreements(
    path: Path, apart: Sequence[Apart], items: Mapping[str, Drawn], sheets: Sequence[Sheet], pack: Pack
) -> None:
    """The items to decide, blind as the review is, with both readers' scores beside empty ones."""
    from pytest_hush.review.material import shown
    from pytest_hush.review.sheet import SCORES, harmless, sheet_text, write_text

    more: dict[str, list[str]] = {}
    for sheet, rows in zip(sheets, zip(*((x.first, x.second) for x in apart), strict=True), strict=True):
        for place, name in enumerate(SCORES):
            more[f"{name} by {harmless(sheet.annotator)}"] = [f"{row.scores[place]:g}" for row in rows]
        more[f"evidence by {harmless(sheet.annotator)}"] = [row.evidence for row in rows]
    write_text(path, sheet_text(shown(items, pack), more=more))


def _figures(folder: RunFolder, records: Sequence[Record], confidence: float) -> list[str]:
    """The judge's figures beside the corrected ones."""
    from pytest_hush.gate.corrected import Review, corrections
    from pytest_hush.report.corrected import text_table
    from pytest_hush.store import usable_labels

    labels, why = usable_labels(folder.path, records)
    if labels is None:
        raise LabelError(why)
    plan = folder.plan()
    found = corrections(records, plan, labels, confidence=confidence)
    width = shutil.get_terminal_size().columns
    return text_table(Review(tuple(found), labels.told), several=len(plan.models) > 1, width=width)


def _today() -> str:
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
