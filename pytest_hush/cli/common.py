"""What the commands share: one error, one exit code, lines that any terminal can show."""

from __future__ import annotations

import sys
from typing import Any

import click

from pytest_hush.errors import HushError

USAGE_ERROR = 4


class Group(click.Group):
    """Turns the errors that are meant for the user into one line and exit code 4, like pytest's usage errors."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HushError as error:
            click.echo(f"ERROR: {error}", err=True)
            ctx.exit(USAGE_ERROR)


def print_line(line: str) -> None:
    """A line for a terminal of any encoding: what it cannot show is escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))
