"""The page of a history: a chart a condition, and a table that holds every number of them."""

from __future__ import annotations

from typing import Any

from pytest_hush.report import history_text as words
from pytest_hush.report.compare_text import level, when
from pytest_hush.report.history import Entry, History
from pytest_hush.report.html.history_svg import panel
from pytest_hush.report.html.page import environment, policy, styles
from pytest_hush.store import revision_text


def render_history(history: History) -> str:
    """The whole page as HTML text; it has no script. The same history gives the same bytes."""
    css = styles()
    first, last = history.entries[0], history.entries[-1]
    values: dict[str, Any] = {
        "policy": policy(css, ""),
        "css": css,
        "history": history,
        "span": " to ".join(dict.fromkeys(d for e in (first, last) if (d := e.measured[:10]))),
        "charts": [{"name": line.name, "svg": panel(history, line)} for line in history.lines],
        "break_words": words.BREAK,
        "legend": words.LEGEND,
        "names": [line.name for line in history.lines],
        "rows": [_row(history, entry) for entry in reversed(history.entries)],
        "breaks": sum(bool(e.broken) for e in history.entries),
    }
    return environment().get_template("history.html.j2").render(values)


def _row(history: History, entry: Entry) -> dict[str, Any]:
    cells = []
    for line in history.lines:
        found = words.value_of(entry, line)
        value, _, bounds = level(found).partition(" ")
        lost = f"{found['missing']} missing" if found and found["missing"] else ""
        cells.append({"name": line.name, "value": [value.replace("-", "–"), bounds], "lost": lost})
    return {
        "when": when(entry.measured) or "unknown",
        "commit": revision_text(entry.revision),
        "file": entry.name,
        "cases": entry.cases,
        "models": ", ".join(entry.models),
        "cells": cells,
        "broken": entry.broken,
        "changed": entry.changed,
    }
