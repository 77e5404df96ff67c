"""Sessions into a store, with the ledger kept beside it and every failure of library and model surfacing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_hush.errors import HushError, MemoryStoreError, ModelError
from pytest_hush.loading import raised
from pytest_hush.memories.provenance import Ledger
from pytest_hush.memories.stores.backend import Backend, Store
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.model import Persona, Session

UNREAD_SHARE: Final = 0.2
"""More sessions than this share whose extraction was unreadable, and the store says nothing about the system."""


@contextlib.contextmanager
def library(label: str, what: str, channel: Channel | None = None) -> Iterator[None]:
    """What the library raises inside becomes a `MemoryStoreError`; what the model raised before that goes first."""
    try:
        yield
    except HushError:
        raise
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
            raise
        if channel is not None:
            channel.check()
        raise MemoryStoreError(f"{label}: while it {what}, the library raised {raised(error)}") from error
    if channel is not None:
        channel.check()


def open_store(backend: Backend, folder: Path, channel: Channel | None) -> Store:
    with library(backend.label, "opened a store"):
        return backend.open(folder, channel)


def close_store(backend: Backend, store: Store) -> None:
    with library(backend.label, "closed a store"):
        store.close()


@contextlib.contextmanager
def closing_store(backend: Backend, folder: Path, channel: Channel | None) -> Iterator[Store]:
    """The store in `folder`, closed at the end; what happened inside is more telling than a failed close."""
    store = open_store(backend, folder, channel)
    try:
        yield store
    except BaseException:
        with contextlib.suppress(MemoryStoreError):
            close_store(backend, store)
        raise
    close_store(backend, store)


def snapshot(backend: Backend, store: Store) -> dict[str, str]:
    with library(backend.label, "listed its entries"):
        return {str(entry): str(text) for entry, text in store.snapshot().items()}


def ingest(
    backend: Backend,
    store: Store,
    sessions: Sequence[Session],
    persona: Persona,
    ledger: Ledger,
    before: Mapping[str, str],
    channel: Channel | None,
) -> tuple[dict[str, str], list[str]]:
    """Put `sessions` in, one after the other; `ledger` is updated after each. `before` is the store as it is.

    Returns all entries afterwards, and the ids of sessions whose extraction was unreadable. Raises
    `MemoryStoreError` for the library, the model's own `ModelError`, and `StoreError` where provenance was lost.
    """
    now = dict(before)
    unread: list[str] = []
    for session in sessions:
        garbled = channel.garbled if channel is not None else 0
        with library(backend.label, f"read the session {session.id}", channel):
            derived = store.ingest(session, persona)
        if channel is not None and channel.garbled > garbled:
            unread.append(session.id)
        after = snapshot(backend, store)
        ledger.update(now, after, session.id, derived=derived)
        now = after
    return now, unread


def check_alive(label: str, entries: int, sessions: int) -> None:
    """Raises `MemoryStoreError` for a store that lost its background: its silence would mean nothing."""
    if not entries:
        raise MemoryStoreError(
            f"{label}: the store is empty after {sessions} sessions, but for a planted one. An empty memory is "
            f"perfectly silent and proves nothing: see what the extraction model answers, or use the mode that needs "
            f"none."
        )


def check_readable(label: str, unread: Sequence[str], sessions: int, planted: str | None = None) -> None:
    """Raises `ModelError` where the extraction model did not keep to the library's format, for the plant or often."""
    if planted in unread:
        raise ModelError(
            f"{label}: the extraction model's answer for the planted session {planted} was not in the format that the "
            f"library asks for, so what is stored of it says nothing about the system. Name a model that keeps to a "
            f"format with --hush-memory-model."
        )
    if len(unread) > UNREAD_SHARE * sessions:
        raise ModelError(
            f"{label}: the extraction model's answers for {len(unread)} of {sessions} sessions were not in the format "
            f"that the library asks for (the first: {unread[0]}). Name a model that keeps to a format with "
            f"--hush-memory-model."
        )
