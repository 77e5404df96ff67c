"""Collecting what is wrong with a pack, so that a person who fixes one sees several problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from pytest_hush.errors import HushError, PackError

SHOWN: Final = 10
"""Problems in one message; the rest is counted. A file's first problem goes before any file's second."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One defect. `file` is relative to the pack, `line` counts from 1 (None: the file as a whole)."""

    file: str
    line: int | None
    field: str
    text: str


def shown(value: object, limit: int = 60) -> str:
    """`value` as a short ``repr`` for an error text."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class Problems:
    """The defects found in one pack so far. Other folders of data lines name their own words and error."""

    kind = "pack"
    guide = "docs/reference/pack-format.md"
    error: type[HushError] = PackError

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[Problem] = []

    def add(self, file: str, text: str, *, line: int | None = None, field: str = "") -> None:
        """Note one defect; `text` says what was read and what was expected."""
        self.found.append(Problem(file, line, field, text))

    def add_invalid(self, file: str, line: int | None, error: ValidationError) -> None:
        """Note what pydantic found, in words of this format: one defect for each of its errors."""
        for item in error.errors(include_url=False):
            kind, context = item["type"], item.get("ctx") or {}
            field = ".".join(str(part) for part in item["loc"])
            read = f"read {shown(item['input'])}"
            if kind == "json_invalid":
                text = f"not JSON ({context.get('error', item['msg'])}); expected one whole JSON object"
            elif kind == "missing":
                text = "the field is absent; expected it here"
            elif kind == "extra_forbidden":
                text = f"an unknown field; expected only the fields of {self.guide}"
            elif kind == "literal_error":
                text = f"{read}; expected {'one of ' if ' or ' in context['expected'] else ''}{context['expected']}"
            elif kind == "string_pattern_mismatch":
                text = f"{read}; expected text that matches {context['pattern']}"
            elif kind == "value_error" and item["loc"]:
                text = f"{read}; expected {context['error']}"
            elif kind == "value_error":
                text = f"expected {context['error']}"
            else:
                text = f"{read}; {item['msg'][0].lower()}{item['msg'][1:]}"
            self.add(file, text, line=line, field=field)

    def describe(self, problem: Problem) -> str:
        """``folder/file, line 7, field `family`: read …; expected …``."""
        where = str(self.root / problem.file) if problem.file else str(self.root)
        if problem.line is not None:
            where += f", line {problem.line}"
        if problem.field:
            where += f", field `{problem.field}`"
        return f"{where}: {problem.text}"

    def then(self) -> str:
        """What to do when the problems are mended."""
        return f"then run `hush probes check {self.root}`"

    def check(self) -> None:
        """Raise one `error` that names up to `SHOWN` problems, if there are any."""
        if not self.found:
            return
        then = self.then()
        if len(self.found) == 1:
            raise self.error(f"{self.describe(self.found[0])}; fix this, {then}.")
        first: dict[str, Problem] = {}
        for problem in self.found:
            first.setdefault(problem.file, problem)
        rest = [p for p in self.found if first[p.file] is not p]
        lines = [self.describe(p) for p in [*first.values(), *rest][:SHOWN]]
        if len(self.found) > SHOWN:
            lines.append(f"and {len(self.found) - SHOWN} more")
        listed = "\n  ".join(lines)
        raise self.error(f"{len(self.found)} problems in the {self.kind} {self.root}:\n  {listed}\nFix these, {then}.")
