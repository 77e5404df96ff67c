"""From a pack's folder to validated lines that remember where they stood: bytes, digests, UTF-8, JSON, shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from pytest_hush.errors import PackError
from pytest_hush.packs.problems import Problems
from pytest_hush.packs.schema import (
    LINE_LIST,
    LINES,
    MAY_BE_EMPTY,
    PERSONA_FILES,
    ControlLine,
    DisclosureLine,
    FactLine,
    InvitationLine,
    InvitationLineEntry,
    ManifestFile,
    PersonaFile,
    PositiveControlLine,
    ProbeLine,
    SessionLine,
    Strict,
)

MANIFEST: Final = "manifest.json"
MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that is read: anything longer is no dialogue but a damaged or hostile file."""
_BOM: Final = b"\xef\xbb\xbf"

T = TypeVar("T")
M = TypeVar("M", bound=Strict)


@dataclass(frozen=True, slots=True)
class Located(Generic[T]):
    """A value and where it stood: `file` relative to the pack, `line` from 1 (None: the whole file)."""

    file: str
    line: int | None
    value: T

    @property
    def folder(self) -> str:
        """The persona's folder."""
        return self.file.partition("/")[0]


@dataclass(slots=True)
class RawPack:
    """Every line of a pack in file order, each valid by itself; references are not resolved yet."""

    manifest: ManifestFile
    personas: list[Located[PersonaFile]] = field(default_factory=list)
    lines: list[Located[InvitationLineEntry]] = field(default_factory=list)
    sessions: list[Located[SessionLine]] = field(default_factory=list)
    facts: list[Located[FactLine]] = field(default_factory=list)
    disclosures: list[Located[DisclosureLine]] = field(default_factory=list)
    probes: list[Located[ProbeLine]] = field(default_factory=list)
    invitations: list[Located[InvitationLine]] = field(default_factory=list)
    controls: list[Located[ControlLine]] = field(default_factory=list)
    positive_controls: list[Located[PositiveControlLine]] = field(default_factory=list)


def read_raw(root: Path) -> RawPack:
    """Read and validate every file of the pack at `root`, line by line.

    Raises `PackError` with all that is wrong with the files by themselves; digests and content are reported
    together, because an edit with a typing mistake breaks both.
    """
    problems = Problems(root)
    manifest = read_manifest(root, ManifestFile, problems, noun="probe pack", command="hush probes manifest")
    raw = RawPack(manifest)
    contents = {path: body for path, body in _read_files(root, manifest, problems) if clean(path, body, problems)}
    for path, body in contents.items():
        name = path.rpartition("/")[2]
        if path == LINE_LIST:
            raw.lines += _list_elements(path, body, problems)
        elif name == "persona.json":
            try:
                raw.personas.append(Located(path, None, PersonaFile.model_validate_json(body)))
            except ValidationError as error:
                problems.add_invalid(path, None, error)
        else:
            getattr(raw, name.partition(".")[0]).extend(read_lines(path, body, LINES[name], problems))
    problems.check()
    return raw


def data_files(root: Path) -> list[str]:
    """Relative paths of the files of `root` that a pack consists of, sorted; other files are none of its business."""
    found = [*root.glob("*.json"), *root.glob("*.jsonl"), *root.glob("*/*.json"), *root.glob("*/*.jsonl")]
    paths = sorted(p.relative_to(root).as_posix() for p in found if p.is_file())
    return [p for p in paths if p != MANIFEST and not any(part.startswith(".") for part in p.split("/"))]


def belongs(path: str) -> bool:
    """True for a path that the format knows."""
    folder, _, name = path.rpartition("/")
    return path == LINE_LIST if not folder else name in PERSONA_FILES


def content_lines(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a ``.jsonl`` body with their numbers; the end of the last line may lack its newline."""
    parts = body.split(b"\n")
    if not parts[-1].strip():
        parts.pop()
    yield from enumerate(parts, start=1)


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises `PackError` in place of `OSError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise PackError(f"{path} cannot be read ({error.strerror}); expected a readable file.") from None


def read_manifest(root: Path, model: type[M], problems: Problems, *, noun: str, command: str) -> M:
    """``manifest.json`` of the folder `root` as `model`. `noun` says what the folder holds, `command` what writes it.

    Raises the error of `problems`: no such folder, no manifest in it, or one that cannot be read or has a defect.
    """
    if not root.exists():
        raise problems.error(f"{root} does not exist; expected the folder of a {noun}, or the name of a bundled one.")
    if not root.is_dir():
        raise problems.error(f"{root} is a file; expected the folder of a {noun} (it holds {MANIFEST}).")
    path = root / MANIFEST
    if not path.is_file():
        raise problems.error(
            f"{root} holds no {MANIFEST}; expected the folder of a {noun}. Run `{command} {root}` if you have just "
            f"written one."
        )
    try:
        body = path.read_bytes()
    except OSError as error:
        raise problems.error(f"{path} cannot be read ({error.strerror}); expected a readable file.") from None
    if clean(MANIFEST, body, problems):
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            problems.add_invalid(MANIFEST, None, error)
    problems.check()
    raise AssertionError("unreachable: a manifest that is not returned has a problem")


def _read_files(root: Path, manifest: ManifestFile, problems: Problems) -> Iterator[tuple[str, bytes]]:
    present = data_files(root)
    expected = {LINE_LIST} | {
        f"{path.partition('/')[0]}/{name}" for path in manifest.files if "/" in path for name in PERSONA_FILES
    }
    for path in sorted({*manifest.files, *expected}):
        if not belongs(path):
            problems.add(path, f"a file that the format does not know, listed in {MANIFEST}; expected it to be absent")
        elif not (root / path).is_file():
            problems.add(path, "the file is missing; expected it as part of the pack")
        elif path in manifest.files:
            body = read_bytes(root / path)
            if hashlib.sha256(body).hexdigest() != manifest.files[path]:
                problems.add(
                    path,
                    f"the file was altered: its sha256 is not the one in {MANIFEST} (line endings count); "
                    f"run `hush probes manifest {root}` if the edit is meant",
                )
            yield path, body
    for path in present:
        if path not in manifest.files:
            problems.add(
                path, f"an extra file, not listed in {MANIFEST}; remove it, or run `hush probes manifest {root}`"
            )


def clean(path: str, body: bytes, problems: Problems) -> bool:
    """Whether `body` is UTF-8 text with a line in it; what is wrong goes to `problems`."""
    name = path.rpartition("/")[2]
    if body.startswith(_BOM):
        problems.add(path, "the file begins with a byte-order mark; expected plain UTF-8", line=1)
        return False
    if not body.strip():
        if name not in MAY_BE_EMPTY:
            problems.add(path, "the file is empty; expected at least one line of JSON")
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        problems.add(path, f"read the byte 0x{body[error.start]:02x}; expected UTF-8 text", line=line)
        return False
    return True


def read_lines(path: str, body: bytes, model: type[Strict], problems: Problems) -> Iterator[Located[Strict]]:
    """The lines of `body` that are whole objects of `model`, with their places; what is not goes to `problems`."""
    for number, line in content_lines(body):
        if len(line) > MAX_LINE:
            problems.add(path, f"a line of {len(line):,} bytes; expected at most {MAX_LINE:,}", line=number)
        elif not line.strip():
            problems.add(path, "an empty line; expected one JSON object a line", line=number)
        else:
            try:
                yield Located(path, number, model.model_validate_json(line))
            except ValidationError as error:
                problems.add_invalid(path, number, error)


def _list_elements(path: str, body: bytes, problems: Problems) -> list[Located[InvitationLineEntry]]:
    try:
        entries = TypeAdapter(list[InvitationLineEntry]).validate_json(body)
    except ValidationError as error:
        problems.add_invalid(path, None, error)
        return []
    return [Located(path, None, entry) for entry in entries]
