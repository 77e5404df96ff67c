"""The run folder: a manifest, the records of every process, and what is derived of them.

Texts in it are sensitive by nature: folders are created 0700 and files 0600. An older run is renamed, never deleted.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from pytest_hush.errors import StoreError
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.plan.file import plan_data, plan_from
from pytest_hush.private import is_fresh, keep_from_git, make_private_folder
from pytest_hush.store.records import RecordLog, Warn, read_records, warn_user

MANIFEST: Final = "manifest.json"
PLAN: Final = "plan.json"
SESSIONS: Final = "sessions.jsonl"
SCHEMA: Final = 1
HOME: Final = ".hush"
LATEST: Final = "latest"


class RunFolder:
    """One run on disk. Made by `create`, `resume` or `open`; `messages` are lines to tell the user."""

    def __init__(self, path: Path, manifest: Mapping[str, Any], messages: tuple[str, ...] = ()) -> None:
        self.path = path
        self.manifest = manifest
        self.messages = messages

    @classmethod
    def create(cls, path: Path | None, manifest: Mapping[str, Any], *, root: Path | None = None) -> Self:
        """A fresh run in `path`, by default ``<root>/.hush/runs/<UTC stamp>-<plan hash>``.

        `manifest` needs ``plan_hash``; ``schema`` and ``started`` (ISO 8601, UTC) are added. An existing run with
        records is renamed to ``<path>.<its start stamp>`` and `messages` says so. With `root`,
        ``<root>/.hush/latest`` then names this run.
        Raises `StoreError` when `path` is a file, holds something that is no run, or cannot be written.
        """
        now = datetime.now(UTC)
        full = {"schema": SCHEMA, "started": now.isoformat(timespec="microseconds"), "pid": os.getpid(), **manifest}
        messages: tuple[str, ...] = ()
        try:
            home = None if root is None else make_home(root)
            if path is None:
                if home is None:
                    raise ValueError("a run folder needs a path or a root")
                make_private_folder(home / "runs")
                path = _free(home / "runs" / f"{_stamp(now)}-{manifest['plan_hash'][:8]}")
            path.parent.mkdir(parents=True, exist_ok=True)
            messages = _make_room(path)
            path.mkdir(mode=0o700, exist_ok=True)
            # Disclosures and replies must not reach a repository by accident, also outside of ``.hush``.
            keep_from_git(path)
            write_atomically(path / MANIFEST, json.dumps(full, indent=2, ensure_ascii=False) + "\n")
            if home is not None:
                # A folder's name need not be UTF-8; what the system calls it is written as it is.
                _write_bytes(home / LATEST, os.fsencode(path.resolve()) + b"\n")
        except OSError as error:
            raise StoreError(
                f"{path}: the run folder cannot be made: {error.strerror}. Give another --hush-out."
            ) from (error)
        return cls(path, full, messages)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The run that stands in `path`. Raises `StoreError` when there is none, or its schema is another."""
        file = path / MANIFEST
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(f"{path}: no run here (there is no {MANIFEST}). Give the folder of a run.") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{file}: the run's manifest cannot be read: {error}. The run cannot be used.") from error
        if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA or "plan_hash" not in manifest:
            raise StoreError(
                f"{file}: expected a run manifest of schema {SCHEMA}. Read it with the version that wrote it."
            )
        return cls(path, manifest)

    @classmethod
    def resume(cls, path: Path, manifest: Mapping[str, Any]) -> Self:
        """The run in `path`, to be finished under `manifest`: ``plan_hash``, ``instrument`` and ``subject`` must match.

        Raises `StoreError` that names each differing field with both values.
        """
        run = cls.open(path)
        # The plan in words comes first: where it differs, the hashes and settings below it only repeat that.
        for named in (("plan",), ("plan_hash", "instrument", "subject")):
            old = _flat({k: run.manifest.get(k) for k in named})
            new = _flat({k: manifest.get(k) for k in named})
            # `returned_model` is known only after a call, so it is no part of what was asked for.
            differing = [k for k in sorted(old.keys() | new.keys()) if old.get(k) != new.get(k)]
            if differing:
                break
        if differing:
            told = "\n".join(f"  {k}: {_short(old.get(k))} then, {_short(new.get(k))} now" for k in differing[:12])
            more = f"\n  and {len(differing) - 12} more" if len(differing) > 12 else ""
            raise StoreError(
                f"{path}: this run cannot be resumed, because it was started with something else:\n{told}{more}\n"
                f"Start a fresh run (without --hush-resume): replies that are still valid come from the cache."
            )
        return run

    def keep_plan(self, plan: Plan) -> None:
        """Write ``plan.json``: what the run is judged on, without a text. Raises `StoreError`."""
        text = json.dumps(plan_data(plan), ensure_ascii=False, separators=(",", ":"))
        try:
            write_atomically(self.path / PLAN, text + "\n")
        except OSError as error:
            raise StoreError(f"{self.path / PLAN}: the plan cannot be written: {error.strerror}.") from error

    def plan(self) -> Plan:
        """The plan that `keep_plan` wrote. Raises `StoreError` when there is none, or it is not this run's."""
        path = self.path / PLAN
        try:
            plan = plan_from(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, AttributeError) as error:
            raise StoreError(
                f"{path}: the run's plan cannot be read ({error}). A run is judged on its plan: measure it again with "
                f"this version."
            ) from None
        except StoreError as error:
            raise StoreError(f"{path}: {error}") from None
        if plan.hash != self.manifest["plan_hash"]:
            raise StoreError(f"{path}: the plan is not that of the run's manifest. The run folder was put together.")
        return plan

    def keep_session(self, calls: int, cache_hits: int) -> None:
        """Append what one session of this run took to ``sessions.jsonl``. Raises `StoreError`."""
        line = {"ended": datetime.now(UTC).isoformat(timespec="seconds"), "calls": calls, "cache_hits": cache_hits}
        try:
            handle = os.open(self.path / SESSIONS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise StoreError(f"{self.path / SESSIONS}: it cannot be written: {error.strerror}.") from error

    def sessions(self) -> tuple[int, int] | None:
        """(calls made, answers from the cache) of all sessions that came to their end; None where nothing was noted."""
        try:
            lines = (self.path / SESSIONS).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return None
        found: list[tuple[int, int]] = []
        for line in lines:
            try:
                data = json.loads(line)
                found.append((int(data["calls"]), int(data["cache_hits"])))
            except (ValueError, TypeError, KeyError):
                continue  # a torn line: a session that was killed while it wrote
        return (sum(c for c, _ in found), sum(h for _, h in found)) if found else None

    def log(self, writer: str) -> RecordLog:
        """A fresh records file for the process named `writer` (``main``, ``gw0``…)."""
        return RecordLog(self.path, re.sub(r"[^A-Za-z0-9_]", "_", writer) or "main")

    def records(self, *, warn: Warn = warn_user) -> list[Record]:
        """See `read_records`. Raises `StoreError` when another run has taken this folder in the meantime."""
        current = RunFolder.open(self.path).manifest
        if (current.get("started"), current.get("pid")) != (self.manifest.get("started"), self.manifest.get("pid")):
            raise StoreError(
                f"{self.path}: another run was started in this folder meanwhile; this run's records were renamed away. "
                f"Give each run its own --hush-out."
            )
        return read_records(self.path, warn=warn)


def latest(root: Path) -> Path | None:
    """The folder of the last run under `root`, or None when there was none or it is gone."""
    try:
        path = Path(os.fsdecode((root / HOME / LATEST).read_bytes().strip()))
        return path if (path / MANIFEST).is_file() else None
    except (OSError, ValueError):  # what is no path names no run
        return None


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8, mode 0600) so that a reader sees the old or the new whole. Raises OSError.

    Half of a surrogate pair, as the name of a file that is no UTF-8 has it, is escaped.
    """
    _write_bytes(path, text.encode("utf-8", "backslashreplace"))


def _write_bytes(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def make_home(root: Path) -> Path:
    """The folder ``.hush`` under `root`, made where it is absent, and ignored by git. Raises OSError."""
    home = root / HOME
    make_private_folder(home)
    keep_from_git(home)
    return home


def _make_room(path: Path) -> tuple[str, ...]:
    if not path.exists():
        return ()
    if not path.is_dir():
        raise StoreError(f"{path}: a file, not a folder. Give another --hush-out; nothing was touched.")
    if not (path / MANIFEST).exists():
        if is_fresh(path):
            return ()
        found = min(p.name for p in path.iterdir())
        raise StoreError(
            f"{path}: the folder is not a run: it holds {found!r} but no {MANIFEST}. "
            f"Give an empty or new folder as --hush-out; nothing was touched."
        )
    if not any(p.stat().st_size for p in path.glob("records-*.jsonl")):
        return ()
    old = RunFolder.open(path)
    stamp = _stamp(datetime.fromisoformat(old.manifest["started"]))
    aside = _free(path.with_name(f"{path.name}.{stamp}"))
    path.rename(aside)
    return (f"the run that stood in {path} is now {aside}",)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _free(path: Path) -> Path:
    number, candidate = 1, path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return found


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
