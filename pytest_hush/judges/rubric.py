"""Versioned rubric files: the anchors of every score, hashed into each record."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pytest_hush.errors import UsageError

DEFAULT = "conservative-1"


@dataclass(frozen=True, slots=True)
class Rubric:
    """One rubric file. `name` is its policy, `id` is ``name@<first 12 hex digits of the text's SHA-256>``."""

    name: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"


def bundled_rubrics() -> list[str]:
    """The names of the rubrics that ship with the package, sorted."""
    folder = resources.files("pytest_hush.judges") / "rubrics"
    return sorted(p.name.removesuffix(".md") for p in folder.iterdir() if p.name.endswith(".md"))


@cache
def load_rubric(name: str = DEFAULT) -> Rubric:
    """The bundled rubric `name`. Raises `UsageError` with the names that exist."""
    known = bundled_rubrics()
    if name not in known:
        raise UsageError(f"rubric {name!r} is not bundled. Expected one of: {', '.join(known)}.")
    folder = resources.files("pytest_hush.judges") / "rubrics"
    return Rubric(name, (folder / f"{name}.md").read_text(encoding="utf-8").replace("\r\n", "\n"))
