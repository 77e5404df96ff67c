"""The paper's tables in our own layout: our figures with their intervals and tests, the published ones beside them.

Published figures are the paper's (HUSH-Bench, arXiv 2606.06055) and are labelled so; they are no result of these runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.gate import Contrast, Estimate
from pytest_hush.model import FAMILIES
from pytest_hush.report.published import (
    PUBLISHED_BOUNDARY,
    PUBLISHED_EXPOSURE,
    PUBLISHED_GAIN,
    PUBLISHED_OTHERS,
    PUBLISHED_UIS,
)
from pytest_hush.reproduce.figures import Figures, Measured
from pytest_hush.stats.aggregate import UNEXPOSED

__all__ = ["Measured", "Table", "tables"]

PUBLISHED: Final = "published"
"""Every column whose name starts so holds the paper's figures."""
_NOTHING: Final = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under `head`; the first `labels` columns name a row. `about` says what the figures are."""

    name: str
    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 2


def tables(measured: Iterable[Measured]) -> list[Table]:
    """All tables that the runs have figures for, in the order of the paper's questions."""
    runs = [Figures.of(m) for m in measured]
    main = [f for f in runs if f.measured.experiment == "main"]
    controls = [f for f in runs if f.measured.experiment == "controls"]
    made = [
        _uis("uis", "Q1: unrequested use of memory, by generator and condition", main),
        _families(main),
        _exposure(main),
        _unexposed(main),
        _uis("controls", "Q2: controls and interventions", controls),
        _invitations(controls),
        _usefulness(runs),
    ]
    return [table for table in made if table.rows]


def _uis(name: str, title: str, runs: Sequence[Figures]) -> Table:
    rows = []
    for f in runs:
        for condition in f.conditions:
            own = f.estimate(condition, "uis")
            none = f.contrast(condition, "uis", "none")
            rows.append(
                (
                    f.measured.model,
                    f.label(condition),
                    _count(own),
                    _interval(own),
                    _pair(f.hierarchical(condition)),
                    _pair(f.cluster(condition)),
                    _interval(f.estimate(condition, "uis_sensitive")),
                    _interval(none, sign=True),
                    _NOTHING if none is None or none.no_increase is None else f"{none.no_increase:.0f} %",
                    _p(none),
                    _published(f.measured.model, condition),
                )
            )
    return Table(
        name,
        title,
        "UIS 0 to 100, higher is worse. [lower, upper], each bound one-sided at 95 %: first the calibrated interval "
        "that gates use, then the paper's hierarchical bootstrap (persona, family, case) and the cluster bootstrap "
        "(personas). Beside no memory: the paired difference, the share of pairs that did not rise, the sign-flip p "
        "over personas.",
        (
            "generator",
            "condition",
            "cases",
            "UIS",
            "hierarchical",
            "cluster",
            "sensitive only",
            "beside no memory",
            "no increase",
            "sign-flip p",
            f"{PUBLISHED} UIS",
        ),
        tuple(rows),
    )


def _families(runs: Sequence[Figures]) -> Table:
    rows = tuple(
        (f.measured.model, f.label(c), *(_interval(f.estimate(c, "uis", f"family={name}")) for name in FAMILIES))
        for f in runs
        for c in f.conditions
        if c != "none"
    )
    head = ("generator", "condition", *(name.replace("_", " ") for name in FAMILIES))
    return Table("families", "Q1: UIS by family of probes", "Points, bounds as above.", head, rows)


def _exposure(runs: Sequence[Figures]) -> Table:
    rows = []
    for f in runs:
        for c in f.conditions:
            share = f.estimate(c, "exposure")
            if c == "none" or share is None:
                continue
            strata = [
                f.estimate(c, "uis", s)
                for s in ("exposed", "not-exposed", "residue", "no-residue", "ambient", "no-ambient")
            ]
            published = PUBLISHED_EXPOSURE.get(c)
            rows.append(
                (
                    f.measured.model,
                    f.label(c),
                    _interval(share),
                    *(_within(e) for e in strata),
                    _NOTHING if published is None else f"{published:.1f}",
                )
            )
    return Table(
        "exposure",
        "Q3: UIS by exposure flag",
        "Exposure: per cent of cases in which memory showed the planted session. UIS of the cases where a flag is set, "
        "and where it is not, with their number.",
        (
            "generator",
            "condition",
            "exposure %",
            "exact",
            "not exact",
            "residue",
            "no residue",
            "ambient",
            "no ambient",
            f"{PUBLISHED} exposure %",
        ),
        tuple(rows),
    )


def _unexposed(runs: Sequence[Figures]) -> Table:
    from pytest_hush.report.flags import parts_of, share_text

    rows = []
    for f in runs:
        for c in f.conditions:
            whole = f.estimate(c, "uis", "not-exposed")
            strata = [e for s in UNEXPOSED if (e := f.estimate(c, "uis", s)) is not None]
            if c == "none" or whole is None or whole.value is None or len(strata) < len(UNEXPOSED):
                continue
            parts = parts_of(strata, whole.value)
            rows.append(
                (
                    f.measured.model,
                    f.label(c),
                    _interval(whole),
                    *(f"{p.points:.1f} ({p.n})" for p in parts),
                    *(_NOTHING if p.beyond is None else share_text(p.beyond) for p in parts[:2]),
                )
            )
    return Table(
        "unexposed",
        "Q3: what UIS at E = 0 is made of",
        "The cases that are not exposed, taken apart: points that each part gives (and its cases), adding up to UIS at "
        "E = 0. Beyond: per cent of it that residue and ambient entries give above the cases with neither. The paper "
        "could only suspect this.",
        ("generator", "condition", "UIS at E = 0", "residue", "ambient", "neither", "residue beyond", "ambient beyond"),
        tuple(rows),
    )


def _invitations(runs: Sequence[Figures]) -> Table:
    rows = []
    for f in runs:
        for c in f.conditions:
            three = [f.contrast(c, m, "uninvited") for m in ("uptake_gain", "helpfulness_change", "over_scope_rise")]
            if c == "none" or three[0] is None:
                continue
            rows.append(
                (
                    f.measured.model,
                    f.label(c),
                    f"{three[0].n} of {three[0].planned}",
                    *(_interval(x, sign=True) for x in three),
                    _p(three[0]),
                    PUBLISHED_GAIN if c == "oracle" else _NOTHING,
                )
            )
    return Table(
        "invitations",
        "Q4: invitation pairs",
        "Invited less uninvited, paired by probe, in points. Published: helpfulness stays, over-scope rises.",
        (
            "generator",
            "condition",
            "pairs",
            "gain in target uptake",
            "helpfulness",
            "over-scope",
            "sign-flip p of the gain",
            f"{PUBLISHED} gain",
        ),
        tuple(rows),
    )


def _usefulness(runs: Sequence[Figures]) -> Table:
    rows = tuple(
        (f.measured.model, f.label(c), f.measured.experiment, _count(e), _interval(e))
        for f in runs
        for c in f.conditions
        if (e := f.estimate(c, "controls")) is not None
    )
    return Table(
        "usefulness",
        "Is the memory alive: positive controls",
        "Direct questions about harmless facts: per cent that memory shows. A memory that shows nothing is silent for "
        "the wrong reason.",
        ("generator", "condition", "experiment", "asked", "shown %"),
        rows,
    )


def _published(model: str, condition: str) -> str:
    if condition in PUBLISHED_UIS:
        own = f"{PUBLISHED_UIS[condition]:.1f} (gpt-4o)"
        others = any(name in model.lower() for name in ("claude", "deepseek", "qwen"))
        return f"{PUBLISHED_OTHERS} (all with memory)" if others and condition != "none" else own
    return PUBLISHED_BOUNDARY if condition == "mem0+boundary" else _NOTHING


def _count(e: Estimate | None) -> str:
    return "0" if e is None else f"{e.n}/{e.planned}"


def _within(e: Estimate | None) -> str:
    return _NOTHING if e is None or e.value is None else f"{e.value:.1f} ({e.n})"


def _interval(e: Estimate | Contrast | None, *, sign: bool = False) -> str:
    form = "+.1f" if sign else ".1f"
    if e is None or e.value is None:
        return _NOTHING
    if e.lower is None or e.upper is None:
        return f"{e.value:{form}}"
    return f"{e.value:{form}} [{e.lower:{form}}, {e.upper:{form}}]"


def _pair(bounds: tuple[float, float] | None) -> str:
    return _NOTHING if bounds is None else f"[{bounds[0]:.1f}, {bounds[1]:.1f}]"


def _p(c: Contrast | None) -> str:
    return _NOTHING if c is None or c.flip_p is None else f"{c.flip_p:.2g}"
