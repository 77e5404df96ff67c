"""`StoreMemory`: a memory system's library as a condition of the protocol, whatever the library."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import HushError, MemoryStoreError
from pytest_hush.memories.provenance import Ledger
from pytest_hush.memories.stores.backend import Backend, Hit
from pytest_hush.memories.stores.bases import Bases, again, content_of
from pytest_hush.memories.stores.bridge import Bridge
from pytest_hush.memories.stores.channel import Ask, GivenUp, asking
from pytest_hush.memories.stores.forks import Fork, Forks, Scratch
from pytest_hush.memories.stores.ingest import (
    check_alive,
    check_readable,
    close_store,
    ingest,
    library,
    open_store,
    snapshot,
)
from pytest_hush.memories.stores.threads import in_thread
from pytest_hush.model import Context, Entry, History, Session, digest
from pytest_hush.protocols import Embedder, Model

LIMIT: Final = 5
"""Entries rendered at most, as for every retrieving memory of the protocol."""
_POSITIONS: Final = (0.3, 0.8)
_OPEN_FORKS: Final = 32


class StoreMemory:
    """Asks one memory system, each history in a fork of its own (``isolated`` stores).

    The background is ingested once into a base (`bases.Bases`); a fork gets the planted session, and is kept while
    questions on its history come. A shared history is one base with all that was planted, asked through one copy.
    Every entry's sources are the ledger's. A failure is remembered: asking again would pay again, and end the same way.
    """

    retrieving: Final = True

    def __init__(
        self,
        backend: Backend,
        folder: Path,
        *,
        model: Model | None = None,
        embedder: Callable[[], Embedder] | None = None,
        top_k: int = LIMIT,
        open_forks: int = _OPEN_FORKS,
    ) -> None:
        """`folder` holds the stores of all systems. `model` is the extraction model; the bridge serves `embedder`."""
        self.backend = backend
        self.model = model
        self.name = backend.name
        self.version = backend.version
        self.settings: Mapping[str, Any] = {**backend.settings, "top_k": top_k}
        if model is not None:
            of_model = {"name": str(getattr(model, "name", "")), **dict(getattr(model, "settings", None) or {})}
            self.settings = {**self.settings, "model": json.loads(json.dumps(of_model, default=str))}
        self.in_flight = 2 if model is None else 8
        """Histories worked on at once: without a model the work is this machine's, with one it waits for answers."""
        self._top_k = top_k
        self._scratch = Scratch(folder / "forks")
        self._forks = Forks(self._scratch, open_forks, self._close_fork, keep_closed=model is not None)
        # What a user's model without a version extracted must not outlive the process: tomorrow it may be another.
        lasting = getattr(model, "cacheable", True)
        self._bases = Bases(
            (lambda: folder / backend.name) if lasting else (lambda: self._scratch.new("bases")), backend, self.settings
        )
        self._bridge = Bridge(embedder)

    async def context(self, history: History, question: str) -> Context:
        """At most `top_k` entries of the history's fork, best first.

        Raises `MemoryStoreError` for the library, `StoreError` for files, and the extraction model's `ModelError`.
        """
        given_up = threading.Event()
        model, loop = self.model, asyncio.get_running_loop()
        ask = None if model is None else asking(model, loop, given_up)

        try:
            return await in_thread(lambda: self._answer(history, question, ask))
        except asyncio.CancelledError:
            given_up.set()
            raise

    async def close(self) -> None:
        """Drop all forks, end the bridge, and close the extraction model. Bases stay."""
        await in_thread(self._forks.clear)
        self._bridge.close()
        closer = getattr(self.model, "close", None)
        if callable(closer):
            closed = closer()
            if inspect.isawaitable(closed):
                await closed

    # ---- in a thread of its own -------------------------------------------------------------------

    def _answer(self, history: History, question: str, ask: Ask | None) -> Context:
        shared = bool(history.siblings)
        with self._forks.using(digest([history.fingerprint(), None if shared else history.planted])) as fork:
            if fork.failure is not None:
                raise again(fork.failure)
            if fork.channel is not None and ask is not None:
                fork.channel.ask = ask
            try:
                if fork.store is None:
                    self._open(fork, history, ask)
                assert fork.store is not None
                with library(self.backend.label, "searched", fork.channel):
                    hits = list(fork.store.search(question, self._top_k))[: self._top_k]
            except HushError as error:
                fork.failure = None if isinstance(error, GivenUp) else error
                self._close_fork(fork)
                raise
            found = Context(self._entries(hits, fork), label=self.backend.label, notes=self._notes(history, fork))
        self._forks.trim()
        if shared:
            # A session that could not be read is the fault of its own cases, not of all that ask this store.
            check_readable(self.backend.label, fork.unread, len(history.sessions), history.planted)
        return found

    def _open(self, fork: Fork, history: History, ask: Ask | None) -> None:
        if ask is not None:
            fork.channel = self._bridge.channel(ask)
        if fork.folder is None:
            folder = self._scratch.new("fork")
            try:
                self._make(fork, folder, history)
            except BaseException:
                self._close_fork(fork)
                shutil.rmtree(folder, ignore_errors=True)
                raise
            fork.folder = folder
            return
        fork.store = open_store(self.backend, fork.folder, fork.channel)
        if content_of(snapshot(self.backend, fork.store)) != fork.content:
            raise MemoryStoreError(
                f"{self.backend.label}: a store that was closed for a while no longer holds what was stored in it. "
                f"Is the disk full?"
            )

    def _make(self, fork: Fork, folder: Path, history: History) -> None:
        before, rest = self._split(history)
        backend, channel, ledger = self.backend, fork.channel, Ledger()
        base = self._bases.get(before, history.persona, channel, self._stops(history)) if before else None
        if base is not None:
            base.copy_to(folder)
            ledger = base.ledger.copy()
        else:
            folder.mkdir(parents=True)
        fork.store = open_store(backend, folder, channel)
        entries = snapshot(backend, fork.store)
        if base is not None:
            base.check(entries)
        entries, unread = ingest(backend, fork.store, rest, history.persona, ledger, entries, channel)
        unread = [*(base.unread if base else ()), *unread]
        sources = [ledger.sources(entry) or () for entry in entries]
        check_readable(backend.label, unread, len(history.sessions), None if history.siblings else history.planted)
        # A store that holds the plants alone would be found working by every question about a plant.
        plants = {history.planted, history.revoked, *(d.session_id for d in history.siblings)}
        others = [found for found in sources if not before or any(s not in plants for s in found)]
        check_alive(backend.label, len(others), len(history.sessions))
        fork.ledger, fork.content, fork.unread = ledger, content_of(entries), tuple(unread)

    def _notes(self, history: History, fork: Fork) -> tuple[str, ...]:
        label, planted = self.backend.label, history.planted
        plant = "" if planted is None else f", {fork.ledger.of(planted)} from the planted session"
        notes = [f"{label}: {len(fork.ledger)} entries{plant}"]
        if fork.unread:
            notes.append(f"{label}: the extraction of {len(fork.unread)} sessions was unreadable")
        return tuple(notes)

    def _split(self, history: History) -> tuple[tuple[Session, ...], tuple[Session, ...]]:
        """The sessions of the base, and those that the fork gets after them."""
        sessions = history.sessions
        if history.siblings:
            return sessions, ()
        at = next((i for i, s in enumerate(sessions) if s.id == history.planted), len(sessions))
        if self.backend.order_matters:
            return sessions[:at], sessions[at:]
        end = at + (2 if history.revoked is not None else 1)  # a withdrawal stands next after what it takes back
        return (*sessions[:at], *sessions[end:]), sessions[at:end]

    def _stops(self, history: History) -> tuple[int, ...]:
        """Where the protocol plants: the bases of both positions and the whole background are steps of one way."""
        if not self.backend.order_matters or history.siblings:
            return ()
        from pytest_hush.packs.planting import planted_index

        return tuple(planted_index(p, len(history.persona.sessions)) for p in _POSITIONS)

    def _entries(self, hits: Sequence[Hit], fork: Fork) -> tuple[Entry, ...]:
        """Entries named by where they come from and what they say: a library's own ids differ from run to run."""
        entries: list[Entry] = []
        seen: Counter[str] = Counter()
        for hit in hits:
            sources = fork.ledger.sources(hit.id)
            name = hit.turns[0] if len(hit.turns) == 1 else f"{'+'.join(sources or ('?',))}#{digest(hit.text, 8)}"
            seen[name] += 1
            unique = name if seen[name] == 1 else f"{name}-{seen[name]}"
            entries.append(Entry(unique, hit.text, sources, hit.turns, hit.date))
        return tuple(entries)

    def _close_fork(self, fork: Fork) -> None:
        store, fork.store = fork.store, None
        channel, fork.channel = fork.channel, None
        if channel is not None:
            self._bridge.drop(channel)
        if store is not None:
            # Its answers are given already; what it could not write is missed when it is opened again.
            with contextlib.suppress(HushError):
                close_store(self.backend, store)
