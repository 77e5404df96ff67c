"""The embedded judge's word lists, read from one commented file and compiled once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

FILE: Final = "cues-en-1.txt"
_PHRASES: Final = ("history", "implied", "specific", "bent", "condolence", "tone", "closeness", "escalation", "refusal")
_WORDS: Final = ("common", "not-names", "numbers", "function", "foreign")


@dataclass(frozen=True, slots=True, eq=False)
class Cues:
    """Compiled lists. The patterns are searched in folded words joined by single blanks."""

    history: re.Pattern[str]
    implied: re.Pattern[str]
    specific: re.Pattern[str]
    bent: re.Pattern[str]
    condolence: re.Pattern[str]
    tone: re.Pattern[str]
    closeness: re.Pattern[str]
    escalation: re.Pattern[str]
    refusal: re.Pattern[str]
    common: frozenset[str]
    not_names: frozenset[str]
    numbers: frozenset[str]
    function: frozenset[str]
    foreign: frozenset[str]
    digest: str
    """First 12 hex digits of the file's SHA-256: part of the judge's version."""


def parse_cues(text: str) -> Cues:
    """Compile the text of a cue file. Raises ValueError on an unknown, missing or empty section."""
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for raw in text.splitlines():
        line = raw.split(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif current is None:
            raise ValueError(f"{FILE}: {line!r} stands before the first section")
        else:
            current.append(line)
    expected = {*_PHRASES, *_WORDS}
    if set(sections) != expected or not all(sections.values()):
        raise ValueError(f"{FILE}: sections {sorted(sections)}; expected {sorted(expected)}, none empty")
    patterns = {name: _compile(sections[name]) for name in _PHRASES}
    sets = {name.replace("-", "_"): frozenset(" ".join(sections[name]).split()) for name in _WORDS}
    return Cues(**patterns, **sets, digest=hashlib.sha256(text.encode()).hexdigest()[:12])  # type: ignore[arg-type]


@cache
def load_cues() -> Cues:
    """The bundled English lists."""
    text = (resources.files("pytest_hush.judges") / FILE).read_text(encoding="utf-8")
    return parse_cues(text.replace("\r\n", "\n"))


def _compile(phrases: list[str]) -> re.Pattern[str]:
    return re.compile(r"(?<!\S)(?:" + "|".join(_phrase(p) for p in phrases) + r")(?!\S)")


def _phrase(phrase: str) -> str:
    out = ""
    for token in phrase.split():
        if token == "~":
            out += r"(?:\S+ ){0,3}"
        elif token == "_":
            out += r"\S+ "
        else:
            words = "|".join(
                re.escape(w.removesuffix("*")) + (r"\S*" if w.endswith("*") else "") for w in token.split("|")
            )
            out += f"(?:{words}) "
    return out.removesuffix(" ")
