"""What several judges say of one another, in the sentences that terminal and Markdown print."""

from __future__ import annotations

from pytest_hush.gate.opinions import Direction, Draws, Opinions, SecondJudge

_TOLD = {
    "first": "the gates take {first} alone",
    "mean": "the gates take the mean of all",
    "median": "the gates take the median of all",
    "max": "the gates take the highest of all",
}


def lines(found: Opinions | None) -> list[str]:
    """One sentence on what counts, one a further judge, one a judge that was asked more than once."""
    if found is None:
        return []
    told = []
    if len(found.judges) > 1:
        told.append(f"Judges: {', '.join(found.judges)}; {counts(found)}.")
    return told + [beside(s) for s in found.seconds] + [scatter(d) for d in found.draws]


def counts(found: Opinions) -> str:
    """What the gates take of the judges' scores."""
    return _TOLD[found.aggregate].format(first=found.judges[0])


def beside(s: SecondJudge) -> str:
    """``b beside a: alpha 0.71 [0.60, 0.80], … direction kept under b: 3 of 3.``"""
    if not s.n:
        return f"{s.judge} beside {s.first}: no reply was scored by both."
    parts = [f"alpha {alpha(s)} on v", f"same level in {s.exact or 0:.0f} % of {s.n} replies"]
    parts.append(f"mean difference {s.difference or 0:+.1f} points")
    kept, of = s.kept
    if s.directions:
        parts.append(f"direction kept under {s.judge}: {kept} of {of}" if of else "no contrast has a direction")
    lost = [direction(d) for d in s.directions if d.kept is False]
    return f"{s.judge} beside {s.first}: {'; '.join(parts)}{f' (lost: {_few(lost)})' if lost else ''}."


def alpha(s: SecondJudge) -> str:
    """The figure with its interval, or why there is none."""
    if s.alpha is None:
        return "undefined (the scores do not vary)"
    if s.alpha_lower is None or s.alpha_upper is None:
        return f"{s.alpha:.2f}"
    return f"{s.alpha:.2f} [{s.alpha_lower:.2f}, {s.alpha_upper:.2f}]"


def direction(d: Direction) -> str:
    """``UIS of m under vector beside none: +3.1, here -0.4``."""
    first, second = (f"{x:+.1f}" if x is not None else "nothing scored" for x in (d.first, d.second))
    return f"{d.model} under {d.condition} beside {d.versus}: {first}, here {second}"


def scatter(d: Draws) -> str:
    """How far the draws of one judge lie apart."""
    return (
        f"Draws of {d.judge}: {d.draws} a reply, mean standard deviation of v {d.sd or 0:.1f} points over {d.n} "
        f"replies, at most {d.largest or 0:.1f}."
    )


def _few(texts: list[str]) -> str:
    return "; ".join((*texts[:3], *([f"and {len(texts) - 3} more"] if len(texts) > 3 else [])))
