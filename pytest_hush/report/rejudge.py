"""A finished run judged once more: by another gate file, in another mode, beside another run. No call is made."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pytest_hush.errors import UsageError
from pytest_hush.gate import (
    Reference,
    check,
    comparisons,
    contrasts,
    estimates,
    exit_blocked,
    judge_in_looks,
    no_verdict,
    opinions,
    sensitive_of,
)
from pytest_hush.gate.calibrated import calibrated, read_sources
from pytest_hush.gate.corrected import reviewed
from pytest_hush.gate.fits import withheld
from pytest_hush.gate.invited import invitation_contrasts
from pytest_hush.gate.looks import SECOND_SHARE, at_look
from pytest_hush.gate.names import unknown_names
from pytest_hush.gate.reading import read_references
from pytest_hush.judges.policy import is_for
from pytest_hush.model import Record
from pytest_hush.plan import identity
from pytest_hush.report import redact
from pytest_hush.report.summary import Summary, summarise
from pytest_hush.stats.judges import one_judgement
from pytest_hush.store import RunFolder, revision_from
from pytest_hush.store.labels import usable_labels
from pytest_hush.store.records import Warn
from pytest_hush.thresholds import Mode, load_thresholds


@dataclass(frozen=True, slots=True)
class Rejudged:
    """A run judged once more: its summary, whether it fails, and what both were made of.

    It fails (`blocked`) when a verdict blocks, or when no gate that blocks was judged and that was not allowed.
    `mode_from` says in which mode it was judged, and where that was read. `records` have their
    texts; `redacted` says why no report may show them, or is empty.
    """

    summary: Summary
    blocked: bool
    records: Sequence[Record]
    references: Mapping[str, Reference]
    redacted: str
    mode_from: str


def rejudge_run(
    folder: RunFolder,
    thresholds_source: str,
    *,
    mode: Mode | None,
    references: Mapping[str, Path | None],
    today: datetime.date,
    warn: Warn,
    redacted: bool = False,
    calibrations: Sequence[Path] = (),
    allow_no_verdict: bool = False,
) -> Rejudged:
    """`folder`'s run under another gate file. `redacted` keeps texts out of it, as a private pack always does.

    Without a `mode` it is judged in the one that it was run in.
    `calibrations` are files of the run's judges, beside those that ship with the package. Raises `UsageError`,
    `StoreError` and `ThresholdError`: no record, no plan, a file of another policy, gates that this plan can never
    pass, a required reference that was not given, a calibration that cannot be read, a manifest of another mode.
    """
    mode, mode_from = _mode(folder, mode)
    plan = folder.plan()
    thresholds = load_thresholds(thresholds_source)
    planned = {identity(c) for c in plan.cases}
    records = [r for r in folder.records(warn=warn) if r.identity in planned]
    if not records:
        raise UsageError(f"{folder.path}: the run holds no record: nothing was measured. Run it first, or finish it.")
    policies = {str(r.instrument.get("policy", "")) for r in records}
    if "" in policies and mode == "release":
        raise UsageError(
            f"{folder.path}: the run's judge names no policy, so nothing shows that it measures {thresholds.policy!r}, "
            f"that of the gate file; mode release refuses such a run. Measure it again with a judge that has an "
            f"attribute `policy`, or with --hush-policy; or judge it with --mode=pr."
        )
    policies -= {""}
    if not all(is_for(thresholds.policy, policy) for policy in policies):
        raise UsageError(
            f"--thresholds={thresholds_source}: the file is for the policy {thresholds.policy!r}, the run was judged "
            f"by {', '.join(sorted(policies))}. Name a file of that policy."
        )
    for unknown in unknown_names(thresholds, plan):
        # The run may have had a conftest.py that knows the name: this command reads none.
        warn(unknown)
    check(at_look(thresholds, SECOND_SHARE) if plan.first_look else thresholds, plan)
    others = read_references(references, thresholds, plan)
    known = calibrated(records[0].instrument, read_sources(calibrations), thresholds)
    # An error may quote a text, and a verdict's reason quotes errors; scores and flags stay as they are.
    secret = redact.why(private=plan.pack.private, asked=redacted)
    read = usable_labels(folder.path, records)
    whole, records = records, redact.redacted(records, secret)
    aggregate, sensitive = thresholds.judge.aggregate, sensitive_of(folder.manifest)
    taken: dict[str, Any] = {"aggregate": aggregate, "sensitive": sensitive}
    scored = one_judgement(records, aggregate)
    verdicts, part = judge_in_looks(
        records, plan, thresholds, mode=mode, references=others, today=today, sensitive=sensitive, labels=read[0]
    )
    verdicts = withheld(verdicts, known, several=len(plan.models) > 1)
    summary = summarise(
        scored,
        plan,
        thresholds,
        estimates(scored, part, confidence=thresholds.confidence, **taken),
        verdicts,
        mode=mode,
        screening_judge=_screening(folder.manifest, aggregate),
        run_folder=str(folder.path),
        contrasts=[
            *contrasts(scored, part, others, confidence=thresholds.confidence, **taken),
            *invitation_contrasts(scored, part, confidence=thresholds.confidence),
        ],
        comparisons=comparisons(records, part, others),
        opinions=opinions(records, part, others, aggregate),
        revision=revision_from(folder.manifest.get("revision")),
        calls=folder.sessions(),
        calibrated=known,
        review=reviewed(read, records, part, thresholds),
    )
    unjudged = "" if allow_no_verdict else no_verdict(verdicts, lift="--allow-no-verdict")
    if unjudged:
        summary = replace(summary, status="skipped", reason=unjudged)
    return Rejudged(summary, exit_blocked(verdicts) or bool(unjudged), whole, others, secret, mode_from)


def _mode(folder: RunFolder, asked: Mode | None) -> tuple[Mode, str]:
    """The mode to judge in, and a line that says where it is from: what was asked for, else what the run had."""
    kept = folder.manifest.get("mode")
    if asked is not None:
        other = f"; the run itself was in mode {kept}" if kept in get_args(Mode) and kept != asked else ""
        return asked, f"Judged in mode {asked}, from --mode{other}."
    for mode in get_args(Mode):
        if kept == mode:
            return mode, f"Judged in mode {mode}, from the run's manifest."
    if kept is not None:
        raise UsageError(
            f"{folder.path}: its manifest names the mode {kept!r}; expected {' or '.join(get_args(Mode))}. Name the "
            f"mode to judge in with --mode."
        )
    return "pr", "Judged in mode pr, the default: the run's manifest names none."


def _screening(manifest: Mapping[str, Any], aggregate: str) -> bool:
    """True when a judge whose scores count only screens: the first one, or of several that count any."""
    names = () if aggregate == "first" else ("screening_judges",)
    return any(bool(manifest.get(name)) for name in ("screening_judge", *names))
