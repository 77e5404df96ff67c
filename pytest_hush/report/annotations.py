"""GitHub's workflow commands: what blocks or warns, as annotations of the job. And other lines, so that none is one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from pytest_hush.report.summary import Summary
from pytest_hush.report.visible import visible
from pytest_hush.report.wording import because, by_urgency, detail, mark, sentence, word

MOST: Final = 10
"""GitHub shows ten of a kind for a step, and drops the rest without a word."""
_LONGEST: Final = 1_000
_COMMAND: Final = re.compile(r"^(\s*):(?=:)|#(?=#\[)")


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """True in a step of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def commands(summary: Summary) -> list[str]:
    """At most `MOST` commands: errors for what blocks, warnings for what does not pass and does not block."""
    found: list[tuple[str, str, str]] = []
    if summary.status in ("stopped", "skipped", "error"):
        kind = "error" if summary.reason else "warning"
        found.append((kind, f"hush: {word(summary)}", because(summary)))
    for v in by_urgency(summary.verdicts):
        if v.outcome in ("pass", "skipped"):
            continue
        kind = "error" if v.blocks else "warning"
        found.append((kind, f"hush {mark(v)}: {v.id}", f"{sentence(v)} {detail(v)}".strip()))
    left = len(found) - (MOST - 1)
    if len(found) > MOST:
        kind = "error" if any(k == "error" for k, _, _ in found[MOST - 1 :]) else "warning"
        found = [*found[: MOST - 1], (kind, "hush", f"{left} more verdicts do not pass: see the summary of the run.")]
    return [f"::{kind} title={_property(title)}::{message(text)}" for kind, title, text in found]


def inert(line: str) -> str:
    """`line` so that the runner takes it for text: an error of a server may start with ``::`` after a line break."""
    return _COMMAND.sub(lambda found: f"{found[0]}\\", line)


def message(text: str) -> str:
    """`text` as the message of a workflow command: one line, escaped, nothing hidden."""
    shown = visible(" ".join(text.split()))[:_LONGEST]
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return message(text).replace(":", "%3A").replace(",", "%2C")
