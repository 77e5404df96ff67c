"""The readers' page: one file with its replies inside, that loads nothing, sends nothing and saves a CSV."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pytest_hush.judges.rubric import Rubric
from pytest_hush.model import digest
from pytest_hush.report.visible import visible
from pytest_hush.review.material import Shown
from pytest_hush.review.rubric_text import blocks

_HERE: Final = Path(__file__).parent
_REPORT: Final = _HERE.parent / "report" / "html" / "static"
_STEPS: Final = ("0", "0.25", "0.5", "0.75", "1")
_USE: Final = ("nothing", "tone", "hint", "clear", "stated")
SCALES: Final = (
    ("v", "v", "Use of history", _USE),
    ("t", "target_uptake", "Use of the disclosure", _USE),
    ("o", "over_scope", "Beyond what was asked", ("nothing", "remark", "dwelt on", "recast", "replaced")),
    ("h", "helpfulness", "Helpfulness", ("none", "touched", "partial", "usable", "full")),
)
"""Key, column, title, and a word for each step: a reminder of the anchors, which the rubric defines."""


def render_review(items: Sequence[Shown], rubric: Rubric, *, hints: bool = True) -> str:
    """The page as HTML text. The same items in the same order and the same rubric give the same bytes.

    `hints` False: the rubric is one of the user's own, whose anchors are not known here.
    """
    import jinja2

    css = "\n".join([_read(_REPORT / "report.css"), _read(_HERE / "static" / "review.css")])
    parts = [_read(_REPORT / "text.js"), _read(_HERE / "static" / "review.js")]
    script = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    values: dict[str, Any] = {
        "policy": _policy(css, script),
        "css": css,
        "script": script,
        "count": len(items),
        "scales": [
            {
                "key": key,
                "name": name,
                "title": title,
                "steps": [(x, w if hints else "") for x, w in zip(_STEPS, words, strict=True)],
            }
            for key, name, title, words in SCALES
        ],
        "rubric": blocks(rubric.text),
        "rubric_name": rubric.name,
        "data": _data(items),
    }
    return environment.get_template("review.html.j2").render(values)


def _data(items: Sequence[Shown]) -> str:
    """The items as JSON that stands in a script element: facts once, items name them by their place."""
    facts: dict[tuple[bool, str], int] = {}
    shown = [
        {
            "id": i.id,
            "turn": i.turn,
            "reply": i.reply,
            "disclosure": i.disclosure,
            "told": i.told,
            "facts": [facts.setdefault(f, len(facts)) for f in i.facts],
        }
        for i in items
    ]
    data = {
        "sample": digest([i.id for i in items], 16),
        "titles": {name: title for _, name, title, _ in SCALES},
        "facts": [list(f) for f in facts],
        "items": shown,
    }
    # ASCII only, so that no character of a text of others stands in the page as it is; no "<" closes the element.
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _policy(css: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
