"""The edge where a labelled set is read from disk: the shape of its files, checked line by line.

Each half is read without a look at the other: nothing here lists, opens or hashes a file of a half that was not asked
for. ``docs/reference/labels.md`` describes the format. Imports pydantic.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, StringConstraints, ValidationError
from pydantic.json_schema import models_json_schema

from pytest_hush.errors import LabelError
from pytest_hush.model import digest
from pytest_hush.packs.files import MANIFEST, Located, clean, content_lines, read_lines, read_manifest
from pytest_hush.packs.problems import Problems
from pytest_hush.packs.schema import Id, Sha256, Strict, Text

Half = Literal["tuning", "held-out"]
HALVES: Final[tuple[Half, Half]] = ("tuning", "held-out")
_FILES: Final = ("items.jsonl", "labels.jsonl")
HEADER: Final = ("name", "version", "title", "language", "licence", "policy")
PATHS: Final = tuple(f"{half}/{name}" for half in HALVES for name in _FILES)
NO_MEMORY: Final = "no-memory.jsonl"
"""Beside the items of a half, where there are some: replies of generators that were shown no history."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Path_ = Literal[
    "tuning/items.jsonl",
    "tuning/labels.jsonl",
    "tuning/no-memory.jsonl",
    "held-out/items.jsonl",
    "held-out/labels.jsonl",
    "held-out/no-memory.jsonl",
]


class ManifestFile(Strict):
    """``manifest.json``: what the set is, the policy and packs it was made on, and the digests of its four files."""

    schema_: Literal[1] = Field(alias="schema")
    name: Id
    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)*$")]
    title: Text | None = None
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]
    licence: Text | None = None
    policy: Text | None = None
    packs: Annotated[dict[Id, Sha256], Field(min_length=1)]
    files: dict[Path_, Sha256]
    counts: dict[Path_, Annotated[int, Field(ge=1)]]

    @property
    def hash(self) -> str:
        """SHA-256 over the language, the packs and the digests of all four files: 64 hex digits."""
        return digest(["labels", 1, self.language, self.packs, self.files], 64)


class ItemLine(Strict):
    """One reply to be judged. `turn` is the user's message as written, with the invitation line where it has one."""

    id: Id
    pack: Id
    probe: Id
    invited: bool
    turn: Text
    reply: str
    origin: Literal["written", "recorded"]


class NoMemoryLine(Strict):
    """The reply of a generator that was shown no history, to an uninvited turn: nothing in it can be a use."""

    id: Id
    pack: Id
    probe: Id
    turn: Text
    reply: str
    origin: Literal["recorded", "local"]


class LabelLine(Strict):
    """What one reader says of one item. `v` is null on invited turns, and only there."""

    item: Text
    annotator: Text
    annotator_kind: Literal["human", "model"]
    pass_: Literal["a", "b", "adjudicated"] = Field(alias="pass")
    v: Share | None
    target_uptake: Share
    over_scope: Share
    helpfulness: Share
    used: tuple[Id, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class RawLabels:
    """Items and labels in file order, each valid by itself."""

    manifest: ManifestFile
    items: Sequence[Located[ItemLine]]
    labels: Sequence[Located[LabelLine]]
    no_memory: Sequence[Located[NoMemoryLine]] = ()


class LabelProblems(Problems):
    """The defects found in one labelled set."""

    kind = "labelled set"
    guide = "docs/reference/labels.md"
    error = LabelError

    def then(self) -> str:
        return f"then run `hush judge manifest {self.root}` if the edit is meant"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the manifest, of an item line and of a label line."""
    models = tuple((m, "validation") for m in (ManifestFile, ItemLine, LabelLine, NoMemoryLine))
    _, found = models_json_schema(cast("Any", models), by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-hush labelled set",
        "description": "$defs: ManifestFile (manifest.json), ItemLine (items.jsonl), LabelLine (labels.jsonl).",
        **found,
    }


def read_half_files(root: Path, halves: Sequence[Half], problems: Problems) -> RawLabels:
    """The manifest and the files of `halves`. Raises `LabelError` with all that is wrong with them by themselves."""
    manifest = read_manifest(root, ManifestFile, problems, noun="labelled set", command="hush judge manifest")
    items: list[Located[ItemLine]] = []
    labels: list[Located[LabelLine]] = []
    no_memory: list[Located[NoMemoryLine]] = []
    for half in halves:
        items += _read(root, f"{half}/items.jsonl", manifest, ItemLine, problems)
        labels += _read(root, f"{half}/labels.jsonl", manifest, LabelLine, problems)
        if f"{half}/{NO_MEMORY}" in manifest.files:
            no_memory += _read(root, f"{half}/{NO_MEMORY}", manifest, NoMemoryLine, problems)
    problems.check()
    return RawLabels(manifest, items, labels, no_memory)


def write_manifest(root: Path, about: Mapping[str, Any], packs: Mapping[str, str]) -> dict[str, Any]:
    """Write ``manifest.json`` anew: digests and counts of the four files, `packs` (name -> hash) and `about`.

    `about` holds ``name``, ``version``, ``language`` and, where there are any, the other fields of `HEADER`. Raises
    `LabelError` for a file that is absent, and for a manifest that would not be one.
    """
    more = tuple(path for half in HALVES if (root / (path := f"{half}/{NO_MEMORY}")).exists())
    bodies = {path: _bytes(root / path) for path in (*PATHS, *more)}
    data = {
        "schema": 1,
        **{name: about[name] for name in HEADER if about.get(name)},
        "packs": dict(sorted(packs.items())),
        "files": {path: hashlib.sha256(body).hexdigest() for path, body in bodies.items()},
        "counts": {path: sum(1 for _ in content_lines(body)) for path, body in bodies.items()},
    }
    problems = LabelProblems(root)
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    try:
        ManifestFile.model_validate_json(text)
    except ValidationError as error:
        problems.add_invalid(MANIFEST, None, error)
        problems.check()
    try:
        (root / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LabelError(f"{root / MANIFEST} cannot be written: {error.strerror}.") from error
    return data


def packs_named(root: Path) -> tuple[str, ...]:
    """Names of the packs that the items of both halves are made on, sorted: for a manifest that is to be written."""
    problems = LabelProblems(root)
    found: set[str] = set()
    for half in HALVES:
        path = f"{half}/items.jsonl"
        body = _bytes(root / path)
        if clean(path, body, problems):
            found |= {cast("ItemLine", line.value).pack for line in read_lines(path, body, ItemLine, problems)}
    problems.check()
    return tuple(sorted(found))


def _read(root: Path, path: str, manifest: ManifestFile, model: type[Any], problems: Problems) -> list[Located[Any]]:
    known = cast("Mapping[str, str]", manifest.files)
    if path not in known:
        problems.add(MANIFEST, f"the file {path} is not listed; expected its sha256", field="files")
        return []
    body = _bytes(root / path)
    if hashlib.sha256(body).hexdigest() != known[path]:
        problems.add(path, f"the file was altered: its sha256 is not the one in {MANIFEST} (line endings count)")
    if not clean(path, body, problems):
        return []
    lines = list(read_lines(path, body, model, problems))
    stated = cast("Mapping[str, int]", manifest.counts).get(path)
    actual = sum(1 for _ in content_lines(body))
    if stated != actual:
        problems.add(MANIFEST, f"read {stated} for {path}; expected {actual}, the lines of that file", field="counts")
    return lines


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LabelError(
            f"{path} cannot be read ({error.strerror}); a labelled set consists of {MANIFEST}, {', '.join(PATHS)}."
        ) from None
