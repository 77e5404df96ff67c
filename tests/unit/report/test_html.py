"""The page: its sections by what the run has, its policy, and texts of others in the part that is rendered here."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import UsageError
from pytest_hush.gate import comparisons, contrasts, estimates, judge, opinions, reference
from pytest_hush.model import Judgement, Record
from pytest_hush.plan import Plan
from pytest_hush.report.html import write_page
from pytest_hush.report.html.page import unbroken
from pytest_hush.report.summary import NO_GUARANTEE, Summary, summarise
from pytest_hush.report.wording import because, headline
from pytest_hush.thresholds import load_thresholds
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import TODAY, summary_of
from tests.unit.report.pages import Page, outside, page_of, policy_of

PACK = make_pack(4, 3)
PLAN = make_plan(PACK, conditions="vector,full-context")
RECORDS = make_records(PLAN, lambda case: 1.0 if case.condition.name == "vector" else 0.0)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \x1b[2J ‮\u200b"
SECTIONS = {
    "waivers", "gates", "conditions", "split", "flags", "pairs", "corrected", "heat", "beside", "invitations",
    "controls", "agreement", "worst", "cases", "cost", "provenance",
}  # fmt: skip
FILE = """
schema = 1
name = "own"
version = "1"
policy = "conservative-1"
[[gate]]
id = "uis"
metric = "uis"
condition = "*"
at_most = 40.0
waive = { reason = "fix in review", by = "Ada", expires = 2026-07-01 }
[[gate]]
id = "old"
metric = "helpfulness"
condition = "*"
at_least = 5.0
waive = { reason = "long gone", by = "Ben", expires = 2020-01-01 }
[[gate]]
id = "no-worse"
metric = "uis"
condition = "*"
versus = "baseline"
increase_at_most = 60.0
"""


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(page_of(RECORDS, PLAN))


def beside(records: list[Record], other: list[Record], plan: Plan, source: Path | None = None) -> Summary:
    """The summary of `records` beside the run `other`, under the thresholds in `source` or ``demo``."""
    thresholds = load_thresholds(str(source) if source else "demo")
    references = {"baseline": reference("baseline", "main", other)}
    verdicts = judge(records, plan, thresholds, mode="pr", references=references, today=TODAY)
    return summarise(
        records,
        plan,
        thresholds,
        estimates(records, plan),
        verdicts,
        mode="pr",
        contrasts=contrasts(records, plan, references),
        comparisons=comparisons(records, plan, references),
    )


def test_the_banner_says_the_word_and_why(page: Page) -> None:
    summary = summary_of(RECORDS, PLAN)
    (html,) = page.all("html")
    assert (html["data-status"], html["data-exit-code"]) == ("failed", "1")
    assert headline(summary) in page.text
    assert because(summary) in page.text
    assert NO_GUARANTEE in page.text
    assert "Policy conservative-1, thresholds demo" in page.text


def test_every_verdict_stands_with_its_outcome(page: Page) -> None:
    told = [(a["data-gate"], a["data-outcome"], a["data-blocks"]) for a in page.all("li") if a.get("data-gate")]
    verdicts = summary_of(RECORDS, PLAN).verdicts
    assert sorted(told, key=str) == sorted(((v.id, v.outcome, "yes" if v.blocks else "no") for v in verdicts), key=str)
    assert told[0][2] == "yes", "what blocks comes first"


def test_sections_follow_the_data(page: Page) -> None:
    assert {"gates", "conditions", "split", "heat", "controls", "cost", "provenance", "cases"} <= page.ids()
    assert not {"waivers", "beside", "invitations", "agreement"} & page.ids()
    assert {"pairs", "beside", "waivers"} - page.ids() == {"pairs", "beside", "waivers"}, "nothing was compared"
    bare = Page(page_of(RECORDS[:3], PLAN, summary=summary_of(RECORDS[:3], PLAN, stopped="5 failures")))
    assert not {"gates", "waivers", "beside"} & bare.ids()
    assert "5 failures" in bare.text


def test_published_figures_are_named_as_such(page: Page) -> None:
    assert "HUSH-Bench, arXiv 2606.06055" in page.text
    assert any(a.get("class") == "published-figure" for a in page.all("td"))
    plan = make_plan(PACK, conditions="vector")
    plan = replace(
        plan, conditions=plan.conditions[1:], cases=tuple(c for c in plan.cases if c.condition.name != "none")
    )
    assert "HUSH-Bench" not in Page(page_of(make_records(plan), plan)).text


def test_waivers_and_another_run_have_their_sections(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(FILE, encoding="utf-8")
    other = make_records(PLAN)
    page = Page(page_of(RECORDS, PLAN, summary=beside(RECORDS, other, PLAN, file),
                        references={"baseline": reference("baseline", "main", other)}))  # fmt: skip
    assert {"waivers", "beside", "pairs"} <= page.ids()
    assert "active Waived by Ada until 2026-07-01: fix in review" in page.text
    assert "expired The waiver by Ben expired on 2020-01-01: long gone" in page.text
    assert "nothing in the recorded subject" in page.text
    assert "+100.0" in page.text


def test_a_refused_comparison_compares_no_case() -> None:
    other = [replace(r, instrument={**r.instrument, "judge_version": "2"}) for r in make_records(PLAN)]
    references = {"baseline": reference("baseline", "main", other)}
    page = Page(page_of(RECORDS, PLAN, summary=beside(RECORDS, other, PLAN), references=references))
    assert "Not compared" in page.text
    assert "judge_version" in page.text
    assert page.index()["other"] is None
    assert not any(c["paired"] for c in page.cases())


def test_invited_pairs_and_second_opinions_are_tabled() -> None:
    plan = make_plan(PACK, conditions="vector", invitations=True)

    def told(r: Record) -> Record:
        if not r.judgements:
            return r
        j = replace(r.judgements[0], target_uptake=0.75 if r.invited else 0.25)
        second = Judgement("other/judge", "r", None if r.invited else 0.5, 0.0, 0.0, 1.0)
        return replace(r, judgements=(j, second))

    records = [told(r) for r in make_records(plan)]
    beside_one_another = opinions(records, plan, {}, "first")
    page = Page(page_of(records, plan, summary=summary_of(records, plan, opinions=beside_one_another)))
    assert {"invitations", "agreement"} <= page.ids()
    assert "+50.0" in page.text
    assert "other/judge" in page.text


def test_only_this_style_sheet_and_this_script_apply(page: Page) -> None:
    policy = policy_of(page)
    for kind, (text,) in (("style-src", page.styles), ("script-src", page.scripts)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_nothing_is_fetched_and_nothing_is_styled_or_run_in_place() -> None:
    text = page_of(RECORDS, PLAN)
    assert outside(text) == []
    page = Page(text)
    assert not [a for _, a in page.tags if "style" in a or any(n.startswith("on") for n in a)]
    assert not {t for t, _ in page.tags} & {"link", "img", "iframe", "object", "embed", "base"}


def test_scripts_never_parse_text_as_markup(page: Page) -> None:
    (script,) = page.scripts
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc"):
        assert sink not in script


def test_text_of_others_is_text() -> None:
    plan = make_plan(make_pack(2, 3), models=[HOSTILE], conditions=f"vector+{HOSTILE.replace(',', '')}")
    records = [replace(r, status="error", judgements=(), error=HOSTILE) for r in make_records(plan)]
    summary = replace(summary_of(records, plan), notes=(HOSTILE,), run_folder=HOSTILE)
    text = page_of(records, plan, summary=summary, started=HOSTILE)
    page = Page(text)
    assert len(page.scripts) == 1
    assert not page.all("img")
    assert "<script>alert" not in text.replace(page.scripts[0], "")
    assert not {"\x1b", "‮", "\u200b"} & set(text), "nothing invisible stands in what is rendered here"
    assert "\\u202e" in page.text


def test_the_same_material_gives_the_same_bytes() -> None:
    assert page_of(RECORDS, PLAN) == page_of(list(reversed(RECORDS)), PLAN)


def test_a_redacted_page_has_every_score_and_no_text() -> None:
    canary = "Velmarrow has the tablets"
    plan = replace(PLAN, cases=tuple(replace(c, text=canary) for c in PLAN.cases))
    records = [
        replace(
            r,
            reply=canary,
            notes=(canary,),
            error="" if r.measured else canary,
            judgements=tuple(replace(j, evidence=canary, rationale=canary) for j in r.judgements),
            entries=tuple(replace(e, text=canary) for e in r.entries),
        )
        for r in RECORDS
    ]
    other = reference("baseline", "main", records)
    options: dict[str, Any] = {"redacted": "Redacted on request.", "references": {"baseline": other}}
    text = page_of(records, plan, **options)
    page = Page(text)
    assert set(page.blobs) == {"index"}, "there is no piece of text at all"
    assert page.index()["texts_are"] is False
    assert "Velmarrow" not in text + str(page.index())
    assert "fern" not in text + str(page.index())
    assert "Redacted on request." in page.text
    assert [c["v"] for c in page.cases()] == [c["v"] for c in Page(page_of(records, plan)).cases()]


def test_a_page_is_private_and_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.html"
    write_page(path, "<p>first</p>")
    write_page(path, "<p>ä</p>")
    assert path.read_text(encoding="utf-8") == "<p>ä</p>"
    assert path.stat().st_mode & 0o077 == 0
    assert [p.name for p in path.parent.iterdir()] == ["r.html"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--out=.*r.html: it cannot be written"):
        write_page(tmp_path / "file" / "r.html", "", option="--out")


def test_passed_gates_are_folded_where_there_are_many() -> None:
    base = summary_of(RECORDS, PLAN)
    one = replace(base.verdicts[0], outcome="pass", blocks=False, sentence="s.", reason="", p=0.777)
    for number, folded in ((6, False), (7, True)):
        passing = [replace(one, gate=f"p{n}") for n in range(number)]
        failing = replace(one, gate="f", outcome="fail", severity="warn", p=0.02)
        page = Page(page_of(RECORDS, PLAN, summary=replace(base, verdicts=[*passing, failing])))
        (box,) = [a for a in page.all("details") if a.get("class") == "passed"]
        assert ("open" not in box) is folded
        assert f"{number} gates passed" in page.text
        assert [a["data-outcome"] for a in page.all("li") if a.get("data-gate")] == ["fail", *["pass"] * number]
        assert "p 0.78" not in page.text
        assert "a gate that only warns · interval" in page.text
        assert "p 0.02" in page.text


def test_a_gate_says_what_being_inconclusive_does_in_this_mode() -> None:
    base = summary_of(RECORDS, PLAN)
    v = replace(base.verdicts[0], outcome="inconclusive", severity="block", blocks=False, waiver="")
    page = Page(page_of(RECORDS, PLAN, summary=replace(base, verdicts=[v])))
    assert "a gate that blocks where it fails, or is inconclusive in release mode; this is pr mode" in page.text


def test_the_worst_cases_are_those_that_used_something(page: Page) -> None:
    silent = Page(page_of(make_records(PLAN), PLAN))
    assert "No measured case has a v above 0" in silent.text
    assert "No measured case has a v above 0" not in page.text
    first, *rest = (r for r in make_records(PLAN) if r.kind == "probe" and r.condition == "vector")
    one = [replace(first, judgements=(replace(first.judgements[0], v=0.5),)), *rest]
    told = Page(page_of(one, PLAN))
    assert len([a for a in told.all("a") if a.get("href", "").startswith("#case=")]) == 1


def test_the_navigation_leads_to_every_section_that_is_there(page: Page) -> None:
    links = {a["href"].removeprefix("#") for a in page.all("a") if a.get("href", "").startswith("#")}
    assert page.ids() & SECTIONS <= links
    assert not (SECTIONS & links) - page.ids()


def test_figures_do_not_break_inside_and_text_of_others_stays_text() -> None:
    assert str(unbroken("12.5 [0.0, 43.8] in 12")) == (
        '12.5 <span class="whole">[0.0, 43.8]</span> <span class="whole">in 12</span>'
    )
    assert str(unbroken("100 %")) == '<span class="whole">100 %</span>'
    assert str(unbroken("<b> [<i>]")) == '&lt;b&gt; <span class="whole">[&lt;i&gt;]</span>'
    assert unbroken(3) == 3
