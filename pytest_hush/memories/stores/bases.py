"""Stores built once for a stretch of dialogue and shared by workers, shards and later runs: a folder each.

A base is written to ``<key>.partial`` under a file lock and renamed when it is complete. What a killed process left
half-written is thrown away; what was damaged afterwards is a `StoreError`, never a silent memory.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import HushError, MemoryStoreError, StoreError
from pytest_hush.memories.provenance import Ledger
from pytest_hush.memories.stores.backend import Backend
from pytest_hush.memories.stores.channel import Channel, GivenUp
from pytest_hush.memories.stores.ingest import check_alive, check_readable, closing_store, ingest, snapshot
from pytest_hush.model import Persona, Session, digest
from pytest_hush.private import make_private_folder

MARKER: Final = "complete.json"
CONTENT: Final = "store"
SCHEMA: Final = 1
_FEW: Final = 2
"""So many sessions may leave nothing behind: what comes after them is looked at again in the fork."""

_between_threads: dict[Path, threading.Lock] = {}


@dataclass(frozen=True, slots=True)
class Base:
    """A complete store on disk. `ledger` is shared: copy it for a fork. `content` is the digest of all entries."""

    folder: Path
    ledger: Ledger
    content: str
    unread: tuple[str, ...]
    """Sessions whose extraction model gave no readable answer."""

    def copy_to(self, folder: Path) -> None:
        """Copy the library's files to `folder`, which must not exist. Raises `StoreError`."""
        try:
            shutil.copytree(self.folder / CONTENT, folder)
        except (OSError, shutil.Error) as error:
            raise StoreError(f"{self.folder}: the store cannot be copied ({error}).") from error

    def check(self, entries: Mapping[str, str]) -> None:
        """Raises `StoreError` unless `entries` are what this base held when it was completed."""
        if content_of(entries) != self.content:
            raise StoreError(
                f"{self.folder}: the store holds {len(entries)} entries that are not the {len(self.ledger)} it was "
                f"completed with. Remove the folder; it is built anew."
            )


class Bases:
    """The bases of one backend. Thread-safe, and safe for processes at once."""

    def __init__(self, root: Callable[[], Path], backend: Backend, settings: Mapping[str, Any]) -> None:
        """`root` names their folder; it is asked again when the one above it is gone."""
        self._make_root = root
        self._root_now: Path | None = None
        self._backend = backend
        self._identity = ["base", SCHEMA, backend.name, backend.version, dict(settings)]
        self._lock = threading.Lock()
        self._known: dict[str, Base] = {}
        self._failures: dict[str, HushError] = {}

    def get(
        self, sessions: Sequence[Session], persona: Persona, channel: Channel | None, stops: Sequence[int] = ()
    ) -> Base:
        """The base of `sessions` (at least one), built where there is none. `channel` serves the building only.

        `stops` are lengths at which the building leaves a base behind, so that a longer one goes on from a shorter.
        Raises `StoreError` for a damaged one, and what `ingest` raises; that is remembered, since every history of a
        persona needs its base, and each would pay for the same failure again.
        """
        key = self._key(sessions, persona)
        with self._lock:
            known = self._known.get(key)
        if known is not None and (known.folder / MARKER).is_file():
            return known
        path = self._root() / key
        try:
            if not (path / MARKER).is_file():
                with self._locked(self._key(sessions[:1], persona)):
                    self._raise_known_failure(key)
                    self._ensure(sessions, persona, channel, stops)
            base = _read(path)
        except GivenUp:
            raise
        except HushError as error:
            with self._lock:
                self._failures.setdefault(key, error)
            raise
        with self._lock:
            self._known[key] = base
        return base

    def _raise_known_failure(self, key: str) -> None:
        with self._lock:
            failure = self._failures.get(key)
        if failure is not None:
            raise again(failure)

    def _ensure(
        self, sessions: Sequence[Session], persona: Persona, channel: Channel | None, stops: Sequence[int]
    ) -> Base:
        """Under the lock of this dialogue."""
        path = self._root() / self._key(sessions, persona)
        if (path / MARKER).is_file():
            return _read(path)
        shorter = max((n for n in stops if 0 < n < len(sessions)), default=0)
        start = self._ensure(sessions[:shorter], persona, channel, stops) if shorter else None
        partial = path.with_name(path.name + ".partial")
        try:
            for leftover in (partial, path):
                if leftover.exists():
                    shutil.rmtree(leftover)
            make_private_folder(partial)
            self._build(partial, sessions, shorter, start, persona, channel)
            partial.rename(path)
        except OSError as error:
            _remove(partial)
            raise StoreError(
                f"{path}: the store of a memory system cannot be written ({error.strerror or error})."
            ) from error
        except BaseException:
            _remove(partial)
            raise
        return _read(path)

    def _build(
        self,
        folder: Path,
        sessions: Sequence[Session],
        done: int,
        start: Base | None,
        persona: Persona,
        channel: Channel | None,
    ) -> None:
        backend, started, calls = self._backend, time.monotonic(), channel.calls if channel else 0
        content = folder / CONTENT
        ledger = start.ledger.copy() if start else Ledger()
        if start is not None:
            start.copy_to(content)
        else:
            content.mkdir()
        with closing_store(backend, content, channel) as store:
            before = snapshot(backend, store)
            if start is not None:
                start.check(before)
            entries, unread = ingest(backend, store, sessions[done:], persona, ledger, before, channel)
        unread = [*(start.unread if start else ()), *unread]
        check_readable(backend.label, unread, len(sessions))
        if len(sessions) > _FEW:
            check_alive(backend.label, len(entries), len(sessions))
        self._check_written(content, entries)
        # Without the bytes on disk the name "complete" would be a lie after a loss of power.
        with (folder / MARKER).open("w", encoding="utf-8") as file:
            json.dump(
                {
                    "schema": SCHEMA,
                    "system": backend.label,
                    "version": backend.version,
                    "sessions": [session.id for session in sessions],
                    "entries": len(entries),
                    "content": content_of(entries),
                    "unread": unread,
                    "calls": (channel.calls if channel else 0) - calls,
                    "seconds": round(time.monotonic() - started, 3),
                    "ledger": ledger.to_json(),
                },
                file,
            )
            file.flush()
            os.fsync(file.fileno())

    def _check_written(self, content: Path, entries: Mapping[str, str]) -> None:
        """Some libraries pass over a failed write: what was stored must be there when the store is opened again."""
        with closing_store(self._backend, content, None) as store:
            found = snapshot(self._backend, store)
        if found != entries:
            raise MemoryStoreError(
                f"{self._backend.label}: {len(entries)} entries were stored and {len(found)} are there when the store "
                f"is opened again. Is the disk full?"
            )

    def _key(self, sessions: Sequence[Session], persona: Persona) -> str:
        told = [[s.id, s.date, [[t.id, t.role, t.speaker, t.text] for t in s.turns]] for s in sessions]
        return digest([*self._identity, [persona.id, persona.name, persona.partner], told])

    def _root(self) -> Path:
        with self._lock:
            if self._root_now is None or not self._root_now.parent.is_dir():
                self._root_now = self._make_root()
            return self._root_now

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Alone among the threads of this process, and then among all processes."""
        from filelock import FileLock

        path = self._root() / "locks" / f"{name}.lock"
        try:
            make_private_folder(path.parent)
            with _between_threads.setdefault(path, threading.Lock()), FileLock(path):
                yield
        except OSError as error:
            raise StoreError(f"{path}: the lock of a memory store cannot be taken ({error.strerror}).") from error


def again(error: HushError) -> HushError:
    """A copy to raise: one exception raised by many threads would gather all their tracebacks."""
    return copy.copy(error).with_traceback(None)


def content_of(entries: Mapping[str, str]) -> str:
    """A digest of all entries with their texts."""
    return digest(dict(entries))


def _read(path: Path) -> Base:
    try:
        data = json.loads((path / MARKER).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data["schema"] != SCHEMA:
            raise ValueError("not of this version")
        base = Base(path, Ledger.from_json(data["ledger"]), str(data["content"]), tuple(map(str, data["unread"])))
        if len(base.ledger) != data["entries"] or not (path / CONTENT).is_dir():
            raise ValueError("its entries and its ledger do not agree")
    except (OSError, ValueError, KeyError, TypeError, StoreError) as error:
        raise StoreError(f"{path}: this store is damaged ({error}). Remove the folder; it is built anew.") from error
    return base


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
