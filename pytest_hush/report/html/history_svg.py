"""UIS through the saved baselines as SVG: one panel a condition, intervals as whiskers, breaks of the instrument.

Colours are classes: the page's style sheet gives them, and the picture by itself brings a small one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from pytest_hush.report.compare_text import when
from pytest_hush.report.history import Entry, History, Line, Point
from pytest_hush.report.history_text import BREAK, place_name
from pytest_hush.report.html.svg import axis_of
from pytest_hush.report.visible import visible
from pytest_hush.text import number_of

WIDTH: Final = 360
HEIGHT: Final = 208
_LEFT, _RIGHT, _TOP, _BOTTOM = 32.0, 32.0, 10.0, 36.0
"""Room around the axes; half of the last name stands in the right one."""
_LABELS: Final = 3
"""Names under the axis, each below its point: more would run into one another."""
COLUMNS: Final = 2
_TITLE: Final = 26
"""Height of a panel's title in the picture."""
STYLE: Final = """
svg { background: #fff; color-scheme: light dark; }
text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #545d68; }
.title { font-size: 14px; font-weight: 650; fill: #1b1f24; }
.grid { stroke: #d5dbe1; } .line { stroke: #0b57a8; fill: none; stroke-width: 2; } .whisker { stroke: #0b57a8; }
.dot { fill: #0b57a8; } .break { stroke: #b0211a; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
svg { background: #161b21; } text { fill: #a3afbb; } .title { fill: #e6edf3; } .grid { stroke: #303841; }
.line, .whisker { stroke: #7ab8ff; } .dot { fill: #7ab8ff; } .break { stroke: #ff8f86; }
}
"""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where places and points lie in a panel."""

    count: int
    top: float

    def x(self, place: float) -> float:
        room = WIDTH - _LEFT - _RIGHT
        return round(_LEFT + room * (0.5 if self.count == 1 else (place + 0.25) / (self.count - 0.5)), 1)

    def y(self, value: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - min(1.0, max(0.0, value / self.top))), 1)


def panel(history: History, line: Line) -> Markup:
    """One condition's chart for the page; the table below it holds the same numbers."""
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, summary(history, line), _inside(history, line)
    )


def picture(history: History) -> str:
    """All panels as one SVG file that needs nothing beside it."""
    height = HEIGHT + _TITLE
    columns = min(COLUMNS, len(history.lines))
    rows = -(-len(history.lines) // COLUMNS)
    panels = []
    for number, line in enumerate(history.lines):
        x, y = WIDTH * (number % COLUMNS), height * (number // COLUMNS)
        title = Markup('<text x="{}" y="18" class="title">{}</text>').format(_LEFT, visible(f"UIS under {line.name}"))
        inner = Markup('<g transform="translate(0 {})">{}</g>').format(_TITLE, _inside(history, line))
        panels.append(Markup('<g transform="translate({} {})">{}{}</g>').format(x, y, title, inner))
    width, total = WIDTH * columns, height * rows
    told = "; ".join(summary(history, line) for line in history.lines)
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" role="img">'
            "<title>Unrequested use of memory by commit</title><desc>{}</desc><style>{}</style>{}</svg>\n"
        ).format(width, total, width, total, told, Markup(STYLE), Markup("").join(panels))
    )


def summary(history: History, line: Line) -> str:
    """The chart in one sentence."""
    points = line.points
    if not points:
        return f"UIS under {visible(line.name)}: no value"
    breaks = sum(bool(e.broken) for e in history.entries)
    told = f", with {breaks} change{'s' if breaks > 1 else ''} of the instrument" if breaks else ""
    return (
        f"UIS under {visible(line.name)} in {number_of(len(points), 'run')}: {points[0].value:.1f} in the first, "
        f"{points[-1].value:.1f} in the last{told}"
    )


def _inside(history: History, line: Line) -> Markup:
    tops = [x for each in history.lines for p in each.points for x in (p.value, p.upper)]
    frame = _Frame(len(history.entries), axis_of(tops, most=100.0).high)
    parts = [*_grid(frame), *_names(frame, history.entries)]
    for place, entry in enumerate(history.entries):
        if entry.broken:
            x = frame.x(place - 0.5)
            parts.append(
                Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="break"><title>{}</title></line>').format(
                    x, _TOP, x, HEIGHT - _BOTTOM, visible(f"{BREAK}: {'; '.join(entry.broken)}")
                )
            )
    for piece in line.pieces:
        if len(piece) > 1:
            places = " ".join(f"{frame.x(p.place)},{frame.y(p.value)}" for p in piece)
            parts.append(Markup('<polyline points="{}" class="line"/>').format(places))
        parts += [_mark(frame, p, history.entries[p.place]) for p in piece]
    return Markup("").join(parts)


def _grid(frame: _Frame) -> Iterable[Markup]:
    for share in (0.0, 0.5, 1.0):
        value = frame.top * share
        y = frame.y(value)
        yield Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="grid"/>').format(_LEFT, y, WIDTH - _RIGHT, y)
        yield Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(_LEFT - 5, round(y + 4, 1), f"{value:g}")


def _names(frame: _Frame, entries: Sequence[Entry]) -> Iterable[Markup]:
    last = len(entries) - 1
    chosen = sorted({round(last * k / (_LABELS - 1)) for k in range(_LABELS)}) if last else [0]
    for place in chosen:
        entry = entries[place]
        name = entry.revision["commit"][:7] or entry.name.removesuffix(".json")[-10:]
        for down, text in ((16, visible(name)), (29, entry.measured[:10])):
            yield Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                frame.x(place), HEIGHT - _BOTTOM + down, text
            )


def _mark(frame: _Frame, point: Point, entry: Entry) -> Markup:
    x = frame.x(point.place)
    told = f"{when(entry.measured)} {place_name(entry)}: {point.value:.1f}"
    whisker = Markup("")
    if point.lower is not None and point.upper is not None:
        told += f" [{point.lower:.1f}, {point.upper:.1f}]"
        whisker = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="whisker"/>').format(
            x, frame.y(point.lower), x, frame.y(point.upper)
        )
    size = 4 if frame.count <= 30 else 2.5
    return Markup('<g>{}<circle cx="{}" cy="{}" r="{}" class="dot"/><title>{}</title></g>').format(
        whisker, x, frame.y(point.value), size, visible(told)
    )
