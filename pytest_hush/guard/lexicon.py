"""The words and sentences that the guard knows, read once from the versioned files in ``lexicons/``."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.text import words

CONFIDENCE: Final = "confidence"
"""The label of what was told in confidence, whatever it is about: it stands beside the ten categories."""


class Terms:
    """Terms of one or several words, found as whole words; a plural ``s`` matches, and ``*`` stands for any ending."""

    def __init__(self, terms: Iterable[str]) -> None:
        # Longest first, so that of two terms at one place the more telling one is named.
        patterns = sorted({_pattern(t) for t in terms}, key=lambda p: (-len(p), p))
        self._regex = re.compile(rf"(?<!\S)(?:{'|'.join(patterns)})(?!\S)") if patterns else None

    def found(self, text: str) -> tuple[str, ...]:
        """The different matches in `text`, in order, folded as `pytest_hush.text.words` folds."""
        if self._regex is None:
            return ()
        return tuple(dict.fromkeys(self._regex.findall(" ".join(words(text)))))


def _pattern(term: str) -> str:
    stem, star, _ = term.partition("*")
    body = r"\s".join(re.escape(word) for word in words(stem))
    return body + (r"[\w'’]*" if star else r"(?:s|'s)?")


@dataclass(frozen=True, slots=True, eq=False)
class Category:
    """One kind of sensitive matter: what it is called, its terms, and sentences of the kind."""

    name: str
    named: str
    strong: Terms
    weak: Terms
    likeness: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """`id` is the file's version with a digest of its bytes. `categories` end with `CONFIDENCE`."""

    id: str
    language: str
    categories: Mapping[str, Category]
    everyday: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """How a user asks for earlier context, turns away from it, withdraws something and gives it back."""

    id: str
    language: str
    asks: Terms
    asks_likeness: tuple[str, ...]
    asks_nothing: tuple[str, ...]
    question_words: Terms
    of_the_user: Terms
    advice: Terms
    common: frozenset[str]
    not_now: Terms
    revokes: Terms
    restores: Terms


@cache
def load_lexicon(language: str = "en") -> Lexicon:
    """The bundled lexicon of a language. Raises `UsageError` for one that there is none of."""
    data, file_id = _read("", language)
    found = {name: _category(name, table) for name, table in data["category"].items()}
    found[CONFIDENCE] = _category(CONFIDENCE, {"likeness": [], **data["confidence"]})
    return Lexicon(file_id, data["language"], found, tuple(data["everyday"]["likeness"]))


@cache
def load_phrases(language: str = "en") -> Phrases:
    """The bundled phrases of a language. Raises `UsageError` for one that there are none of."""
    data, file_id = _read("phrases-", language)
    return Phrases(
        id=file_id,
        language=data["language"],
        asks=Terms(data["asks"]),
        asks_likeness=tuple(data["asks_likeness"]),
        asks_nothing=tuple(data["asks_nothing"]),
        question_words=Terms(data["question_words"]),
        of_the_user=Terms(data["of_the_user"]),
        advice=Terms(data["advice"]),
        common=frozenset(data["common"]),
        not_now=Terms(data["not_now"]),
        revokes=Terms(data["revokes"]),
        restores=Terms(data["restores"]),
    )


def _read(kind: str, language: str) -> tuple[dict[str, Any], str]:
    primary = language.partition("-")[0].lower()
    folder = resources.files("pytest_hush.guard") / "lexicons"
    file = folder / f"{kind}{primary}-1.toml"
    if not primary.isalpha() or not file.is_file():
        known = sorted(p.name.removesuffix("-1.toml") for p in folder.iterdir() if not p.name.startswith("phrases"))
        raise UsageError(f"guard: there is no lexicon of the language {language!r}; bundled: {', '.join(known)}.")
    raw = file.read_bytes()
    data = tomllib.loads(raw.decode("utf-8"))
    # Line ends differ between checkouts, what the file says does not.
    file_hash = hashlib.sha256(raw.replace(b"\r\n", b"\n")).hexdigest()[:12]
    return data, f"{data['version']}@{file_hash}"


def _category(name: str, table: Mapping[str, Any]) -> Category:
    return Category(name, table["named"], Terms(table["strong"]), Terms(table["weak"]), tuple(table["likeness"]))
