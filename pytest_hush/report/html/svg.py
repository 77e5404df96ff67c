"""Bars as inline SVG: shapes only, no text. The numbers stand beside them as text, for every reader and every screen.

Colours are classes of the page's style sheet, so that both themes and print have their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

WIDTH: Final = 240
HEIGHT: Final = 20
_MIDDLE: Final = HEIGHT / 2
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis from `low` to `high`, `low` < `high`; what lies outside is drawn at its end."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of `value`, 0..`WIDTH`, one decimal."""
        share = (value - self.low) / (self.high - self.low)
        return round(WIDTH * min(1.0, max(0.0, share)), 1)

    @property
    def label(self) -> str:
        """``0 to 60``, for the reader of the bars."""
        return f"{self.low:g} to {self.high:g}".replace("-", "−")


def axis_of(values: Iterable[float | None], *, signed: bool = False, most: float | None = None) -> Axis:
    """The round axis that holds 0 and every value; never beyond `most`. `signed` axes reach both sides of 0."""
    known = [v for v in values if v is not None]
    high = _round_up(max([0.0, *known]))
    low = 0.0 - _round_up(-min([0.0, *known])) if signed else 0.0
    if most is not None and high > most:
        high = most
    return Axis(low, high) if high > low else Axis(low, low + 1.0)


def _round_up(value: float) -> float:
    """The next round number at or above `value` and a little room; 0 for 0."""
    if value <= 0:
        return 0.0
    wanted = value * 1.05
    scale = 1.0
    while scale * 10 < wanted:
        scale *= 10
    while scale > wanted:
        scale /= 10
    return next(step * scale for step in _STEPS if step * scale >= wanted)


def interval_bar(
    axis: Axis,
    value: float | None,
    lower: float | None,
    upper: float | None,
    *,
    limit: float | None = None,
    at_least: bool = False,
    tone: str = "",
    published: float | None = None,
) -> Markup:
    """An estimate with its interval on `axis`, the side of `limit` that is not allowed, and a published figure.

    `tone` is a class that colours the estimate (``pass``, ``fail``, …).
    """
    parts = [_rect(0, _MIDDLE - 1, WIDTH, 2, "axis")]
    if axis.low < 0 < axis.high:
        parts.append(_rect(axis.at(0) - 0.5, 3, 1, HEIGHT - 6, "zero"))
    if limit is not None:
        place = axis.at(limit)
        left, width = (0.0, place) if at_least else (place, WIDTH - place)
        parts.append(_rect(left, 1, width, HEIGHT - 2, "beyond"))
        parts.append(_rect(min(WIDTH - 2, max(0, place - 1)), 0, 2, HEIGHT, "limit"))
    if lower is not None and upper is not None:
        left = axis.at(lower)
        parts.append(_rect(left, _MIDDLE - 4, max(2.0, axis.at(upper) - left), 8, f"band {tone}"))
    if value is not None:
        x = min(WIDTH - 5.0, max(5.0, axis.at(value)))
        parts.append(Markup('<circle cx="{}" cy="{}" r="5" class="{}"/>').format(x, _MIDDLE, f"dot {tone}".strip()))
    if published is not None:
        x = min(WIDTH - 5.0, max(5.0, axis.at(published)))
        points = f"{x},{_MIDDLE - 6} {x + 5},{_MIDDLE} {x},{_MIDDLE + 6} {x - 5},{_MIDDLE}"
        parts.append(Markup('<polygon points="{}" class="published"/>').format(points))
    return _picture(parts)


def stacked_bar(axis: Axis, parts: Sequence[tuple[float, str]]) -> Markup:
    """Parts of a whole beside one another: (size, class) each, from the start of `axis`."""
    shapes = [_rect(0, _MIDDLE - 1, WIDTH, 2, "axis")]
    start = 0.0
    for size, name in parts:
        left = axis.at(start)
        start += size
        if size > 0:
            shapes.append(_rect(left, 3, max(1.0, axis.at(start) - left), HEIGHT - 6, f"part {name}"))
    return _picture(shapes)


def _rect(x: float, y: float, width: float, height: float, name: str) -> Markup:
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>').format(
        round(x, 1), round(y, 1), round(width, 1), round(height, 1), name.strip()
    )


def _picture(parts: Iterable[Markup]) -> Markup:
    # Hidden from screen readers: the same numbers stand in the next cell.
    return Markup('<svg class="bar" viewBox="0 0 {} {}" aria-hidden="true" focusable="false">{}</svg>').format(
        WIDTH, HEIGHT, Markup("").join(parts)
    )
