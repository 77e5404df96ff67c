"""What the importers of JSON share: one error that says what was read, where, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from pytest_hush.errors import PackError
from pytest_hush.packs.problems import shown
from pytest_hush.packs.schema import DATE_FORMAT

NOON = "12:00"
"""The time of a session whose source gives a day alone."""


def refuse(path: Path, where: str, read: object, expected: str) -> NoReturn:
    """Raise the one `PackError` of a file that is not what it should be."""
    raise PackError(f"{path}, {where}: read {shown(read)}; expected {expected}.")


def text_of(path: Path, where: str, parent: dict[str, Any], name: str) -> str:
    """The field `name` of `parent`, with runs of blanks and newlines as one blank. Refuses an empty one."""
    value = parent.get(name)
    if not isinstance(value, str) or not value.strip():
        refuse(path, f"{where}, `{name}`", value, "a text")
    return " ".join(value.split())


def json_body(path: Path, body: bytes, what: str) -> Any:
    """The JSON value of a whole file; `what` names the file that was expected."""
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PackError(f"{path} is not whole JSON ({error}); expected {what}. Was the download cut off?") from None


def json_lines(path: Path, body: bytes, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of each line that is not blank; a cut last line is an error, not a shorter file."""
    for number, line in enumerate(body.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise PackError(
                f"{path}, line {number}: not whole JSON ({error}); expected {what}, one object a line."
            ) from None
        if not isinstance(value, dict):
            refuse(path, f"line {number}", value, f"{what}, one object a line")
        yield f"line {number}", value


def day(text: str) -> str | None:
    """``2023-04-27`` or ``2023-04-27T09:30`` as a date of the pack format; a day alone is noon of it; else None."""
    value = text.strip().replace(" ", "T")
    try:
        date = datetime.fromisoformat(value if "T" in value else f"{value}T{NOON}")
    except ValueError:
        return None
    return date.strftime(DATE_FORMAT)
