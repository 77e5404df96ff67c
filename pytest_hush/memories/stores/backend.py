"""What the adapter of one memory system writes: how to open a store, put a session in, and ask it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_hush.memories.stores.channel import Channel
from pytest_hush.model import Persona, Session


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry as the library returned it. `turns` only where an entry is whole turns; `date` is ISO 8601 or ""."""

    id: str
    text: str
    date: str = ""
    turns: tuple[str, ...] = ()


class Store(Protocol):
    """An open store of one persona, used by one thread at a time. Any exception of the library may pass through."""

    def ingest(self, session: Session, persona: Persona) -> Mapping[str, Iterable[str]] | None:
        """Put one session in, and return when it can be found.

        Where the library builds entries out of older ones: their id -> the ids of those that stood in the store before
        this session (`Ledger.update`).
        """
        ...

    def snapshot(self) -> Mapping[str, str]:
        """Every entry that a search could return: its id -> all of its text."""
        ...

    def search(self, question: str, k: int) -> Sequence[Hit]:
        """At most `k` entries, best first, with ids of `snapshot`."""
        ...

    def close(self) -> None:
        """Write everything to the folder and let go of it: no handle, no thread, no connection is left."""
        ...


class Backend(Protocol):
    """One memory system with its settings. Making one imports nothing of the library.

    A store is a folder: copied while it is closed, the copy opens as the same store. A library that keeps its
    entries in memory only is dumped there by `Store.close` and read back by `open`.
    """

    @property
    def name(self) -> str:
        """The condition's base: ``mem0``."""
        ...

    @property
    def label(self) -> str:
        """What was measured, in every record: ``mem0@verbatim``."""
        ...

    @property
    def version(self) -> str:
        """The adapter's version and those of the libraries that decide what is stored and found."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything else that can change an answer, but for the extraction model."""
        ...

    @property
    def order_matters(self) -> bool:
        """Whether what a session leaves behind depends on the sessions before it.

        If so the planted session is ingested in its place and all later ones after it; else last, into a copy of
        the whole background.
        """
        ...

    def open(self, folder: Path, channel: Channel | None) -> Store:
        """The store in `folder`, which exists; an empty folder is an empty store.

        `channel` is the endpoint of the extraction model; None where no model is used, or only to read.
        """
        ...
