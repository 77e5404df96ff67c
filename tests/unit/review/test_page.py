"""The readers' page and files: blind, self-contained, the rubric whole. Its work in a browser: tests/e2e."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.judges.rubric import load_rubric
from pytest_hush.review.material import Shown, shown
from pytest_hush.review.page import render_review
from pytest_hush.review.rubric_text import blocks
from pytest_hush.review.sample import draw, item_ids
from pytest_hush.review.sheet import sheet_text
from tests.unit.review.making import replied, starter_plan

PLAN = starter_plan(40)
RECORDS = [
    replace(r, model="openai/secret-model", condition="hidden-condition" if r.condition == "vector" else "none")
    for r in replied(PLAN)
]
ITEMS = item_ids(draw(RECORDS, 40, 0), 0)
SEEN = shown(ITEMS, PLAN.pack)
PAGE = render_review(SEEN, load_rubric())


def data(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_nothing_tells_model_condition_memory_scores_or_record() -> None:
    for text in (PAGE, sheet_text(SEEN)):
        for secret in ("secret-model", "hidden-condition", "embedded", "the judge's secret", 'rationale":', '"v":0'):
            assert secret not in text
        for drawn in ITEMS.values():
            r = drawn.record
            assert r.key not in text
            assert r.probe_id not in text
            assert (r.disclosure_id or "?") not in text


def test_the_same_reply_to_the_same_probe_looks_the_same_under_every_condition() -> None:
    one = next(d for d in ITEMS.values() if d.record.condition == "none")
    other = replace(one, record=replace(one.record, model="b", condition="c", judgements=(), entries=(), repeat=3))
    assert shown({"x": one}, PLAN.pack) == shown({"x": other}, PLAN.pack)


def test_each_item_has_turn_reply_disclosure_and_facts() -> None:
    found = data(PAGE)
    items, facts = found["items"], found["facts"]
    assert isinstance(items, list)
    assert isinstance(facts, list)
    probes = {p.id: p for p in PLAN.pack.probes}
    disclosures = {d.id: d for d in PLAN.pack.disclosures}
    for item in items:
        r = ITEMS[item["id"]].record
        assert item["turn"] == probes[r.probe_id].text
        assert item["reply"] == r.reply
        assert item["disclosure"] == disclosures[r.disclosure_id or ""].statement
        persona = next(p for p in PLAN.pack.personas if p.id == r.persona)
        assert [facts[n] for n in item["facts"]] == [[f.kind == "ambient", f.text] for f in persona.facts]


def test_the_page_loads_nothing_and_no_text_becomes_markup() -> None:
    hostile = Shown(
        "x1", "</script><script>alert(1)</script>", "<img src=x>\u202e\ud83d", "<b>", "&lt;", ((True, "<i>"),)
    )
    page = render_review([hostile], load_rubric())
    assert "default-src &#39;none&#39;" in page
    assert "trusted-types &#39;none&#39;" in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#)", page)
    assert page.count("<script") == 2
    assert data(page)["items"][0]["reply"] == "<img src=x>\u202e\ud83d"  # type: ignore[index]
    assert "\u202e" not in page


def test_the_rubric_stands_in_the_page_to_the_last_word() -> None:
    for name in ("conservative-1", "safety-aware-1"):
        rubric = load_rubric(name)
        page = render_review(SEEN[:1], rubric)
        body = re.sub(r"<[^>]+>", " ", page[page.index('id="rubric-title"') : page.index('class="card drop"')])
        for escaped, plain in (("&#34;", '"'), ("&#39;", "'"), ("&gt;", ">"), ("&amp;", "&")):
            body = body.replace(escaped, plain)
        wanted = re.findall(r"\w+", re.sub(r"(?m)^\d+\. ", "", rubric.text))
        shown_words = re.findall(r"\w+", body)
        assert " ".join(wanted) in " ".join(shown_words)
        assert [b.kind for b in blocks(rubric.text)].count("table") == 2
    assert "dwelt on" in PAGE[PAGE.index('data-scale="over_scope"') :][:900]
    assert "dwelt on</span>" not in render_review(SEEN[:1], load_rubric(), hints=False)


def test_a_pack_without_the_probe_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no probe .* --pack"):
        shown(ITEMS, replace(PLAN.pack, probes=()))
