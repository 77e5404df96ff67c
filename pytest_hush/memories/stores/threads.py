"""Threads for libraries that block: daemons, so that one that hangs does not keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

THREADS: Final = "hush-store"
"""Names of the threads in which a library works begin with this."""
_T = TypeVar("_T")
_numbers = itertools.count(1)


async def in_thread(work: Callable[[], _T]) -> _T:
    """`work()` in a daemon thread of its own: one that hangs in a library must not keep the process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except BaseException as error:
            failure = error
        # The loop may have ended meanwhile: then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name=f"{THREADS}-{next(_numbers)}", daemon=True).start()
    return await future
