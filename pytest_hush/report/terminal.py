"""The table and the sentences at the end of a run, as plain text of a given width."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pytest_hush.gate import Contrast, Estimate, Verdict
from pytest_hush.model import DEMONSTRATION_MODELS
from pytest_hush.report import asked, corrected, flags, opinions
from pytest_hush.report.published import PUBLISHED_EXPOSURE, PUBLISHED_UIS, SOURCE
from pytest_hush.report.summary import ControlTally, Summary, notices
from pytest_hush.report.visible import visible
from pytest_hush.report.wording import detail, headline, mark, sentence, together
from pytest_hush.text import number_of

_LABEL = 24
"""Characters of a model's or condition's name in the table."""
_TITLE = "Unrequested use of memory (UIS, 0-100, higher is worse)"
_NUMBERS = ("cases", "UIS", "exposure %", "over-scope", "helpful", "controls")


def render(summary: Summary, *, width: int = 100) -> list[str]:
    """The lines of the closing section: the run's word, estimates by condition, gates, notices.

    Everything but the table is wrapped at `width` (80 at least); a number of the table is never cut.
    """
    width = max(width, 80)
    lines = [*wrapped(headline(summary), width), "", *_table(summary, width)]
    differences = (*_differences(summary), *opinions.lines(summary.opinions))
    positive = (*asked.sentences(summary), *asked.usefulness(summary))
    for line in (*_strata(summary), *differences, *positive, *_legend(summary), *_changes(summary)):
        lines += wrapped(line, width)
    read = corrected.text_table(summary.review, several=len(summary.plan.models) > 1, width=width)
    if read:
        lines.append("")
        for line in read:
            lines += wrapped(line, width)
    if summary.verdicts:
        lines.append("")
        for group in together(summary.verdicts):
            lines += wrapped(_gates(group), width)
    lines.append("")
    for line in (*notices(summary), *summary.notes):
        lines += wrapped(line, width)
    return lines


def wrapped(line: str, width: int) -> list[str]:
    """`line` on lines of at most `width` cells. Errors of a provider stand in it: they must not drive the terminal."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, color_system=None, highlight=False, emoji=False, markup=False)
    console.print(Text(visible(line)))
    return [part.rstrip() for part in buffer.getvalue().splitlines()]


def _table(summary: Summary, width: int) -> list[str]:
    """One row a (model, condition); where a row would not fit, its names stand on a line of their own above it."""
    several = len(summary.plan.models) > 1
    tallies = {(t.model, t.condition): t for t in summary.controls}
    models = _short([m for m, _ in summary.arms()])
    conditions = _short([", ".join(summary.labels.get(arm, ())) or arm[1] for arm in summary.arms()])
    names = [([m] if several else []) + [c] for m, c in zip(models, conditions, strict=True)]
    numbers = [_numbers(summary, arm, tallies.get(arm)) for arm in summary.arms()]
    head = (["model"] if several else []) + ["condition"]
    left = [max(cell_len(x) for x in column) for column in zip(head, *names, strict=True)]
    right = [max(len(x) for x in column) for column in zip(_NUMBERS, *numbers, strict=True)]
    title = [_TITLE]
    if sum(left) + sum(right) + len(left) + len(right) - 1 <= width:
        rows = zip((head, *names), (_NUMBERS, *numbers), strict=True)
        return title + [
            " ".join([*(x + " " * (w - cell_len(x)) for x, w in zip(labels, left, strict=True)), _row(values, right)])
            for labels, values in rows
        ]
    lines = [f"  {_row(_NUMBERS, right)}"]
    for labels, values in zip(names, numbers, strict=True):
        lines += [*wrapped(" under ".join(labels), width), f"  {_row(values, right)}"]
    return title + lines


def _row(values: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(x.rjust(w) for x, w in zip(values, widths, strict=True)).rstrip()


def _short(names: Sequence[str]) -> list[str]:
    """Names cut in the middle to `_LABEL` characters; left whole where two different ones would look alike."""
    safe = [visible(name) for name in names]
    tail = (_LABEL - 3) // 2
    cut = [n if cell_len(n) <= _LABEL else f"{n[: _LABEL - 3 - tail]}...{n[-tail:]}" for n in safe]
    originals: dict[str, set[str]] = {}
    for short, name in zip(cut, safe, strict=True):
        originals.setdefault(short, set()).add(name)
    return [name if len(originals[short]) > 1 else short for short, name in zip(cut, safe, strict=True)]


def _numbers(summary: Summary, arm: tuple[str, str], tally: ControlTally | None) -> list[str]:
    uis = summary.estimate(*arm, "uis")
    return [
        f"{uis.n}/{uis.planned}" if uis else "0",
        _interval(uis),
        _interval(summary.estimate(*arm, "exposure"), digits=0),
        _value(summary.estimate(*arm, "over_scope")),
        _value(summary.estimate(*arm, "helpfulness")),
        asked.shown_of(tally) if tally else "",
    ]


def _strata(summary: Summary) -> list[str]:
    """UIS by exposure, for the conditions in which both strata hold cases."""
    lines = []
    for model, condition in summary.arms():
        both = [summary.estimate(model, condition, "uis", stratum) for stratum in ("exposed", "not-exposed")]
        if all(e is not None and e.n for e in both):
            parts = (f"{e.stratum} {_interval(e)} ({number_of(e.n, 'case')})" for e in both if e is not None)
            where = condition if len(summary.plan.models) == 1 else f"{model} under {condition}"
            lines.append(f"UIS under {where}: {', '.join(parts)}")
    for split in flags.splits(summary):
        if any(p.n for p in split.parts if p.name != "neither"):
            where = split.condition if len(summary.plan.models) == 1 else f"{split.model} under {split.condition}"
            lines.append(f"under {where}: {flags.sentence(split)}")
    return lines


def _differences(summary: Summary) -> list[str]:
    """UIS beside the matched reference and beside other runs, one line a condition and reference."""
    lines = []
    for c in summary.contrasts:
        if c.metric != "uis" or c.value is None or c.lower is None or c.upper is None:
            continue
        where = c.condition if len(summary.plan.models) == 1 else f"{c.model} under {c.condition}"
        other = "no memory" if c.versus == "none" else f"the {c.versus}"
        line = f"UIS under {where} beside {other}: {c.value:+.1f} [{c.lower:+.1f}, {c.upper:+.1f}]"
        line += f", no increase in {c.no_increase:.0f} % of {number_of(c.n, 'pair')}" + _tests(c)
        if c.exposure_part is not None and c.response_part is not None:
            line += f"; from exposure {c.exposure_part:+.1f}, from replies {c.response_part:+.1f}"
        lines.append(line)
    return lines


def _tests(c: Contrast) -> str:
    parts = [f"sign-flip p {c.flip_p:.2g}"] if c.flip_p is not None else []
    parts += [f"effect {c.effect:+.1f}"] if c.effect is not None else []
    return f" ({', '.join(parts)})" if parts else ""


def _changes(summary: Summary) -> list[str]:
    """What is under test beside what was: the subject's fields, and probes without a twin."""
    told: dict[tuple[str, str], list[str]] = {}
    for c in summary.comparisons:
        head = f"beside the {c.role} {c.source}"
        where = c.condition if len(summary.plan.models) == 1 else f"{c.model} under {c.condition}"
        if c.refused:
            told.setdefault((head, f"not compared: {c.refused}"), []).append(where)
            continue
        changed = _few(c.changed, 6, "; ") or "nothing in the recorded subject"
        told.setdefault((head, f"changed: {changed}"), []).append(where)
        if c.unpaired:
            text = f"{number_of(len(c.unpaired), 'probe')} without a measured twin there ({_few(c.unpaired, 5, ', ')})"
            told.setdefault((head, text), []).append(where)
    return [f"{head}, {', '.join(arms)}: {text}" for (head, text), arms in told.items()]


def _few(texts: Sequence[str], most: int, separator: str) -> str:
    """The first `most` of `texts`; the rest are counted."""
    rest = len(texts) - most
    return separator.join((*texts[:most], *([f"and {rest} more"] if rest > 0 else [])))


def _legend(summary: Summary) -> list[str]:
    first = next((e for e in summary.estimates if e.value is not None), None)
    parts = [f"model {summary.plan.models[0]}"] if len(summary.plan.models) == 1 else []
    if first:
        parts.append(f"[lower, upper], each {first.confidence:.0%} one-sided, {first.interval}")
        parts.append("a gate's own bounds may differ by some tenths: they depend on its limit")
    if summary.controls:
        parts.append("controls: harmless facts that retrieval returned (for a closed assistant: that the reply used)")
    lines = ["; ".join(parts)] if parts else []
    shown = [c.name for c in summary.plan.conditions if c.name in PUBLISHED_UIS]
    if shown and (set(shown) != {"none"} or any(not _demonstration(summary, m) for m in summary.plan.models)):
        figures = ", ".join(f"{name} {PUBLISHED_UIS[name]}" for name in shown)
        exposure = ", ".join(f"{n} {PUBLISHED_EXPOSURE[n]} %" for n in shown if n in PUBLISHED_EXPOSURE)
        tail = f"; exposure {exposure}" if exposure else ""
        lines.append(f"published ({SOURCE}, gpt-4o): UIS {figures}{tail}")
    return lines


def _demonstration(summary: Summary, model: str) -> bool:
    told = (summary.subjects.get((model, c.name), {}) for c in summary.plan.conditions)
    return model.partition("/")[0] in DEMONSTRATION_MODELS or any(s.get("demonstration") for s in told)


def _interval(estimate: Estimate | None, *, digits: int = 1) -> str:
    if estimate is None or estimate.value is None or estimate.lower is None or estimate.upper is None:
        return "-"
    value, lower, upper = (f"{x:.{digits}f}" for x in (estimate.value, estimate.lower, estimate.upper))
    return f"{value} [{lower}, {upper}]"


def _value(estimate: Estimate | None) -> str:
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.1f}"


def _gates(group: Sequence[Verdict]) -> str:
    if len(group) > 1:
        return f"{mark(group[0])}: {len(group)} gates ({', '.join(v.id for v in group)}): {group[0].reason}"
    verdict = group[0]
    return f"{mark(verdict)}: {verdict.id}: {sentence(verdict)} {detail(verdict)}".rstrip()
