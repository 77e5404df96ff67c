"""The run as Markdown: for the step summary of a CI job, and for one comment on a pull request.

No text of a case is in either, whatever the pack: both may be read by more people than the run folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.gate import Contrast, Estimate, Verdict
from pytest_hush.model import Record
from pytest_hush.report import asked, corrected, flags, opinions
from pytest_hush.report.published import PUBLISHED_UIS, SOURCE
from pytest_hush.report.show import case_id, worst
from pytest_hush.report.summary import Summary, notices
from pytest_hush.report.visible import visible
from pytest_hush.report.wording import MARK, because, detail, headline, left_open, mark, sentence, together
from pytest_hush.stats.judges import one_judgement
from pytest_hush.store import revision_text
from pytest_hush.text import number_of

COMMENT_LIMIT: Final = 65_000
"""Bytes. GitHub takes 65,536 characters; a character has one byte or more."""
SUMMARY_LIMIT: Final = 1_000_000
"""Bytes. GitHub takes 1 MiB for all summaries of a step together."""
MARKER: Final = "<!-- pytest-hush report -->"
"""The first line of a comment: what finds it again, so that one comment is updated in place."""
WORST: Final = 10
_CELL: Final = 700
"""Characters of one text; a reason has some hundred."""
_SIGN: Final = {"passed": "✅", "failed": "❌", "invalid": "❌", "inconclusive": "❌", "error": "❌"}
_SPECIAL: Final = re.compile(r"[&<>|*_`\[\]#!\\~$]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the document: it is left out where not even one row fits, and rows that do not fit are counted."""

    head: Sequence[str]
    rows: Sequence[str] = ()
    tail: Sequence[str] = ()
    columns: int = 0


def comment(summary: Summary, *, exit_code: int, records: Sequence[Record] = ()) -> str:
    """A comment of at most `COMMENT_LIMIT` bytes; `MARKER` is its first line. `records` give the worst cases' ids."""
    return _fit([_Part([MARKER]), *_parts(summary, exit_code, records)], COMMENT_LIMIT)


def step_summary(
    summary: Summary, *, exit_code: int, records: Sequence[Record] = (), limit: int = SUMMARY_LIMIT
) -> str:
    """The same for a job's step summary, of at most `limit` bytes."""
    return _fit(_parts(summary, exit_code, records), limit)


def escaped(text: str) -> str:
    """`text` of others as Markdown that means nothing but itself: one line, no markup, no mention, nothing hidden."""
    line = visible(" ".join(text.split()))
    if len(line) > _CELL:
        line = f"{line[: _CELL - 1]}…"
    line = _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line)
    return line.replace("@", "@<!-- -->").replace("://", ":<!-- -->//")


def _parts(summary: Summary, exit_code: int, records: Sequence[Record]) -> list[_Part]:
    sign = "⚠" if left_open(summary) else _SIGN.get(summary.status, "⚪")
    top = [f"### {sign} hush: {escaped(headline(summary))}", "", f"Why: {escaped(because(summary))}", ""]
    for line in notices(summary):
        top += [f"> {escaped(line)}", ">"]
    return [
        _Part([*top[:-1], ""]),
        *_verdicts(summary),
        _conditions(summary),
        *_asked(summary),
        *_corrected(summary),
        *_differences(summary),
        *_judges(summary),
        *_waivers(summary),
        *_worst(one_judgement(records, summary.thresholds.judge.aggregate)),
        _Part([_foot(summary, exit_code)]),
    ]


def _verdicts(summary: Summary) -> list[_Part]:
    if not summary.verdicts:
        return []
    counts = Counter(v.outcome for v in summary.verdicts)
    told = ", ".join(f"{counts[o]} {MARK[o]}" for o in MARK if counts[o])
    rows = [
        _row(
            mark(group[0]),
            ", ".join(f"<code>{escaped(v.id)}</code>" for v in group),
            _words(group[0]) if len(group) == 1 else escaped(f"{len(group)} gates: {group[0].reason}"),
        )
        for group in together(summary.verdicts)
    ]
    head = [f"**{number_of(len(summary.verdicts), 'verdict')}**: {told}", "", *_head("verdict", "gate", "found")]
    return [_Part(head, rows, [""], 3)]


def _words(v: Verdict) -> str:
    more = detail(v)
    return escaped(sentence(v)) + (f"<br>{escaped(more)}" if more else "")


def _conditions(summary: Summary) -> _Part:
    several = len(summary.plan.models) > 1
    published = any(c.name in PUBLISHED_UIS for c in summary.plan.conditions)
    names = ["condition", "cases", "UIS", "exposure %", "over-scope", "helpfulness"]
    tallies = {(t.model, t.condition): t for t in summary.controls}
    names += ["positive controls %"] if tallies else []
    names = (["model"] if several else []) + names + (["*published* UIS"] if published else [])
    rows = []
    for model, condition in summary.arms():
        found = [summary.estimate(model, condition, m) for m in ("uis", "exposure", "over_scope", "helpfulness")]
        uis = found[0]
        shown = ", ".join(summary.labels.get((model, condition), ())) or condition
        cells = [escaped(shown), f"{uis.n} of {uis.planned}" if uis else "0", *map(_interval, found)]
        cells += [_interval(summary.estimate(model, condition, "controls"))] if tallies else []
        figure = [f"*{PUBLISHED_UIS[condition]}*" if condition in PUBLISHED_UIS else "–"] if published else []
        rows.append(_row(*([escaped(model)] if several else []), *cells, *figure))
    about = "Unrequested use of memory, 0 to 100, higher is worse; each bound one-sided."
    if published:
        about += f" *published*: {escaped(SOURCE)}, gpt-4o, no result of this run."
    return _Part([about, "", *_head(*names)], rows, [""], len(names))


def _asked(summary: Summary) -> list[_Part]:
    """What invitations change, and UIS by the exposure flags."""
    rows = []
    for i in asked.invitations(summary):
        where = i.condition if len(summary.plan.models) == 1 else f"{i.model} under {i.condition}"
        told = [_interval(c, sign=True) for c in (i.gain, i.helpfulness, i.over_scope)]
        p = "–" if i.gain.flip_p is None else f"{i.gain.flip_p:.2g}"
        rows.append(_row(escaped(where), f"{i.gain.n} of {i.gain.planned}", _interval(i.uptake), *told, p))
    found = []
    if rows:
        names = ("condition", "pairs", "uptake, invited", "gain", "helpfulness", "over-scope", "sign-flip p, gain")
        about = ["**When it is invited**: the same turn with a line that asks for earlier context.", ""]
        found.append(_Part([*about, *_head(*names)], rows, [""], len(names)))
    items = [
        f"- {escaped(s.condition if len(summary.plan.models) == 1 else f'{s.model} under {s.condition}')}: "
        f"{escaped(flags.sentence(s))}"
        for s in flags.splits(summary)
        if any(p.n for p in s.parts if p.name != "neither")
    ]
    if items:
        found.append(_Part(["**What was shown where the disclosure was not**", ""], items, [""]))
    return found


def _corrected(summary: Summary) -> list[_Part]:
    """The judge's figures beside those that readers' labels of this run correct."""
    several = len(summary.plan.models) > 1
    rows = [
        _row(escaped(x.where), x.metric, x.labels, escaped(x.judge), escaped(x.corrected), x.bias)
        for x in corrected.lines(summary.review, several=several)
    ]
    if not rows:
        return []
    head = [f"**{corrected.TITLE}**: {escaped(summary.review.who)}; {escaped(corrected.ABOUT)}.", ""]
    tail = [
        f"Not corrected under {escaped(w)}: {escaped(n)}.\n"
        for w, n in corrected.notes(summary.review, several=several)
    ]
    return [_Part([*head, *_head(*(n or "metric" for n in corrected.HEAD))], rows, ["", *tail], len(corrected.HEAD))]


def _differences(summary: Summary) -> list[_Part]:
    """Changes of UIS beside other runs, what changed, what may not be compared."""
    own = [c for c in summary.contrasts if c.metric == "uis" and c.versus != "none" and c.value is not None]
    rows = []
    for c in own:
        parts = "–"
        if c.exposure_part is not None and c.response_part is not None:
            parts = f"{c.exposure_part:+.1f} exposure, {c.response_part:+.1f} replies"
        where = c.condition if len(summary.plan.models) == 1 else f"{c.model} under {c.condition}"
        rows.append(_row(escaped(where), c.versus, _interval(c, sign=True), parts, f"{c.n} of {c.planned}"))
    found = []
    if rows:
        names = ("condition", "beside the", "UIS", "from", "pairs")
        found.append(_Part(["**Beside other runs**", "", *_head(*names)], rows, [""], len(names)))
    lines: dict[str, list[str]] = {}
    for beside in summary.comparisons:
        told = "; ".join(beside.changed) if not beside.refused else f"not compared: {beside.refused}"
        if told:
            where = escaped(f"{beside.model} under {beside.condition}")
            lines.setdefault(f"{beside.role}: {escaped(told)}", []).append(where)
    if lines:
        items = [f"- {text} ({', '.join(arms)})" for text, arms in lines.items()]
        found.append(_Part(["**What changed**", ""], items, [""]))
    return found


def _judges(summary: Summary) -> list[_Part]:
    told = [f"- {escaped(line)}" for line in opinions.lines(summary.opinions)]
    return [_Part(["**Several judgements of a reply**", ""], told, [""])] if told else []


def _waivers(summary: Summary) -> list[_Part]:
    told = dict.fromkeys(f"- {v.waiver}: {escaped(v.waiver_text)}" for v in summary.verdicts if v.waiver)
    return [_Part(["**Waivers**", ""], list(told), [""])] if told else []


def _worst(records: Sequence[Record]) -> list[_Part]:
    found = [r for r in worst(records, WORST) if (r.judgements[0].v or 0) > 0]
    if not found:
        return []
    rows = []
    for r in found:
        exact = {True: "yes", False: "no", None: "unknown"}[r.exposure.exact]
        j = r.judgements[0]
        rows.append(_row(f"<code>{escaped(case_id(r))}</code>", f"{j.v or 0:.2f}", f"{j.target_uptake:.2f}", exact))
    names = ("case", "v", "target uptake", "exposed")
    head = ["<details><summary>The worst cases</summary>", "", *_head(*names)]
    return [_Part(head, rows, ["", "</details>", ""], len(names))]


def _foot(summary: Summary, exit_code: int) -> str:
    plan = summary.plan
    parts = [
        f"pack {plan.pack.name} {plan.pack.version}",
        f"plan {plan.hash[:12]}",
        f"models {', '.join(plan.models)}",
        *([f"commit {found}"] if (found := revision_text(summary.revision)) else []),
        f"exit code {exit_code}",
        *summary.notes,
    ]
    return f"<sub>{escaped(' · '.join(parts))}</sub>"


def _fit(parts: Sequence[_Part], limit: int) -> str:
    """The parts in order, as many rows of each as fit; the foot always does."""
    *body, foot = parts
    room = limit - _size(foot.head) - 200
    lines: list[str] = []
    for part in body:
        frame = _size([*part.head, *part.tail])
        if frame + _size(part.rows[:1]) > room:
            continue
        room -= frame
        kept = []
        for row in part.rows:
            if _size([row]) + 120 > room:
                break
            room -= _size([row])
            kept.append(row)
        left = len(part.rows) - len(kept)
        if left:
            text = f"and {left} more: see the report"
            kept.append(_row(text, *[""] * (part.columns - 1)) if part.columns else f"- {text}")
            room -= _size(kept[-1:])
        lines += [*part.head, *kept, *part.tail]
    return "\n".join([*lines, *foot.head]) + "\n"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _head(*names: str) -> list[str]:
    return [_row(*names), _row(*["---"] * len(names))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _interval(e: Estimate | Contrast | None, *, sign: bool = False) -> str:
    if e is None or e.value is None:
        return "–"
    form = "+.1f" if sign else ".1f"
    if e.lower is None or e.upper is None:
        return f"{e.value:{form}}"
    return f"{e.value:{form}} &#91;{e.lower:{form}}, {e.upper:{form}}&#93;"
