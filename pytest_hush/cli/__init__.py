"""``hush``: what is done beside a run. Exit code 0; 1: a gate blocks, or a pack has errors; 4: one clear error."""

from __future__ import annotations

import click

from pytest_hush.cli.ci import ci
from pytest_hush.cli.common import Group
from pytest_hush.cli.compare import compare
from pytest_hush.cli.history import history
from pytest_hush.cli.install import install
from pytest_hush.cli.judge import judge
from pytest_hush.cli.plan import plan
from pytest_hush.cli.probes import probes
from pytest_hush.cli.report import report
from pytest_hush.cli.reproduce import reproduce
from pytest_hush.cli.review import review
from pytest_hush.cli.runs import baseline, gate, merge
from pytest_hush.cli.show import show
from pytest_hush.version import __version__


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hush")
def main() -> None:
    """Tools around `pytest --hush-model=… --hush-memory=…`: does memory stay silent when nobody asked?"""


for command in (install, plan, show, gate, merge, report, review, baseline, judge, probes, ci, compare, history):
    main.add_command(command)
main.add_command(reproduce)
