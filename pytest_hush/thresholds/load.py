"""Find, read and validate a threshold file."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_hush.bundled import bundled, bundled_names
from pytest_hush.errors import ThresholdError, UsageError
from pytest_hush.model import digest
from pytest_hush.thresholds.types import Gate, Health, JudgeRules, Thresholds, Waiver


def load_thresholds(source: str | Path) -> Thresholds:
    """Read a threshold file by path, or a bundled one by name (``demo``).

    A text that names no existing file, without a path separator and without ``.toml``, is a bundled name. Raises
    `ThresholdError` that names the file, the line where one can be told, the key, what was expected and what to do.
    """
    path = _find(source)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        cause = (
            "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else (error.strerror or "no reason given")
        )
        raise ThresholdError(f"Threshold file {path} cannot be read: {cause}.") from error
    return parse_thresholds(text, str(path))


def parse_thresholds(text: str, source: str = "<text>") -> Thresholds:
    """`load_thresholds` of a text; `source` names it in errors."""
    from pytest_hush.thresholds.file import parse  # pydantic: not paid for until a file is read

    try:
        file, raw = parse(text)
    except ValueError as error:
        raise ThresholdError(
            f"Threshold file {source}, {error}. Correct the file; docs/reference/thresholds.md describes every key."
        ) from None
    return Thresholds(
        schema=file.schema_,
        name=file.name,
        version=file.version,
        policy=file.policy,
        confidence=file.confidence,
        multiplicity=file.multiplicity,
        inconclusive={"pr": file.inconclusive.pr, "release": file.inconclusive.release},
        max_missing=file.max_missing,
        health=Health(file.health.min_positive_controls, file.health.max_unplanted),
        judge=JudgeRules(
            aggregate=file.judge.aggregate,
            min_alpha=file.judge.min_alpha,
            annotators=file.judge.annotators,
            corrected=file.judge.corrected,
        ),
        gates=tuple(
            Gate(
                id=g.id,
                metric=g.metric,
                condition=g.condition,
                stratum=g.stratum,
                at_most=g.at_most,
                at_least=g.at_least,
                severity=g.severity,
                confidence=g.confidence or file.confidence,
                interval=g.interval,
                versus=g.versus or "",
                increase_at_most=g.increase_at_most,
                decrease_at_most=g.decrease_at_most,
                baseline=g.baseline or "optional",
                waive=None if g.waive is None else Waiver(g.waive.reason, g.waive.by, g.waive.expires),
            )
            for g in file.gate
        ),
        hash=digest(json.loads(json.dumps(raw, default=str))),
        source=source,
    )


def _find(source: str | Path) -> Path:
    if not str(source):
        raise ThresholdError("Threshold file '': an empty name (an unset variable?). Name a file or a bundled one.")
    path = Path(source)
    if path.is_file():
        return path
    if path.is_dir():
        raise ThresholdError(f"Threshold file {path} is a folder. Name a TOML file, or a bundled one by its name.")
    name = str(source)
    if path.name == name and path.suffix == "":
        try:
            return bundled("thresholds", f"{name}.toml")
        except UsageError as error:
            raise ThresholdError(f"No threshold file {name!r} in this folder. {error}") from None
    raise ThresholdError(f"Threshold file {path} does not exist. Bundled names: {', '.join(_bundled()) or 'none'}.")


def _bundled() -> list[str]:
    return [n.removesuffix(".toml") for n in bundled_names("thresholds") if n.endswith(".toml")]
