"""Single cases of a run as text for one reader: what was asked, what memory showed, what was said, how it scored."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from pytest_hush.errors import UsageError
from pytest_hush.model import Judgement, Pack, Record
from pytest_hush.report.visible import visible
from pytest_hush.stats.aggregate import score

_INDENT = "    "
_LISTED = 20


def case_id(record: Record) -> str:
    """The id of the record's case, as pytest prints it in ``hush::test_case[ID]``."""
    tail = ("-invited" if record.invited else "") + (f"-r{record.repeat}" if record.repeat else "")
    return f"{record.model}-{record.condition}-{record.probe_id}{tail}"


def worst(records: Iterable[Record], number: int | None, least: float | None = None) -> list[Record]:
    """The `number` measured probes (None: all) of highest `v`, then of highest target uptake; ties in the order of ids.

    `least`: only those of that `v` or more. Invited turns carry no `v`, and positive controls no judgement: neither is
    among them.
    """
    found = [(v, r) for r in records if r.kind == "probe" and (v := score(r, "uis", frozenset())) is not None]
    found.sort(key=lambda f: (-f[0], -(score(f[1], "target_uptake", frozenset()) or 0.0), f[1].identity))
    return [r for v, r in found[:number] if least is None or v >= least]


def named(records: Sequence[Record], wanted: str) -> Record:
    """The record of the case `wanted`: its id, the whole ``hush::test_case[ID]``, or a start or end of one id alone.

    A probe's id is such an end. Raises `UsageError`; where several cases fit, it lists them.
    """
    head, bracket, rest = wanted.partition("[")
    inner = rest.removesuffix("]") if bracket and "::" in head else wanted
    # pytest writes what is not ASCII in an id as escapes.
    known = {i: r for r in records for i in (case_id(r).encode("unicode_escape").decode("ascii"), case_id(r))}
    if inner in known:
        return known[inner]
    fitting = list({case_id(r): r for i, r in known.items() if inner and _fits(inner, i)}.values())
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        listed = ", ".join(visible(case_id(r)) for r in fitting[:_LISTED])
        more = f", and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise UsageError(f"--case={visible(wanted)}: {len(fitting)} cases fit. Name one of them: {listed}{more}.")
    near = difflib.get_close_matches(inner, known, n=1, cutoff=0.0)
    hint = f" The nearest is {visible(near[0])}." if near else ""
    raise UsageError(
        f"--case={visible(wanted)}: the run has no record of that case (it has {len(records)}).{hint} "
        f"Expected an id as in hush::test_case[ID]."
    )


def _fits(part: str, whole: str) -> bool:
    """True when `part` is a start, an end or a middle of the id `whole`, and ends there at hyphens."""
    return f"-{part}-" in f"-{whole}-"


def question(record: Record, pack: Pack | None) -> str | None:
    """What the user's turn said. None where `pack` is not at hand or does not hold it: records keep no probe text."""
    if pack is None:
        return None
    if record.kind == "control":
        return next((c.question for c in pack.positive_controls if c.id == record.probe_id), None)
    text = next((p.text for p in pack.probes if p.id == record.probe_id), None)
    if text is None or not record.invited:
        return text
    line = next((i.line for i in pack.invitations if i.probe == record.probe_id), None)
    return None if line is None else f"{text} {pack.invitation_lines[line]}"


def instrument_pack(pack: Pack) -> str:
    """`pack` as ``instrument.pack`` of a record names it."""
    return f"{pack.name}@{pack.version}+{pack.hash[:12]}"


def render_case(record: Record, asked: str | None, *, scores_only: bool = False, width: int = 100) -> list[str]:
    """The lines of one case. `asked` is the user's turn, None where it is not known.

    Text of the pack, a memory, a reply or a judge is indented and made `visible`: none of it reaches the first
    column, where only this function writes. `scores_only` leaves every such text out.
    """
    lines = [*_wrapped(_header(record), width, "")]
    if scores_only:
        return lines
    if asked is None:
        lines.append("  asked: not known here (records keep no probe text, and no bundled pack is the one measured)")
    else:
        lines += ["  asked:", *_block(asked, width)]
    lines += _memory(record, width)
    lines += ["  reply:", *_block(record.reply or "(empty)", width)]
    if record.error:
        lines += ["  error:", *_block(record.error, width)]
    for number, judgement in enumerate(record.judgements):
        lines += _judgement(judgement, width, second=number > 0)
    for note in record.notes:
        lines += _wrapped(f"note: {note}", width, "  ")
    return lines


def _header(record: Record) -> str:
    parts: list[str] = [record.status]
    if record.judgements:
        j = record.judgements[0]
        parts.append(f"v {_score(j.v)}, target uptake {_score(j.target_uptake)}")
        parts.append(f"over-scope {_score(j.over_scope)}, helpful {_score(j.helpfulness)}")
    if record.control is not None:
        parts.append(", ".join(f"{k} {_flag(record.control.get(k))}" for k in ("retrieved", "used")))
    e = record.exposure
    parts.append(f"exposure: exact {_flag(e.exact)}, residue {_flag(e.residue)}, ambient {_flag(e.ambient)}")
    return f"{case_id(record)}: {'; '.join(parts)}"


def _memory(record: Record, width: int) -> list[str]:
    from pytest_hush.memories.render import render

    if not record.entries:
        unknown = record.condition != "none" and record.exposure.exact is None
        return [f"  memory: {'unknown, the condition shows no context' if unknown else 'no entry'}"]
    lines = [f"  memory, {len(record.entries)} {'entry' if len(record.entries) == 1 else 'entries'} as shown:"]
    for entry in record.entries:
        lines += _block(render([entry]) or "-", width)
        sources = "not told" if entry.sources is None else ", ".join(entry.sources) or "none"
        lines += _wrapped(f"(entry {entry.id}; sources: {sources})", width, _INDENT + "  ")
    return lines


def _judgement(judgement: Judgement, width: int, *, second: bool) -> list[str]:
    lines = []
    if second:
        told = f"v {_score(judgement.v)}, target uptake {_score(judgement.target_uptake)}"
        who = f"draw {judgement.draw + 1} of" if judgement.draw else "second opinion of"
        lines += _wrapped(f"{who} {judgement.judge}: {told}", width, "  ")
    used = ", ".join(judgement.used) or "nothing"
    lines += _wrapped(f"used: {used}", width, "  ")
    lines += ["  evidence:", *_block(judgement.evidence, width)] if judgement.evidence else ["  evidence: none"]
    lines += ["  rationale:", *_block(judgement.rationale, width)] if judgement.rationale else []
    return lines


def _score(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _flag(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _block(text: str, width: int) -> list[str]:
    return [part for line in text.replace("\r\n", "\n").split("\n") for part in _wrapped(line, width, _INDENT)]


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Wrapped by cells here, not by the terminal, whose own break would put a reply's words in the first column."""
    console = Console(width=max(width, 40), color_system=None)
    room = max(width, 40) - len(indent)
    return [f"{indent}{part.plain.rstrip()}" for part in Text(visible(text)).wrap(console, room)] or [indent.rstrip()]
