"""What a gate file can ask of a judge, and what becomes of verdicts where it is not there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.errors import LabelError
from pytest_hush.gate import judge
from pytest_hush.gate.calibrated import Source, calibrated, read_sources
from pytest_hush.gate.fits import Calibrated, withheld
from pytest_hush.judges.calibration import JudgeId, Limit
from pytest_hush.judges.calibration_file import read_calibration
from pytest_hush.report.summary import notices
from pytest_hush.thresholds import JudgeRules, Thresholds, load_thresholds
from tests.unit.factories import make_plan, make_records
from tests.unit.gate.making import TODAY
from tests.unit.judges.calibrating import GOOD, POOR, calibration, write
from tests.unit.report.making import summary_of

JUDGE = JudgeId("embedded", "3+ab", "conservative-1@12", "conservative-1@34", "minilm@1")
OTHER = JudgeId("openai/gpt-4o", "1+cd", "conservative-1@12", "conservative-1@34", "")
INSTRUMENT = {
    "pack": "starter@1+ab",
    "judge": "embedded",
    "judge_version": "3+ab",
    "rubric": "conservative-1@12",
    "policy": "conservative-1@34",
    "embedded_build": "minilm@1",
    "schema": 1,
}
BOTH = INSTRUMENT | {"judge": "embedded+openai/gpt-4o", "judge_version": "3+ab+1+cd"}


def asking(min_alpha: float | None = 0.667, annotators: str = "any", aggregate: str = "first") -> Thresholds:
    rules = JudgeRules(aggregate=aggregate, min_alpha=min_alpha, annotators=annotators)  # type: ignore[arg-type]
    return replace(load_thresholds("demo"), judge=rules)


def source(made: object, path: str = "c.json", bundled: bool = False) -> Source:
    return Source(path, made, bundled)  # type: ignore[arg-type]


def test_a_fitting_calibration_of_enough_alpha_lets_gates_be_judged() -> None:
    known = calibrated(INSTRUMENT, [source(calibration(JUDGE))], asking())
    assert (known.invalid, known.warning) == ("", "")
    assert known.lines() == [
        "judge embedded: alpha 1.00 [1.00, 1.00] on labels-test, calibrated against model readers."
    ]


def test_the_line_stands_where_no_gate_asks() -> None:
    known = calibrated(INSTRUMENT, [source(calibration(JUDGE, POOR, human=20))], asking(None))
    assert known.invalid == ""
    assert known.by_people
    assert known.lines()[0].endswith("on labels-test, calibrated against people.")
    assert calibrated(INSTRUMENT, [], asking(None)) == Calibrated()
    mixed = calibrated(INSTRUMENT, [source(calibration(JUDGE, human=5))], asking(None))
    assert "people on 5 of 20 items, else model readers" in mixed.lines()[0]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (None, "no calibration of judge embedded was given (--hush-calibration)"),
        (calibration(OTHER), "no calibration of judge embedded was given"),
        (
            calibration(replace(JUDGE, version="2+ab")),
            "c.json is stale: judge_version '2+ab' there, '3+ab' in this run",
        ),
        (calibration(replace(JUDGE, rubric="r@9")), "stale: rubric 'r@9' there, 'conservative-1@12' in this run"),
        (calibration(replace(JUDGE, policy="p@9")), "stale: policy 'p@9' there"),
        (calibration(replace(JUDGE, embedded_build="x@2")), "stale: embedded_build 'x@2' there, 'minilm@1' in this"),
        (calibration(JUDGE, partial=Limit(20, 90)), "c.json is partial: 20 of 90 items were judged"),
        (calibration(JUDGE, part="tuning"), "is of the part 'tuning'; the held-out half is asked for"),
        (calibration(JUDGE, part="all"), "is of the part 'all'"),
        (calibration(JUDGE, POOR), "alpha of judge embedded on labels-test is -0."),
        (calibration(JUDGE, [(0.5, 0.5)] * 20), "alpha of judge embedded on labels-test is not defined"),
        (calibration(JUDGE, GOOD[:18] + [(1.0, None)] * 2), "could not read 2 of 20 replies of labels-test"),
    ],
)
def test_what_does_not_count_makes_every_gate_invalid_with_what_to_run(made: object, text: str) -> None:
    known = calibrated(INSTRUMENT, [source(made)] if made else [], asking())
    assert text in known.invalid
    assert "demo@2026.1 asks for a calibrated judge (min_alpha = 0.667)" in known.invalid
    assert "hush judge calibrate labels-en-1 --judge=" in known.invalid


SHARED = INSTRUMENT | {"digest": "facts and disclosures"}


@pytest.mark.parametrize("several", [False, True])
def test_a_calibration_on_the_other_digest_is_stale(several: bool) -> None:
    run = SHARED | {n: BOTH[n] for n in ("judge", "judge_version")} if several else SHARED
    both = [source(calibration(j), f"{j.name[0]}.json") for j in (JUDGE, OTHER)]
    known = calibrated(run, both, asking())
    assert known.fits == ()
    assert (
        "the calibration e.json is stale: the judge was told of background facts alone there, of facts and disclosures "
        "in this run. No labelled set has this digest (+shared): label a sample of such a run (hush review export RUN, "
        "then import). Run: hush judge calibrate RUN --judge=embedded --out=FILE"
    ) in known.invalid
    long = [source(calibration(replace(j, digest="facts and disclosures"), part="run")) for j in (JUDGE, OTHER)]
    assert calibrated(run, long, asking()).invalid == ""
    told = calibrated(INSTRUMENT, long[:1], asking()).invalid
    assert "the judge was told of facts and disclosures there, of background facts alone in this run." in told
    assert "Run: hush judge calibrate labels-en-1 --judge=embedded" in told


def test_the_command_is_the_exact_one() -> None:
    known = calibrated(INSTRUMENT | {"judge": "openai/gpt-4o"}, [], asking())
    assert known.invalid.endswith(
        "Run: hush judge calibrate labels-en-1 --judge=openai/gpt-4o, then name its file: "
        "--hush-calibration=.hush/calibrations/openai-gpt-4o-labels-en-1.json"
    )


def test_a_named_calibration_goes_before_a_bundled_one_and_people_before_models() -> None:
    bundled = source(calibration(JUDGE, labels="labels-en-1"), "/x/embedded.json", bundled=True)
    named = source(calibration(JUDGE, POOR), "own.json")
    assert "labels-test" in calibrated(INSTRUMENT, [bundled, named], asking()).invalid
    assert calibrated(INSTRUMENT, [bundled], asking()).fits[0].source == "embedded.json"
    by_people = source(calibration(JUDGE, human=20, made="2026-01-01"), "people.json")
    newer = source(calibration(JUDGE, made="2026-05-01"), "newer.json")
    assert calibrated(INSTRUMENT, [newer, by_people], asking()).fits[0].source == "people.json"
    assert calibrated(INSTRUMENT, [source(calibration(JUDGE), "a.json"), newer], asking()).fits[0].source == "a.json"


def test_labels_of_a_run_count_as_held_out() -> None:
    assert calibrated(INSTRUMENT, [source(calibration(JUDGE, part="run"))], asking()).invalid == ""


@pytest.mark.parametrize(("human", "warns"), [(0, True), (19, True), (20, False)])
def test_labels_of_models_warn_where_people_are_asked_for(human: int, warns: bool) -> None:
    known = calibrated(INSTRUMENT, [source(calibration(JUDGE, human=human))], asking(annotators="human"))
    assert known.invalid == ""
    assert bool(known.warning) is warns
    if warns:
        assert known.lines()[1].startswith("WARNING: calibrated against ")
        assert "asks for a judge that was calibrated against people" in known.warning
    alone = calibrated(INSTRUMENT, [], asking(None, annotators="human"))
    assert alone.lines()[0].startswith("WARNING: not calibrated")


def test_of_several_judges_each_is_looked_for() -> None:
    both = [source(calibration(JUDGE), "e.json"), source(calibration(OTHER, POOR), "g.json")]
    first = calibrated(BOTH, both, asking())
    assert (first.invalid, [f.judge for f in first.fits]) == ("", ["embedded", "openai/gpt-4o"])
    assert "alpha of judge openai/gpt-4o" in calibrated(BOTH, both, asking(aggregate="mean")).invalid
    one = calibrated(BOTH, both[:1], asking())
    assert (one.invalid, [f.judge for f in one.fits]) == ("", ["embedded"])
    assert "no calibration of judge openai/gpt-4o" in calibrated(BOTH, both[:1], asking(aggregate="max")).invalid
    stale = [source(calibration(replace(JUDGE, version="2"))), both[1]]
    assert "stale: judge_version '2' there, '3+ab+1+cd' in this run" in calibrated(BOTH, stale, asking()).invalid


def test_every_verdict_but_a_skipped_one_is_withheld() -> None:
    plan = make_plan(conditions="vector,oracle")
    verdicts = judge(make_records(plan), plan, load_thresholds("demo"), mode="pr", today=TODAY)
    assert "pass" in {v.outcome for v in verdicts}
    known = calibrated(INSTRUMENT, [], asking())
    kept = withheld(verdicts, known, several=False)
    for before, after in zip(verdicts, kept, strict=True):
        if before.outcome == "skipped":
            assert after == before
            continue
        assert (after.outcome, after.reason, after.value) == ("invalid", known.invalid, before.value)
        assert after.sentence.endswith("cannot be judged.")
        assert after.blocks is (after.severity == "block")
    assert withheld(verdicts, Calibrated(), several=False) == verdicts
    # An active waiver lifts a failure that was measured, never what could not be judged.
    waived = [replace(v, waiver="active") for v in verdicts if v.severity == "block"]
    assert all(v.blocks for v in withheld(waived, known, several=False) if v.outcome == "invalid")


def test_every_surface_says_the_line() -> None:
    plan = make_plan(conditions="vector")
    records = make_records(plan)
    known = calibrated(INSTRUMENT, [source(calibration(JUDGE))], asking(annotators="human"))
    told = notices(summary_of(records, plan, calibrated=known, screening_judge=True))
    # One sentence: beside "not calibrated against people", a line that names a calibration reads as its contradiction.
    assert told[0] == (
        "Screening judge: the embedded judge sorts replies by rules; judge embedded: alpha 1.00 [1.00, 1.00] on "
        "labels-test, calibrated against model readers, not against people."
    )
    assert told[1].startswith("WARNING: calibrated against model readers")
    alone = notices(summary_of(records, plan, screening_judge=True))
    assert alone[0].endswith("sorts replies by rules; it is not calibrated against people.")
    assert notices(summary_of(records, plan, calibrated=known))[0].startswith("judge embedded: alpha 1.00")
    people = calibrated(INSTRUMENT, [source(calibration(JUDGE, human=20))], asking())
    assert "not calibrated" not in notices(summary_of(records, plan, calibrated=people, screening_judge=True))[0]


def test_files_are_read_and_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", calibration(JUDGE))
    found = read_sources([path])
    assert (found[0].path, found[0].calibration, found[0].bundled) == (str(path), read_calibration(path), False)
    assert all(s.bundled for s in found[1:])
    with pytest.raises(LabelError, match="absent"):
        read_sources([tmp_path / "absent.json"])
