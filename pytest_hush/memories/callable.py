"""A memory of the user's own, an object with `context` or a plain function: ``python:module:attr``, or a fixture's."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from pytest_hush.errors import HushError, MemoryStoreError, UsageError
from pytest_hush.loading import load_attribute, own_version, raised
from pytest_hush.model import Context, Entry, History
from pytest_hush.protocols import Memory

LIMIT: Final = 5
"""Entries rendered at most, as for every retrieving memory of the protocol."""
_FIELDS: Final = frozenset({"id", "text", "sources", "turns", "date"})


class PythonMemory:
    """A plain callable or a plain `context`; the run calls it in a thread."""

    def __init__(self, name: str, target: Any) -> None:
        self._target = target
        self._label = name
        self._ask: Callable[[History, str], Any] = _caller(target)
        self.name = str(getattr(target, "name", None) or name)
        own = own_version(target)
        self.version = own or _source_version(target)
        # Always: a dead memory that calls itself a control would pass as one that keeps everything back.
        self.retrieving = True
        self.in_flight: int | None = getattr(target, "in_flight", None)
        # The digest tells one state of the user's file from another in the records, but not of the files that it
        # imports: only a version that the user sets makes it safe to answer from a cache.
        declared = getattr(target, "cacheable", None)
        self.cacheable = bool(own) if declared is None else bool(declared)
        inner = getattr(target, "inner", None)
        self.inner: Memory | None = None if inner is None else wrap_memory(inner, name=name)

    @property
    def settings(self) -> Mapping[str, Any]:
        own = getattr(self._target, "settings", None)
        return dict(own) if isinstance(own, Mapping) else {}

    def context(self, history: History, question: str) -> Context:
        """What the user's code gave, checked. Raises `MemoryStoreError` naming the code that failed."""
        try:
            # A lazy answer may fail while it is read, too.
            return coerce(self._ask(history, question), history, self._label)
        except HushError:
            raise
        except Exception as error:
            raise _failed(self._label, error) from error

    def close(self) -> None:
        """Close the user's object, where it can be closed."""
        closer = getattr(self._target, "close", None)
        if callable(closer):
            closer()


class AsyncPythonMemory(PythonMemory):
    """The same for an ``async def``; the run awaits it on its loop."""

    async def context(self, history: History, question: str) -> Context:  # type: ignore[override]
        """What the user's code gave, checked. Raises `MemoryStoreError` naming the code that failed."""
        try:
            # A lazy answer may fail while it is read, too.
            return coerce(await self._ask(history, question), history, self._label)
        except HushError:
            raise
        except Exception as error:
            raise _failed(self._label, error) from error


def load_python_memory(spec: str, settings: Mapping[str, Any]) -> Memory:
    """The memory named by ``python:module:attr``; a class is called with `settings` as keyword arguments.

    Raises `UsageError` when the module or attribute is absent, is no memory, or cannot be made.
    """
    return wrap_memory(load_attribute(spec, **settings), name=spec)


def wrap_memory(value: Any, *, name: str) -> Memory:
    """`value` as a memory of the protocol: one of this package as it is, the user's own with its answers checked.

    `name` is used where the object has no ``name``. An ``async`` one is wrapped in an ``async`` one. Raises
    `UsageError` when `value` is no memory.
    """
    method = getattr(value, "context", None)
    if callable(method) and type(value).__module__.startswith("pytest_hush."):
        return cast(Memory, value)
    ask = method if callable(method) else value
    if not callable(ask) or inspect.isclass(value):
        kind = f"the class {value.__name__}" if inspect.isclass(value) else f"a {type(value).__name__}"
        raise UsageError(
            f"memory {name}: {kind} is no memory. Expected an object with context(history, question), or a function "
            f"(sessions, question) that returns a list of entries."
        )
    call = ask if inspect.isroutine(ask) else type(ask).__call__
    return (AsyncPythonMemory if inspect.iscoroutinefunction(call) else PythonMemory)(name, value)


def coerce(given: object, history: History, spec: str) -> Context:
    """A `Context` from a context or from a list of texts, dicts and entries; each source must be a session.

    Without ``sources`` an entry's are None: its exposure is unknown. Of a list the entries past the fifth are
    left out, with a note; a `Context` is taken as it is. Raises `MemoryStoreError` on anything else.
    """
    if isinstance(given, Context):
        entries = given.entries
        found = given if given.label else replace(given, label=spec)
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        entries = tuple(_entry(item, number, spec) for number, item in enumerate(given, 1))
        left_out = f"memory returned {len(entries)} entries, the first {LIMIT} were rendered"
        found = Context(entries[:LIMIT], label=spec, notes=(left_out,) if len(entries) > LIMIT else ())
    else:
        raise MemoryStoreError(
            f"memory {spec}: returned a {type(given).__name__}; expected a list of texts, dicts or entries (an empty "
            f"list when nothing fits), or a Context."
        )
    sessions = {session.id for session in history.sessions}
    for entry in entries:
        foreign = [source for source in entry.sources or () if source not in sessions]
        if foreign:
            raise MemoryStoreError(
                f"memory {spec}: entry {entry.id!r} names the source {foreign[0]!r}, which is no session of the "
                f"history. Sources are the ids of the sessions given; leave them out when they are not known."
            )
    return found


def _entry(item: object, number: int, spec: str) -> Entry:
    if isinstance(item, Entry):
        return item
    if isinstance(item, str):
        return Entry(f"entry-{number}", item, None)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str) and item.keys() <= _FIELDS:
        sources = item.get("sources")
        return Entry(
            id=str(item.get("id", f"entry-{number}")),
            text=item["text"],
            sources=None if sources is None else _ids(sources, "sources", number, spec),
            turns=_ids(item.get("turns") or (), "turns", number, spec),
            date=str(item.get("date") or ""),
        )
    shown = f"keys {sorted(map(str, item))}" if isinstance(item, Mapping) else f"a {type(item).__name__}"
    raise MemoryStoreError(
        f"memory {spec}: entry {number} is {shown}; expected a text, an Entry, or a dict with 'text' and, where known, "
        f"{sorted(_FIELDS - {'text'})}."
    )


def _ids(value: object, field: str, number: int, spec: str) -> tuple[str, ...]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(map(str, value))
    raise MemoryStoreError(f"memory {spec}: '{field}' of entry {number} is {value!r}; expected a list of ids.")


def _caller(target: Any) -> Callable[[History, str], Any]:
    method = getattr(target, "context", None)
    if callable(method):
        return lambda history, question: method(history, question)
    return lambda history, question: target(history.sessions, question)


def _failed(spec: str, error: Exception) -> MemoryStoreError:
    return MemoryStoreError(f"memory {spec}: its code raised {raised(error)}")


def _source_version(target: Any) -> str:
    """A digest of the file that defines `target`, "" where there is none."""
    module = sys.modules.get(str(getattr(target, "__module__", None) or type(target).__module__))
    path = getattr(module, "__file__", None)
    try:
        return "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else ""
    except OSError:
        return ""
