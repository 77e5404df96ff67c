"""The pytest plugin. Imported at every start of pytest where the package is installed: standard library only.

The fixtures are defined here by import, the options by a table; everything else is registered by
`pytest_configure` when a generator is named, so that an unused plugin costs nothing.
"""

from __future__ import annotations

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.plugin.fixtures import (
    hush_assistant,
    hush_control_record,
    hush_judge,
    hush_memory,
    hush_model,
    hush_plan,
    hush_record,
    hush_score,
)
from pytest_hush.plugin.options import add_options, given_options, model_given

__all__ = [
    "hush_assistant",
    "hush_control_record",
    "hush_judge",
    "hush_memory",
    "hush_model",
    "hush_plan",
    "hush_record",
    "hush_score",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_hush.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    from pytest_hush.plugin.collect import lift_arguments

    lift_arguments(config)


def pytest_configure(config: pytest.Config) -> None:
    explicit = getattr(config.option, "hush_explicit", False)
    if not explicit and not model_given(config):
        if alone := given_options(config):
            raise pytest.UsageError(
                f"{', '.join(alone)}: no generator is named, so nothing would be measured. Give --hush-model, for "
                f"example --hush-model=openai/gpt-4o, or --hush-model=parrot to learn without a key."
            )
        config.pluginmanager.register(Unnamed(), "hush-unnamed")
        return
    from pytest_hush.plugin import builtin
    from pytest_hush.plugin.collect import Collector
    from pytest_hush.plugin.gates import GateKeeper
    from pytest_hush.plugin.options import read_options
    from pytest_hush.plugin.redaction import Redactor
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.plugin.stash import SESSION

    config.pluginmanager.register(builtin, "hush-builtin")
    config.pluginmanager.load_setuptools_entrypoints("pytest_hush")
    try:
        session = HushSession(config, read_options(config))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[SESSION] = session
    if explicit:
        session.activate()
    config.pluginmanager.register(session, "hush-session")
    config.pluginmanager.register(Collector(config), "hush-collector")
    config.pluginmanager.register(GateKeeper(session), "hush-gates")
    config.pluginmanager.register(Redactor(session), "hush-redaction")
    if session.controller:
        from pytest_hush.plugin.xdist import XdistBridge

        config.pluginmanager.register(XdistBridge(session), "hush-xdist")


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.pluginmanager.get_plugin("hush-session")
    if session is not None:
        session.close()
        if session.let_go is not None:
            session.let_go()


class Unnamed:
    """What a test that asks for a case gets when no generator is named: a skip that says so."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name in ("hush_case", "hush_control"):
            if name in metafunc.fixturenames:
                reason = "no generator is named: give --hush-model=… (see pytest --help, group pytest-hush)"
                metafunc.parametrize(name, [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no-model")])
