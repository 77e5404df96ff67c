"""Calibrations on disk: written whole, read strictly, and held to their own items. Imports pydantic."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_hush.bundled import bundled, bundled_names
from pytest_hush.errors import LabelError
from pytest_hush.judges.calibration import SCHEMA, SCORES, Calibration, recomputed_alpha

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FOLDER: Final = "calibrations"
"""The folder of a bundled labelled set that holds calibrations of bundled judges."""


def default_path(judge: str, labels: str, *, partial: bool = False) -> Path:
    """Where the calibration of `judge` on `labels` is written, below the current folder, when no file is named.

    A `partial` one has a name of its own: it never takes the place of a whole one.
    """
    return Path(".hush") / FOLDER / f"{_slug(judge)}-{_slug(labels)}{'-partial' if partial else ''}.json"


def refuse_loss(path: Path) -> None:
    """Raise `LabelError` when `path` holds a whole calibration, which a partial one would replace."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return
    if isinstance(data, dict) and data.get("schema") == SCHEMA and data.get("partial") is None:
        raise LabelError(
            f"--out={path}: the file is a calibration on every item, and --limit makes a partial one, which no gate "
            f"takes. Name another file, leave --limit out, or replace it with --force."
        )


def read_calibration(path: Path) -> Calibration:
    """The calibration in the file `path`.

    Raises `LabelError`: no such file, another schema, a field that is wrong, or an alpha that is not that of the file's
    own items.
    """
    from pydantic import ValidationError

    try:
        body = path.read_bytes()
    except OSError as error:
        raise LabelError(f"{path}: the calibration cannot be read: {error.strerror}. {_MAKE}") from error
    try:
        data = json.loads(body)
    except ValueError as error:
        raise LabelError(f"{path}: not JSON ({error}); expected a calibration. {_MAKE}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA or isinstance(schema, bool):
        raise LabelError(f"{path}: read schema {schema!r}; expected a calibration of schema {SCHEMA}. {_MAKE}")
    try:
        found = _adapter().validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise LabelError(f"{path}, field `{field}`: {first['msg']}. {_MAKE}") from None
    if fault := _inconsistent(found):
        raise LabelError(f"{path}: {fault}; the file was edited. {_MAKE}")
    return found


def calibration_text(calibration: Calibration) -> str:
    """The text of a calibration's file."""
    return json.dumps(calibration.data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def bundled_calibrations() -> tuple[tuple[Path, Calibration], ...]:
    """What ships with the labelled sets, by path. Raises `LabelError` for a file that is none."""
    folders = [bundled("probes", name) / FOLDER for name in bundled_names("probes") if name.startswith("labels-")]
    return tuple((path, read_calibration(path)) for folder in folders for path in sorted(folder.glob("*.json")))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a calibration's file."""
    schema = _adapter().json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-hush calibration of a judge",
        **{k: v for k, v in schema.items() if k != "title"},
    }


_MAKE: Final = "Make one with `hush judge calibrate LABELS`."


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "judge"


@cache
def _adapter() -> TypeAdapter[Calibration]:
    from pydantic import TypeAdapter

    return TypeAdapter(Calibration)


def _inconsistent(c: Calibration) -> str:
    """What in the file contradicts itself, or ''."""
    if c.n != len(c.items) or c.n < 1:
        return f"n = {c.n} beside {len(c.items)} items"
    unread = sum(i.helpfulness is None for i in c.items)
    if c.unreadable != unread:
        return f"unreadable = {c.unreadable}, while {unread} items have no score"
    if sum(c.annotators.values()) != c.n:
        return f"annotators count {sum(c.annotators.values())} of {c.n} items"
    if set(c.scores) != set(SCORES) or set(c.ceiling) != set(SCORES):
        return f"figures of {', '.join(sorted(c.scores))}; expected {', '.join(SCORES)}"
    for item in c.items:
        values = (item.label, item.judged, item.target_uptake, item.over_scope, item.helpfulness)
        if any(x is not None and not 0 <= x <= 1 for x in values):
            return f"item {item.item!r} has a score out of 0..1"
    alpha, own = c.alpha.value, recomputed_alpha(c.items)
    if (alpha is None) is not (own is None) or (alpha is not None and own is not None and abs(alpha - own) > 1e-6):
        return f"alpha = {alpha}, while its items give {own}"
    return ""
