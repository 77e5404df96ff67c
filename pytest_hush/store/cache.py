"""The response cache: what a stage gave for exactly these inputs, shared by runs and processes.

One sqlite file in WAL mode with JSON values. A key is the SHA-256 of the stage and its fields, so an entry can only
be stale if a field is missing from the key: the stages name everything that can change an answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pytest_hush.errors import StoreError
from pytest_hush.model import canonical_json
from pytest_hush.private import make_private_file, make_private_folder
from pytest_hush.store.records import Warn, warn_user

VERSION: Final = 1
_T = TypeVar("_T")
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS entry (
    key TEXT PRIMARY KEY, stage TEXT NOT NULL, slot TEXT NOT NULL, fields TEXT NOT NULL, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS slot ON entry (stage, slot);
"""
_CLOSE_S = 1.0
"""How long `close` waits for a statement of another thread, in seconds."""


class Cache:
    """JSON values by (stage, fields), for any number of threads and processes.

    A cache never fails a run: a garbled file is set aside (``<name>.garbled-<stamp>``) and a new one begun, a
    locked or full disk makes misses; each is said once through `warn`. Raises `StoreError` only when the file cannot
    be created at all.
    """

    def __init__(self, path: Path, *, warn: Warn = warn_user, busy_s: float = 30.0) -> None:
        self.path = path
        self._warn = warn
        self._busy_s = busy_s
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: list[tuple[sqlite3.Connection, threading.Lock]] = []
        self._generation = 0
        self._said: set[str] = set()
        try:
            make_private_folder(path.parent)
            make_private_file(path)
        except OSError as error:
            raise StoreError(
                f"{path}: the cache cannot be opened: {error.strerror}. Give another --hush-cache."
            ) from error
        self._guarded(lambda _: None, None)

    def get(self, stage: str, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value that was put for these fields, or None."""
        key = cache_key(stage, fields)

        def read(db: sqlite3.Connection) -> dict[str, Any] | None:
            row = db.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            value = _object(row[0])
            if value is None:
                db.execute("DELETE FROM entry WHERE key = ?", (key,))
            return value

        return self._guarded(read, None)

    def put(self, stage: str, slot: str, fields: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        """Keep `value`, and return what now stands for these fields: the first value put wins.

        So two processes that did the same work at the same time go on with one answer. `slot` groups entries that
        differ only in settings, for `explain`.
        """
        key = cache_key(stage, fields)
        names = canonical_json(_field_digests(fields))
        text = canonical_json(value)
        mine: dict[str, Any] = json.loads(text)

        def write(db: sqlite3.Connection) -> dict[str, Any]:
            db.execute("INSERT OR IGNORE INTO entry VALUES (?, ?, ?, ?, ?)", (key, stage, slot, names, text))
            row = db.execute("SELECT value FROM entry WHERE key = ?", (key,)).fetchone()
            kept = None if row is None else _object(row[0])
            if kept is None:
                db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", (key, stage, slot, names, text))
            return mine if kept is None else kept

        return self._guarded(write, mine)

    def drop(self, stage: str, fields: Mapping[str, Any]) -> None:
        """Forget what stands for these fields: the caller found that it is no value of this stage."""
        key = cache_key(stage, fields)
        self._guarded(lambda db: db.execute("DELETE FROM entry WHERE key = ?", (key,)) and None, None)

    def explain(self, stage: str, slot: str, fields: Mapping[str, Any]) -> list[str]:
        """Names of the fields (``settings.temperature``) that differ from the nearest stored entry of this slot.

        Empty when the slot holds nothing, or when the entry is there.
        """
        mine = _field_digests(fields)

        def read(db: sqlite3.Connection) -> list[str]:
            found = db.execute("SELECT fields FROM entry WHERE stage = ? AND slot = ?", (stage, slot)).fetchall()
            differences = []
            for (text,) in found:
                theirs = _object(text) or {}
                differences.append(sorted(n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n)))
            return min(differences, key=lambda d: (len(d), d), default=[])

        return self._guarded(read, [])

    def close(self) -> None:
        """Close every connection, those of other threads too; the next use opens one again."""
        with self._lock:
            self._close_all()

    def _close_all(self) -> None:
        for db, in_use in self._open:
            # To close what another thread is in the middle of would crash the process; its end frees that one.
            if in_use.acquire(timeout=_CLOSE_S):
                db.close()
                in_use.release()
        self._open.clear()
        self._generation += 1

    # ---- connections ------------------------------------------------------------------------------

    def _guarded(self, work: Callable[[sqlite3.Connection], _T], otherwise: _T) -> _T:
        for attempt in (1, 2):
            seen = self._generation
            try:
                db = self._connection()
                with self._local.in_use:
                    return work(db)
            except sqlite3.OperationalError as error:
                self._say_once(f"{self.path}: the cache cannot be used now ({error}); its answers are asked for again.")
                return otherwise
            except (sqlite3.DatabaseError, ValueError) as error:
                if attempt == 2:
                    break
                self._set_aside(seen, str(error))
        return otherwise

    def _connection(self) -> sqlite3.Connection:
        if getattr(self._local, "generation", None) == self._generation:
            db: sqlite3.Connection = self._local.db
            return db
        generation = self._generation
        db = sqlite3.connect(self.path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        in_use = threading.Lock()
        with self._lock:
            self._open.append((db, in_use))
        self._local.db, self._local.in_use, self._local.generation = db, in_use, generation
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"cache format {version}, this version of pytest-hush reads {VERSION}")
        if version == 0:
            # Two processes that switch a new file to WAL at once get "database is locked" whatever the timeout.
            with self._file_lock():
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(_TABLES)
                db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("PRAGMA synchronous = NORMAL")

    def _set_aside(self, seen: int, why: str) -> None:
        with self._file_lock():
            with self._lock:
                if seen != self._generation:
                    return  # another thread did it
                self._close_all()
            if self._readable():
                return  # another process did it
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            aside = self.path.with_name(f"{self.path.name}.garbled-{stamp}-{os.getpid()}")
            for suffix in ("", "-wal", "-shm"):
                part = self.path.with_name(self.path.name + suffix)
                if part.exists():
                    part.replace(aside.with_name(aside.name + suffix))
            make_private_file(self.path)
        self._warn(
            f"{self.path}: the cache is not readable ({why}); it was set aside as {aside.name}, a new one is begun."
        )

    def _readable(self) -> bool:
        db = sqlite3.connect(self.path, timeout=self._busy_s)
        try:
            ok: bool = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            return ok and db.execute("PRAGMA user_version").fetchone()[0] in (0, VERSION)
        except sqlite3.DatabaseError:
            return False
        finally:
            db.close()

    def _file_lock(self) -> Any:
        from filelock import FileLock

        return FileLock(f"{self.path}.lock", timeout=60, mode=0o600)

    def _say_once(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self._warn(message)


def cache_key(stage: str, fields: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of the stage and the canonical JSON of its fields."""
    return hashlib.sha256(f"{stage}\n{canonical_json(fields)}".encode()).hexdigest()


def _object(text: object) -> dict[str, Any] | None:
    try:
        value = json.loads(text)  # type: ignore[arg-type]  # a row may hold anything; TypeError then
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _field_digests(fields: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Name -> short digest: enough to say which field differed, without a second copy of a long prompt."""
    found: dict[str, str] = {}
    for name, value in fields.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            found |= _field_digests(value, f"{full}.")
        else:
            found[full] = hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]
    return found
