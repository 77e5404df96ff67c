"""Vectors kept on disk: ten LoCoMo dialogues cost 40 s of one core to embed, and every worker needs them."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_hush.private import make_private_file, make_private_folder
from pytest_hush.protocols import Embedder

_CHUNK: Final = 64
"""Texts embedded between two writes: an interrupted run loses half a second of work."""


class CachedEmbedder:
    """`inner` behind one SQLite file. Keys cover name, version and text; values are float32 bytes.

    Safe for threads and processes: a connection lives for one call. A file that is no database is set aside
    with a warning; a cache that cannot be written (read-only, disk full) is a warning once, then not used.
    """

    def __init__(self, inner: Embedder, path: str | Path) -> None:
        """`path` is created, with its folders, at the first `embed`."""
        self._inner = inner
        self._path = Path(path)
        self._off = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def version(self) -> str:
        return str(getattr(self._inner, "version", ""))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), d), in the order given; bit-equal to those of `inner`."""
        keys = {text: self._key(text) for text in texts}
        found = self._read(keys)
        missing = [text for text in keys if text not in found]
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            rows = np.asarray(self._inner.embed(chunk), dtype=np.float32)
            fresh = dict(zip(chunk, rows, strict=True))
            found.update(fresh)
            self._write([(keys[text], row.tobytes()) for text, row in fresh.items()])
        if not texts:
            return np.asarray(self._inner.embed([]), dtype=np.float32)
        return np.stack([found[text] for text in texts])

    def _key(self, text: str) -> bytes:
        head = f"{self.name}\0{self.version}\0"
        return hashlib.sha256((head + text).encode("utf-8", "surrogatepass")).digest()

    def _read(self, keys: dict[str, bytes]) -> dict[str, NDArray[np.float32]]:
        def select(connection: sqlite3.Connection) -> None:
            for text, key in keys.items():
                row = connection.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[text] = np.frombuffer(row[0], dtype=np.float32)

        found: dict[str, NDArray[np.float32]] = {}
        self._with_file(select)
        return found

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

        self._with_file(insert)

    def _with_file(self, act: Callable[[sqlite3.Connection], None]) -> None:
        """Run `act` on a connection; a cache that fails is never the caller's failure."""
        if self._off:
            return
        try:
            with closing(self._open()) as connection:
                act(connection)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        make_private_folder(self._path.parent)
        if not self._path.exists():
            make_private_file(self._path)
        try:
            return _connect(self._path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            with self._lock:
                try:
                    return _connect(self._path)  # another thread may have put it right meanwhile
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError:
                    aside = self._path.with_name(self._path.name + ".garbled")
                    self._path.replace(aside)
                    warnings.warn(
                        f"{self._path} is not a cache of vectors; it was set aside as {aside.name}.", stacklevel=2
                    )
                    return _connect(self._path)

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            first, self._off = not self._off, True
        if first:
            warnings.warn(
                f"The cache of vectors {self._path} cannot be used ({error}); embedding goes on without it.",
                stacklevel=2,
            )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # a lost vector is computed again
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection
