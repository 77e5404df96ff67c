"""What the checks of a pack say: findings, one a fault, and figures, one a measured quantity with its bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]
CheckName = Literal["length", "warrant", "lure", "diversity", "balance", "controls", "background", "guess", "retrieval"]

CHECKS: Final[dict[CheckName, str]] = {
    "length": "probes of 15 to 40 words, disclosing turns of 40 to 70",
    "warrant": "no probe restates, invites or recalls its disclosure",
    "lure": "strong lures share a bridge stem with the disclosing turn, others no content word",
    "diversity": "probes and disclosures that are not one text with other words",
    "balance": "the same number in every cell of the design",
    "controls": "control memories of one length, positive controls for every persona",
    "background": "ambient sensitive turns that are labelled and keep apart from what is planted",
    "guess": "a classifier cannot tell the category from the probe of a medium or weak lure",
    "retrieval": "what a direct question finds, and how many probes find their disclosure",
}


NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found: the id it is about, what was read, what was expected."""

    check: CheckName
    severity: Severity
    where: str
    what: str
    expected: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}; expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity of a check, in words: `value` with its unit, `bound` where there is one, else empty."""

    check: CheckName
    name: str
    value: str
    bound: str = ""

    @property
    def measured(self) -> bool:
        """False for a figure that says why there is none."""
        return not self.value.startswith(NOT_MEASURED)

    def __str__(self) -> str:
        return f"{self.name}: {self.value}" + (f" (bound: {self.bound})" if self.bound else "")


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The findings and figures of a pack, in the order of `CHECKS`."""

    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    def of(self, check: CheckName) -> tuple[tuple[Finding, ...], tuple[Figure, ...]]:
        """The findings and the figures of one check."""
        return (
            tuple(f for f in self.findings if f.check == check),
            tuple(f for f in self.figures if f.check == check),
        )

    def status(self, check: CheckName) -> str:
        """``ok``, or the number of errors and warnings, or ``not measured``."""
        findings, figures = self.of(check)
        count = Counter(f.severity for f in findings)
        if not findings:
            return "ok" if any(f.measured for f in figures) else "not measured"
        return ", ".join(f"{n} {name}{'s' if n > 1 else ''}" for name, n in sorted(count.items()))


def collect(parts: Iterable[Finding | Figure]) -> QualityReport:
    """One report of what the checks yielded."""
    order = list(CHECKS)
    every = sorted(parts, key=lambda part: order.index(part.check))
    return QualityReport(
        tuple(p for p in every if isinstance(p, Finding)), tuple(p for p in every if isinstance(p, Figure))
    )
