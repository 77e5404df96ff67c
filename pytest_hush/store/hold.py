"""One live session a run folder: a lock that the process which judges the run holds until it ends.

The operating system lets go of it with the process, so a run that was killed never stands in the way of its resume.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import StoreError

LOCK: Final = "run.lock"
HOLDER: Final = "run.pid"


def hold(folder: Path) -> Callable[[], None]:
    """Take the run in `folder` for this process; what is returned lets go of it.

    Raises `StoreError` that names the folder and the process where another session is still at work there. A file
    system that knows no locks is no reason to refuse a run: answers that contradict each other are found at its end.
    """
    lock = _acquired(folder)
    holder = folder / HOLDER
    with contextlib.suppress(OSError):
        holder.write_text(f"{os.getpid()}\n", encoding="utf-8")
        holder.chmod(0o600)
    owner = os.getpid()

    def let_go() -> None:
        if lock is not None and os.getpid() == owner and lock.is_locked:
            with contextlib.suppress(OSError):
                holder.unlink(missing_ok=True)
            lock.release()

    return let_go


def refuse_held(folder: Path) -> None:
    """Raise `StoreError` as `hold` does where another session is at work in `folder`; take nothing."""
    lock = _acquired(folder)
    if lock is not None:
        lock.release()


def _acquired(folder: Path) -> Any | None:
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, thread_local=False, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"{folder}: another session is measuring into this run folder (process {_holder(folder)}). Wait for its "
            f"end, or give this run its own --hush-out."
        ) from None
    except (OSError, NotImplementedError):
        return None
    return lock


def _holder(folder: Path) -> str:
    try:
        return (folder / HOLDER).read_text(encoding="utf-8").strip()[:20] or "unknown"
    except (OSError, ValueError):
        return "unknown"
