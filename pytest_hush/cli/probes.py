"""``hush probes``: read, check and build probe packs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.common import Group, print_line
from pytest_hush.errors import MissingExtraError

if TYPE_CHECKING:
    from pytest_hush.protocols import Embedder


@click.group(cls=Group)
def probes() -> None:
    """Read, check and build probe packs."""


@probes.command("check")
@click.argument("pack")
@click.option("--by-words", is_flag=True, help="Leave out what needs sentence embeddings.")
def probes_check(pack: str, by_words: bool) -> None:
    """Validate PACK (a folder or a bundled name): every figure with its bound, every text that breaks a rule.

    Sentence embeddings (the `embed` extra) measure likeness of meaning, the blind guess and retrieval; without them
    these are not measured, and the output says so. Exit code 1 when a rule is broken.
    """
    from pytest_hush.packs import load_pack
    from pytest_hush.packs.quality import check
    from pytest_hush.report.quality import lines

    loaded = load_pack(pack)
    embedder, why = (None, "--by-words") if by_words else _embedder()
    report = check(loaded, embedder)
    for line in lines(loaded, report, without_embeddings=why):
        print_line(line)
    if report.errors:
        sys.exit(1)


def _embedder() -> tuple[Embedder | None, str]:
    """The built-in embedder, or why there is none."""
    from pytest_hush.embed import default_embedder

    try:
        return default_embedder(), ""
    except MissingExtraError as error:
        return None, str(error)


@probes.command("manifest")
@click.argument("folder", type=click.Path(path_type=Path))
def probes_manifest(folder: Path) -> None:
    """Write the counts and digests of FOLDER's manifest anew after an edit."""
    from pytest_hush.packs import write_manifest

    click.echo(f"wrote {write_manifest(folder)}")


@probes.command("plant")
@click.option("--background", required=True, type=click.Path(path_type=Path), help="The dialogues to plant into.")
@click.option(
    "--format", "form", default="auto", show_default=True, help="Format: auto, locomo, memorybank, madial or jsonl."
)
@click.option("--sensitive", type=click.Path(path_type=Path), help="Labels of turns that are sensitive already (TSV).")
@click.option("--pack", default="starter", show_default=True, help="The pack whose disclosures are planted.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the new pack.")
def probes_plant(background: Path, form: str, sensitive: Path | None, pack: str, out: Path) -> None:
    """Plant a pack's disclosures into other dialogues. The result holds those dialogues' text: mind its licence."""
    from pytest_hush.packs import load_pack, plant_into, read_background, write_pack

    planted = plant_into(load_pack(pack), read_background(background, form, sensitive=sensitive))
    write_pack(planted, out)
    click.echo(f"wrote {out}: {len(planted.personas)} dialogues, {len(planted.probes)} probes")
    for key, value in sorted(planted.background.items()):
        click.echo(f"  {key}: {value}")
