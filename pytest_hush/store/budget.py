"""A hard cap on the money of a run, kept across its processes: no call is made that could exceed it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Final

from pytest_hush.errors import BudgetError, StoreError
from pytest_hush.private import make_private_file

_ABANDONED_S: Final = 900.0
_DUST: Final = 1e-9
"""Dollars: sums of prices are inexact, and the last cent of a limit may be spent."""


class Budget:
    """Reservations and payments in one sqlite file of the run folder; a resumed run goes on with what was spent.

    `limit_usd` is in US dollars. Before a call its greatest possible price is reserved, after it the real price is
    booked. A reservation whose process died is booked in full, since the call may have been paid.
    """

    def __init__(self, path: Path, limit_usd: float) -> None:
        self.limit_usd = limit_usd
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with self._lock:
            self._open()

    def reserve(self, max_cost: float) -> int:
        """Reserve `max_cost` dollars and return the token for `settle`. Raises `BudgetError` when it does not fit."""
        token = self.try_reserve(max_cost)
        if token is None:
            raise BudgetError(self._refusal(self.spent(), max_cost))
        return token

    def try_reserve(self, max_cost: float) -> int | None:
        """Like `reserve`, but None when only the reservations of calls in flight stand in the way: try again later."""
        try:
            with self._lock:
                return self._reserved(self._open(), max_cost)
        except sqlite3.Error as error:
            # What cannot be booked is not spent; the run stops here, as at the limit.
            raise BudgetError(
                f"--hush-max-cost={self.limit_usd:g}: the budget file {self._path} cannot be used: {error}. The next "
                f"call was not made. Make room in {self._path.parent}, then finish the run with --hush-resume."
            ) from error

    def _reserved(self, db: sqlite3.Connection, max_cost: float) -> int | None:
        db.execute("BEGIN IMMEDIATE")
        try:
            _book_abandoned(db)
            paid, open_ = db.execute(
                "SELECT TOTAL(paid), TOTAL(CASE WHEN paid IS NULL THEN reserved END) FROM call"
            ).fetchone()
            if paid + max_cost > self.limit_usd + _DUST:
                raise BudgetError(self._refusal(paid, max_cost))
            token: int | None = None
            if paid + open_ + max_cost <= self.limit_usd + _DUST:
                token = db.execute(
                    "INSERT INTO call (pid, made, reserved) VALUES (?, ?, ?)", (os.getpid(), time.time(), max_cost)
                ).lastrowid
            db.execute("COMMIT")
            return token
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                db.execute("ROLLBACK")
            raise

    def settle(self, token: int, actual: float | None) -> None:
        """Book what the call cost; None (not known) books the whole reservation."""
        with self._lock:
            self._open().execute("UPDATE call SET paid = COALESCE(?, reserved) WHERE token = ?", (actual, token))

    def spent(self) -> float:
        """Dollars booked so far by all processes of the run."""
        with self._lock:
            total: float = self._open().execute("SELECT TOTAL(paid) FROM call").fetchone()[0]
        return total

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                make_private_file(self._path)
                db = sqlite3.connect(self._path, timeout=30.0, isolation_level=None, check_same_thread=False)
                try:
                    # No WAL: a handful of tiny transactions a second, and the switch itself can meet a lock.
                    db.execute(
                        "CREATE TABLE IF NOT EXISTS call"
                        " (token INTEGER PRIMARY KEY, pid INTEGER, made REAL, reserved REAL, paid REAL)"
                    )
                except BaseException:
                    db.close()
                    raise
            except (OSError, sqlite3.Error) as error:
                raise StoreError(
                    f"{self._path}: the budget file cannot be used: {error}. Give another --hush-out."
                ) from error
            self._connection = db
        return self._connection

    def _refusal(self, paid: float, max_cost: float) -> str:
        return (
            f"--hush-max-cost={self.limit_usd:g}: ${paid:.4f} is spent in this run and the next call could cost up to "
            f"${max_cost:.4f}; it was not made. Resume with --hush-resume and a higher limit."
        )


def _book_abandoned(db: sqlite3.Connection) -> None:
    for token, pid, made in db.execute("SELECT token, pid, made FROM call WHERE paid IS NULL").fetchall():
        if not _alive(pid) or time.time() - made > _ABANDONED_S:
            db.execute("UPDATE call SET paid = reserved WHERE token = ?", (token,))


def _alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # there, signal 0 is Ctrl-C; the age of a reservation decides alone
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
