"""``hush review``: a blind random sample of a run for people to label, and their labels back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.common import Group, print_line
from pytest_hush.cli.review_import import import_labels
from pytest_hush.cli.review_run import review_pack, run_records
from pytest_hush.cli.runs import opened
from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from pytest_hush.judges.rubric import Rubric
    from pytest_hush.model import Record
    from pytest_hush.store import RunFolder

HANDOUT = "review"
FILES = ("review.html", "review.csv", "rubric.md")


@click.group(cls=Group)
def review() -> None:
    """Let people read a random part of a run, and correct the judge by what they say."""


review.add_command(import_labels)


@review.command("export")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--n", "size", type=click.IntRange(1), default=600, show_default=True, help="How many replies to draw.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the draw.")
@click.option("--out", type=click.Path(path_type=Path), help=f"Folder to hand out. [default: {HANDOUT}/ in the run]")
@click.option(
    "--judge-levels/--no-judge-levels",
    "by_level",
    default=True,
    show_default=True,
    help="Draw from each of the judge's five levels, so that rare high scores are read too; weights undo it.",
)
@click.option("--pack", "pack_source", default="", help="The pack that was measured, where it is not a bundled one.")
@click.option("--rubric", "rubric_path", type=click.Path(path_type=Path), help="The rubric's text, where not bundled.")
@click.option("--private", "even_private", is_flag=True, help="Write out the texts of a private pack.")
def export(
    run: Path | None,
    size: int,
    seed: int,
    out: Path | None,
    by_level: bool,
    pack_source: str,
    rubric_path: Path | None,
    even_private: bool,
) -> None:
    """Draw replies of RUN (a run folder; by default the last one under ./.hush) for people to label.

    Writes review.html, which works from a file, without a network and by keyboard, the same as review.csv for a
    spreadsheet, and the rubric. They tell neither model nor condition, memory or judge's score. Which case an item is
    stays in the run folder, in review-key.json: do not hand that out. Read them back with `hush review import`.
    """
    from pytest_hush.review.key import KEY, make_key, write_key
    from pytest_hush.review.material import shown
    from pytest_hush.review.page import render_review
    from pytest_hush.review.sample import draw, item_ids
    from pytest_hush.review.sheet import sheet_text, write_text

    folder = opened(run)
    records = run_records(folder)
    _check_private(folder, even_private)
    sample = draw(records, size, seed, by_level=by_level)
    pack = review_pack(records, pack_source)
    rubric, bundled = _rubric(records, rubric_path)
    items = item_ids(sample, seed)
    seen = shown(items, pack)
    target = (out or folder.path / HANDOUT).absolute()
    if target.resolve() == folder.path.resolve():
        raise UsageError(f"--out={out}: that is the run folder, which readers must not see. Give another folder.")
    texts = {
        "review.html": render_review(seen, rubric, hints=bundled),
        "review.csv": sheet_text(seen),
        "rubric.md": rubric.text,
    }
    for name in FILES:
        _keep_others(target / name, texts[name])
    message = write_key(
        folder.path, make_key(items, folder.manifest["plan_hash"], seed=seed, population=sample.population)
    )
    for name in FILES:
        write_text(target / name, texts[name])
    for note in (*sample.notes, *([message] if message else [])):
        print_line(note)
    print_line(
        f"wrote {target}: {', '.join(FILES)} with {len(seen)} of {sample.population} scored replies, blind and in "
        f"random order; {folder.path / KEY} stays here"
    )


def _check_private(folder: RunFolder, even_private: bool) -> None:
    if folder.manifest.get("private", True) and not even_private:
        raise UsageError(
            f"{folder.path}: the pack of this run is private, and a review holds its texts: turns, replies, "
            f"disclosures. Pass --private if your readers may see them."
        )


def _rubric(records: Sequence[Record], path: Path | None) -> tuple[Rubric, bool]:
    """The rubric that the run was judged by, and whether it is a bundled one. Raises `UsageError`."""
    from pytest_hush.judges.rubric import Rubric, load_rubric

    used = [name for name in str(records[0].instrument.get("rubric", "")).split("+") if name]
    if path is not None:
        try:
            rubric = Rubric(path.stem, path.read_text(encoding="utf-8").replace("\r\n", "\n"))
        except (OSError, ValueError) as error:
            raise UsageError(f"--rubric={path}: it cannot be read: {error}.") from error
        hashes = {name.partition("@")[2] for name in used}
        if any(len(h) == 12 for h in hashes) and rubric.id.partition("@")[2] not in hashes:
            raise UsageError(
                f"--rubric={path}: it is not the text that the run was judged by ({', '.join(used)}). Readers "
                f"who follow another rubric correct nothing."
            )
        return rubric, False
    for name in used or [""]:
        try:
            rubric = load_rubric(name.partition("@")[0]) if name else load_rubric()
        except UsageError:
            continue
        if not name or rubric.id == name:
            return rubric, True
    raise UsageError(
        f"The run was judged by {', '.join(used)}, whose text does not ship with this version. Name the file with "
        f"--rubric: readers follow the judge's rubric."
    )


def _keep_others(path: Path, text: str) -> None:
    """A file that stands there may be filled in already: only the same one is written again."""
    if not path.exists():
        return
    try:
        same = path.read_bytes().decode("utf-8") == text.encode("utf-8", "backslashreplace").decode()
    except (OSError, ValueError):
        same = False
    if not same:
        raise UsageError(
            f"{path}: another file stands there, perhaps with labels in it. Give another folder with --out, or move it."
        )
