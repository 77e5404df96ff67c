"""Redaction: what is said of an error, and that no text of a case is left in a record that reports are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_hush.gate import estimates
from pytest_hush.report.redact import BY_OPTION, BY_PACK, error_kind, redacted, why
from pytest_hush.store import record_to_json
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(3, 2), conditions="vector")
CANARY = "Velmarrow has the tablets"


@pytest.mark.parametrize(
    "text, kind",
    [
        ("", ""),
        (f"openai/x at https://h answered 400: “{CANARY}”. This request was refused.", "the server answered 400"),
        (f"openai/x: 503 Service Unavailable for 600 s; given up. Last answer: x at h answered 503: “{CANARY}”.",
         "the server answered 503"),
        (f"openai/x: no answer from https://h within 120 s. {CANARY}", "no answer in time"),
        (f"x: the connection to https://h failed ({CANARY}).", "the server cannot be reached"),
        (f"judge openai/y: field 'used': unknown id '{CANARY}', after one re-ask.", "an unreadable judgement"),
        (f"--hush-max-cost=2: {CANARY}", "the limit of --hush-max-cost was reached"),
        (f"RuntimeError: {CANARY}", "an error whose text is kept in the local records"),
        (f"python:m:reply: your function raised ValueError at m.py:12: {CANARY}. The case has no score.",
         "ValueError at m.py:12 was raised"),
        (f"memory python:m:recall: its code raised KeyError at m.py:7: {CANARY}", "KeyError at m.py:7 was raised"),
        ("judge mine raised LookupError", "LookupError was raised"),
        (f"mem0: while it added a session, the library raised TypeError at main.py:3: {CANARY}",
         "TypeError at main.py:3 was raised"),
        (f"{CANARY} raised ValueError at m.py:12", "an error whose text is kept in the local records"),
        (f"20 cases in a row failed alike: x at h answered 401: “{CANARY}”.",
         "20 cases in a row failed alike: the server answered 401"),
        ("stopping after 1 failures", "stopping after 1 failures"),
        (f"stopping after 1 failures: {CANARY}", "an error whose text is kept in the local records"),
    ],
)  # fmt: skip
def test_an_error_keeps_its_kind_and_no_word_of_its_text(text: str, kind: str) -> None:
    assert error_kind(text) == kind
    assert error_kind(kind) == kind, "what was said once must be said again as it is"
    assert "Velmarrow" not in error_kind(text)


def test_a_redacted_record_has_no_text_and_the_same_numbers() -> None:
    records = [
        replace(
            r,
            reply=CANARY if r.reply else "",
            entries=tuple(replace(e, text=CANARY, id=CANARY, date=CANARY, turns=(CANARY,)) for e in r.entries),
            judgements=tuple(replace(j, evidence=CANARY, rationale=CANARY) for j in r.judgements),
            notes=(CANARY,),
            error=CANARY,
        )
        for r in make_records(PLAN, lambda case: 0.5)
    ]
    kept = redacted(records, BY_OPTION)
    assert CANARY not in str([record_to_json(r) for r in kept])
    assert estimates(kept, PLAN) == estimates(records, PLAN)
    assert [v.outcome for v in summary_of(kept, PLAN).verdicts] == [
        v.outcome for v in summary_of(records, PLAN).verdicts
    ]
    assert summary_of(kept, PLAN).spending == summary_of(records, PLAN).spending
    assert redacted(records, "") == records


def test_a_private_pack_is_redacted_whatever_was_asked() -> None:
    assert why(private=True, asked=False) == BY_PACK
    assert why(private=False, asked=True) == BY_OPTION
    assert why(private=False, asked=False) == ""


def test_the_reason_of_a_verdict_quotes_the_kind_alone() -> None:
    records = [
        replace(r, status="error", judgements=(), error=f"ValueError: {CANARY}") if r.condition == "vector" else r
        for r in make_records(PLAN)
    ]
    reasons = " ".join(v.reason for v in summary_of(redacted(records, BY_OPTION), PLAN).verdicts)
    assert "an error whose text is kept in the local records" in reasons
    assert "Velmarrow" not in reasons
    assert "Velmarrow" in " ".join(v.reason for v in summary_of(records, PLAN).verdicts)
