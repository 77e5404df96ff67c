"""Which objects answer for an item: those named by the options, or those that a fixture put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import UsageError
from pytest_hush.plugin.conditions import custom_memories
from pytest_hush.plugin.judging import CUSTOM, check_policies, distinct
from pytest_hush.plugin.placing import FIXTURES, OWN_MODULE
from pytest_hush.plugin.setup import Setup, check_comparable

if TYPE_CHECKING:
    import pytest

    from pytest_hush.model import Prompt, Reply
    from pytest_hush.run import Binding


def overrides(item: pytest.Item) -> dict[str, int]:
    """The overriding fixtures that `item` sees, by name, with an identity each; {} when it sees the defaults.

    Raises `UsageError` for an override that is not session-scoped: its value could change between items whose
    cases are already running.
    """
    info = getattr(item, "_fixtureinfo", None)
    definitions: Mapping[str, Any] = getattr(info, "name2fixturedefs", {})
    found: dict[str, int] = {}
    for name in FIXTURES:
        chain = definitions.get(name)
        if not chain or chain[-1].func.__module__ == OWN_MODULE:
            continue
        if chain[-1].scope != "session":
            raise UsageError(
                f"{item.nodeid}: the fixture {name} has scope {chain[-1].scope!r}; write "
                f'@pytest.fixture(scope="session"), since cases run ahead of their tests.'
            )
        found[name] = id(chain[-1])
    return found


def check_overrides(setup: Setup, found: Mapping[str, int]) -> None:
    """Raise `UsageError` where the options and the fixtures that are `found` do not name the same objects.

    ``custom`` and ``assistant`` need their fixture; a fixture needs to be named, since what is measured is what the
    options and every record say.
    """
    assistant = any(name.partition("+")[0] == "assistant" for name in setup.memories)
    closed = "hush_assistant" in found
    rows = [
        ("--hush-memory", "hush_assistant", "assistant", assistant, tuple(setup.memories)),
        ("--hush-model", "hush_model", CUSTOM, None in setup.models.values() and not closed, tuple(setup.models)),
        ("--hush-memory", "hush_memory", CUSTOM, None in setup.memories.values(), tuple(setup.memories)),
        ("--hush-judge", "hush_judge", CUSTOM, None in setup.judges.values(), tuple(setup.judges)),
    ]
    for option, fixture, name, named, planned in rows:
        if named and fixture not in found:
            raise UsageError(
                f"{option}={name} takes its object from the fixture {fixture}, which no conftest.py or test module "
                f'that was read for this run defines. Define it with @pytest.fixture(scope="session") in a conftest.py '
                f"of the folder that you start in, or of a path that you give."
            )
        if fixture in found and not named and not (fixture == "hush_model" and closed):
            others = ", ".join(n for n in planned if n != "none") or "none"
            raise UsageError(
                f"The fixture {fixture} is defined, and this run does not name it: {option} is {others}. What is named "
                f"is what is measured: name the fixture's object with {option}={name}, or remove the fixture."
            )
    if closed and any(name != CUSTOM for name in setup.models):
        raise UsageError(
            f"The fixture hush_assistant answers instead of a model, and this run names --hush-model="
            f"{', '.join(setup.models)}. Name it with --hush-model=custom, or remove the fixture."
        )


def make_binding(setup: Setup, model: Any, memory: Any, judge: Any, assistant: Any) -> Binding:
    """The binding of `setup` with the fixtures' values (None: not overridden) put in place.

    Raises `UsageError` when a value does not say what it replaces. `check_overrides` has seen to ``custom``.
    """
    from pytest_hush.run import Binding

    models = dict(setup.models)
    memories = dict(setup.memories)
    for name, value in _slots("hush_model", model, models).items():
        from pytest_hush.models import wrap_model

        models[name] = wrap_model(value, name=name)
    memories |= custom_memories(_slots("hush_memory", memory, memories), memories, setup.guard)
    judges = dict(setup.judges)
    for name, value in _slots("hush_judge", judge, judges).items():
        from pytest_hush.judges.python_callable import wrap_judge

        judges[name] = wrap_judge(value, name=name)
    check_policies(judges, setup.options, setup.thresholds)
    check_comparable(setup.references, setup.plan, judges, setup.options)
    if assistant is not None:
        models = {name: value or _Closed() for name, value in models.items()}
    return Binding(
        models={n: m for n, m in models.items() if m is not None},
        memories={n: m for n, m in memories.items() if m is not None},
        judges=distinct(j for j in judges.values() if j is not None),
        assistant=assistant,
        policy=setup.policy.id if setup.options.policy else "",
    )


def _slots(fixture: str, value: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> object for the places that `found` leaves open to the fixture: those whose value is None."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        open_to = [name for name, named in found.items() if named is None]
        unknown = [name for name in value if name not in open_to]
        if unknown:
            raise UsageError(
                f"The fixture {fixture} names {unknown[0]!r}; expected {', '.join(open_to)}, which "
                f"--{fixture.replace('_', '-')} leaves to it."
            )
        return dict(value)
    return {CUSTOM: value}


class _Closed:
    """Stands where a model would: a closed assistant answers every case itself."""

    def reply(self, prompt: Prompt) -> Reply:
        raise UsageError(
            f"A closed assistant answers instead of a model; {len(prompt.messages)} messages were not sent."
        )
