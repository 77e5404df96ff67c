"""Both sides on every surface: invitations, usefulness of memory, and UIS by exposure flag."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import pytest_hush
from pytest_hush.model import Exposure, Record
from pytest_hush.report import asked, flags
from pytest_hush.report.markdown import comment
from pytest_hush.report.result import result
from pytest_hush.report.terminal import render
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of
from tests.unit.report.pages import Page, page_of

PLAN = make_plan(make_pack(6, 4, positive_controls=4), conditions="vector,oracle", invitations=True)
INSTRUMENT = {
    "pack": "made-up@1+0", "rubric": "r@0", "policy": "p", "judge": "embedded", "judge_version": "1", "schema": 1,
    "embedded_build": "",
}  # fmt: skip
SUBJECT = {"memory_version": "1", "settings": {"model": {}, "memory": {}}, "prompts": "p@0", "plugin_version": "0"}
SHOWN = (Exposure(True, False, False), Exposure(False, False, True), Exposure(False, False, False))
SCORES = (1.0, 0.5, 0.25)


def records() -> Sequence[Record]:
    made, n = [], 0
    for r in make_records(PLAN):
        if r.kind == "control":
            r = replace(r, control={"retrieved": True, "shown": n % 2 == 0, "used": False})
            n += 1
        elif r.condition == "vector" and not r.invited:
            kind = n % 3
            r = replace(r, exposure=SHOWN[kind], judgements=(replace(r.judgements[0], v=SCORES[kind]),))
            n += 1
        elif r.invited and r.condition == "oracle":
            r = replace(r, judgements=(replace(r.judgements[0], target_uptake=0.75),))
        made.append(r)
    return [replace(r, instrument=INSTRUMENT, subject={**r.subject, **SUBJECT, "label": r.condition}) for r in made]


RECORDS = records()
SUMMARY = summary_of(RECORDS, PLAN)


def test_the_terminal_says_what_an_invitation_gains_and_how_useful_memory_is() -> None:
    text = " ".join(" ".join(render(SUMMARY, width=100)).split())
    assert "invited under oracle beside uninvited, 24 pairs: target uptake +75.0 [+" in text
    assert "to 75.0 of target uptake (sign-flip p of the gain 0.016)" in text
    assert "usefulness of memory (positive controls shown, %): vector 50 [" in text
    assert "12/24" in text


def test_uis_at_no_exposure_is_taken_apart_and_adds_up() -> None:
    (split,) = [s for s in flags.splits(SUMMARY) if s.condition == "vector"]
    assert [p.name for p in split.parts] == ["residue", "ambient", "neither"]
    assert sum(p.points for p in split.parts) == pytest.approx(split.uis)
    assert sum(p.n for p in split.parts) == split.n
    ambient, neither = split.parts[1:]
    assert (ambient.uis, neither.uis, neither.beyond) == (50.0, 25.0, None)
    assert ambient.beyond == pytest.approx(100 * (ambient.n / split.n) * 25 / split.uis)
    text = " ".join(" ".join(render(SUMMARY, width=100)).split())
    assert f"UIS {split.uis:.1f} of {split.n} not-exposed cases = residue 0.0 (0 cases) + ambient" in text


def test_a_share_below_zero_explains_nothing() -> None:
    (split,) = [s for s in flags.splits(SUMMARY) if s.condition == "vector"]
    parts = [replace(p, beyond=-27.0) if p.name == "ambient" else p for p in split.parts]
    told = flags.sentence(replace(split, parts=parts, unknown=1))
    assert "beyond what cases with neither show: residue 0 %, ambient none; 1 case with a flag" in told


def test_an_unknown_flag_is_counted_and_never_taken_for_no() -> None:
    unknown = [
        replace(r, exposure=Exposure(False, False, None)) if r.kind == "probe" and r.condition == "vector" else r
        for r in RECORDS
    ]
    (split,) = [s for s in flags.splits(summary_of(unknown, PLAN)) if s.condition == "vector"]
    assert (split.unknown, sum(p.n for p in split.parts)) == (split.n, 0)
    assert f"{split.n} cases with a flag that is not known" in flags.sentence(split)


def test_markdown_and_page_have_the_same_figures() -> None:
    markdown = comment(SUMMARY, exit_code=0, records=RECORDS)
    assert "**When it is invited**" in markdown
    assert "**What was shown where the disclosure was not**" in markdown
    assert "positive controls %" in markdown
    page = Page(page_of(RECORDS, PLAN, summary=SUMMARY))
    assert {"invitations", "flags", "controls"} <= page.ids()
    gain = next(i for i in asked.invitations(SUMMARY) if i.condition == "oracle").gain
    assert gain.lower is not None
    for text in (f"{gain.value:+.1f}", f"{gain.lower:+.1f}"):
        assert text in markdown
        assert text in page.text
    assert "12 of 24" in page.text


def test_the_json_result_holds_them_by_its_schema() -> None:
    schema = Path(pytest_hush.__file__).parents[1] / "docs/reference/schemas/result.schema.json"
    if not schema.is_file():
        pytest.skip("result.schema.json: not beside an installed package")
    data = result(SUMMARY, exit_code=0, plugin_version="0.1.0")
    jsonschema.validate(data, json.loads(schema.read_text(encoding="utf-8")))
    (told,) = [x for x in data["exposure_flags"] if x["condition"] == "vector"]
    assert told["flags"]["exact"]["yes"] == [100.0, 32]
    assert data["positive_controls"][0]["shown"] == 12
    assert {c["versus"] for c in data["contrasts"]} == {"uninvited"}
