"""``python:module:attr``: the one way from such a text to the user's object, for models, memories and judges."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_hush.errors import UsageError
from pytest_hush.secrets import blot


def load_attribute(spec: str, rootdir: str | None = None, **arguments: Any) -> Any:
    """The object that `spec` names (`attr` may be dotted), imported with `rootdir` on ``sys.path``.

    `rootdir` None: the current folder. A class is called with `arguments`, which nothing but a class takes.
    Raises `UsageError` with the cause in one line.
    """
    parts = spec.split(":")
    if len(parts) != 3 or parts[0] != "python" or not all(parts):
        raise UsageError(f"{spec!r}: expected python:module:attr, for example python:my_app.assistant:reply.")
    _, module_name, attribute = parts
    folder = str(Path(rootdir) if rootdir else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything while it is imported
        raise UsageError(
            f"{spec!r}: importing {module_name!r} failed with {in_one_line(error)}. "
            f"Looked in {folder} and the installed packages."
        ) from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise UsageError(f"{spec!r}: the module {module_name!r} has no attribute {attribute!r}.") from error
    if not inspect.isclass(found):
        if arguments:
            raise UsageError(f"{spec!r}: settings {sorted(arguments)} were given, but only a class takes them.")
        return found
    try:
        return found(**arguments)
    except Exception as error:
        raise UsageError(
            f"{spec!r}: making {attribute}({', '.join(arguments)}) failed with {in_one_line(error)}."
        ) from error


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables that a library reads while it is imported; afterwards they are as they were.

    The process belongs to the user's tests, which may import the same library for themselves.
    """
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def in_one_line(error: BaseException) -> str:
    """An exception's kind and the first 200 characters of its text: no line breaks, no known secret."""
    text = _text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def own_version(target: object) -> str:
    """The ``version`` that the user's code gives `target`; "" for one inherited from a class of this package.

    An inherited one says nothing of the code that was added, so it must not let answers outlive an edit of that code.
    """
    version = str(getattr(target, "version", None) or "")
    users = [kind for kind in type(target).__mro__ if not kind.__module__.startswith("pytest_hush.")]
    return version if not is_derived(target) or any("version" in vars(kind) for kind in users) else ""


def is_derived(target: object) -> bool:
    """True where the class of `target` is, or inherits from, one of this package."""
    return any(kind.__module__.startswith("pytest_hush.") for kind in type(target).__mro__)


def raised(error: BaseException) -> str:
    """What the user's code raised, for a message: kind, place (file and line) and 200 characters of its text.

    ``KeyError at my_memory.py:12: 'user_id'``. Known secrets are blotted out, what is no Unicode text is replaced.
    """
    text = _text_of(error)
    return f"{kind_and_place(error)}{': ' if text else ''}{text}"


def kind_and_place(error: BaseException) -> str:
    """``KeyError at my_memory.py:12``: all that may be said of an error where its text may quote a case."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # the user's own exceptions may fail to say what they are
        return ""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # Blotted before it is cut: half a secret would no longer be found.
    return " ".join(blot(text).split())[:200]
