"""What both review commands need of a run: its records and its pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pytest_hush.cli.report import measured_pack
from pytest_hush.errors import UsageError

if TYPE_CHECKING:
    from pytest_hush.model import Pack, Record
    from pytest_hush.store import RunFolder


def run_records(folder: RunFolder) -> list[Record]:
    """The records of the run's plan. Raises `UsageError` where there is none."""
    from pytest_hush.plan import identity

    planned = {identity(c) for c in folder.plan().cases}
    found = [r for r in folder.records(warn=lambda t: click.echo(f"WARNING: {t}", err=True)) if r.identity in planned]
    if not found:
        raise UsageError(f"{folder.path}: the run holds no record: nothing was measured. Run it first, or finish it.")
    return found


def review_pack(records: Sequence[Record], source: str) -> Pack:
    pack = measured_pack(records, source)
    if pack is None:
        names = ", ".join(sorted({str(r.instrument.get("pack", "")) for r in records}))
        raise UsageError(
            f"The run measured {names}, which is no bundled pack of this version. Name its folder with --pack: readers "
            f"must see the turns and the disclosures."
        )
    return pack
