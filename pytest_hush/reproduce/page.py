"""The tables as one page that loads nothing, in the style of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pytest_hush.report.html.page import environment, policy, styles
from pytest_hush.report.published import SOURCE
from pytest_hush.report.summary import DEMONSTRATION_NOTICE, screening_lines
from pytest_hush.reproduce.figures import Measured
from pytest_hush.reproduce.matrix import page_of
from pytest_hush.reproduce.tables import PUBLISHED, Table

_LINKS: Final = {
    "uis": "Q1: conditions",
    "families": "Q1: families",
    "exposure": "Q3: exposure",
    "unexposed": "Q3: not exposed",
    "controls": "Q2: controls",
    "invitations": "Q4: invitations",
    "usefulness": "Positive controls",
}
"""What the page's navigation calls a table."""


def render(found: Sequence[Table], measured: Sequence[Measured], *, plugin_version: str, missing: Sequence[str]) -> str:
    """The page of `found`, made of the runs `measured`; `missing` names runs that are not there."""
    css = styles()
    values: dict[str, Any] = {
        "css": css,
        "policy": policy(css, ""),
        "source": SOURCE,
        "tables": [_table(t) for t in found],
        "runs": [_run(m) for m in measured],
        "missing": list(missing),
        "notices": notices(measured),
        "plugin_version": plugin_version,
    }
    return environment().get_template("reproduce.html.j2").render(values)


def notices(measured: Sequence[Measured]) -> list[str]:
    """What a reader must know of these runs before the numbers: demonstration models, judges that only screen."""
    told = [DEMONSTRATION_NOTICE] if any(m.demonstration for m in measured) else []
    screened = [str(m.instrument.get("judge", "")) for m in measured if m.screening]
    return told + (screening_lines(screened) if screened else [])


def _table(t: Table) -> dict[str, Any]:
    published = [name.startswith(PUBLISHED) for name in t.head]
    rows = [
        {
            "name": " under ".join(row[: t.labels]),
            "cells": [
                {"label": name, "text": cell, "published": paper}
                for name, cell, paper in list(zip(t.head, row, published, strict=True))[t.labels :]
            ],
        }
        for row in t.rows
    ]
    head = ["Generator and condition", *t.head[t.labels :]]
    return {
        "id": t.name,
        "link": _LINKS.get(t.name, t.title),
        "title": t.title,
        "about": t.about,
        "head": head,
        "rows": rows,
    }


def _run(m: Measured) -> dict[str, Any]:
    plan = m.plan
    return {
        "model": m.model,
        "experiment": m.experiment,
        "pack": f"{plan.pack.name} {plan.pack.version}",
        "conditions": ", ".join(c.name for c in plan.conditions),
        "cases": f"{m.measured} of {len(plan.cases)}" + (f" (a sample of {plan.sample} probes)" if plan.sample else ""),
        "judge": f"{m.instrument.get('judge', '')} {m.instrument.get('judge_version', '')}".strip(),
        "folder": Path(m.folder).name,
        # Beside this page; a run whose page was taken away has no link.
        "page": quote(f"./{page.name}") if (page := page_of(m.folder)).is_file() else "",
        "plan": plan.hash[:12],
    }
