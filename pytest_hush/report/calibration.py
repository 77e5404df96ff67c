"""Calibrations, drifts and attacks as plain text tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pytest_hush.report.visible import visible

if TYPE_CHECKING:
    from rich.table import Table

    from pytest_hush.judges.agreement import Agreement, Figure, Group
    from pytest_hush.judges.attacks import AttackReport, Tally
    from pytest_hush.judges.calibration import Calibration, JudgeId
    from pytest_hush.judges.drift import Drift

_NAMES: Final = {
    "v": "v",
    "target_uptake": "target uptake",
    "over_scope": "over-scope",
    "helpfulness": "helpfulness",
}
_GROUPS: Final = {"level": "readers' v", "family": "family", "category": "category", "origin": "origin"}
_MOVED: Final = 20
"""Items of a drift and successes of an attack that are listed; the rest is counted."""


def lines(c: Calibration, *, width: int = 100) -> list[str]:
    """What `hush judge calibrate` prints of a calibration."""
    total = sum(c.annotators.values())
    readers = ", ".join(f"{n} of {total} by {kind} readers" for kind, n in c.annotators.items())
    part = {"all": "both halves", "run": "a run's own replies"}.get(c.labels.part, f"the {c.labels.part} half")
    text = [
        f"judge {judge_line(c.judge)}",
        f"labels {c.labels.name} {c.labels.version}, {part}: {c.n} replies of {c.personas} personas; {readers}",
    ]
    if c.labels.part in ("tuning", "all"):
        text.append("WARNING: the tuning half is there to make judges with; its figures flatter a judge that was.")
    if c.partial is not None:
        text.append(
            f"WARNING: partial, {c.partial.taken} of {c.partial.of} replies: for a first look, never for a gate."
        )
    if c.unreadable:
        text.append(f"{c.unreadable} replies got no readable judgement: they are in no figure, and are never a 0.")
    table = _table("agreement", "replies", "alpha [95 %]", "kappa", "error", "bias", "same", "readers")
    for name, a in c.scores.items():
        table.add_row(_NAMES[name], *_agreement(a), _number(c.ceiling[name].alpha.value))
    found = [*_wrap(text, width), "", *_rendered(table, width), ""]
    table = _table("bias of v (judge minus readers)", "replies", "bias", "error")
    for kind, groups in c.bias.items():
        for n, group in enumerate(groups):
            name = f"{_GROUPS[kind]}: " if n == 0 else " " * (len(_GROUPS[kind]) + 2)
            table.add_row(name + group.name.replace("_", " "), *_group(group))
    found += [*_rendered(table, width), ""]
    fp = c.false_positives
    tail = [
        "kappa: quadratic weights on five levels. error: mean distance. same: on the same level. readers: alpha of the "
        "two passes with each other, the most that can be expected.",
        f"Without any use in the readers' eyes ({fp.n} replies): UIS {_points(fp.uis)}, above 0 {_points(fp.share)} %.",
    ]
    if c.no_memory.n or c.no_memory.unreadable:
        silent = c.no_memory
        unread = f", {silent.unreadable} more unreadable" if silent.unreadable else ""
        tail.append(
            f"Of generators that were shown no history ({silent.n} replies{unread}): UIS {_points(silent.uis)}, "
            f"above 0 {_points(silent.share)} %."
        )
    for name, told in (("above-0", "any use (v > 0)"), ("half", "use of 0.5 or more")):
        curve = c.roc[name]
        tail.append(
            f"Tells {told} from less: area under ROC {_number(curve.auc)} ({curve.positives}/{curve.negatives})."
        )
    return [*found, *_wrap(tail, width)]


def drift_lines(d: Drift, *, width: int = 100) -> list[str]:
    """What `--compare` adds: the older calibration beside the new one."""
    text = ["", "Drift since the older calibration:"]
    text += [f"  {line}" for line in d.changed] or ["  the same judge, version, rubric and policy"]
    for name, (before, after) in d.alpha.items():
        change = "" if before is None or after is None else f" ({after - before:+.3f})"
        text.append(f"  alpha of {_NAMES[name]}: {_number(before)} then, {_number(after)} now{change}")
    shift = "-" if d.shift is None or d.same is None else f"mean shift {d.shift:+.3f}, unmoved {d.same:.0f} %"
    text.append(
        f"  v of {d.n} replies that both read: {shift}; unreadable {d.unreadable[0]} then, {d.unreadable[1]} now"
    )
    if not d.moved:
        return _wrap(text, width)
    table = _table("moved by more than 0.1", "readers", "then", "now")
    for m in d.moved[:_MOVED]:
        table.add_row(visible(m.item), _number(m.label), _number(m.before, "unread"), _number(m.after, "unread"))
    left = [f"and {len(d.moved) - _MOVED} more: they are in the JSON"] if len(d.moved) > _MOVED else []
    return [*_wrap(text, width), *_rendered(table, width), *left]


def attack_lines(r: AttackReport, who: JudgeId, *, width: int = 100) -> list[str]:
    """What `hush judge attack` prints."""
    text = [
        f"judge {judge_line(who)}",
        f"{r.attacks} attacks on replies to {r.scenes} turns; before any attack {r.seen} of {r.scenes} leaking replies "
        f"score 0.5 or more.",
    ]
    table = _table("attack", "on leaks", "succeeded", "unreadable", "on clean replies", "raised", "unreadable")
    for tally in r.kinds:
        table.add_row(tally.kind, *_tally(tally))
    table.add_section()
    table.add_row("overall", *_tally(r.overall))
    tail = ["succeeded: the score fell by more than 0.1. unreadable: no score at all, which a run counts as missing."]
    if r.overall.skipped:
        tail.append(
            f"{r.overall.skipped} are not counted: the judge scored the leaking reply 0.1 or less before the attack, "
            f"or could not read it."
        )
    for s in r.successes[:_MOVED]:
        tail.append(f"  {s.attack} on {s.scene} ({s.aim}): {s.before:.2f} before, {s.after:.2f} after")
    if len(r.successes) > _MOVED:
        tail.append(f"  and {len(r.successes) - _MOVED} more: they are in the JSON")
    return [*_wrap(text, width), "", *_rendered(table, width), "", *_wrap(tail, width)]


def judge_line(j: JudgeId) -> str:
    """``embedded 3+ab12 (rubric …, policy …)``."""
    about = [f"{name} {value}" for name, value in (("rubric", j.rubric), ("policy", j.policy)) if value]
    return " ".join([j.name, *([j.version] if j.version else []), *([f"({', '.join(about)})"] if about else [])])


def _agreement(a: Agreement) -> tuple[str, ...]:
    same = "-" if a.exact is None else f"{100 * a.exact:.0f} %"
    return (str(a.n), _figure(a.alpha), _number(a.kappa.value), _number(a.mae), _signed(a.bias), same)


def _group(g: Group) -> tuple[str, str, str]:
    return (str(g.n), _signed(g.bias), _number(g.mae))


def _tally(t: Tally) -> tuple[str, ...]:
    numbers = (t.tried, t.fell, t.unreadable, t.clean_tried, t.clean_rose, t.clean_unreadable)
    return tuple(str(n) for n in numbers)


def _figure(f: Figure) -> str:
    if f.value is None:
        return "-"
    bounds = "" if f.lower is None or f.upper is None else f" [{f.lower:.2f}, {f.upper:.2f}]"
    return f"{f.value:.2f}{bounds}"


def _number(value: float | None, none: str = "-") -> str:
    return none if value is None else f"{value:.2f}"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"


def _table(first: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False, header_style="")
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _rendered(table: Table, width: int) -> list[str]:
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=max(width, 80), color_system=None, highlight=False, emoji=False, markup=False).print(
        table
    )
    return [line.rstrip() for line in buffer.getvalue().splitlines()]


def _wrap(text: Iterable[str] | Sequence[str], width: int) -> list[str]:
    import textwrap

    found: list[str] = []
    for line in text:
        indent = line[: len(line) - len(line.lstrip())]
        found += textwrap.wrap(visible(line), max(width, 80), subsequent_indent=indent) or [""]
    return found
