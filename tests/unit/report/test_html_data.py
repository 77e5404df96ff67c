"""Cases in the page: what goes in comes out, once, and within the page's size."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_hush.gate import reference
from pytest_hush.model import Entry, Record
from pytest_hush.report.html.data import pack_cases
from pytest_hush.report.show import case_id
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.pages import Page, page_of, unpack

PACK = make_pack(3, 3)
PLAN = make_plan(PACK, conditions="vector,oracle", invitations=True)
RECORDS = make_records(PLAN, lambda case: 0.25)


def words(seed: str, count: int) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(count))


def long_replies(size: int = 400) -> list[Record]:
    """Every third case under vector says something; no reply is like another."""
    return [
        replace(
            r,
            reply=words(case_id(r), size),
            judgements=tuple(
                replace(j, v=float(n % 3 == 0) if j.v is not None else None, target_uptake=float(n % 3 == 0))
                for j in r.judgements
            ),
        )
        for n, r in enumerate(RECORDS)
    ]


def test_every_case_comes_back_as_it_was_measured() -> None:
    page = Page(page_of(RECORDS, PLAN))
    cases = page.cases()
    assert len(cases) == len(RECORDS)
    by_id = {}
    for c in cases:
        tail = ("-invited" if c["kind"] == 2 else "") + (f"-r{c['repeat']}" if c["repeat"] else "")
        by_id[f"{c['model']}-{c['condition']}-{c['probe']}{tail}"] = c
    for r in RECORDS:
        c = by_id[case_id(r)]
        assert (c["reply"], c["error"], c["status"], c["kind"]) == (
            r.reply, r.error, r.status, 1 if r.kind == "control" else 2 if r.invited else 0,
        )  # fmt: skip
        assert [(e[0], e[1], e[3]) for e in c["entries_shown"]] == [
            (e.id, e.text, None if e.sources is None else list(e.sources)) for e in r.entries
        ]
        j = r.judgements[0] if r.judgements else None
        assert c["v"] == (-1 if j is None or j.v is None else round(1000 * j.v))
        assert c["asked"] == next(x.text for x in PLAN.cases if x.id == case_id(r))


def test_entries_of_the_planted_session_and_ambient_turns_are_marked() -> None:
    disclosure, persona = PACK.disclosures[0], PACK.personas[0]
    ambient = next(f for f in persona.facts if f.kind == "ambient")
    sibling = PACK.disclosures[1]
    entries = (
        Entry("a", "x", (disclosure.session_id,), (disclosure.turn_id,)),
        Entry("b", "y", ("other",), (ambient.turn,)),
        Entry("c", "z", None),
        Entry("d", "of a shared store", (sibling.session_id,), (sibling.turn_id,)),
    )
    records = [replace(r, entries=entries) if r.disclosure_id == disclosure.id else r for r in RECORDS]
    case = next(c for c in Page(page_of(records, PLAN)).cases() if c["disclosure"] == disclosure.id)
    assert case["flags"] == [1, 2, 0, 2]
    unknown = Page(page_of(records, PLAN, pack=None)).cases()
    assert {flag for c in unknown for flag in c["flags"]} == {0}
    assert {c["asked"] for c in unknown} == {None}


def test_what_was_used_is_spelled_out() -> None:
    case = next(c for c in Page(page_of(RECORDS, PLAN)).cases() if c["kind"] == 0 and c["v"] > 0)
    disclosure = next(d for d in PACK.disclosures if d.id == case["disclosure"])
    assert case["judged"][0][7] == ["target"]
    assert case["facts"][case["disclosure"]] == disclosure.statement


def test_an_entry_is_kept_once_a_persona() -> None:
    text = words("entry", 900)
    records = [replace(r, entries=(Entry("e", text, ("s",)),)) for r in RECORDS]
    packed = pack_cases(records, pack=PACK, reference=None, texts=True)
    assert sum(text in str(unpack(p)) for p in packed.pieces) == len(PACK.personas)


def test_silent_cases_are_shortened_first_and_the_page_keeps_its_size() -> None:
    records = long_replies()
    whole = pack_cases(records, pack=PACK, reference=None, texts=True)
    full = sum(map(len, whole.pieces))
    assert whole.shortened == 0
    tight = pack_cases(records, pack=PACK, reference=None, texts=True, budget=full * 2 // 3)
    assert sum(map(len, tight.pieces)) <= full * 2 // 3
    assert tight.shortened > 0
    rows = [row for _, _, piece in unpack(tight.index)["pieces"] for row in unpack(tight.pieces[piece])]
    loud = [row for row in rows if row[6] and row[6][0][1] > 0]
    assert loud
    assert all(row[1] == 0 for row in loud), "what was said unasked is whole"
    assert all(len(row[0]) + row[1] == len(r.reply) for row, r in zip(rows, in_order(records), strict=True))
    kept = pack_cases(records, pack=PACK, reference=None, texts=True, budget=10, whole=True)
    assert (kept.shortened, sum(map(len, kept.pieces))) == (0, full)
    assert pack_cases(records, pack=PACK, reference=None, texts=True, budget=10).cases == len(records)


def in_order(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (r.persona, r.probe_id, r.condition, r.model, r.invited, r.repeat))


def test_a_reply_of_a_megabyte_is_cut_and_says_by_how_much() -> None:
    huge = "ab" * 500_000
    records = [replace(r, reply=huge) if n == 5 else r for n, r in enumerate(RECORDS)]
    (case,) = [c for c in Page(page_of(records, PLAN)).cases() if c["left"]]
    assert len(case["reply"]) + case["left"] == 1_000_000
    assert len(case["reply"]) == 40_000


def test_hostile_and_broken_texts_travel_unchanged() -> None:
    texts = ["</script><script>alert(1)</script>", "\ud800 lone", "‮ \x1b[2J \x00", "<!-- -->", "漢字 👩‍👩‍👧"]
    records = [replace(r, reply=texts[n % len(texts)], notes=(texts[n % len(texts)],)) for n, r in enumerate(RECORDS)]
    text = page_of(records, PLAN)
    assert text.count("</script>") == text.count("<script")
    assert {c["reply"] for c in Page(text).cases()} == set(texts)


@pytest.mark.parametrize("texts", [True, False])
def test_the_twin_of_another_run_stands_beside(texts: bool) -> None:
    then = [replace(r, reply=f"then {r.probe_id}" if texts else "") for r in make_records(PLAN)]
    other = reference("baseline", "main", then)
    page = Page(page_of(RECORDS, PLAN, references={"baseline": other}))
    assert page.index()["other"] == {"role": "baseline", "source": "main", "texts": texts}
    for c in page.cases():
        if c["kind"]:
            assert (c["paired"], c["other"]) == (0, 0)
        else:
            assert (c["paired"], c["other_v"]) == (1, 0)
            assert c["other"][0] == (f"then {c['probe']}" if texts else "")


def test_an_equal_reply_is_not_kept_twice() -> None:
    page = Page(page_of(RECORDS, PLAN, references={"baseline": reference("baseline", "main", RECORDS)}))
    assert {c["other"][0] for c in page.cases() if c["other"]} == {None}
    assert {c["other_v"] - c["v"] for c in page.cases() if c["other"]} == {0}
