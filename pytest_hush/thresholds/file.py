"""The edge where a person's threshold file is read: its shape as pydantic models, and errors that name the line.

Imported on the first `load_thresholds` only. ``docs/reference/schemas/thresholds.schema.json`` is
`json_schema()`, held equal by a test.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_hush.model import CATEGORIES, FAMILIES
from pytest_hush.thresholds.types import (
    CHANGES,
    CONTROLS,
    COUNTED,
    INVITED,
    Aggregate,
    Annotators,
    IntervalKind,
    Metric,
    Multiplicity,
    Severity,
)

SCHEMA: Final = 1
STRATA: Final = (
    "",
    "exposed",
    "not-exposed",
    *(f"family={f}" for f in FAMILIES),
    *(f"category={c}" for c in CATEGORIES),
)
_STRATUM_PATTERN: Final = "^(" + "|".join(re.escape(s).replace("\\-", "-") for s in STRATA) + ")$"

Text = Annotated[str, Field(min_length=1)]
Confidence = Annotated[float, Field(ge=0.8, le=0.9999)]
Share = Annotated[float, Field(ge=0, le=1)]
Limit = Annotated[float, Field(ge=0)]
Level = Annotated[float, Field(ge=-100)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class WaiverFile(_Strict):
    """An agreed exception with a name and a last day; after that day the gate is active again."""

    reason: Text
    by: Text
    expires: datetime.date


class HealthFile(_Strict):
    """What a memory must show before any verdict."""

    min_positive_controls: Annotated[
        Share, Field(description="Least share of positive controls that memory retrieves.")
    ] = 0.5
    max_unplanted: Annotated[
        Share, Field(description="Largest share of cases whose planted session cannot be found.")
    ] = 0.2


class JudgeFile(_Strict):
    """What the gates take from the judges, and ask of them."""

    min_alpha: Annotated[
        float | None,
        Field(
            ge=-1,
            le=1,
            description="Least Krippendorff alpha of v on labels that no tuning reads; without such a calibration "
            "every gate is invalid.",
        ),
    ] = None
    annotators: Annotated[
        Annotators,
        Field(description="'human' warns on every surface where the calibration rests on labels of models."),
    ] = "any"
    aggregate: Annotated[
        Aggregate,
        Field(description="Of several judges: the first one's scores, or the mean, median or largest of all of them."),
    ] = "first"
    corrected: Annotated[
        bool,
        Field(
            description="Judge UIS of a whole condition on bounds corrected by readers' labels of this very run; "
            "without such labels on the judge's scores alone, with a note."
        ),
    ] = False


class InconclusiveFile(_Strict):
    """What an inconclusive block gate does in each mode."""

    release: Severity = "block"
    pr: Severity = "warn"


class GateFile(_Strict):
    """One limit on one metric, for every model and every condition that the pattern matches."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="Unique in the file.")]
    metric: Metric
    condition: Annotated[str, Field(min_length=1, description="Glob patterns of condition names between '|'.")]
    stratum: Annotated[str, Field(pattern=_STRATUM_PATTERN)] = ""
    at_most: Level | None = Field(
        None, description="Points in 0..100, of a change by invitation -100..100; US dollars; seconds."
    )
    at_least: Level | None = Field(None, description="Points in 0..100, of a change by invitation -100..100.")
    severity: Severity = "block"
    confidence: Confidence | None = Field(None, description="Of each bound, one-sided; the file's when absent.")
    interval: IntervalKind = "calibrated"
    versus: Literal["none", "baseline", "anchor"] | None = None
    increase_at_most: Limit | None = Field(None, description="Points, with versus only.")
    decrease_at_most: Limit | None = Field(None, description="Points, with versus only; for helpfulness.")
    baseline: Literal["required", "optional"] | None = Field(None, description="With versus = 'baseline' or 'anchor'.")
    waive: WaiverFile | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> GateFile:
        if self.versus is not None:
            self._paired()
        elif self.increase_at_most is not None or self.decrease_at_most is not None:
            key = "increase_at_most" if self.increase_at_most is not None else "decrease_at_most"
            raise ValueError(f"{key} needs versus = 'none', 'baseline' or 'anchor'")
        elif (self.at_most is None) == (self.at_least is None):
            found = "neither" if self.at_most is None else "both"
            raise ValueError(f"expected exactly one of at_most and at_least, found {found}")
        if self.baseline is not None and self.versus not in ("baseline", "anchor"):
            raise ValueError("baseline needs versus = 'baseline' or 'anchor'")
        if self.metric in COUNTED:
            self._counted()
        if self.metric in INVITED or self.metric == CONTROLS:
            self._asked()
        if self.metric not in CHANGES:
            self._never_negative()
        if self.metric not in ("cost_usd", "latency_s"):
            for key in _LIMITS:
                value = getattr(self, key)
                if value is not None and value > 100:
                    raise ValueError(f"{key} = {value:g} is beyond the scale of {self.metric}, points in 0..100")
        if self.metric == "exposure" and self.stratum in ("exposed", "not-exposed"):
            raise ValueError("exposure within an exposure stratum is always 0 or 100: leave stratum out")
        return self

    def _paired(self) -> None:
        if self.at_most is not None or self.at_least is not None:
            raise ValueError("versus needs increase_at_most or decrease_at_most, and neither at_most nor at_least")
        if self.metric in COUNTED or (self.metric == "exposure" and self.versus == "none"):
            raise ValueError(f"{self.metric} has no paired difference: leave versus out")
        wanted = "decrease_at_most" if self.metric == "helpfulness" else "increase_at_most"
        other = "increase_at_most" if self.metric == "helpfulness" else "decrease_at_most"
        if getattr(self, other) is not None or getattr(self, wanted) is None:
            better = "more" if self.metric == "helpfulness" else "less"
            raise ValueError(f"{better} {self.metric} is better, so versus needs {wanted}")
        if self.stratum in ("exposed", "not-exposed"):
            raise ValueError("the two sides of a pair differ in exposure: a paired difference has no exposure stratum")
        if self.interval != "calibrated":
            raise ValueError("a paired difference has one interval: leave interval out")

    def _asked(self) -> None:
        """Metrics of invited turns and of the positive controls."""
        if self.versus is not None:
            raise ValueError(f"{self.metric} has no paired difference: leave versus out")
        if self.metric in CHANGES and self.interval != "calibrated":
            raise ValueError("a paired difference has one interval: leave interval out")
        if self.metric == CONTROLS and self.stratum:
            raise ValueError("controls are asked over the whole condition: leave stratum out")
        if self.stratum in ("exposed", "not-exposed"):
            raise ValueError(f"{self.metric} has no exposure stratum: leave stratum out")
        wanted = {"helpfulness_change": "at_least", "over_scope_rise": "at_most", CONTROLS: "at_least"}.get(self.metric)
        if wanted is not None and getattr(self, wanted) is None:
            raise ValueError(f"{self.metric} takes {wanted}")

    def _never_negative(self) -> None:
        for key in ("at_most", "at_least"):
            value = getattr(self, key)
            if value is not None and value < 0:
                raise ValueError(f"{key} = {value:g}: a limit of {self.metric} should be greater than or equal to 0")

    def _counted(self) -> None:
        if self.metric == "completeness":
            if self.at_least is None:
                raise ValueError("completeness takes at_least (percent of planned cases that carry a score)")
        elif self.at_most is None:
            raise ValueError(f"{self.metric} takes at_most")
        if self.stratum:
            raise ValueError(f"{self.metric} is counted over the whole condition: leave stratum out")


class ThresholdFile(_Strict):
    """A threshold file of pytest-hush."""

    schema_: Literal[1] = Field(alias="schema", description="Version of this format.")
    name: Text
    version: Text
    policy: Text
    confidence: Confidence = 0.95
    multiplicity: Multiplicity = "holm"
    inconclusive: InconclusiveFile = InconclusiveFile()
    max_missing: Annotated[float, Field(ge=0, lt=1)] = 0.05
    health: HealthFile = HealthFile()
    judge: JudgeFile = JudgeFile()
    gate: Annotated[list[GateFile], Field(min_length=1)]

    @model_validator(mode="after")
    def _unique(self) -> ThresholdFile:
        seen: set[str] = set()
        for gate in self.gate:
            if gate.id in seen:
                raise ValueError(f"gate id '{gate.id}' occurs twice; ids are unique in a file")
            seen.add(gate.id)
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the file (dates as ISO strings), with the either-or of the limits."""
    schema = ThresholdFile.model_json_schema(by_alias=True)
    present = {key: {"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in _LIMITS}
    schema["$defs"]["GateFile"]["oneOf"] = list(present.values())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-hush threshold file",
        **{k: v for k, v in schema.items() if k != "title"},
    }


_LIMITS: Final = ("at_most", "at_least", "increase_at_most", "decrease_at_most")


def parse(text: str) -> tuple[ThresholdFile, dict[str, Any]]:
    """The validated file and its raw TOML. Raises ValueError, one line of text that begins with the place."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from None
    version = raw.get("schema")
    if version != SCHEMA or isinstance(version, bool):
        found = "no schema key" if version is None else f"schema = {version!r}"
        raise ValueError(f"{_place(text, ('schema',))}: {found}; this version of pytest-hush reads schema = {SCHEMA}")
    try:
        return ThresholdFile.model_validate(raw), raw
    except ValidationError as error:
        raise ValueError(_explain(text, raw, error)) from None


def _explain(text: str, raw: dict[str, Any], error: ValidationError) -> str:
    """The first error, unknown keys before missing ones: a typing mistake causes both."""
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    first = errors[0]
    path = tuple(p for p in first["loc"])
    key = str(path[-1]) if path and isinstance(path[-1], str) else ""
    where = _place(text, path)
    if len(path) > 1 and path[0] == "gate" and isinstance(path[1], int):
        entry = raw["gate"][path[1]] if isinstance(raw.get("gate"), list) else {}
        name = entry.get("id") if isinstance(entry, dict) else None
        where += f", gate {name!r}" if isinstance(name, str) else f", gate number {path[1] + 1}"
    kind, value = first["type"], first.get("input")
    if kind == "extra_forbidden":
        what = f"unknown key '{key}'; known here: {', '.join(_known(path))}"
    elif kind == "missing":
        what = f"the key '{key}' is missing"
    elif kind == "value_error":
        what = str(first["ctx"]["error"])
    elif key == "stratum" and kind == "string_pattern_mismatch":
        what = f"stratum = {value!r}; expected one of {', '.join(repr(s) for s in STRATA)}"
    else:
        what = f"{key} = {value!r}: {first['msg'].removeprefix('Input ').replace('Input', key)}"
    more = len(errors) - 1
    return f"{where}: {what}" + (f" (and {more} more)" if more else "")


def _known(path: tuple[int | str, ...]) -> list[str]:
    named = [p for p in path[:-1] if isinstance(p, str)]
    tables: dict[str, type[BaseModel]] = {
        "gate": GateFile,
        "waive": WaiverFile,
        "health": HealthFile,
        "judge": JudgeFile,
        "inconclusive": InconclusiveFile,
    }
    model = tables.get(named[-1] if named else "", ThresholdFile)
    return [field.alias or name for name, field in model.model_fields.items()]


def _place(text: str, path: tuple[int | str, ...]) -> str:
    """``line N`` of the key that `path` leads to, as well as a reading of the text can tell."""
    lines = text.splitlines()
    start, stop = 0, len(lines)
    names = [p for p in path if isinstance(p, str)]
    index = next((p for p in path if isinstance(p, int)), None)
    if index is not None:
        headers = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*gate\s*\]\]", line)]
        if index >= len(headers):
            return "somewhere in the file"
        start = headers[index]
        stop = headers[index + 1] if index + 1 < len(headers) else len(lines)
        names = names[1:]
    for name in reversed(names):
        key = re.compile(
            rf"\s*(\[+\s*(?:\w+\.)*)?[\"']?{re.escape(name)}[\"']?\s*(=|\]|\.)|.*[{{,]\s*{re.escape(name)}\s*="
        )
        found = next((i for i in range(start, stop) if key.match(lines[i])), None)
        if found is not None:
            return f"line {found + 1}"
    return f"line {start + 1}"
