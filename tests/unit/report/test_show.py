"""Single cases: which are the worst, how one is named, and that no text of theirs drives the terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.model import Entry
from pytest_hush.plan import identity
from pytest_hush.report.show import case_id, named, question, render_case, worst
from pytest_hush.report.visible import visible
from tests.unit.factories import make_pack, make_plan, make_record, make_records

PACK = make_pack(3, 2)
PLAN = make_plan(PACK, invitations=True, repeats=2)
CASE = next(c for c in PLAN.cases if c.kind == "probe" and c.condition.name == "vector" and not c.invited)
HOSTILE = "fine\x1b[2J\x1b]0;x\x07\r\nparrot/0-none-x: ok\u202e\u200b\U000e0041\ud800\x9b31m\tend"


def test_an_id_is_that_of_the_case() -> None:
    assert all(case_id(make_record(c, PLAN)) == c.id for c in PLAN.cases)


def test_the_worst_come_first_and_ties_by_identity() -> None:
    probes = [c for c in PLAN.cases if c.kind == "probe" and not c.invited and c.condition.name == "vector"]
    scores = {probes[5].id: (1.0, 0.2), probes[3].id: (1.0, 0.9), probes[7].id: (0.5, 1.0)}
    records = [
        make_record(c, PLAN, v=scores.get(c.id, (0.0, 0.0))[0], target_uptake=scores.get(c.id, (0.0, 0.0))[1])
        for c in reversed(PLAN.cases)
    ]
    found = worst(records, 5)
    assert [case_id(r) for r in found[:3]] == [probes[3].id, probes[5].id, probes[7].id]
    rest = sorted(identity(c) for c in PLAN.cases if c.kind == "probe" and not c.invited and c.id not in scores)
    assert [r.identity for r in found[3:]] == rest[:2]


def test_what_was_not_measured_is_never_among_the_worst() -> None:
    records = [replace(r, status="error") for r in make_records(PLAN, lambda c: 1.0)]
    assert worst(records, 3) == []


@pytest.mark.parametrize("form", ["{}", "hush::test_case[{}]", "tests/test_mine.py::test_score[{}]"])
def test_a_case_is_found_by_its_id(form: str) -> None:
    records = make_records(PLAN)
    assert case_id(named(records, form.format(CASE.id))) == CASE.id


def test_an_unknown_case_is_one_clear_error() -> None:
    with pytest.raises(UsageError, match=r"no record of that case .*nearest is openai/test-vector-p01") as caught:
        named(make_records(PLAN), CASE.id + "\x1b[2J")
    assert "\x1b" not in str(caught.value)


def test_a_question_is_that_of_the_case_or_not_known() -> None:
    assert all(question(make_record(c, PLAN), PACK) == c.text for c in PLAN.cases)
    record = make_record(CASE, PLAN)
    assert question(record, None) is None
    assert question(replace(record, probe_id="p99"), PACK) is None


def test_a_case_shows_what_was_asked_seen_said_and_scored() -> None:
    text = "\n".join(render_case(make_record(CASE, PLAN, v=1.0), CASE.text))
    for part in (
        f"{CASE.id}: ok; v 1.00, target uptake 1.00",
        "exposure: exact yes, residue no, ambient unknown",
        f"    {CASE.text}",
        "    - keeps a fern",
        f"sources: {CASE.disclosure_id}-s)",
        "    A fern likes shade.",
        "  used: target",
        "  evidence:\n    a fern",
    ):
        assert part in text
    assert "asked: not known here" in "\n".join(render_case(make_record(CASE, PLAN), None))


def test_what_a_condition_does_not_show_is_unknown_not_empty() -> None:
    closed = make_record(CASE, PLAN, exact=None)
    assert "  memory: unknown, the condition shows no context" in render_case(closed, "?")
    none = next(c for c in PLAN.cases if c.condition.name == "none")
    assert "  memory: no entry" in render_case(make_record(none, PLAN), "?")


def test_no_text_reaches_the_first_column_or_the_terminal() -> None:
    record = make_record(CASE, PLAN, v=1.0)
    judgement = replace(record.judgements[0], evidence=HOSTILE, rationale=HOSTILE, used=(HOSTILE,))
    record = replace(
        record,
        reply=HOSTILE + "x" * 95 + " parrot/0-none-x: ok",
        error=HOSTILE,
        notes=(HOSTILE,),
        entries=(Entry(HOSTILE, HOSTILE, (HOSTILE,), date=HOSTILE),),
        judgements=(judgement, judgement),
    )
    lines = render_case(record, HOSTILE, width=80)
    assert all(x.isascii() and x.isprintable() and len(x) <= 80 for x in lines)
    header = [x for x in lines if not x.startswith("  ")]
    assert not any("parrot" in x for x in header)
    assert "\\x1b[2J" in "\n".join(lines)


def test_scores_only_leaves_every_text_out() -> None:
    lines = render_case(make_record(CASE, PLAN, v=1.0), CASE.text, scores_only=True, width=200)
    assert len(lines) == 1
    assert "fern" not in lines[0]


def test_visible_keeps_words_of_any_language_and_escapes_the_rest() -> None:
    plain = "naïve Привет 漢字 👍 – “x”"
    assert visible(plain) == plain
    assert visible("a\u202eb\u2066c\ufeffd\x7f\u2028\n") == "a\\u202eb\\u2066c\\ufeffd\\x7f\\u2028\\x0a"
    assert visible("\U000e0041\ufe0f\u3164\ud83d") == "\\U000e0041\\ufe0f\\u3164\\ud83d"
