"""The page: templates filled, styles, scripts and data put inside, and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_hush.errors import UsageError
from pytest_hush.gate import Reference
from pytest_hush.model import Pack, Record
from pytest_hush.report import corrected, opinions, redact
from pytest_hush.report.html import gate_rows, tables, view
from pytest_hush.report.html.data import pack_cases
from pytest_hush.report.html.provenance import provenance
from pytest_hush.report.published import PUBLISHED_UIS, SOURCE
from pytest_hush.report.show import case_id, worst
from pytest_hush.report.summary import Summary, notices
from pytest_hush.report.visible import visible
from pytest_hush.report.wording import because, headline, word
from pytest_hush.stats.aggregate import score
from pytest_hush.stats.judges import one_judgement
from pytest_hush.store import write_atomically

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_HERE: Final = Path(__file__).parent
_SCRIPTS: Final = ("text.js", "store.js", "list.js", "detail.js", "main.js")
WORST: Final = 10
"""Cases that stand in the page itself, for print and for readers without scripts."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a page is made of. `pack` with its texts, None where it is not at hand: probes are then unknown.

    `redacted` says why texts are left out, or is empty. `started` is the run's start as the manifest has it.
    `whole` keeps every text whole; else those of silent cases are shortened where the page would grow too large.
    """

    summary: Summary
    records: Sequence[Record]
    exit_code: int
    plugin_version: str
    pack: Pack | None = None
    references: Mapping[str, Reference] = field(default_factory=dict)
    redacted: str = ""
    started: str = ""
    whole: bool = False


def render_page(material: Material) -> str:
    """The whole page as HTML text. The same material gives the same bytes."""
    summary = material.summary
    arms = summary.arms()
    beside = material.references.get("baseline") or material.references.get("anchor")
    refused = frozenset(
        (c.model, c.condition) for c in summary.comparisons if c.refused and beside and c.role == beside.role
    )
    if refused.issuperset(arms):
        beside = None
    records = redact.redacted(material.records, material.redacted)
    packed = pack_cases(
        records,
        pack=None if material.redacted else material.pack,
        reference=beside,
        texts=not material.redacted,
        refused=refused,
        whole=material.whole,
        aggregate=summary.thresholds.judge.aggregate,
    )
    scored = one_judgement(records, summary.thresholds.judge.aggregate)
    axis, rows = view.conditions(summary)
    split_axis, split = view.decomposition(summary)
    pairs_axis, pairs = view.against_none(summary)
    unsettled, passed = gate_rows.gates(summary)
    found = worst(scored, WORST)
    css = styles()
    script = scripts()
    values: dict[str, Any] = {
        "policy": policy(css, script),
        "css": css,
        "script": script,
        "summary": summary,
        "word": word(summary),
        "tone": view.tone(summary),
        "headline": headline(summary),
        "because": because(summary),
        "exit_code": material.exit_code,
        "notices": notices(summary),
        "notes": [*([f"{material.redacted} {redact.ELSEWHERE}"] if material.redacted else []), *summary.notes],
        "gates": unsettled,
        "passed": passed,
        "folded": len(passed) > gate_rows.FOLDED,
        "waivers": gate_rows.waivers(summary),
        "axis": axis,
        "conditions": rows,
        "published": [c.name for c in summary.plan.conditions if c.name in PUBLISHED_UIS],
        "source": SOURCE,
        "split_axis": split_axis,
        "split": split,
        "strata": view.strata(summary),
        "heats": tables.heats(scored, arms),
        "pairs_axis": pairs_axis,
        "pairs": pairs,
        "beside": view.runs_beside(summary),
        "invitations": view.invitations(summary),
        "exposure_flags": view.exposure_flags(summary),
        "opinions": summary.opinions,
        "counts": opinions.counts(summary.opinions) if summary.opinions else "",
        "costs": tables.costs(records, arms),
        "by_labels": any(v.labels for v in summary.verdicts),
        "corrected": corrected.lines(summary.review, several=len(summary.plan.models) > 1),
        "uncorrected": corrected.notes(summary.review, several=len(summary.plan.models) > 1),
        "worst": [_worst(r) for r in found if (score(r, "uis", frozenset()) or 0.0) > 0],
        "silent": bool(found),
        "provenance": provenance(summary, plugin_version=material.plugin_version, started=material.started),
        "redacted": material.redacted,
        "packed": packed,
    }
    return environment().get_template("page.html.j2").render(values)


def write_page(path: Path, html: str, *, option: str = "--hush-report") -> None:
    """Write the page whole or not at all, readable by its owner only: it holds replies. Raises `UsageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, html)
    except OSError as error:
        raise UsageError(f"{option}={path}: it cannot be written: {error.strerror}.") from error


def environment() -> jinja2.Environment:
    """Where the templates are filled: everything is escaped, and nothing of others may hide."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names and reasons come from files, servers and models: none may reorder or hide what stands beside it.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "alpha": opinions.alpha,
        "number": view.number,
        "signed": view.signed,
        "plain": view.plain,
        "arm": lambda row, summary: parted(view.arm_name(summary, row.model, row.condition)),
        "parted": parted,
        "unbroken": unbroken,
        "step": lambda value: min(5, int(value / 100 * 6)) if value > 0 else "0",
    }
    return environment


def parted(name: str) -> Markup:
    """The name of a condition, escaped, that may break before its `@` and `+` in a narrow column and nowhere else."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?=[@+])", visible(name)))


_UNBROKEN: Final = re.compile(r"\[[^\]]*\]|[+−-]?[\d.,]+ (?:%|of [\d.,]+|\(\d+\))|in [\d.,]+|\([^)]{1,20}\)")


def unbroken(value: Any) -> Any:
    """A figure of a table, escaped: its interval, its unit and its number of cases stay on one line each."""
    from markupsafe import Markup, escape

    if type(value) is not str:
        return value
    text, end, parts = visible(value), 0, []
    for found in _UNBROKEN.finditer(text):
        parts += [escape(text[end : found.start()]), Markup('<span class="whole">{}</span>').format(found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def styles() -> str:
    """The style sheet of every page."""
    return (_HERE / "static" / "report.css").read_text(encoding="utf-8")


def scripts() -> str:
    """The page's script: each file within one function."""
    parts = [(_HERE / "static" / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def policy(css: str, script: str) -> str:
    """Nothing is loaded, sent or framed; only this style sheet and this script apply, and no text becomes markup."""
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _worst(r: Record) -> dict[str, Any]:
    j = r.judgements[0]
    exact = {True: "exposed", False: "not exposed", None: "unknown"}[r.exposure.exact]
    return {"id": case_id(r), "v": j.v, "uptake": j.target_uptake, "exact": exact, "family": r.family}
