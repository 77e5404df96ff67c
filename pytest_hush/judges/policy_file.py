"""The edge where a policy file is read: its shape as pydantic models, and one error that names file and key."""

from __future__ import annotations

import re
import tomllib
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pytest_hush.judges.rubric import bundled_rubrics
from pytest_hush.model import Category
from pytest_hush.text import words

SCHEMA: Final = 1
Text = Annotated[str, Field(min_length=1)]
Stems = Annotated[list[Text], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SensitiveFile(_Strict):
    """What `uis_sensitive` counts."""

    categories: list[Category]
    facts: list[Literal["ambient"]]


class WarrantedFile(_Strict):
    """A pair of matters between which a use of the disclosure is warranted: stems of the one and of the other.

    `names`: further stems that a warranted sentence may hold, such as what an allergy is against.
    """

    disclosure: Stems
    turn: Stems
    names: list[Text] = []
    why: Text

    @field_validator("disclosure", "turn", "names")
    @classmethod
    def _words(cls, stems: list[str]) -> list[str]:
        for stem in stems:
            if not words(stem):
                raise ValueError(f"{stem!r} holds no word")
        return stems


class PolicyFile(_Strict):
    """A policy file of pytest-hush."""

    schema_: Literal[1] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Text
    title: Text
    warrant: Text
    rubric: str
    thresholds: str = ""
    sensitive: SensitiveFile
    warranted: list[WarrantedFile] = []

    @field_validator("rubric")
    @classmethod
    def _name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise ValueError(
                "expected the name of a file beside the policy, such as our-policy.md, without a folder; or a bundled "
                f"rubric ({', '.join(bundled_rubrics())})"
            )
        return name


def parse(text: str) -> tuple[PolicyFile, dict[str, Any]]:
    """The validated file and its raw TOML. Raises ValueError, one line of text that names the key."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from None
    if raw.get("schema") != SCHEMA or isinstance(raw.get("schema"), bool):
        raise ValueError(f"schema = {raw.get('schema')!r}; this version of pytest-hush reads schema = {SCHEMA}")
    try:
        return PolicyFile.model_validate(raw), raw
    except ValidationError as error:
        # An unknown key before a missing one: a typing mistake causes both.
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        key = ".".join(str(p) for p in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ValueError(f"unknown key {key!r}") from None
        if first["type"] == "missing":
            raise ValueError(f"the key {key!r} is missing") from None
        raise ValueError(f"{key} = {first.get('input')!r}: {first['msg'].removeprefix('Value error, ')}") from None
