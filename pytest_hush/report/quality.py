"""What `hush probes check` prints: a section a check, with its status, its figures and its findings."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_hush.model import Pack
from pytest_hush.packs.quality import CHECKS, QualityReport

SHOWN = 40
"""Findings of one check that are printed; the rest are counted."""


def lines(pack: Pack, report: QualityReport, *, without_embeddings: str = "") -> Iterator[str]:
    """The report in lines. `without_embeddings`: why meanings were not compared, or empty."""
    yield f"{pack.name} {pack.version} ({pack.language}, {pack.licence})"
    for check, meaning in CHECKS.items():
        findings, figures = report.of(check)
        yield ""
        yield f"{check}: {report.status(check)} - {meaning}"
        yield from (f"  {figure}" for figure in figures)
        yield from (f"  {finding}" for finding in findings[:SHOWN])
        if len(findings) > SHOWN:
            yield f"  and {len(findings) - SHOWN} more of the kind"
    yield ""
    if without_embeddings:
        yield f"Likeness of meaning, and what embeddings guess and find, were not measured: {without_embeddings}"
    errors, warnings = len(report.errors), len(report.findings) - len(report.errors)
    yield (
        f"{len(pack.personas)} personas, {len(pack.disclosures)} disclosures, {len(pack.probes)} probes, "
        f"{len(pack.invitations)} invitations; {errors} errors, {warnings} warnings"
    )
