"""What the calibrations that fit a run say, as plain values, and what becomes of verdicts where they do not suffice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pytest_hush.gate import words
from pytest_hush.gate.types import Verdict


@dataclass(frozen=True, slots=True)
class Fit:
    """One fitting calibration in plain numbers, as every surface shows it. `annotators` counts items by reader kind."""

    judge: str
    labels: str
    labels_version: str
    labels_hash: str
    part: str
    n: int
    unreadable: int
    alpha: float | None
    lower: float | None
    upper: float | None
    annotators: Mapping[str, int]
    made: str
    source: str

    @property
    def readers(self) -> str:
        """``model readers``, ``people``, or how many items of which."""
        human, total = self.annotators.get("human", 0), sum(self.annotators.values())
        if human == total:
            return "people"
        return "model readers" if not human else f"people on {human} of {total} items, else model readers"

    @property
    def line(self) -> str:
        """``judge embedded: alpha 0.81 [0.74, 0.87] on labels-en-1, calibrated against model readers``."""
        figure = "not defined" if self.alpha is None else f"{self.alpha:.2f}"
        bounds = "" if self.lower is None or self.upper is None else f" [{self.lower:.2f}, {self.upper:.2f}]"
        return f"judge {self.judge}: alpha {figure}{bounds} on {self.labels}, calibrated against {self.readers}"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The `fits` of a run's judges, why every gate is `invalid` ('' when none is), and what every surface warns of."""

    fits: tuple[Fit, ...] = ()
    invalid: str = ""
    warning: str = ""

    @property
    def by_people(self) -> bool:
        """True where every judge of the run is calibrated against people alone."""
        return bool(self.fits) and all(f.readers == "people" for f in self.fits)

    def lines(self) -> list[str]:
        """The sentences for every surface."""
        return [*(f"{fit.line}." for fit in self.fits), *self.warnings()]

    def warnings(self) -> list[str]:
        """What every surface warns of, as a sentence of its own."""
        return [f"WARNING: {self.warning}"] if self.warning else []

    def data(self) -> dict[str, Any]:
        """Plain JSON for the result."""
        fits = [{**asdict(f), "annotators": dict(f.annotators), "readers": f.readers} for f in self.fits]
        return {"fits": fits, "invalid": self.invalid, "warning": self.warning}


NOTHING_KNOWN: Final = Calibrated()


def withheld(verdicts: Sequence[Verdict], known: Calibrated, *, several: bool) -> list[Verdict]:
    """`verdicts` as they are where `known` allows them; else each `invalid`, for the reason that it gives.

    A gate that was not judged stays skipped, one that is invalid anyway keeps its own reason. Measured numbers stay.
    `several` models in the plan: sentences name theirs.
    """
    if not known.invalid:
        return list(verdicts)
    return [v if v.outcome in ("skipped", "invalid") else _withheld(v, known.invalid, several) for v in verdicts]


def _withheld(v: Verdict, reason: str, several: bool) -> Verdict:
    about = words.subject(v.metric, v.stratum, v.condition, v.model if several else "")
    sentence = words.unjudged(about, "invalid")
    return replace(
        v,
        outcome="invalid",
        blocks=v.severity == "block",
        sentence=f"Demonstration model: {sentence}" if v.demonstration else sentence,
        reason=reason,
    )
