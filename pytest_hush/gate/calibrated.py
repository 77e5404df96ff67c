"""What is known of a run's judge: the calibrations that fit it, and whether they are what a gate file asks for.

A calibration fits where judge, version, rubric, policy, embeddings and the kind of digest are those that measured the
run. One that was
made of a part of the items, or on the half that judges are tuned on, is no evidence and is told apart. Imports numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from pytest_hush.gate.fits import Calibrated, Fit
from pytest_hush.judges.calibration import Calibration, JudgeId
from pytest_hush.judges.calibration_file import bundled_calibrations, default_path, read_calibration
from pytest_hush.run.provenance import DIGEST, judge_fields
from pytest_hush.stats.judges import JOIN
from pytest_hush.thresholds import Thresholds

GATED_PARTS: Final = frozenset({"held-out", "run"})
"""Parts of labels that no tuning reads."""
_FIELDS: Final = {
    "version": "judge_version",
    "rubric": "rubric",
    "policy": "policy",
    "embedded_build": "embedded_build",
}
"""Fields of a judge and their names in an instrument."""


@dataclass(frozen=True, slots=True)
class Source:
    """A calibration and where it was read. `bundled`: it ships with the package, nobody named it."""

    path: str
    calibration: Calibration
    bundled: bool = False


def read_sources(paths: Iterable[Path]) -> tuple[Source, ...]:
    """The calibrations in `paths`, and those that ship with the bundled labelled sets. Raises `LabelError`."""
    named = [Source(str(path), read_calibration(path)) for path in paths]
    return (*named, *(Source(str(path), c, bundled=True) for path, c in bundled_calibrations()))


def calibrated(instrument: Mapping[str, Any], sources: Sequence[Source], thresholds: Thresholds) -> Calibrated:
    """What `sources` say of the judge that `instrument` names, and whether it is what `thresholds` ask for.

    Of several judges (joined with ``+``), each needs a calibration of its own; under ``aggregate = "first"`` only the
    first one's is held against ``min_alpha``. A calibration that was named goes before a bundled one.
    """
    joined = _of(instrument, "judge")
    # A name may hold the sign that joins names.
    names = [joined] if any(s.calibration.judge.name == joined for s in sources) else joined.split(JOIN)
    chosen = _fitting(instrument, names, [s for s in sources if _usable(s.calibration)])
    fits = tuple(_fit(s) for s in chosen if s is not None)
    rules = thresholds.judge
    if rules.min_alpha is None:
        return Calibrated(fits, warning=_warning(fits, thresholds))
    count = 1 if rules.aggregate == "first" else len(names)
    faults = [_fault(n, s, instrument, sources, thresholds) for n, s in list(zip(names, chosen, strict=True))[:count]]
    return Calibrated(fits, next((f for f in faults if f), ""), _warning(fits, thresholds))


def _usable(c: Calibration) -> bool:
    return c.partial is None and c.labels.part in GATED_PARTS


def _fitting(instrument: Mapping[str, Any], names: Sequence[str], usable: Sequence[Source]) -> list[Source | None]:
    """The calibration of each judge of `names`, None where there is none.

    An instrument joins the fields of its judges: what is looked for is a choice of calibrations whose joined fields are
    its own. Where some judge has none, those stand whose fields occur in it.
    """
    given = [sorted((s for s in usable if s.calibration.judge.name == n), key=_preference) for n in names]
    for choice in product(*given):
        if _are_of([s.calibration.judge for s in choice], instrument):
            return list(choice)
    if len(names) == 1:
        return [None]
    return [next((s for s in found if _occurs(s.calibration.judge, instrument)), None) for found in given]


def _are_of(judges: Sequence[JudgeId], instrument: Mapping[str, Any]) -> bool:
    if any(j.digest != _of(instrument, DIGEST) for j in judges):
        return False
    fields = judge_fields(judges, _of(instrument, "policy"))
    return all(fields[n] == _of(instrument, n) for n in fields if n != "embedded_build") and all(
        j.embedded_build == _of(instrument, "embedded_build") for j in judges if j.embedded_build
    )


def _occurs(judge: JudgeId, instrument: Mapping[str, Any]) -> bool:
    parts = all(_within(getattr(judge, f), _of(instrument, name)) for f, name in _FIELDS.items())
    return parts and judge.digest == _of(instrument, DIGEST)


def _within(part: str, joined: str) -> bool:
    return not part or f"+{part}+" in f"+{joined}+"


def _of(instrument: Mapping[str, Any], field: str) -> str:
    return str(instrument.get(field, "") or "")


def _preference(s: Source) -> tuple[bool, int, str, str]:
    """What a person named first, then the labels of people, then the newest."""
    made = s.calibration.made
    return (s.bundled, -s.calibration.annotators.get("human", 0), "".join(chr(255 - ord(c)) for c in made), s.path)


def _fit(s: Source) -> Fit:
    c = s.calibration
    return Fit(
        judge=c.judge.name,
        labels=c.labels.name,
        labels_version=c.labels.version,
        labels_hash=c.labels.hash,
        part=c.labels.part,
        n=c.n,
        unreadable=c.unreadable,
        alpha=c.alpha.value,
        lower=c.alpha.lower,
        upper=c.alpha.upper,
        annotators={str(kind): n for kind, n in c.annotators.items()},
        made=c.made,
        source=Path(s.path).name if s.bundled else s.path,
    )


def _fault(
    name: str, found: Source | None, instrument: Mapping[str, Any], sources: Sequence[Source], thresholds: Thresholds
) -> str:
    """Why the judge `name` is not calibrated as the file asks, with what to run; '' when it is."""
    least = thresholds.judge.min_alpha
    assert least is not None
    asks = f"{thresholds.label} asks for a calibrated judge (min_alpha = {least:g})"
    if found is None:
        return f"{asks}, and {_absent(name, instrument, sources)} {_command(name, instrument)}"
    c = found.calibration
    if c.unreadable > thresholds.max_missing * c.n:
        return (
            f"{asks}, and judge {name} could not read {c.unreadable} of {c.n} replies of {c.labels.name}: more than "
            f"max_missing = {thresholds.max_missing:g}, so that its alpha says little. {_other()}"
        )
    alpha = c.alpha.value
    if alpha is None or alpha < least:
        told = "is not defined" if alpha is None else f"is {alpha:.3f}"
        return f"{asks}, and alpha of judge {name} on {c.labels.name} {told}. {_other()}"
    return ""


def _absent(name: str, instrument: Mapping[str, Any], sources: Sequence[Source]) -> str:
    """The nearest calibration of this judge, and why it does not count."""
    own = [s for s in sources if s.calibration.judge.name == name]
    if not own:
        return f"no calibration of judge {name} was given (--hush-calibration)."
    nearest = sorted(own, key=_preference)[0]
    c = nearest.calibration
    for field, name in _FIELDS.items():
        here, there = _of(instrument, name), getattr(c.judge, field)
        if not _within(there, here):
            return f"the calibration {nearest.path} is stale: {name} {there!r} there, {here!r} in this run."
    if c.judge.digest != _of(instrument, DIGEST):
        there, here = (d or "background facts alone" for d in (c.judge.digest, _of(instrument, DIGEST)))
        return f"the calibration {nearest.path} is stale: the judge was told of {there} there, of {here} in this run."
    if c.partial is not None:
        return f"the calibration {nearest.path} is partial: {c.partial.taken} of {c.partial.of} items were judged."
    if c.labels.part not in GATED_PARTS:
        return f"the calibration {nearest.path} is of the part {c.labels.part!r}; the held-out half is asked for."
    return f"the calibration {nearest.path} does not fit the judges of this run together."


def _command(name: str, instrument: Mapping[str, Any]) -> str:
    spec = name if name == "embedded" or "/" in name or name.startswith("python:") else "SPEC"
    if _of(instrument, DIGEST):
        return (
            f"No labelled set has this digest (+shared): label a sample of such a run (hush review export RUN, then "
            f"import). Run: hush judge calibrate RUN --judge={spec} --out=FILE, then name it: --hush-calibration=FILE"
        )
    file = default_path(name, "labels-en-1").as_posix()
    return f"Run: hush judge calibrate labels-en-1 --judge={spec}, then name its file: --hush-calibration={file}"


def _other() -> str:
    return "Take a judge that agrees better with the readers (hush judge calibrate labels-en-1 --judge=SPEC)."


def _warning(fits: Sequence[Fit], thresholds: Thresholds) -> str:
    if thresholds.judge.annotators != "human":
        return ""
    weak = next((f for f in fits if f.readers != "people"), None)
    if fits and weak is None:
        return ""
    what = f"calibrated against {weak.readers}" if weak else "not calibrated"
    return (
        f"{what}: {thresholds.label} asks for a judge that was calibrated against people (annotators = 'human'). Label "
        f"a sample of the run (hush review export), then calibrate on it."
    )
