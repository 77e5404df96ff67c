"""The memories of a plan's conditions: each base asked for once, and permission gates put around it where asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import UsageError
from pytest_hush.plugin.judging import CUSTOM

if TYPE_CHECKING:
    from pytest_hush.model import Condition
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Memory, Model


def resolve_memories(
    conditions: Iterable[Condition],
    ask: Callable[[Condition], object],
    guard: Callable[[Memory], Memory],
    language: str,
) -> dict[str, Memory | None]:
    """Condition name -> memory; None where the fixture of a ``custom`` condition brings it.

    `ask` is called with each condition without ``+guard``: whoever brings a memory need not know of gates. Conditions
    that differ in the guard alone hold one memory. `language` is the pack's: a withdrawal must be worded in it. Raises
    `UsageError`.
    """
    from pytest_hush.memories import wrap_memory
    from pytest_hush.memories.registry import check_guard, check_modifiers
    from pytest_hush.packs import check_language

    memories: dict[str, Memory | None] = {}
    behind: dict[str, Memory] = {}
    for condition in conditions:
        check_guard(condition)
        if condition.revoked:
            check_language(language)
        if condition.base == CUSTOM:
            check_modifiers(condition)
            memories[condition.name] = None
            continue
        asked = condition.unguarded if condition.guarded else condition
        if asked.name not in behind:
            given = ask(asked)
            if given is None:
                raise UsageError(f"--hush-memory={condition.name!r}: no memory condition of that name.")
            behind[asked.name] = wrap_memory(given, name=asked.name)
        found = behind[asked.name]
        memories[condition.name] = guard(found) if condition.guarded else found
    return memories


def gates(options: Options, model: Callable[[str], Model]) -> Callable[[Memory], Memory]:
    """What puts permission gates around a memory, as ``[tool.pytest_hush.guard]`` says. `model` resolves a name."""

    def guard(memory: Memory) -> Memory:
        from pytest_hush.guard import GuardedMemory
        from pytest_hush.plugin.builtin import lazy_embedder

        settings = options.guard
        reader = model(settings.warrant_model) if settings is not None and settings.warrant == "model" else None
        return GuardedMemory(memory, settings, embedder=lazy_embedder(options), model=reader)

    return guard


def custom_memories(
    given: dict[str, Any], names: Iterable[str], guard: Callable[[Memory], Memory]
) -> dict[str, Memory]:
    """The fixture's memories by condition name: what it gives for ``custom`` stands for ``custom+guard`` too."""
    from pytest_hush.memories import wrap_memory
    from pytest_hush.model import Condition

    found: dict[str, Memory] = {}
    wrapped = {name: wrap_memory(value, name=name) for name, value in given.items()}
    for name in names:
        condition = Condition.parse(name)
        memory = wrapped.get(name)
        if memory is None and condition.base == CUSTOM:
            memory = wrapped.get(CUSTOM)
        if memory is not None:
            found[name] = guard(memory) if condition.guarded else memory
    return found
