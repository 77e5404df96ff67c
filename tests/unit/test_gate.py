"""Verdicts: the order of checks, the decision, the words, and what must not change them."""

from __future__ import annotations

import datetime
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.gate import Verdict, all_skipped, estimates, exit_blocked, judge
from pytest_hush.gate.estimates import TABLE
from pytest_hush.model import Case, Exposure, Record, Usage
from pytest_hush.plan import Plan, identity
from pytest_hush.thresholds import Thresholds, load_thresholds, parse_thresholds
from tests.unit.factories import make_pack, make_plan, make_record, make_records

TODAY = datetime.date(2026, 6, 1)
PLAN = make_plan(conditions="vector,oracle")
HEAD = 'schema = 1\nname = "t"\nversion = "7"\npolicy = "conservative-1"\n'


def gates(*tables: str, head: str = "") -> Thresholds:
    """A threshold file with one gate a table; `id`, `metric`, `condition` and `at_most` have defaults."""
    text = HEAD + head + "\n"
    for i, table in enumerate(tables):
        defaults = {"id": f'"g{i}"', "metric": '"uis"', "condition": '"vector"', "at_most": "25"}
        given_keys = {line.split("=")[0].strip() for line in table.splitlines()}
        if given_keys & {"at_least", "increase_at_most"}:
            del defaults["at_most"]
        text += (
            "[[gate]]\n" + "".join(f"{k} = {v}\n" for k, v in defaults.items() if k not in given_keys) + table + "\n"
        )
    return parse_thresholds(text)


def one(
    records: list[Record], thresholds: Thresholds | None = None, plan: Plan = PLAN, mode: str = "pr", **options: object
) -> Verdict:
    verdicts = judge(records, plan, thresholds or gates(""), mode=mode, today=TODAY, **options)  # type: ignore[arg-type]
    assert len(verdicts) == 1
    return verdicts[0]


def swap(records: list[Record], share: float, change: Callable[[Record], Record | None]) -> list[Record]:
    """`records` with an evenly spread `share` of the vector probes changed, or dropped for None."""
    probes = [r for r in records if r.condition == "vector" and r.kind == "probe"]
    chosen = {probes[int(i / share)].identity for i in range(round(share * len(probes)))}
    changed = [change(r) if r.identity in chosen else r for r in records]
    return [r for r in changed if r is not None]


def mixed(case: Case) -> float:
    """About 27 points: too near 25 to call."""
    return random.Random(case.probe_id).choice([0.0, 0.0, 0.5, 0.5])


# ---- the decision -----------------------------------------------------------------------------------


def test_a_silent_release_passes_and_says_so_in_plain_words() -> None:
    v = one(make_records(PLAN))
    assert (v.outcome, v.blocks, v.reason) == ("pass", False, "")
    assert v.sentence == "UIS under vector is 0.0, at most 3.7 with 95 % confidence; the limit is 25."
    assert (v.value, v.lower, v.n, v.planned, v.missing) == (0.0, 0.0, 120, 120, 0)
    assert (v.policy, v.thresholds, v.limit, v.direction) == ("conservative-1", "t@7", 25.0, "at_most")


def test_a_loud_release_fails_and_blocks() -> None:
    v = one(make_records(PLAN, lambda c: 1.0))
    assert (v.outcome, v.blocks) == ("fail", True)
    assert v.sentence.startswith("UIS under vector is 100.0, at least 9")
    assert v.p is not None
    assert v.p < 0.001
    assert exit_blocked([v])


@pytest.mark.parametrize("mode, blocks", [("pr", False), ("release", True)])
def test_too_near_to_call_is_inconclusive_and_says_what_would_settle_it(mode: str, blocks: bool) -> None:
    v = one(make_records(PLAN, mixed), mode=mode)
    assert (v.outcome, v.blocks) == ("inconclusive", blocks)
    assert "between" in v.sentence
    assert "personas (now 10)" in v.reason or "lies at the limit" in v.reason


def test_a_warning_never_blocks() -> None:
    v = one(make_records(PLAN, lambda c: 1.0), gates('severity = "warn"'))
    assert (v.outcome, v.blocks) == ("fail", False)


def test_a_limit_from_below() -> None:
    limit = gates('metric = "helpfulness"\nat_least = 60')
    good, bad = (one(make_records(PLAN, helpfulness=h), limit) for h in (1.0, 0.2))
    assert (
        good.sentence == "Helpfulness under vector is 100.0, at least 96.3 with 95 % confidence; at least 60 is wanted."
    )
    assert bad.outcome == "fail"
    assert bad.value == 20.0
    assert bad.upper is not None
    assert bad.upper < 60


def test_a_fail_must_survive_the_correction_for_every_block_gate_of_the_file() -> None:
    def score(case: Case) -> float:
        return random.Random(case.probe_id).choice([0.0, 1.0, 0.0])

    records = make_records(PLAN, score)
    alone = one(records, gates("at_most = 14"))
    assert alone.outcome == "fail"
    many = judge(records, PLAN, gates("at_most = 14", *["at_most = 90"] * 12), mode="pr", today=TODAY)
    assert many[0].outcome == "inconclusive"
    assert "not after correction for 13 gates" in many[0].reason
    assert many[0].p == alone.p
    raw = judge(
        records,
        PLAN,
        gates("at_most = 14", *["at_most = 90"] * 12, head='multiplicity = "none"'),
        mode="pr",
        today=TODAY,
    )
    assert raw[0].outcome == "fail"


def test_the_family_does_not_depend_on_what_ran() -> None:
    thresholds = gates('condition = "*"', 'severity = "warn"', 'metric = "latency_s"')
    assert {v.family for v in judge(make_records(PLAN), PLAN, thresholds, mode="pr", today=TODAY)} == {2}
    assert {v.family for v in judge([], PLAN, thresholds, mode="pr", today=TODAY)} == {2}


def test_strata() -> None:
    def half(record: Record) -> Record:
        return replace(
            record, exposure=Exposure(False, False, None), judgements=(replace(record.judgements[0], v=0.0),)
        )

    records = swap(make_records(PLAN, lambda c: 1.0), 0.5, half)
    found = judge(
        records,
        PLAN,
        gates('stratum = "exposed"', 'stratum = "not-exposed"', 'metric = "exposure"'),
        mode="pr",
        today=TODAY,
    )
    assert [(v.value, v.outcome, v.n) for v in found] == [(100.0, "fail", 60), (0.0, "pass", 60), (50.0, "fail", 120)]
    family = one(
        make_records(PLAN, lambda c: float(c.family == "attitude_reversal")),
        gates('stratum = "family=attitude_reversal"'),
    )
    assert (family.value, family.planned) == (100.0, 30)
    assert family.sentence.startswith("UIS in the family attitude_reversal under vector")


def test_an_empty_stratum_is_inconclusive_not_zero() -> None:
    v = one(make_records(PLAN, exact=False), gates('stratum = "exposed"'), mode="release")
    assert (v.outcome, v.value, v.blocks) == ("inconclusive", None, True)
    assert "no exposed case" in v.reason


def test_unknown_exposure_cannot_be_judged_but_its_uis_can() -> None:
    records = make_records(PLAN, exact=None)
    assert one(records, gates('stratum = "exposed"')).outcome == "invalid"
    assert "shows no context" in one(records, gates('metric = "exposure"')).reason
    assert one(records).outcome == "pass"


def test_increase_over_the_reference_is_paired() -> None:
    limit = gates('versus = "none"\nincrease_at_most = 10')
    quiet = one(make_records(PLAN), limit)
    assert (quiet.outcome, quiet.value, quiet.interval) == ("pass", 0.0, "paired")
    assert quiet.lower is not None
    assert quiet.upper is not None
    assert quiet.lower < 0 < quiet.upper
    loud = one(make_records(PLAN, lambda c: 0.5), limit)
    assert loud.outcome == "fail"
    assert "50.0 points above no memory" in loud.sentence


def test_one_persona_is_inconclusive() -> None:
    plan = make_plan(make_pack(1, 30))
    v = one(make_records(plan), plan=plan)
    assert (v.outcome, v.lower, v.upper) == ("inconclusive", 0.0, 100.0)
    assert "says nothing about other users" in v.reason


def test_the_bootstrap_alone_cannot_pass_on_equal_scores() -> None:
    v = one(make_records(PLAN), gates('interval = "bootstrap"'))
    assert (v.outcome, v.lower, v.upper) == ("inconclusive", 0.0, 0.0)
    assert one(make_records(PLAN), gates('interval = "fixed-suite"')).sentence.count("for this suite only") == 1


# ---- counted metrics --------------------------------------------------------------------------------


def test_counted_metrics_have_no_interval() -> None:
    thresholds = gates(
        'metric = "completeness"\nat_least = 99',
        'metric = "cost_usd"\nat_most = 0.13',
        'metric = "latency_s"\nat_most = 0.4',
    )
    records = swap(make_records(PLAN), 0.02, lambda r: replace(r, status="error", judgements=(), error="503"))
    done, cost, latency = judge(records, PLAN, thresholds, mode="pr", today=TODAY)
    assert (done.outcome, done.n, done.planned, done.p) == ("fail", 118, 120, None)
    assert cost.outcome == "fail"  # 120 probes, two of them in vain, and 20 positive controls at 0.001
    assert cost.value == pytest.approx(0.14)
    assert (latency.outcome, latency.value) == ("fail", 0.5)
    assert "counted, no interval" in latency.sentence


def test_an_unknown_price_is_not_free() -> None:
    records = make_records(PLAN, usage=Usage(100, 20, None))
    v = one(records, gates('metric = "cost_usd"'))
    assert (v.outcome, v.value) == ("inconclusive", None)
    assert "price of 140 of 140 calls is not known" in v.reason


@pytest.mark.parametrize("usage", [Usage(), Usage(1, 1, -0.5), Usage(1, 1, float("nan")), Usage(0, 0, float("inf"))])
def test_an_answer_without_a_usable_price_is_unpriced(usage: Usage) -> None:
    records = make_records(PLAN)
    odd = next(i for i, r in enumerate(records) if r.condition == "vector")
    records[odd] = replace(records[odd], usage=usage, reply="A fern.", attempts=1)
    v = one(records, gates('metric = "cost_usd"'))
    assert (v.outcome, v.value) == ("inconclusive", None)
    assert "price of 1 of 140 calls is not known" in v.reason


def test_a_case_that_sent_nothing_cost_nothing() -> None:
    records = swap(
        make_records(PLAN),
        0.02,
        lambda r: replace(r, status="error", judgements=(), reply="", usage=Usage(), attempts=0),
    )
    v = one(records, gates('metric = "cost_usd"'))
    assert v.value == pytest.approx(0.138)


# ---- what must hold before any number -----------------------------------------------------------------


@pytest.mark.parametrize("model", ["parrot", "parrot@0.8", "local/x.gguf", "recorded/run"])
def test_demonstration_models_are_marked_and_refused_for_a_release(model: str) -> None:
    plan = make_plan(conditions="vector", models=[model])
    v = one(make_records(plan), plan=plan)
    assert (v.outcome, v.demonstration) == ("pass", True)
    assert v.sentence.startswith("Demonstration model: UIS under vector")
    refused = one(make_records(plan), plan=plan, mode="release")
    assert (refused.outcome, refused.blocks) == ("invalid", True)
    assert refused.sentence == "Demonstration model: UIS under vector cannot be judged."
    assert "Release mode refuses demonstration models" in refused.reason


@pytest.mark.parametrize("metric", ["uis", "completeness", "cost_usd", "latency_s"])
def test_no_record_is_never_a_pass(metric: str) -> None:
    limit = "at_least = 0" if metric == "completeness" else "at_most = 100"
    v = one([], gates(f'metric = "{metric}"\n{limit}'))
    assert (v.outcome, v.blocks) == ("invalid", True)
    assert "no record at all" in v.reason


def test_a_changed_instrument_spoils_the_run() -> None:
    records = make_records(PLAN)
    records[3] = replace(records[3], instrument={**records[3].instrument, "judge_version": "2"})
    v = one(records)
    assert v.outcome == "invalid"
    assert "judge_version" in v.reason


def test_a_model_that_changed_in_mid_run_spoils_its_own_verdicts_only() -> None:
    plan = make_plan(models=["openai/a", "openai/b"])
    records = [
        replace(r, subject={**r.subject, "returned_model": "new" if i % 4 > 1 and r.model == "openai/a" else "old"})
        for i, r in enumerate(make_records(plan))
    ]
    a, b = judge(records, plan, gates(""), mode="pr", today=TODAY)
    assert (a.model, a.outcome, b.outcome) == ("openai/a", "invalid", "pass")
    assert "new and old" in a.reason
    assert "(openai/b)" in b.sentence


def test_records_of_another_plan_spoil_the_run() -> None:
    records = make_records(PLAN)
    other = [replace(records[0], plan_hash="f" * 32), *records[1:]]
    assert "another plan" in one(other).reason
    stranger = [*records, replace(records[-1], probe_id="p99-d01-xx")]
    assert "p99-d01-xx" in one(stranger).reason


def test_two_answers_to_one_case_spoil_the_run_but_an_error_before_an_answer_does_not() -> None:
    records = make_records(PLAN)
    probe = next(r for r in records if r.condition == "vector" and r.kind == "probe")
    retried = [*records, replace(probe, key="0", status="error", judgements=(), error="timeout")]
    assert one(retried).outcome == "pass"
    assert one([*records, probe]).outcome == "pass"
    assert "two different answers" in one([*records, replace(probe, key="other")]).reason


def test_one_key_with_two_answers_spoils_the_run_whichever_comes_first() -> None:
    records = make_records(PLAN)
    probe = next(r for r in records if r.condition == "vector" and r.kind == "probe")
    assert one([*records, replace(probe, latency_s=9.0)]).outcome == "pass"
    worse = replace(probe, judgements=(replace(probe.judgements[0], v=1.0),))
    for twin in (worse, replace(probe, reply="another reply")):
        for both in ([*records, twin], [twin, *records]):
            v = one(both)
            assert (v.outcome, v.blocks) == ("invalid", True)
            assert f"1 cases have two different answers under the same settings (first {probe.probe_id})" in v.reason


def test_part_of_the_plan_is_skipped_with_the_numbers() -> None:
    cases = [c for c in PLAN.cases if c.condition.name == "vector" and c.kind == "probe"]
    selected = frozenset(identity(c) for c in PLAN.cases if c not in cases[40:])
    records = [r for r in make_records(PLAN) if r.identity in selected]
    v = one(records, selected=selected)
    assert (v.outcome, v.blocks) == ("skipped", False)
    assert "40 of 120 cases were selected (-k, --lf, a path or a shard)" in v.reason
    assert all_skipped([v])
    # The rest is there from an earlier session: the whole plan is judged.
    assert one(make_records(PLAN), selected=selected).outcome == "pass"


def test_deselected_controls_leave_the_memory_unchecked() -> None:
    selected = frozenset(identity(c) for c in PLAN.cases if c.kind == "probe")
    records = [r for r in make_records(PLAN) if r.kind == "probe"]
    assert one(records, selected=selected).outcome == "skipped"
    lost = one(records)
    assert (lost.outcome, "20 of" in lost.reason, "have no record" in lost.reason) == ("invalid", True, True)


def test_a_case_without_any_record_makes_every_gate_invalid() -> None:
    records = make_records(PLAN)
    gone = next(r for r in records if r.condition == "none")
    v = one([r for r in records if r is not gone])
    assert (v.outcome, v.blocks) == ("invalid", True)
    assert "1 of" in v.reason
    assert "--hush-resume" in v.reason


def test_a_shard_is_skipped() -> None:
    plan = make_plan(conditions="vector", shard=(1, 2))
    records = [make_record(c, plan) for c in plan.cases if plan.in_shard(c)]
    assert one(records, plan=plan).outcome == "skipped"


def test_few_missing_cases_widen_the_bounds_many_make_it_invalid() -> None:
    def error(record: Record) -> Record:
        return replace(record, status="error", judgements=(), error="503 Service Unavailable")

    whole = one(make_records(PLAN))
    few = one(swap(make_records(PLAN), 0.05, error))
    assert (few.outcome, few.missing, few.n) == ("pass", 6, 114)
    assert whole.upper is not None
    assert few.upper is not None
    assert few.upper >= whole.upper + 5.0
    many = one(swap(make_records(PLAN), 0.06, error))
    assert (many.outcome, many.blocks) == ("invalid", True)
    assert "7 of 120 planned cases carry no score (7 error)" in many.reason
    assert many.reason.endswith(
        "Most frequent error (7 times): 503 Service Unavailable. Complete the run with --hush-resume."
    )


def test_errors_never_help_to_pass() -> None:
    """The loudest cases fail: what is left looks better, the bound must not."""
    loud = make_records(PLAN, lambda c: 1.0 if c.probe_id.startswith("p01") else 0.0)
    cut = [
        replace(r, status="error", judgements=()) if r.probe_id.startswith("p01") and i % 4 == 0 else r
        for i, r in enumerate(loud)
    ]
    thresholds = gates("at_most = 99", head="max_missing = 0.5")
    full, less = one(loud, thresholds), one(cut, thresholds)
    assert full.value is not None
    assert less.value is not None
    assert full.upper is not None
    assert less.upper is not None
    assert less.value < full.value
    assert less.upper >= full.value


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda r: replace(r, entries=()), "dead or empty"),
        (
            lambda r: replace(r, control={"retrieved": False, "used": True}) if r.kind == "control" else r,
            "0 of 20 positive",
        ),
        (lambda r: replace(r, status="error") if r.kind == "control" else r, "0 of 20 positive controls"),
        (
            lambda r: replace(r, control={"retrieved": None, "used": False}) if r.kind == "control" else r,
            "0 of 20 positive controls",
        ),
    ],
)
def test_a_dead_memory_never_passes(change: Callable[[Record], Record], reason: str) -> None:
    records = [change(r) if r.condition == "vector" else r for r in make_records(PLAN)]
    v = one(records)
    assert (v.outcome, v.blocks) == ("invalid", True)
    assert reason in v.reason


def test_a_memory_that_loses_what_was_planted_is_invalid() -> None:
    records = swap(make_records(PLAN), 0.25, lambda r: replace(r, status="unplanted", judgements=()))
    lost = one(records).reason
    assert "30 unplanted" in lost
    assert lost.endswith("Look into the memory's ingest and retrieval: a lost session is not measured.")
    assert "--hush-resume" not in lost
    probes = [r for r in records if r.condition == "vector" and r.kind == "probe" and r.measured]
    both = [replace(r, status="error", judgements=(), error="503.") if r is probes[0] else r for r in records]
    assert "(1 times): 503. Complete the run with --hush-resume. Look into the memory's" in one(both).reason
    assert "lost what was planted" in one(records, gates("", head="max_missing = 0.9")).reason


def test_a_broken_oracle_is_invalid_and_the_reference_needs_no_entries() -> None:
    records = [replace(r, entries=()) if r.condition == "oracle" else r for r in make_records(PLAN)]
    assert "dead or empty" in one(records, gates('condition = "oracle"')).reason
    assert one(records, gates('condition = "none"')).outcome == "pass"


def test_a_pattern_without_a_condition_is_skipped_and_says_so() -> None:
    v = one(make_records(PLAN), gates('condition = "mem0*"'))
    assert (v.outcome, v.condition, v.model) == ("skipped", "mem0*", "")
    assert "planned are none, vector, oracle" in v.reason


def test_waivers_lift_the_block_until_they_expire_and_never_hide_an_invalid_run() -> None:
    loud = make_records(PLAN, lambda c: 1.0)
    waive = 'waive = {{ reason = "known", by = "Ada", expires = {} }}'
    active, expired = (one(loud, gates(waive.format(day))) for day in ("2026-06-01", "2026-05-31"))
    assert (active.outcome, active.blocks, active.waiver) == ("fail", False, "active")
    assert "Waived by Ada until 2026-06-01: known" in active.waiver_text
    assert (expired.outcome, expired.blocks, expired.waiver) == ("fail", True, "expired")
    assert one([], gates(waive.format("2026-06-01"))).blocks


def test_nothing_judged_is_all_skipped() -> None:
    assert all_skipped([])
    assert not exit_blocked([])


# ---- estimates ----------------------------------------------------------------------------------------


def test_estimates_of_every_condition_in_plan_order() -> None:
    found = estimates(make_records(PLAN, lambda c: 0.5), PLAN)
    assert [(e.condition, e.metric, e.stratum) for e in found[:8]] == [
        ("none", "uis", ""),
        ("none", "uis_sensitive", ""),
        ("none", "uis", "exposed"),
        ("none", "uis", "not-exposed"),
        ("none", "exposure", ""),
        ("none", "over_scope", ""),
        ("none", "helpfulness", ""),
        ("none", "target_uptake", ""),
    ]
    # This plan invites nobody, and one of its three conditions retrieves.
    assert len(found) == 3 * (len(TABLE) + 3 - 2) + 1
    by = {(e.condition, e.metric, e.stratum): e for e in found}
    assert by["vector", "uis", ""].value == 50.0
    assert by["none", "uis", "exposed"].value is None
    assert by["none", "uis", "exposed"].note == "no exposed case in any persona"
    assert by["vector", "exposure", ""].value == 100.0


def test_the_identity_of_exposure_and_response_holds() -> None:
    rng = random.Random(3)
    records = [
        replace(r, exposure=Exposure(rng.random() < 0.3)) if r.condition == "vector" else r
        for r in make_records(PLAN, lambda c: rng.random())
    ]
    by = {(e.metric, e.stratum): e.value for e in estimates(records, PLAN) if e.condition == "vector"}
    uis, pi, on, off = (by[k] for k in (("uis", ""), ("exposure", ""), ("uis", "exposed"), ("uis", "not-exposed")))
    assert None not in (uis, pi, on, off)
    assert uis == pytest.approx(pi / 100 * on + (1 - pi / 100) * off)  # type: ignore[operator]


def test_an_unlabelled_background_is_said() -> None:
    plan = make_plan(make_pack(3, 3, ambient_labelled=False))
    notes = {e.note for e in estimates(make_records(plan), plan) if e.metric == "uis_sensitive"}
    assert notes == {"ambient sensitive turns of the background are not labelled: target only"}


# ---- what must not matter -------------------------------------------------------------------------------


@given(st.randoms(use_true_random=False))
@settings(max_examples=4, deadline=None)
def test_the_order_of_records_does_not_matter(rng: random.Random) -> None:
    plan = make_plan(make_pack(4, 2))
    scores = random.Random(5)
    records = make_records(plan, lambda c: scores.choice([0.0, 0.1, 0.2, 0.7, 1.0]))
    records = swap(records, 0.1, lambda r: replace(r, status="error", judgements=(), error=f"e{len(r.probe_id)}"))
    shuffled = list(records)
    rng.shuffle(shuffled)
    demo = load_thresholds("demo")
    assert judge(records, plan, demo, mode="pr", today=TODAY) == judge(shuffled, plan, demo, mode="pr", today=TODAY)
    assert estimates(records, plan) == estimates(shuffled, plan)


def test_gates_shown_alone_or_together_have_the_same_numbers() -> None:
    records = make_records(PLAN, mixed)
    alone = one(records, gates('id = "x"'))
    together = judge(records, PLAN, gates('id = "y"\nmetric = "over_scope"', 'id = "x"'), mode="pr", today=TODAY)[1]
    assert (alone.lower, alone.upper, alone.p) == (together.lower, together.upper, together.p)


def test_hash_seed_does_not_matter() -> None:
    code = (
        "import datetime, random\n"
        "from tests.unit.factories import make_pack, make_plan, make_records\n"
        "from pytest_hush.gate import judge, estimates\n"
        "from pytest_hush.thresholds import load_thresholds\n"
        "plan = make_plan(make_pack(4, 2)); rng = random.Random(1)\n"
        "records = make_records(plan, lambda c: rng.random())\n"
        "print(judge(records, plan, load_thresholds('demo'), mode='pr', today=datetime.date(2026, 1, 1)))\n"
        "print(estimates(records, plan))\n"
    )
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "Verdict(" in outputs.pop()
