"""Replays replies that were recorded before: real replies without a key, a network or a model.

A recording is a folder with ``manifest.json`` and ``replies.jsonl``; ``probes/recorded-en-1`` ships with the package.
A reply is found by the hash of the prompt that it answered, so a changed pack or prompt template finds none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from pytest_hush.bundled import bundled, bundled_names
from pytest_hush.errors import RefusedCallError, UsageError
from pytest_hush.model import Prompt, Reply, Usage, digest
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS, ModelSettings
from pytest_hush.models.tokens import count_tokens
from pytest_hush.plan import Plan
from pytest_hush.protocols import Model

SCHEMA: Final = 1
DEFAULT: Final = "recorded-en-1"
REPLIES: Final = "replies.jsonl"
_PREFIX: Final = "recorded-"


def prompt_hash(prompt: Prompt) -> str:
    """What a reply is kept under: 16 hex digits of a hash over the roles and texts of the prompt's messages."""
    return digest([[m.role, m.content] for m in prompt.messages], 16)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording's manifest and its replies by prompt hash. `hash` covers the files that the manifest lists."""

    name: str
    version: str
    pack_name: str
    pack_version: str
    pack_hash: str
    conditions: tuple[str, ...]
    source: str
    decoding: str
    hash: str
    replies: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A generator that answers with what was recorded. It stands for no product: decoding is not controlled."""

    recording: Recording
    name: str = "recorded"
    max_tokens: int = DEFAULT_MAX_TOKENS

    demonstration = True
    deterministic = True

    @classmethod
    def create(cls, folder: str, settings: ModelSettings) -> Model:
        """``recorded`` (`folder` empty: the bundled recording), or ``recorded/FOLDER``.

        Raises `UsageError` for a folder that is no whole recording.
        """
        recording = load_recording(folder or DEFAULT, settings.rootdir)
        name = f"recorded/{recording.name}" if folder else "recorded"
        return cls(recording, name, settings.max_tokens or DEFAULT_MAX_TOKENS)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes an answer besides the prompt: the recording."""
        kept = self.recording
        return {"recording": f"{kept.name}@{kept.version}+{kept.hash[:12]}", "decoding": kept.decoding}

    @property
    def answers_as(self) -> tuple[object, ...]:
        """What two names of one recording have in common."""
        return ("recorded", self.recording.hash)

    def count_tokens(self, text: str) -> int:
        """Four characters are one token."""
        return count_tokens(text)

    def check_plan(self, plan: Plan) -> None:
        """Refuse a plan that asks for what was not recorded, before anything is measured.

        Raises `UsageError` that names what was recorded.
        """
        kept, pack = self.recording, plan.pack
        told = f"{kept.name} holds the pack {kept.pack_name} {kept.pack_version} under {', '.join(kept.conditions)}"
        if pack.hash != kept.pack_hash:
            other = f"{pack.name} {pack.version}"
            if pack.name == kept.pack_name:
                other += f" with other content ({pack.hash[:12]}, recorded {kept.pack_hash[:12]})"
            raise UsageError(f"--hush-model={self.name}: {told}; this run's pack is {other}. Nothing can be replayed.")
        missing = [c.name for c in plan.conditions if c.name not in kept.conditions]
        if missing:
            raise UsageError(
                f"--hush-model={self.name}: {told}, and not {', '.join(missing)}. Name only recorded conditions with "
                f"--hush-memory."
            )

    def reply(self, prompt: Prompt) -> Reply:
        """The recorded reply. Raises `RefusedCallError` for a prompt that has none."""
        text = self.recording.replies.get(prompt_hash(prompt))
        if text is None:
            raise RefusedCallError(
                f"no reply was recorded for this prompt in {self.recording.name}. The prompt template, the pack or the "
                f"memory block differs from the one that was recorded."
            )
        sent = sum(count_tokens(m.content) for m in prompt.messages)
        return Reply(text, self.name, Usage(sent, count_tokens(text), 0.0))


def load_recording(source: str, rootdir: str | None = None) -> Recording:
    """The recording in the folder `source` (relative to `rootdir`), or the bundled one of that name, digests checked.

    Raises `UsageError` that says which file and line was read and what was expected.
    """
    folder = _folder(source, rootdir)
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _refuse(folder / "manifest.json", f"it cannot be read ({error}); expected the manifest of a recording")
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA or "conditions" not in manifest:
        _refuse(folder / "manifest.json", f"it is no manifest of a recording of schema {SCHEMA}")
    try:
        files = {_text(name): _text(value) for name, value in manifest["files"].items()}
        made = Recording(
            name=_text(manifest["name"]),
            version=_text(manifest["version"]),
            pack_name=_text(manifest["pack"]["name"]),
            pack_version=_text(manifest["pack"]["version"]),
            pack_hash=_text(manifest["pack"]["hash"]),
            conditions=tuple(_text(name) for name in manifest["conditions"]),
            source=_text(manifest["source"]),
            decoding=_text(manifest["decoding"]),
            hash=digest(files),
            replies={},
        )
    except (KeyError, TypeError, AttributeError) as error:
        _refuse(folder / "manifest.json", f"a field is absent or of another type ({type(error).__name__}: {error})")
    if REPLIES not in files:
        _refuse(folder / "manifest.json", f"`files` does not list {REPLIES}")
    for name, expected in files.items():
        _check_digest(folder, name, expected)
    return replace(made, replies=_replies(folder / REPLIES))


def _folder(source: str, rootdir: str | None) -> Path:
    path = Path(rootdir or "") / Path(source).expanduser()
    if path.is_dir():
        return path
    known = [name for name in bundled_names("probes") if name.startswith(_PREFIX)]
    if source in known:
        return bundled("probes", source)
    raise UsageError(
        f"--hush-model=recorded/{source}: there is no such folder. Give the folder of a recording, or a bundled one: "
        f"{', '.join(known) or 'none'}."
    )


def _check_digest(folder: Path, name: str, expected: str) -> None:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        _refuse(folder / "manifest.json", f"`files` names {name!r}, which leaves the folder")
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        _refuse(path, f"it cannot be read: {error.strerror}")
    if found != expected:
        _refuse(path, f"its SHA-256 is {found[:12]}…, the manifest says {expected[:12]}…: it was changed")


def _replies(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            prompt, reply = _text(row["prompt"]), _text(row["reply"])
        except (ValueError, KeyError, TypeError) as error:
            _refuse(path, f"line {number}: expected an object with texts `prompt` and `reply` ({error})")
        if prompt in found:
            _refuse(path, f"line {number}: the prompt {prompt} has two replies; expected one")
        found[prompt] = reply
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, read {type(value).__name__}")
    return value


def _refuse(path: Path, why: str) -> NoReturn:
    raise UsageError(f"--hush-model=recorded: {path}: {why}.")
