"""From a condition's name to its memory."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.guard import GuardedMemory, GuardSettings
from pytest_hush.memories.callable import load_python_memory
from pytest_hush.memories.controls import ControlMemory
from pytest_hush.memories.full_context import LIMIT, FullContext
from pytest_hush.memories.none import ClosedAssistant, NoMemory
from pytest_hush.memories.stores.registry import SYSTEMS, Parts, resolve_store
from pytest_hush.memories.vector import TOP_K, VectorMemory
from pytest_hush.model import BOUNDARY, GUARD, REVOKED, SHARED, Condition, ControlKind, Pack
from pytest_hush.protocols import Embedder, Memory, Model

BUILT_IN: Final = (
    "none",
    "full-context",
    "vector",
    *SYSTEMS,
    "oracle",
    "neutral",
    "irrelevant-sensitive",
    "assistant",
    "custom",
    "python:module:attr",
)
_CONTROLS: Final[Mapping[str, ControlKind]] = {
    "oracle": "oracle",
    "neutral": "neutral",
    "irrelevant-sensitive": "irrelevant-sensitive",
}
MODIFIERS: Final = (BOUNDARY, SHARED, REVOKED, GUARD)


def resolve_memory(
    condition: Condition,
    *,
    pack: Pack,
    embedder: Callable[[], Embedder],
    window: int | None = None,
    count_tokens: Callable[[str], int] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    stores: Path | None = None,
    memory_model: Callable[[], Model] | None = None,
    guard: GuardSettings | None = None,
    guard_model: Callable[[], Model] | None = None,
) -> Memory:
    """The memory of `condition`, ready to be asked; nothing is embedded or ingested yet.

    `window` is the number of tokens that the generator leaves for memory (its context less output and prompt;
    None: no bound of its own); only ``full-context`` reads it and `count_tokens`. `settings` maps a base name
    to that memory's own settings: ``{"vector": {"top_k": 3}}``. `stores` is the folder of the memory systems' stores
    (default: ``.hush/stores`` here) and `memory_model` makes the model that they extract with; None: they keep to
    the mode that needs none. `guard` are the settings of ``+guard``, and `guard_model` makes the model that reads
    warrants there. Raises `UsageError` on an unknown name, modifier or setting, and `MissingExtraError` where a
    library is absent.
    """
    check_modifiers(condition)
    if condition.guarded:
        inner = resolve_memory(
            condition.unguarded,
            pack=pack,
            embedder=embedder,
            window=window,
            count_tokens=count_tokens,
            settings=settings,
            stores=stores,
            memory_model=memory_model,
        )
        return GuardedMemory(inner, guard, embedder=embedder, model=guard_model() if guard_model else None)
    base = condition.base
    own = dict((settings or {}).get(base, {}))
    if base.startswith("python:"):
        return load_python_memory(base, own)
    if base == "vector":
        top_k = _integer(own.pop("top_k", TOP_K), "vector", "top_k", 1, TOP_K)
        _nothing_else(own, base, "top_k")
        return VectorMemory(embedder(), top_k)
    if base in SYSTEMS:
        return resolve_store(base, Parts(own, embedder, stores or Path.cwd() / ".hush" / "stores", memory_model))
    if base == "full-context":
        budget = _integer(own.pop("budget", LIMIT), "full-context", "budget", 1, LIMIT)
        _nothing_else(own, base, "budget")
        return FullContext(budget if window is None else min(budget, window), count_tokens)
    if base == "none":
        _nothing_else(own, base)
        return NoMemory()
    if base == "assistant":
        _nothing_else(own, base)
        return ClosedAssistant()
    if (kind := _CONTROLS.get(base)) is not None:
        _nothing_else(own, base)
        return ControlMemory(kind, pack)
    known = ", ".join(BUILT_IN)
    if base == "custom":
        raise UsageError(
            f"--hush-memory={condition.name}: custom takes its object from the fixture hush_memory; override it in a "
            f"conftest.py or test module."
        )
    close = difflib.get_close_matches(base.lower(), BUILT_IN[:-1], n=1, cutoff=0.6)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise UsageError(f"--hush-memory={condition.name}: there is no memory {base!r}{hint}; built in: {known}.")


def check_modifiers(condition: Condition) -> None:
    """Raises `UsageError` for a modifier that is unknown, stands twice, or means nothing with this base."""
    if len(set(condition.modifiers)) < len(condition.modifiers):
        raise UsageError(f"--hush-memory={condition.name}: a modifier stands twice; name each once.")
    if condition.boundary and condition.base == "assistant":
        raise UsageError(
            f"--hush-memory={condition.name}: a closed assistant has a prompt of its own; nothing can be added to it."
        )
    if condition.shared and condition.base in (*_CONTROLS, "none", "assistant"):
        what = "is a closed assistant, with one history at a time" if condition.base == "assistant" else "reads none"
        raise UsageError(
            f"--hush-memory={condition.name}: +shared is for memories that read the history; {condition.base!r} {what}."
        )
    check_guard(condition)
    for modifier in condition.modifiers:
        if modifier not in MODIFIERS:
            known = ", ".join(f"+{m}" for m in sorted(MODIFIERS))
            raise UsageError(f"--hush-memory={condition.name}: there is no modifier +{modifier} (known: {known}).")


def check_guard(condition: Condition) -> None:
    """Raises `UsageError` for ``+guard`` or ``+revoked`` on a base where it means nothing."""
    if condition.guarded and condition.base in ("none", "assistant"):
        what = "shows nothing that could be kept back" if condition.base == "none" else "shows no context to a guard"
        raise UsageError(f"--hush-memory={condition.name}: {condition.base!r} {what}; leave +guard out.")
    if condition.revoked and condition.shared:
        raise UsageError(
            f"--hush-memory={condition.name}: +shared is one history for all disclosures of a persona, +revoked one "
            f"for each; name one of the two."
        )
    if condition.revoked and condition.base == "none":
        raise UsageError(f"--hush-memory={condition.name}: 'none' reads nothing, so nothing can be withdrawn from it.")


def _integer(value: object, base: str, key: str, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise UsageError(f"memory settings, {base}.{key} = {value!r}: expected a whole number from {low} to {high}.")


def _nothing_else(left: Mapping[str, Any], base: str, *known: str) -> None:
    if left:
        expected = f"known: {', '.join(known)}" if known else "it has none"
        raise UsageError(f"memory settings, {base}: unknown setting {sorted(left)[0]!r} ({expected}).")
