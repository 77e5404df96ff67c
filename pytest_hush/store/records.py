"""Records on disk: one append-only JSONL file per process, and the reading of all of them together.

The format is ``docs/reference/record.md``. A record is one line and one write, so a process that dies leaves at
most one torn line, at the end of its own file.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from pytest_hush.errors import StoreError
from pytest_hush.model import Record
from pytest_hush.store.codec import MALFORMED, mapping, record_from_json, record_to_json

_RANK: Final[dict[str, int]] = {"ok": 0, "withheld": 0, "unplanted": 1, "unscored": 2, "error": 3}

Warn = Callable[[str], None]


class StoreWarning(UserWarning):
    """Something in a run folder or cache was unreadable and set aside; the run goes on."""


def warn_user(message: str) -> None:
    """The default way of saying that something was set aside: a `StoreWarning`.

    Where warnings are errors (``-W error``) it is logged instead: it must not end a run that goes on without the part.
    """
    try:
        warnings.warn(message, StoreWarning, stacklevel=3)
    except StoreWarning:
        logging.getLogger("pytest_hush").warning(message)


# ---- writing --------------------------------------------------------------------------------------


class RecordLog:
    """The append-only file of one process: ``records-<writer>-<pid>.jsonl`` in `folder`, mode 0600.

    `append` is thread-safe. A file that exists already is never continued (its last line may be torn): the name
    gets ``-2``, ``-3``…
    """

    def __init__(self, folder: Path, writer: str) -> None:
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        stem = f"records-{writer}-{os.getpid()}"
        number = 1
        while True:
            self.path = folder / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
            try:
                self._fd: int | None = os.open(self.path, flags, 0o600)
                return
            except FileExistsError:
                number += 1
            except OSError as error:
                raise StoreError(f"{self.path}: the records file cannot be created: {error.strerror}.") from error

    def append(self, record: Record) -> None:
        """Write one record as one line in one system call. Raises `StoreError` when it cannot be kept.

        What a full disk took of a line is cut off again: a later record must not run into it.
        """
        line = dump_line(record)
        with self._lock:
            if self._fd is None:
                raise StoreError(f"{self.path}: the records file is closed.")
            start = os.fstat(self._fd).st_size
            try:
                written = os.write(self._fd, line)
                if written < len(line):
                    os.write(self._fd, line[written:])  # fails, and says why the first write was cut short
                    if os.fstat(self._fd).st_size - start != len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, start)
                raise StoreError(
                    f"{self.path}: the record of a case cannot be written: {error.strerror}. What stands in "
                    f"{self.path.parent} is kept: make room there, then finish the run with --hush-resume."
                ) from error

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def dump_line(record: Record) -> bytes:
    """The record's line: compact JSON in UTF-8 and a newline. Raises `StoreError` for a NaN or an infinity."""
    value = record_to_json(record)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate is no UTF-8, but JSON can escape it.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    except (ValueError, TypeError) as error:
        raise StoreError(f"the record of {record.probe_id} under {record.condition} is no JSON: {error}") from error


# ---- reading --------------------------------------------------------------------------------------


def read_records(folder: Path, *, warn: Warn = warn_user) -> list[Record]:
    """All records in `folder`, one per key, sorted by `Record.identity`.

    Of several lines with one key, a scored record (ok, withheld) wins over unplanted, that over unscored, that
    over error; among equals the line that sorts first. So the result does not depend on which process wrote what.
    Scored lines with one key that differ in `Record.answer` are all given: none of them is right by its place, and
    whoever judges the records refuses them.
    A torn last line is ignored; a garbled line elsewhere is left out with a warning that names file and line.
    Raises `StoreError` for a record of another schema or an unreadable file.
    """
    return _best(sorted(folder.glob("records-*.jsonl")), warn)


def read_file(path: Path, *, warn: Warn = warn_user) -> list[Record]:
    """The records of one file, as `read_records` reads those of a folder."""
    return _best([path], warn)


def _best(paths: Iterable[Path], warn: Warn) -> list[Record]:
    best: dict[str, tuple[int, bytes, Record]] = {}
    others: dict[str, list[tuple[int, bytes, Record]]] = {}
    for path in paths:
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise StoreError(f"{path}: the records file cannot be read: {error.strerror}.") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            record = _parse(line, path, number, last=number == len(lines), warn=warn)
            if record is None:
                continue
            candidate = (_RANK[record.status], line, record)
            known = best.get(record.key)
            if known is not None and known[2].measured and record.measured and line != known[1]:
                others.setdefault(record.key, [known]).append(candidate)
            if known is None or candidate[:2] < known[:2]:
                best[record.key] = candidate
    found = [r for _, _, r in best.values()]
    for key, group in others.items():
        chosen = best[key][2]
        answers = {(r.identity, r.answer): r for _, _, r in sorted(group, key=lambda c: c[1], reverse=True)}
        found += [r for answer, r in answers.items() if answer != (chosen.identity, chosen.answer)]
    return sorted(found, key=lambda r: (r.identity, r.key))


def _parse(line: bytes, path: Path, number: int, *, last: bool, warn: Warn) -> Record | None:
    try:
        return record_from_json(mapping(json.loads(line)))
    except StoreError as error:
        raise StoreError(f"{path}, line {number}: {error}") from error
    except MALFORMED as error:
        if not last:
            warn(
                f"{path}, line {number}: no record can be read here: {_what_is_wrong(error)}. It is left out, and its "
                f"case counts as missing. Measure it again with --hush-resume, or put the file back as it was."
            )
        return None


def _what_is_wrong(error: Exception) -> str:
    """In words why a line is no record, and of its text nothing but a field's short value."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 (byte {error.start + 1} of the line)"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON ({error.msg}, at character {error.pos + 1} of the line)"
    if isinstance(error, KeyError):
        return f"the field {str(error)[:60]} is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"expected a record, one JSON object a line (docs/reference/record.md), read something else ({error})"[:200]
