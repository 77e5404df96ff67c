"""The shape of every file of a pack, as pydantic models: strict types, unknown fields refused.

The tables of ``docs/reference/pack-format.md`` in code; `json_schema` is the published JSON Schema of them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic.json_schema import models_json_schema

from pytest_hush.model import Category, ControlKind, FactKind, Family, Role, Strength
from pytest_hush.text import words

SCHEMA: Final = 1
DATE_FORMAT: Final = "%Y-%m-%dT%H:%M"

Domain = Literal[
    "food",
    "home",
    "work",
    "travel",
    "movement",
    "shopping",
    "hobbies",
    "culture",
    "people",
    "nature",
    "tech",
    "routine",
]
Constraint = Literal["partner", "children", "job", "student", "immigrant", "woman", "man", "parent", "sibling", "home"]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=120)]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Stem = Annotated[str, StringConstraints(min_length=1, pattern=r"\w")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
DataPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)?$")]
DOMAINS: Final[tuple[str, ...]] = get_args(Domain)
POSITIONS: Final = (0.3, 0.8)


class Strict(BaseModel):
    """Unknown fields are errors and no value is coerced: a typing mistake cannot pass as an omission."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Counts(Strict):
    personas: int = Field(ge=1)
    sessions: int = Field(ge=1)
    facts: int = Field(ge=0)
    disclosures: int = Field(ge=1)
    probes: int = Field(ge=1)
    invitations: int = Field(ge=0)
    controls: int = Field(ge=0)
    positive_controls: int = Field(ge=0)


class ManifestFile(Strict):
    """``manifest.json``."""

    schema_: Literal[1] = Field(alias="schema")
    name: Id
    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*$")]
    title: Text
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]
    licence: Text
    private: bool
    counts: Counts
    files: dict[DataPath, Sha256]
    background: dict[str, str] | None = None
    ambient_labelled: bool = True

    @field_validator("background")
    @classmethod
    def _background_names_its_source(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value is not None and (absent := [k for k in ("format", "sha256", "licence") if k not in value]):
            raise ValueError(f"an object with at least format, sha256 and licence ({', '.join(absent)} absent)")
        return value


class PersonaFile(Strict):
    """``persona.json``."""

    id: Id
    name: Text
    about: Text
    partner: Text


class TurnLine(Strict):
    id: Id
    role: Role
    speaker: Text
    text: Text


class SessionLine(Strict):
    """One line of ``sessions.jsonl``."""

    id: Id
    persona: Id
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$")]
    turns: tuple[TurnLine, ...] = Field(min_length=1)

    @field_validator("date")
    @classmethod
    def _date_exists(cls, value: str) -> str:
        try:
            datetime.strptime(value, DATE_FORMAT)
        except ValueError:
            raise ValueError("a date of the calendar such as 2025-02-03T18:40") from None
        return value


class FactLine(Strict):
    """One line of ``facts.jsonl``. `category` is one of the ten, or a topic name of the background's labels."""

    id: Id
    persona: Id
    kind: FactKind
    text: Text
    turn: Id
    stems: tuple[Stem, ...] = Field(min_length=1)
    category: Text | None = None

    @model_validator(mode="after")
    def _ambient_has_a_topic_and_two_stems(self) -> FactLine:
        if self.kind == "ambient" and self.category is None:
            raise ValueError("a `category` for an ambient fact")
        if self.kind == "ambient" and len(self.stems) < 2:
            raise ValueError("two or more `stems` for an ambient fact")
        if self.kind == "benign" and self.category is not None:
            raise ValueError("no `category` for a benign fact")
        return self


class PlantedSession(Strict):
    id: Id
    turn: Id
    turns: tuple[TurnLine, ...] = Field(min_length=4, max_length=8)


class SessionFactPart(Strict):
    text: Text
    question: Text
    answer: tuple[Stem, ...] = Field(min_length=1)


class DisclosureLine(Strict):
    """One line of ``disclosures.jsonl``."""

    id: Id
    persona: Id
    category: Category
    strength: Strength
    position: float = Field(json_schema_extra={"enum": list(POSITIONS)})
    statement: Text
    core: tuple[Stem, ...] = Field(min_length=2)
    synonyms: tuple[Stem, ...]
    bridge: tuple[Stem, ...] = Field(min_length=1)
    canary: Stem
    question: Text
    constraints: tuple[Constraint, ...]
    session: PlantedSession
    session_fact: SessionFactPart

    @field_validator("position")
    @classmethod
    def _one_of_two_positions(cls, value: float) -> float:
        if value not in POSITIONS:
            raise ValueError("0.3 or 0.8")
        return value

    @field_validator("core", "synonyms", "bridge")
    @classmethod
    def _stems_have_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if empty := [s for s in value if not words(s)]:
            raise ValueError(f"stems with at least one letter or digit ({empty[0]!r} has none)")
        return value


class ProbeLine(Strict):
    """One line of ``probes.jsonl``."""

    id: Id
    persona: Id
    disclosure: Id
    family: Family
    domain: Domain
    text: Text


class InvitationLineEntry(Strict):
    """One element of the list in ``invitation_lines.json``."""

    id: Id
    text: Text


class InvitationLine(Strict):
    """One line of ``invitations.jsonl``."""

    id: Id
    probe: Id
    line: Id


class ControlLine(Strict):
    """One line of ``controls.jsonl``."""

    id: Id
    disclosure: Id
    kind: ControlKind
    text: Text
    category: Category | None = None

    @model_validator(mode="after")
    def _only_the_irrelevant_one_has_a_category(self) -> ControlLine:
        if (self.kind == "irrelevant-sensitive") != (self.category is not None):
            raise ValueError("a `category` for an irrelevant-sensitive control, and for no other kind")
        return self


class PositiveControlLine(Strict):
    """One line of ``positive_controls.jsonl``."""

    id: Id
    persona: Id
    question: Text
    fact: Id
    answer: tuple[Stem, ...] = Field(min_length=1)


LINES: Final[dict[str, type[Strict]]] = {
    "sessions.jsonl": SessionLine,
    "facts.jsonl": FactLine,
    "disclosures.jsonl": DisclosureLine,
    "probes.jsonl": ProbeLine,
    "invitations.jsonl": InvitationLine,
    "controls.jsonl": ControlLine,
    "positive_controls.jsonl": PositiveControlLine,
}
"""The line model of each ``.jsonl`` file of a persona's folder; the manifest counts them by the file's stem."""

MAY_BE_EMPTY: Final = frozenset({"invitations.jsonl", "controls.jsonl"})
PERSONA_FILES: Final = frozenset({"persona.json", *LINES})
LINE_LIST: Final = "invitation_lines.json"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of all files; ``$defs`` holds one schema a file kind, named as in this module."""
    models: list[type[BaseModel]] = [ManifestFile, PersonaFile, InvitationLineEntry, *LINES.values()]
    _, schema = models_json_schema([(m, "validation") for m in models])
    files = {
        "manifest.json": "ManifestFile",
        "*/persona.json": "PersonaFile",
        LINE_LIST: "InvitationLineEntry",
        **{f"*/{name}": model.__name__ for name, model in LINES.items()},
    }
    where = "; ".join(f"{name}: {re.sub('^', '#/$defs/', ref)}" for name, ref in files.items())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:pytest-hush:pack:1",
        "title": "Probe pack, schema 1",
        "description": f"One schema a file kind (for .jsonl: of a line; for a list: of an element). {where}.",
        "anyOf": [{"$ref": f"#/$defs/{ref}"} for ref in files.values()],
        "$defs": schema["$defs"],
    }
