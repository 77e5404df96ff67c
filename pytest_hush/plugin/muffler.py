"""Under redaction, what the user's code prints, logs or warns of while it measures: counted, and never shown.

Models, memories, judges and hooks on records run beside the tests, in threads of their own. What they print would land
in the terminal between two tests, or in what pytest captured of a test that has nothing to do with it.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

from pytest_hush.loading import kind_and_place
from pytest_hush.store.records import StoreWarning

HIDDEN: Final = "(hidden: the texts of this run are redacted)"
_OURS: Final = "pytest_hush"
_LATE: Final = "asyncio"
"""Logger of errors in code that nobody waited for: they are told by whichever thread finds them."""


class Muffler:
    """Hides what threads other than the one that made it say. `start` and `stop` once; `lines` counts what was hidden.

    Hidden are writes to `sys.stdout` and `sys.stderr`, log records, warnings, and what a dying thread says. Out of
    reach is what a child process or native code writes to the terminal by itself.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.died: list[str] = []
        """Kind and place of the errors that ended a thread of the user's, or were raised where nobody could catch."""
        self._speaker = threading.current_thread()
        self._everyone = False
        self._lock = threading.Lock()
        self._undo: list[Callable[[], None]] = []
        self._streams: list[object] = []

    def start(self) -> None:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            self.cover(stream)
        self._replace(threading, "excepthook", self._thread_died)
        self._replace(sys, "unraisablehook", self._unraisable)
        self._replace(warnings, "showwarning", self._shows(warnings.showwarning))
        factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(self._records(factory))
        self._undo.append(lambda: logging.setLogRecordFactory(factory))

    def stop(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._streams.clear()

    def cover(self, stream: Any) -> None:
        """From now on hide what is written to `stream`; pytest puts other ones in the place of `sys.stdout`."""
        if stream is None or any(stream is known for known in self._streams):
            return
        self._streams.append(stream)
        buffer = getattr(stream, "buffer", None)
        for target, name, instead in (
            (stream, "write", self._counted),
            (stream, "flush", _nothing),  # else a thread would push the main thread's words into a covered buffer
            (buffer, "write", self._counted),
        ):
            own = getattr(target, name, None)
            if own is not None:
                self._replace(target, name, self._either(own, instead))

    @contextlib.contextmanager
    def everyone(self) -> Iterator[None]:
        """Hide also what this thread says: it runs code of the user's that was given texts."""
        before, self._everyone = self._everyone, True
        try:
            yield
        finally:
            self._everyone = before

    @contextlib.contextmanager
    def warned(self) -> Iterator[None]:
        """The same for warnings in a span for which pytest has put its own catcher in place."""
        before = warnings.showwarning
        warnings.showwarning = self._shows(before)
        try:
            yield
        finally:
            warnings.showwarning = before

    def _hides(self) -> bool:
        return self._everyone or threading.current_thread() is not self._speaker

    def _count(self, text: str) -> None:
        with self._lock:
            self.lines += text.count("\n")

    def _counted(self, text: Any) -> int:
        self._count(bytes(text).decode("utf-8", "replace") if not isinstance(text, str) else text)
        return len(text)

    def _either(self, own: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: instead(*args) if self._hides() else own(*args)

    def _shows(self, own: Callable[..., Any]) -> Callable[..., None]:
        def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
            if self._hides() and not issubclass(category, StoreWarning):
                self._count("\n")
            else:
                own(message, category, *rest, **named)

        return show

    def _records(self, own: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
        def make(*args: Any, **named: Any) -> logging.LogRecord:
            record = own(*args, **named)
            if record.name.partition(".")[0] != _OURS and (self._hides() or record.name == _LATE):
                record.msg, record.args = HIDDEN, None
                record.exc_info = record.exc_text = record.stack_info = None
                self._count("\n")
            return record

        return make

    def _thread_died(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self.died.append(f"a thread of your code ended with {kind_and_place(args.exc_value)}")

    def _unraisable(self, args: Any) -> None:
        if args.exc_value is not None:
            self.died.append(f"{kind_and_place(args.exc_value)} was raised where no code could catch it")

    def _replace(self, target: Any, name: str, value: object) -> None:
        """Set the attribute until `stop`; a stream that takes none is left as it is."""
        held = getattr(target, "__dict__", {})
        had, before = name in held, held.get(name)
        try:
            setattr(target, name, value)
        except (AttributeError, TypeError):
            return
        self._undo.append(lambda: setattr(target, name, before) if had else delattr(target, name))


def _nothing(*_: object) -> None:
    return None
