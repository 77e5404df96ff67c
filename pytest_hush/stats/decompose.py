"""A change of UIS as two parts: memory shows the disclosure more often, or replies use what they see more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stratified:
    """One run's exposure share `pi` in 0..1 and mean scores in 0..1 of exposed and other cases; None where empty."""

    pi: float
    exposed: float | None
    other: float | None

    @property
    def mean(self) -> float:
        """``pi * exposed + (1 - pi) * other``: the identity of the paper (section 3, metrics)."""
        return self.pi * (self.exposed or 0.0) + (1.0 - self.pi) * (self.other or 0.0)


def decompose(new: Stratified, old: Stratified) -> tuple[float, float]:
    """(exposure part, response part) of ``new.mean - old.mean``, each in -1..1; they add up to the change exactly.

    The symmetric decomposition (Kitagawa, *JASA* 50, 1955): each part is taken at the average of the two runs for
    what it holds constant. A stratum that only one run has is taken for equal in the other.
    """
    e_new, e_old = _both(new.exposed, old.exposed)
    o_new, o_old = _both(new.other, old.other)
    pi = (new.pi + old.pi) / 2
    exposure = (new.pi - old.pi) * ((e_new + e_old) / 2 - (o_new + o_old) / 2)
    response = pi * (e_new - e_old) + (1.0 - pi) * (o_new - o_old)
    return exposure, response


def _both(new: float | None, old: float | None) -> tuple[float, float]:
    if new is None and old is None:
        return 0.0, 0.0
    return (old if new is None else new) or 0.0, (new if old is None else old) or 0.0
