"""Which objects answer for an item: those named by the options, or those that a fixture put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import UsageError
from pytest_hush.plugin.conditions import custom_memories
from pytest_hush.plugin.judging import CUSTOM, check_policies, distinct
from pytest_hush.plugin.setup import Setup, check_comparable

if TYPE_CHECKING:
    import pytest

    from pytest_hush.model import Prompt, Reply
    from pytest_hush.run import Binding

FIXTURES = ("hush_model", "hush_memory", "hush_judge", "hush_assistant")
OWN_MODULE = "pytest_hush.plugin.fixtures"


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
    """Raise `UsageError` when ``custom`` or ``assistant`` needs a fixture that is not among `found`."""
    closed = "hush_assistant" in found
    assistant = any(name.partition("+")[0] == "assistant" for name in setup.memories)
    wanted = [
        ("--hush-model", "hush_model", CUSTOM, None in setup.models.values() and not closed),
        ("--hush-memory", "hush_memory", CUSTOM, None in setup.memories.values()),
        ("--hush-judge", "hush_judge", CUSTOM, None in setup.judges.values()),
        ("--hush-memory", "hush_assistant", "assistant", assistant),
    ]
    for option, fixture, name, needed in wanted:
        if needed and fixture not in found:
            raise UsageError(
                f"{option}={name} takes its object from the fixture {fixture}, which no conftest.py or test "
                f'module overrides. Define it there with @pytest.fixture(scope="session").'
            )


def make_binding(setup: Setup, model: Any, memory: Any, judge: Any, assistant: Any) -> Binding:
    """The binding of `setup` with the fixtures' values (None: not overridden) put in place.

    Raises `UsageError` when a value does not say what it replaces. `check_overrides` has seen to ``custom``.
    """
    from pytest_hush.run import Binding

    models = dict(setup.models)
    memories = dict(setup.memories)
    for name, value in _slots("hush_model", model, models, tuple(models)).items():
        from pytest_hush.models import wrap_model

        models[name] = wrap_model(value, name=name)
    replaceable = tuple(n for n in memories if n != "none")
    memories |= custom_memories(_slots("hush_memory", memory, memories, replaceable), memories, setup.guard)
    judges = dict(setup.judges)
    for name, value in _slots("hush_judge", judge, judges, tuple(judges)).items():
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


def _slots(fixture: str, value: Any, found: Mapping[str, Any], replaceable: tuple[str, ...]) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in found]
        if unknown:
            raise UsageError(f"The fixture {fixture} names {unknown[0]!r}; the plan has {', '.join(found)}.")
        return dict(value)
    if any(name.partition("+")[0] == CUSTOM for name in found):
        return {CUSTOM: value}
    if len(replaceable) == 1:
        return {replaceable[0]: value}
    option = fixture.replace("_", "-")
    raise UsageError(
        f"The fixture {fixture} gives one object, and the plan has {len(replaceable)} that it could replace "
        f"({', '.join(replaceable) or 'none'}). Pass --{option}=custom, or return a mapping from names to objects."
    )


class _Closed:
    """Stands where a model would: a closed assistant answers every case itself."""

    def reply(self, prompt: Prompt) -> Reply:
        raise UsageError(
            f"A closed assistant answers instead of a model; {len(prompt.messages)} messages were not sent."
        )
