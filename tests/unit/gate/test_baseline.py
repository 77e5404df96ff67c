"""Comparison with another run: which runs may be compared, what a missing twin costs, and what a regression is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.errors import UsageError
from pytest_hush.gate import comparisons, contrasts, reference, refusal
from pytest_hush.gate.reading import read_references
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.store import RunFolder, load_scores, save_baseline
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import HEAD, TODAY, VERSUS, baseline, failed, gates, one, probes, run, verdicts

PLAN = make_plan(make_pack(10, 6), conditions="vector")
OLD = run(PLAN, 1)
NEW = run(PLAN, 2)
GATE = gates(VERSUS)


def renamed(records: list[Record], model: str) -> list[Record]:
    return [replace(r, model=model, subject={**r.subject, "model": model}) for r in records]


def judged_by(records: list[Record], **instrument: str) -> list[Record]:
    return [replace(r, instrument={**r.instrument, **instrument}) for r in records]


# ---- the decision -----------------------------------------------------------------------------------


def shifted(records: list[Record], by: float, every: int = 1) -> list[Record]:
    """`records` whose scores rise by `by` in each `every`-th vector probe."""
    chosen = {r.identity for r in probes(records)[::every]}
    return [
        replace(r, judgements=(replace(r.judgements[0], v=min(1.0, (r.judgements[0].v or 0.0) + by)),))
        if r.identity in chosen
        else r
        for r in records
    ]


QUIET = make_records(PLAN, lambda c: 0.0)


@pytest.mark.parametrize("margin, outcome", [(3, "fail"), (12, "inconclusive"), (25, "pass, regressed")])
def test_a_real_shift_fails_is_open_or_passes_as_regressed_by_its_margin(margin: int, outcome: str) -> None:
    """Ten points more, in one case of ten: the same numbers under three margins."""
    worse = shifted(QUIET, 1.0, every=10)
    v = one(worse, PLAN, gates(f'versus = "baseline"\nincrease_at_most = {margin}'), references=baseline(QUIET))
    assert (v.outcome, v.value, v.interval, v.direction) == (outcome, 10.0, "paired", "increase_at_most")
    assert v.lower is not None
    assert v.lower > 0
    assert v.blocks is (outcome != "pass, regressed")
    assert (v.versus, v.reference, v.no_increase) == ("baseline", "main.json", 90.0)
    assert "10.0 points above the baseline" in v.sentence
    if outcome == "pass, regressed":
        assert v.reason.startswith("It is worse than the baseline beyond chance, within the margin of 25 points.")


def test_the_same_release_is_neither_regressed_nor_failed() -> None:
    """Sixty pairs of runs of one release: at most 5 % and three standard errors may look worse."""
    plan = make_plan(make_pack(10, 3), conditions="vector")
    wide = gates(VERSUS, 'versus = "baseline"\nincrease_at_most = 100', head='multiplicity = "none"')
    outcomes: Counter[str] = Counter()
    for k in range(60):
        references = baseline(run(plan, 2 * k))
        outcomes.update(v.outcome for v in verdicts(run(plan, 2 * k + 1), plan, wide, references=references))
    assert outcomes["fail"] <= 8
    assert outcomes["pass, regressed"] <= 8
    assert outcomes["pass"] >= 50  # the wide gate is judged: it could have said otherwise


def test_identical_runs_pass_with_a_width() -> None:
    v = one(QUIET, PLAN, GATE, references=baseline(QUIET))
    assert (v.outcome, v.value, v.reason) == ("pass", 0.0, "")
    assert v.lower is not None
    assert v.upper is not None
    assert v.lower < 0 < v.upper <= 3


def test_a_better_release_passes() -> None:
    v = one(QUIET, PLAN, GATE, references=baseline(OLD))
    assert v.outcome == "pass"
    assert v.value is not None
    assert v.value < 0
    assert "points below the baseline" in v.sentence


def test_helpfulness_may_not_fall() -> None:
    fall = gates('metric = "helpfulness"\nversus = "baseline"\ndecrease_at_most = 5')
    good, bad = (make_records(PLAN, helpfulness=h) for h in (1.0, 0.5))
    worse = one(bad, PLAN, fall, references=baseline(good))
    assert (worse.outcome, worse.value, worse.direction) == ("fail", 50.0, "decrease_at_most")
    assert "50.0 points below the baseline" in worse.sentence
    better = one(good, PLAN, fall, references=baseline(bad))
    assert (better.outcome, better.value) == ("pass", -50.0)


def test_baseline_and_anchor_are_two_references() -> None:
    """Three points may not be lost at every merge: the last release stands beside the main branch."""
    both = gates('versus = "baseline"\nincrease_at_most = 12', 'versus = "anchor"\nincrease_at_most = 12')
    before = shifted(QUIET, 1.0, every=10)
    now = shifted(before, 1.0, every=7)
    references = baseline(before) | baseline(QUIET, "anchor", "v1.json")
    nearly, far = verdicts(now, PLAN, both, references=references)
    assert (nearly.reference, far.reference) == ("main.json", "v1.json")
    assert nearly.value is not None
    assert far.value is not None
    assert 0 < nearly.value < far.value
    assert far.outcome == "fail"
    assert nearly.outcome != "fail"


# ---- the pairs -------------------------------------------------------------------------------------


def test_missing_twins_widen_both_bounds_and_too_many_are_invalid() -> None:
    gone = [r.identity for r in probes(OLD)]
    whole = one(NEW, PLAN, GATE, references=baseline(OLD))
    few = [r for r in OLD if r.identity not in gone[:12]]
    less = one(NEW, PLAN, GATE, references=baseline(few))
    assert (less.n, less.missing, less.planned) == (228, 12, 240)
    assert less.upper is not None
    assert whole.upper is not None
    assert less.lower is not None
    assert whole.lower is not None
    assert less.upper >= whole.upper + 4
    assert less.lower <= whole.lower - 4
    many = [r for r in OLD if r.identity not in gone[:13]]
    refused = one(NEW, PLAN, GATE, references=baseline(many))
    assert (refused.outcome, refused.blocks) == ("invalid", True)
    assert "13 of 240 planned cases have no measured twin in the baseline; at most 5 % may be missing" in refused.reason
    assert "the same --hush-sample, --hush-seed, --hush-repeats" in refused.reason


def test_cases_that_failed_here_are_not_blamed_on_the_baseline() -> None:
    lost = {r.identity for r in probes(NEW)[:20]}
    v = one([failed(r) if r.identity in lost else r for r in NEW], PLAN, GATE, references=baseline(OLD))
    assert v.outcome == "invalid"
    assert "20 of 240 planned cases carry no score (20 error)" in v.reason
    assert "twin" not in v.reason


def test_a_missing_twin_may_have_scored_anything() -> None:
    """Whatever the missing cases of the baseline had scored, the bounds hold the difference."""
    lost = {r.identity for r in probes(OLD)[::23]}
    v = one(NEW, PLAN, GATE, references=baseline([r for r in OLD if r.identity not in lost]))
    assert v.lower is not None
    assert v.upper is not None
    for score in (0.0, 1.0):
        full = [
            replace(r, judgements=(replace(r.judgements[0], v=score),)) if r.identity in lost else r for r in OLD
        ]  # fmt: skip
        value = one(NEW, PLAN, GATE, references=baseline(full)).value
        assert value is not None
        assert v.lower <= value <= v.upper


def test_a_smaller_baseline_names_the_probes_without_a_twin() -> None:
    sampled = make_plan(make_pack(10, 6), conditions="vector", sample=120)
    (found,) = [
        c for c in comparisons(NEW, PLAN, baseline(make_records(sampled))) if c.condition == "vector"
    ]  # fmt: skip
    there = {c.probe_id for c in sampled.cases}
    assert found.unpaired == tuple(
        dict.fromkeys(c.probe_id for c in PLAN.cases if c.kind == "probe" and c.probe_id not in there)
    )
    assert len(found.unpaired) == 120


# ---- which runs may be compared ---------------------------------------------------------------------------


@pytest.mark.parametrize("name, old", [("judge_version", "0"), ("pack", "another"), ("policy", "liberal-1")])
def test_another_instrument_is_refused_by_the_name_of_its_field(name: str, old: str) -> None:
    other = baseline(judged_by(OLD, **{name: old}))
    v = one(NEW, PLAN, GATE, references=other)
    assert (v.outcome, v.blocks, v.value) == ("invalid", True, None)
    assert f"measured with another instrument ({name}: '{old}' there, '{NEW[0].instrument[name]}' here)" in v.reason
    assert "measure the baseline again with this one" in v.reason
    assert not [c for c in contrasts(NEW, PLAN, other) if c.versus == "baseline"]
    assert {bool(c.refused) for c in comparisons(NEW, PLAN, other)} == {True}


@pytest.mark.parametrize("there", [True, False])
def test_judges_that_were_told_of_more_are_another_instrument_whichever_run_has_it(there: bool) -> None:
    more = {"digest": "facts and disclosures"}
    mine, others = (NEW, judged_by(OLD, **more)) if there else (judged_by(NEW, **more), OLD)
    v = one(mine, PLAN, GATE, references=baseline(others))
    assert v.outcome == "invalid"
    assert (
        f"(digest: {more['digest'] if there else None!r} there, {None if there else more['digest']!r} here)" in v.reason
    )


@pytest.mark.parametrize("judge, known", [("python:mine:judge", ""), ("embedded+mine", "3+ab+?")])
def test_a_judge_without_a_version_compares_with_nothing(judge: str, known: str) -> None:
    mine, old = (judged_by(r, judge=judge, judge_version=known) for r in (NEW, OLD))
    v = one(mine, PLAN, GATE, references=baseline(old))
    assert (v.outcome, v.blocks, v.value) == ("invalid", True, None)
    assert f"The baseline main.json was measured by {judge}, which names no `version`" in v.reason
    assert "Give the judge an attribute `version`" in v.reason
    assert {bool(c.refused) for c in comparisons(mine, PLAN, baseline(old))} == {True}
    # Before the first call a judge that a fixture brings is not known, the other run's is.
    assert "names no `version`" in refusal(baseline(old)["baseline"], {"pack": old[0].instrument["pack"]})
    assert refusal(baseline(OLD)["baseline"], {"pack": OLD[0].instrument["pack"]}) == ""


def test_another_subject_is_what_is_under_test() -> None:
    older = [replace(r, subject={**r.subject, "settings": {"k": 3}, "returned_model": "test-2023"}) for r in OLD]
    newer = [replace(r, subject={**r.subject, "settings": {"k": 5}}) for r in NEW]
    found = {c.condition: c for c in comparisons(newer, PLAN, baseline(older))}
    assert found["vector"].changed == ("settings.k: 3 then, 5 now",)
    assert found["vector"].refused == ""
    assert one(newer, PLAN, GATE, references=baseline(older)).outcome in ("pass", "inconclusive")


def test_the_model_may_be_what_changed_and_is_never_guessed() -> None:
    other = reference("baseline", "main.json", renamed(OLD, "openai/old"))
    assert other.model_for("openai/test", "vector") == ("openai/old", "")
    assert one(NEW, PLAN, GATE, references={"baseline": other}).value is not None
    two = reference("baseline", "main.json", [*renamed(OLD, "openai/a"), *renamed(OLD, "openai/b")])
    model, why = two.model_for("openai/test", "vector")
    assert model == ""
    assert "openai/a, openai/b under vector, none of which is openai/test" in why
    both = reference("baseline", "main.json", [*renamed(OLD, "openai/a"), *OLD])
    assert both.model_for("openai/test", "vector") == ("openai/test", "")
    assert both.model_for("openai/test", "mem0") == (
        "",
        "The baseline main.json has no condition mem0 (it has none, vector).",
    )


@pytest.mark.parametrize("policy, outcome, blocks", [("required", "invalid", True), ("optional", "skipped", False)])
def test_without_a_twin_condition_or_a_baseline_the_policy_decides(policy: str, outcome: str, blocks: bool) -> None:
    gate = gates(VERSUS + f'baseline = "{policy}"')
    none_only = [r for r in OLD if r.condition == "none"]
    for references in ({}, baseline(none_only)):
        v = one(NEW, PLAN, gate, references=references)
        assert (v.outcome, v.blocks, v.value) == (outcome, blocks, None)
        assert "--hush-baseline" in v.reason or "has no condition vector" in v.reason


@pytest.mark.parametrize("blind", ["here", "there"])
def test_an_exposure_that_nobody_knows_is_said_and_not_blamed_on_the_plan(blind: str) -> None:
    unknown = make_records(PLAN, exact=None)
    new, old = (unknown, OLD) if blind == "here" else (NEW, unknown)
    gate = gates('metric = "exposure"\nversus = "baseline"\nincrease_at_most = 20')
    v = one(new, PLAN, gate, references=baseline(old))
    assert (v.outcome, v.value) == ("invalid", None)
    assert v.reason.startswith("Exposure is unknown: the condition shows no context, here or in the run compared with.")
    known = one(NEW, PLAN, gate, references=baseline(OLD))
    assert known.value == pytest.approx(100 * (_shown(NEW) - _shown(OLD)) / 240)
    assert known.sentence.startswith("Exposure under vector is ")


def _shown(records: list[Record]) -> int:
    return sum(r.exposure.exact is True for r in probes(records))


def test_invited_turns_and_controls_of_the_baseline_are_no_twins() -> None:
    plan = make_plan(make_pack(3, 2), conditions="vector", invitations=True)
    records = make_records(plan)
    other = reference("baseline", "main.json", records)
    assert sum(map(len, other.records.values())) == sum(len(probes(records, c)) for c in ("none", "vector"))


# ---- from files -----------------------------------------------------------------------------------------


def kept(folder: Path, records: list[Record], plan: Plan = PLAN, **about: str) -> Path:
    """A run folder with `records` and its plan."""
    started = RunFolder.create(folder, {"plan_hash": plan.hash, **about})
    started.keep_plan(plan)
    log = started.log("main")
    for record in records:
        log.append(record)
    log.close()
    return folder


def call(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def toml(path: Path, *tables: str) -> Path:
    text = "".join(f'[[gate]]\nid = "g{i}"\nmetric = "uis"\ncondition = "vector"\n{t}\n' for i, t in enumerate(tables))
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def test_a_required_reference_is_asked_for_before_anything_is_judged(tmp_path: Path) -> None:
    gate = gates(VERSUS + 'baseline = "required"')
    with pytest.raises(UsageError, match=r"gate 'g0': it requires the baseline.*--hush-baseline=PATH"):
        read_references({"baseline": None, "anchor": None}, gate, PLAN)
    save_baseline(tmp_path / "b.json", OLD, plugin_version="0", today=TODAY)
    found = read_references({"baseline": tmp_path / "b.json", "anchor": None}, gate, PLAN)
    assert list(found) == ["baseline"]
    elsewhere = gates('condition = "mem0*"\n' + VERSUS + 'baseline = "required"')
    assert read_references({"baseline": None, "anchor": None}, elsewhere, PLAN) == {}
    with pytest.raises(UsageError, match=r"--hush-anchor: .*no such baseline"):
        read_references({"anchor": tmp_path / "none.json"}, elsewhere, PLAN)


def test_hush_gate_compares_two_runs_as_judge_does(tmp_path: Path) -> None:
    worse = shifted(QUIET, 1.0, every=10)
    old, new = kept(tmp_path / "old", QUIET), kept(tmp_path / "new", worse)
    file = toml(tmp_path / "gates.toml", VERSUS, 'versus = "baseline"\nincrease_at_most = 25', "at_most = 50")
    saved = call("baseline", "save", old, "--out", tmp_path / "b.json")
    assert saved.exit_code == 0
    assert "480 of 480 probe cases" in saved.output
    results = []
    for name in (old, tmp_path / "b.json"):
        done = call(
            "gate", new, "--thresholds", file, "--mode=release", "--baseline", name, "--json", tmp_path / "r.json"
        )
        assert done.exit_code == 1, done.output
        assert "10.0 points above the baseline" in " ".join(done.output.split())
        results.append(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))
    outcomes = [[(v["outcome"], v["value"], v["lower"], v["upper"]) for v in r["verdicts"]] for r in results]
    assert outcomes[0] == outcomes[1]
    assert [o[0] for o in outcomes[0]] == ["fail", "pass, regressed", "pass"]
    expected = verdicts(
        worse, PLAN, gates(VERSUS, VERSUS.replace("3", "25"), "at_most = 50"), references=baseline(QUIET)
    )
    assert outcomes[0] == [(v.outcome, v.value, v.lower, v.upper) for v in expected]
    assert results[0]["status"] == "failed"
    assert results[0]["exit_code"] == 1


def test_hush_gate_without_its_baseline(tmp_path: Path) -> None:
    new = kept(tmp_path / "new", QUIET)
    required = toml(tmp_path / "required.toml", VERSUS + 'baseline = "required"')
    done = call("gate", new, "--thresholds", required)
    assert done.exit_code == 4
    assert "it requires the baseline, and none was given" in done.output
    optional = toml(tmp_path / "optional.toml", VERSUS, "at_most = 50")
    assert call("gate", new, "--thresholds", optional).exit_code == 0
    alone = toml(tmp_path / "alone.toml", VERSUS)
    assert call("gate", new, "--thresholds", alone).exit_code == 1  # nothing was judged: no pass
    assert call("gate", new, "--thresholds", alone, "--allow-no-verdict").exit_code == 0


def test_hush_gate_gives_no_pass_when_only_a_warning_was_judged(tmp_path: Path) -> None:
    new, found = kept(tmp_path / "new", QUIET), tmp_path / "r.json"
    file = toml(tmp_path / "gates.toml", VERSUS, 'at_most = 50\nseverity = "warn"')
    done = call("gate", new, "--thresholds", file, "--json", found)
    assert done.exit_code == 1, done.output
    assert "NO VERDICT: no gate that blocks was judged" in done.output
    assert "or pass --allow-no-verdict" in " ".join(done.output.split())
    told = json.loads(found.read_text(encoding="utf-8"))
    assert (told["status"], told["exit_code"]) == ("skipped", 1)
    allowed = call("gate", new, "--thresholds", file, "--allow-no-verdict", "--json", found)
    assert allowed.exit_code == 0, allowed.output
    assert json.loads(found.read_text(encoding="utf-8"))["status"] == "passed"


def test_hush_gate_judges_in_the_mode_of_the_run(tmp_path: Path) -> None:
    worse = shifted(QUIET, 1.0, every=10)
    run_folder, old = kept(tmp_path / "new", worse, mode="release"), kept(tmp_path / "old", QUIET)
    file = toml(tmp_path / "gates.toml", 'versus = "baseline"\nincrease_at_most = 12')  # inconclusive
    args = ("gate", run_folder, "--thresholds", file, "--baseline", old)
    own, asked = call(*args), call(*args, "--mode=pr")
    assert (own.exit_code, asked.exit_code) == (1, 0), own.output + asked.output
    assert own.output.startswith("Judged in mode release, from the run's manifest.")
    assert asked.output.startswith("Judged in mode pr, from --mode; the run itself was in mode release.")
    none = call("gate", old, "--thresholds", toml(tmp_path / "plain.toml", "at_most = 50"))
    assert none.output.startswith("Judged in mode pr, the default: the run's manifest names none.")
    odd = kept(tmp_path / "odd", QUIET, mode="strict")
    refused = call("gate", odd, "--thresholds", file)
    assert refused.exit_code == 4
    assert "its manifest names the mode 'strict'; expected pr or release" in " ".join(refused.output.split())


def test_hush_gate_refuses_another_instrument(tmp_path: Path) -> None:
    old = kept(tmp_path / "old", judged_by(QUIET, judge_version="0"))
    new = kept(tmp_path / "new", QUIET)
    done = call("gate", new, "--thresholds", toml(tmp_path / "g.toml", VERSUS), "--baseline", old)
    assert done.exit_code == 1
    assert "judge_version: '0' there, '1' here" in " ".join(done.output.split())


def test_hush_baseline_save_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {r.identity for r in probes(OLD)[:7]}
    kept(tmp_path / "run", [failed(r) if r.identity in lost else r for r in OLD])
    monkeypatch.chdir(tmp_path)
    done = call("baseline", "save", "run")
    assert done.exit_code == 0
    assert "wrote hush-baseline.json: 473 of 480 probe cases" in done.output
    assert "WARNING: 7 cases were not measured: their pairs will be missing in every comparison." in done.output
    assert len(load_scores(tmp_path / "hush-baseline.json").records) == 473
    nothing = call("baseline", "save", "nowhere")
    assert (nothing.exit_code, "no run here" in nothing.output) == (4, True)


def test_hush_baseline_save_writes_over_nothing_but_a_baseline(tmp_path: Path) -> None:
    run_folder, out = kept(tmp_path / "run", QUIET), tmp_path / "hush-baseline.json"
    for _ in range(2):  # a fresh file, then over the baseline that stands there
        assert call("baseline", "save", run_folder, "--out", out).exit_code == 0
    other = tmp_path / "package.json"
    other.write_text('{"name": "mine"}', encoding="utf-8")
    done = call("baseline", "save", run_folder, "--out", other)
    assert (done.exit_code, other.read_text(encoding="utf-8")) == (4, '{"name": "mine"}')
    assert "a file is there that is no saved baseline; nothing was written" in " ".join(done.output.split())
    assert call("baseline", "save", run_folder, "--out", other, "--force").exit_code == 0
    assert len(load_scores(other).records) == 480


def test_hush_baseline_save_refuses_a_run_that_did_not_end(tmp_path: Path) -> None:
    part = [r for r in QUIET if r.identity not in {p.identity for p in probes(QUIET)[:7]}]
    run_folder, out = kept(tmp_path / "run", part), tmp_path / "b.json"
    done = call("baseline", "save", run_folder, "--out", out)
    assert (done.exit_code, out.exists()) == (4, False)
    assert "7 of 480 planned cases have no record" in " ".join(done.output.split())
    forced = call("baseline", "save", run_folder, "--out", out, "--force")
    assert (forced.exit_code, out.exists()) == (0, True)
    assert "7 cases were not measured" in forced.output


def test_a_shard_is_neither_judged_nor_kept_alone(tmp_path: Path) -> None:
    run_folder = kept(tmp_path / "run", QUIET, shard="1/2")
    save = ("baseline", "save", run_folder, "--out", tmp_path / "b")
    for args in (("gate", run_folder, "--thresholds", "demo"), save):
        done = call(*args)
        assert done.exit_code == 4
        assert "it is shard 1/2 of its run" in " ".join(done.output.split())
        assert "hush merge" in done.output


def test_hush_gate_warns_of_a_name_that_only_a_conftest_could_know(tmp_path: Path) -> None:
    file = toml(tmp_path / "g.toml", "at_most = 50", "at_most = 50")
    text = file.read_text(encoding="utf-8")
    file.write_text('condition = "mem00"'.join(text.rsplit('condition = "vector"', 1)), encoding="utf-8")
    done = call("gate", kept(tmp_path / "run", QUIET), "--thresholds", file)
    assert done.exit_code == 0, done.output
    assert "WARNING: Thresholds t@7, gate 'g1': condition 'mem00' names no memory (did you mean mem0" in done.output


def test_hush_gate_takes_no_judge_without_a_policy_for_a_release(tmp_path: Path) -> None:
    run_folder = kept(tmp_path / "run", judged_by(QUIET, policy=""))
    file = toml(tmp_path / "g.toml", "at_most = 50")
    assert call("gate", run_folder, "--thresholds", file).exit_code == 0
    done = call("gate", run_folder, "--thresholds", file, "--mode=release")
    assert done.exit_code == 4
    assert "the run's judge names no policy" in " ".join(done.output.split())
