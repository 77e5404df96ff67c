"""Copies of a base with one planted session: a few are open at a time, all go when the run ends.

They live in a folder of this process, whose lock file is held as long as the process lives: a folder whose lock is
free belongs to nobody, and is swept by the next one who makes a fork.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import HushError, StoreError
from pytest_hush.memories.provenance import Ledger
from pytest_hush.memories.stores.backend import Store
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.private import make_private_folder

_PATIENCE_S: Final = 2.0
_mine: set[Path] = set()
"""Folders whose locks this process holds."""


@dataclass(eq=False, slots=True)
class Fork:
    """One history's store. Everything but `lock` is read and written under it. `store` is None while it is closed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    folder: Path | None = None
    store: Store | None = None
    ledger: Ledger = field(default_factory=Ledger)
    content: str = ""
    """Digest of all entries when it was made: what a closed one must still hold when it is opened again."""
    channel: Channel | None = None
    unread: tuple[str, ...] = ()
    """Sessions whose extraction model gave no readable answer."""
    failure: HushError | None = None


class Forks:
    """Forks by key, of which at most `most` are open. Thread-safe."""

    def __init__(self, scratch: Scratch, most: int, close: Callable[[Fork], None], *, keep_closed: bool) -> None:
        """`close` closes a fork's store. `keep_closed`: a fork cost money, so its files stay until `clear`."""
        self._scratch = scratch
        self._most = most
        self._close = close
        self._keep_closed = keep_closed
        self._lock = threading.Lock()
        self._forks: OrderedDict[str, Fork] = OrderedDict()

    @contextlib.contextmanager
    def using(self, key: str) -> Iterator[Fork]:
        """The fork of this key with its lock held, a new and empty one where there is none."""
        while True:
            with self._lock:
                fork = self._forks.setdefault(key, Fork())
                self._forks.move_to_end(key)
            with fork.lock:
                # Between the two locks it may have been closed and forgotten.
                if self._forks.get(key) is fork:
                    yield fork
                    return

    def trim(self) -> None:
        """Close the least recently used of those that are open and too many; one in use stays."""
        with self._lock:
            opened = [(key, fork) for key, fork in self._forks.items() if fork.store is not None]
            for key, fork in opened[: max(0, len(opened) - self._most)]:
                if fork.lock.acquire(blocking=False):
                    try:
                        self._shut(key, fork)
                    finally:
                        fork.lock.release()

    def clear(self) -> None:
        """Close every fork and remove all files. One that is still in use loses its files, and fails by itself."""
        with self._lock:
            forks, self._forks = self._forks, OrderedDict()
        for fork in forks.values():
            if fork.lock.acquire(timeout=_PATIENCE_S):
                try:
                    self._close(fork)
                finally:
                    fork.lock.release()
        self._scratch.close()

    def _shut(self, key: str, fork: Fork) -> None:
        self._close(fork)
        if not self._keep_closed:
            if fork.folder is not None:
                shutil.rmtree(fork.folder, ignore_errors=True)
            self._forks.pop(key, None)


class Scratch:
    """A folder of this process under `root`, made when it is first needed and removed at the latest at exit."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._end: weakref.finalize[Any, Scratch] | None = None

    def new(self, name: str) -> Path:
        """A path in the folder that nothing stands at. Raises `StoreError` where the folder cannot be made."""
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._folder = self._made()
            return self._folder / f"{name}-{secrets.token_hex(4)}"

    def close(self) -> None:
        with self._lock:
            end, self._end, self._folder = self._end, None, None
        found = end.peek() if end is not None else None
        if end is not None and found is not None:
            _, drop, arguments, _ = found
            drop(*arguments)
            # Only now: a run does not wait long for this thread, and what it left is then dropped at exit.
            end.detach()

    def _made(self) -> Path:
        from filelock import FileLock

        if self._end is not None:
            self._end()
        folder = self._root / f"{os.getpid()}-{secrets.token_hex(6)}"
        try:
            make_private_folder(self._root)
            sweep(self._root)
            lock = FileLock(_lock_of(folder), thread_local=False)
            lock.acquire()
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise StoreError(f"{folder}: the folder of memory forks cannot be made ({error.strerror}).") from error
        _mine.add(folder)
        self._end = weakref.finalize(self, _drop, folder, lock, os.getpid())
        return folder


def sweep(root: Path) -> None:
    """Remove the folders of processes that are gone."""
    from filelock import FileLock, Timeout

    for folder in [p for p in root.iterdir() if p not in _mine and p.is_dir() and _lock_of(p).exists()]:
        lock = FileLock(_lock_of(folder), thread_local=False)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            _drop(folder, lock, os.getpid())


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _drop(folder: Path, lock: Any, owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child ends, and the folder is its parent's
    _mine.discard(folder)
    shutil.rmtree(folder, ignore_errors=True)
    # While the lock is held, so that nobody takes the file for that of a living process.
    with contextlib.suppress(OSError):
        _lock_of(folder).unlink()
    lock.release()
