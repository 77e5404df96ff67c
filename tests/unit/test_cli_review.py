"""``hush review``: from a run to readers and back, and what reports and gates make of it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.store import RunFolder, read_labels
from tests.unit.factories import make_pack, make_plan
from tests.unit.review.making import Scores, filled, kept, replied, starter_plan

PLAN = starter_plan(40)
RECORDS = replied(PLAN)
GATES = """
schema = 1
name = "corrected"
version = "1"
policy = "conservative-1"
[judge]
corrected = true
[[gate]]
id = "uis"
metric = "uis"
condition = "vector"
at_most = 60.0
"""


def call(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def review(*args: object) -> Result:
    return call("review", *args)


def key_of(run: Path) -> dict[str, dict[str, str]]:
    return json.loads((run / "review-key.json").read_text())["items"]  # type: ignore[no-any-return]


def judged(run: Path, add: float = 0.0) -> dict[str, Scores]:
    """For each item the judge's own scores, `add` higher where it has room."""
    by_key = {r.key: r for r in RECORDS}
    found: dict[str, Scores] = {}
    for item, known in key_of(run).items():
        j = by_key[known["record"]].judgements[0]
        v = min(1.0, (j.v or 0.0) + add)
        found[item] = (v, j.target_uptake, v, j.helpfulness)
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return kept(tmp_path / "run", PLAN, RECORDS)


# ---- export -----------------------------------------------------------------------------------------


def test_export_hands_out_a_blind_folder_and_keeps_the_key(run: Path, tmp_path: Path) -> None:
    done = review("export", run, "--n", 40)
    assert done.exit_code == 0, done.output
    assert "review.html, review.csv, rubric.md with 40 of 80 scored replies" in done.output
    out = run / "review"
    assert sorted(p.name for p in out.iterdir()) == ["review.csv", "review.html", "rubric.md"]
    assert all(p.stat().st_mode & 0o077 == 0 for p in (*out.iterdir(), run / "review-key.json"))
    assert "Not for the readers" in (run / "review-key.json").read_text()
    with (out / "review.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["item"] for r in rows] == list(key_of(run))
    by_key = {r.key: r for r in RECORDS}
    assert all(by_key[key_of(run)[r["item"]]["record"]].reply == r["reply"] for r in rows)
    assert review("export", run, "--n", 40).exit_code == 0, "the same files may be written again"


def test_export_never_overwrites_what_may_be_filled_in(run: Path, tmp_path: Path) -> None:
    assert review("export", run, "--n", 40).exit_code == 0
    key = (run / "review-key.json").read_text()
    again = review("export", run, "--n", 50)
    assert again.exit_code == 4
    assert "another file stands there, perhaps with labels in it" in again.output
    assert (run / "review-key.json").read_text() == key
    larger = review("export", run, "--n", 50, "--out", tmp_path / "more")
    assert larger.exit_code == 0
    assert "An earlier review of this run stands in review-key-1.json" in larger.output
    assert (run / "review-key-1.json").read_text() == key


def test_export_of_all_says_so(run: Path) -> None:
    done = review("export", run)
    assert "The run has 80 scored replies: all of them are taken, not 600." in done.output


def test_export_refuses_what_readers_cannot_or_may_not_read(tmp_path: Path) -> None:
    private = review("export", kept(tmp_path / "p", PLAN, RECORDS, private=True), "--n", 40)
    assert private.exit_code == 4
    assert "the pack of this run is private" in private.output
    assert review("export", tmp_path / "p", "--n", 40, "--private").exit_code == 0
    bare = [replace(r, reply="(redacted)" if r.reply else "") for r in RECORDS]
    redacted = review("export", kept(tmp_path / "r", PLAN, bare))
    assert redacted.exit_code == 4
    assert "hold no replies" in redacted.output
    unknown = make_plan(make_pack(3, 2))
    other = review("export", kept(tmp_path / "o", unknown, replied(unknown)))
    assert other.exit_code == 4
    assert "which is no bundled pack of this version. Name its folder with --pack" in other.output
    inside = review("export", tmp_path / "p", "--n", 40, "--private", "--out", tmp_path / "p")
    assert inside.exit_code == 4
    assert "that is the run folder, which readers must not see" in inside.output


def test_export_takes_the_rubric_of_the_judge(tmp_path: Path) -> None:
    own = [replace(r, instrument={**r.instrument, "rubric": "house@1"}) for r in RECORDS]
    run = kept(tmp_path / "run", PLAN, own)
    refused = review("export", run, "--n", 40)
    assert refused.exit_code == 4
    assert "judged by house@1, whose text does not ship with this version" in refused.output
    (tmp_path / "house.md").write_text("# House\n\nOur own words.\n")
    assert review("export", run, "--n", 40, "--rubric", tmp_path / "house.md").exit_code == 0
    assert (run / "review" / "rubric.md").read_text() == "# House\n\nOur own words.\n"
    right = kept(tmp_path / "right", PLAN, RECORDS)
    wrong = review("export", right, "--n", 40, "--rubric", tmp_path / "house.md")
    assert wrong.exit_code == 4
    assert "is not the text that the run was judged by" in wrong.output


# ---- import -----------------------------------------------------------------------------------------


def test_one_reader(run: Path, tmp_path: Path) -> None:
    review("export", run, "--n", 40)
    given = judged(run, add=0.25)
    filled(run / "review" / "review.csv", tmp_path / "ada.csv", given.get)
    done = review("import", run, tmp_path / "ada.csv")
    assert done.exit_code == 0, done.output
    assert "40 of 40 replies by Ada" in done.output
    labels = read_labels(run / "labels.jsonl")
    key = key_of(run)
    assert {x.item: (x.v, x.target_uptake, x.over_scope, x.helpfulness) for x in labels} == {
        key[item]["record"]: scores for item, scores in given.items()
    }
    assert {(x.annotator, x.annotator_kind, x.pass_, x.judge, x.judge_version) for x in labels} == {
        ("Ada", "human", "a", "embedded", "1")
    }
    assert {x.item: x.weight for x in labels} == {k["record"]: k["weight"] for k in key.values()}
    table = done.output[done.output.index("Corrected by readers") :]
    assert "40 replies labelled by 1 person" in table
    assert table.count("vector") == table.count("none") == 3, "UIS, over-scope and helpfulness of each condition"


def test_two_readers_agree_and_disagree(run: Path, tmp_path: Path) -> None:
    review("export", run, "--n", 40)
    base = judged(run)
    apart = set(list(base)[:3])
    second = {i: ((1.0, 1.0, 1.0, s[3]) if s[0] <= 0.5 else (0.0, 0.0, 0.0, s[3])) if i in apart else s
              for i, s in base.items()}  # fmt: skip
    sheet = run / "review" / "review.csv"
    filled(sheet, tmp_path / "a.csv", base.get)
    filled(sheet, tmp_path / "b.csv", second.get, annotator="Ben")
    done = review("import", run, tmp_path / "a.csv", tmp_path / "b.csv", "--annotator-kind=model")
    assert done.exit_code == 0, done.output
    assert "Agreement of the two readers on 40 replies" in done.output
    assert "helpfulness    alpha not defined (the scores do not vary)" in done.output
    assert "3 items to adjudicate" in done.output
    assert "labelled by 2 model readers" in done.output
    path = run / "disagreements.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {r["item"] for r in rows} == apart
    assert all(r["v"] == "" and r["v by Ada"] == f"{base[r['item']][0]:g}" for r in rows)
    assert all(r["v by Ben"] == f"{second[r['item']][0]:g}" and r["reply"] for r in rows)
    both = {x.item: x for x in read_labels(run / "labels.jsonl") if x.pass_ == "b"}
    assert len(both) == 40

    filled(path, tmp_path / "c.csv", lambda item: (0.5, 0.5, 0.5, 1.0), annotator="Cleo")
    settled = review("import", run, tmp_path / "a.csv", tmp_path / "b.csv", "--adjudicated", tmp_path / "c.csv")
    assert "No item is left to adjudicate." in settled.output
    decided = [x for x in read_labels(run / "labels.jsonl") if x.pass_ == "adjudicated"]
    assert {x.item for x in decided} == {key_of(run)[i]["record"] for i in apart}
    assert (run / "labels-1.jsonl").exists(), "the labels before are kept"


@pytest.mark.parametrize(
    "edit, told",
    [
        (lambda a, b: b.write_text(b.read_text().replace("Ben", "Ada")), "expected two readers that work apart"),
        (lambda a, b: b.write_text(b.read_text().replace(",0,0,0,1,", ",0,0,0,7,")), "helpfulness: read '7'"),
        (lambda a, b: b.unlink(), "there is no such file"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_nothing_is_written(run: Path, tmp_path: Path, edit, told: str) -> None:  # type: ignore[no-untyped-def]
    review("export", run, "--n", 40)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    filled(run / "review" / "review.csv", a, judged(run).get)
    filled(run / "review" / "review.csv", b, judged(run).get, annotator="Ben")
    edit(a, b)
    done = review("import", run, a, b)
    assert done.exit_code == 4
    assert told in done.output
    assert not (run / "labels.jsonl").exists()


def test_labels_of_another_run_or_of_none_are_refused(run: Path, tmp_path: Path) -> None:
    review("export", run, "--n", 40)
    filled(run / "review" / "review.csv", tmp_path / "a.csv", judged(run).get)
    bare = kept(tmp_path / "bare", PLAN, RECORDS)
    assert "this run has no review" in review("import", bare, tmp_path / "a.csv").output
    (bare / "review-key.json").write_text((run / "review-key.json").read_text())
    changed = [replace(r, reply=f"{r.reply} Changed.") for r in RECORDS]
    moved = kept(tmp_path / "moved", PLAN, changed)
    (moved / "review-key.json").write_text((run / "review-key.json").read_text())
    refused = review("import", moved, tmp_path / "a.csv")
    assert refused.exit_code == 4
    assert "40 of 40 replies of this review are not in the run, or are others than were exported" in refused.output
    assert review("import", run, *["x.csv"] * 3).exit_code == 4


# ---- the surfaces -----------------------------------------------------------------------------------


def test_gate_and_report_show_the_corrected_figures_and_stale_ones_never(run: Path, tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text(GATES)
    before = call("gate", run, "--thresholds", tmp_path / "gates.toml")
    assert "This run has none: the judge's scores alone decide there." in " ".join(before.output.split())
    review("export", run, "--n", 60)
    filled(run / "review" / "review.csv", tmp_path / "a.csv", judged(run, add=0.25).get, annotator="Ada Lace")
    assert review("import", run, tmp_path / "a.csv").exit_code == 0
    found = tmp_path / "result.json"
    after = call("gate", run, "--thresholds", tmp_path / "gates.toml", "--json", found)
    assert "Corrected by readers: 60 replies labelled by 1 person" in after.output
    assert "corrected by 30 labels" in " ".join(after.output.split())
    result = json.loads(found.read_text())
    assert result["review"]["labels"] == "60 replies labelled by 1 person"
    assert {(c["condition"], c["metric"]) for c in result["review"]["corrections"]} == {
        (c, m) for c in ("none", "vector") for m in ("uis", "over_scope", "helpfulness")
    }
    assert (result["verdicts"][0]["interval"], result["verdicts"][0]["labels"]) == ("corrected", 30)
    page, comment = tmp_path / "r.html", tmp_path / "r.md"
    done = call("report", run, "--thresholds=demo", "--out", page, "--markdown", comment)
    assert done.exit_code == 0, done.output
    assert '<h2 id="corrected">Corrected by readers</h2>' in page.read_text()
    assert "**Corrected by readers**: 60 replies labelled by 1 person" in comment.read_text()
    assert "Ada Lace" in (run / "labels.jsonl").read_text()
    assert "Ada Lace" not in page.read_text() + comment.read_text() + found.read_text()

    lines = (run / "labels.jsonl").read_text().replace('"judge_version": "1"', '"judge_version": "0"')
    (run / "labels.jsonl").write_text(lines)
    stale = " ".join(call("gate", run, "--thresholds", tmp_path / "gates.toml", "--json", found).output.split())
    assert "The labels of this run (labels.jsonl) are stale and not used" in stale
    assert "Corrected by readers:" not in stale
    assert json.loads(found.read_text())["verdicts"][0]["labels"] == 0


def test_the_run_folder_knows_nothing_of_labels_as_records(run: Path) -> None:
    review("export", run, "--n", 40)
    assert len(RunFolder.open(run).records()) == len(RECORDS)
