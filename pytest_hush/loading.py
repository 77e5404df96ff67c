"""``python:module:attr``: the one way from such a text to the user's object, for models, memories and judges."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from pytest_hush.errors import UsageError


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


def in_one_line(error: BaseException) -> str:
    """An exception's kind and the first 200 characters of its text, without line breaks."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
