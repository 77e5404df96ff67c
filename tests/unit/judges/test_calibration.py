from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_hush.errors import LabelError
from pytest_hush.judges.calibration import SCORES, Calibration, JudgeId, calibrate
from pytest_hush.judges.calibration_file import bundled_calibrations, calibration_text, json_schema, read_calibration
from pytest_hush.judges.drift import compare
from pytest_hush.judges.labelled_views import LabelledView, labelled_views
from pytest_hush.judges.labels import LabelledSet, held_out, tuning
from pytest_hush.model import Judgement
from tests.unit.judges.labelled import starter, write_set

TODAY = datetime.date(2026, 6, 1)
JUDGE = JudgeId("strict", "7", "conservative-1@abc", "conservative-1", "")
SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "schemas" / "calibration.schema.json"
Answer = Callable[[LabelledView], Judgement | None]


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> LabelledSet:
    return held_out(write_set(tmp_path_factory.mktemp("labels") / "set"))


def views(labels: LabelledSet) -> tuple[LabelledView, ...]:
    return labelled_views(labels, lambda name: starter())


def said(view: LabelledView, v: float, **changes: float) -> Judgement:
    scores = {"target_uptake": v, "over_scope": v, "helpfulness": 0.75} | changes
    return Judgement("strict", "r", None if view.view.invited else v, **scores)


def agreeing(view: LabelledView) -> Judgement:
    c = view.labelled.consensus
    return said(view, c.v or 0.0, target_uptake=c.target_uptake, over_scope=c.over_scope, helpfulness=c.helpfulness)


def made(labels: LabelledSet, answer: Answer, **changes: Any) -> Calibration:
    found = views(labels)
    options = {"judge": JUDGE, "made": TODAY, "plugin_version": "1"} | changes
    return calibrate(found, [answer(v) for v in found], labels, **options)


def test_a_judge_that_agrees_has_an_alpha_of_one(labels: LabelledSet) -> None:
    c = made(labels, agreeing)
    assert c.alpha.value == pytest.approx(1.0)
    assert c.scores["v"].kappa.value == pytest.approx(1.0)
    assert (c.n, c.unreadable, c.personas, c.partial) == (20, 0, 5, None)
    assert (c.scores["v"].n, c.scores["target_uptake"].n) == (15, 20)  # five of twenty are invited
    assert (c.scores["v"].mae, c.scores["v"].bias, c.scores["v"].exact) == (0, 0, 1)
    assert c.annotators == {"model": 20}
    assert (c.roc["above-0"].auc, c.roc["half"].auc) == (1, 1)
    assert (c.false_positives.n, c.false_positives.uis, c.false_positives.share) == (5, 0, 0)
    assert c.scores["helpfulness"].alpha.value is None  # every reader said 0.75


def test_bias_by_level_family_category_and_origin(labels: LabelledSet) -> None:
    c = made(labels, lambda v: said(v, 0.5))
    assert [(g.name, g.n) for g in c.bias["level"]] == [("0", 5), ("0.5", 1), ("0.75", 4), ("1", 5)]
    assert [g.bias for g in c.bias["level"]] == [0.5, 0.0, -0.125, -0.5]
    assert sum(g.n for g in c.bias["family"]) == sum(g.n for g in c.bias["category"]) == 15
    assert [(g.name, g.n) for g in c.bias["origin"]] == [("written", 10), ("recorded", 5)]
    assert (c.false_positives.uis, c.false_positives.share) == (50, 100)
    assert c.alpha.value is not None
    assert c.alpha.value < 0.1


def test_the_ceiling_is_the_agreement_of_the_two_passes(labels: LabelledSet) -> None:
    ceiling = made(labels, agreeing).ceiling["v"]
    assert ceiling.n == 15
    assert ceiling.mae == pytest.approx(0.25 / 3)
    assert ceiling.alpha.value is not None
    assert 0.8 < ceiling.alpha.value < 1


def test_unreadable_is_counted_and_never_a_zero(labels: LabelledSet) -> None:
    leaks = {v.labelled.item.id for v in views(labels) if v.labelled.consensus.v == 1.0}
    c = made(labels, lambda v: None if v.labelled.item.id in leaks else agreeing(v))
    assert (c.unreadable, c.scores["v"].n, c.n) == (5, 10, 20)
    assert c.scores["v"].bias == 0
    assert "1" not in [g.name for g in c.bias["level"]]
    assert [i.judged for i in c.items if i.item in leaks] == [None] * 5


def test_replies_without_history_are_apart_from_all_else(labels: LabelledSet) -> None:
    silent = [said(views(labels)[0], v) for v in (0.0, 0.5, 0.0, 0.0)]
    c = made(labels, agreeing, no_memory=[*silent, None])
    assert (c.no_memory.n, c.no_memory.uis, c.no_memory.share, c.no_memory.unreadable) == (4, 12.5, 25, 1)
    assert (c.n, c.unreadable, c.alpha.value) == (20, 0, pytest.approx(1.0))
    assert made(labels, agreeing).no_memory.uis is None


def test_a_part_of_the_items_is_marked(labels: LabelledSet) -> None:
    few = views(labels)[:6]
    c = calibrate(few, [agreeing(v) for v in few], labels, JUDGE, made=TODAY, plugin_version="1", of=20)
    assert c.partial is not None
    assert (c.partial.taken, c.partial.of) == (6, 20)


# ---- the file ---------------------------------------------------------------------------------------


def test_a_file_gives_back_what_was_written_and_fits_the_schema(labels: LabelledSet, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for answer in (agreeing, lambda v: None):
        c = made(labels, answer)
        path.write_text(calibration_text(c), encoding="utf-8")
        assert read_calibration(path) == c
        jsonschema.validate(json.loads(path.read_text("utf-8")), json_schema())
    assert not [x for v in views(labels) for x in (v.view.reply, v.view.probe) if x in calibration_text(c)]


def test_the_published_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA.read_text("utf-8")) == json_schema()


def edit(data: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        data = data[int(key) if isinstance(data, list) else key]  # type: ignore[call-overload]
    data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("scores.v.alpha.value", 0.99, "alpha = 0.99, while its items give"),
        ("scores.v.alpha.value", None, "alpha = None, while its items give"),
        ("items.0.judged", 0.75, "while its items give"),
        ("items.0.judged", 7, "out of 0..1"),
        ("n", 19, "n = 19 beside 20 items"),
        ("unreadable", 3, "unreadable = 3, while 0 items have no score"),
        ("annotators", {"human": 3}, "annotators count 3 of 20"),
        ("scores.v.alpha.value", "0.9", "field `scores.v.alpha.value`"),
        ("judge.name", 3, "field `judge.name`"),
        ("labels.part", "half", "field `labels.part`"),
        ("extra", 1, "field `extra`"),
        ("schema", 2, "read schema 2; expected a calibration of schema 1"),
        ("schema", True, "read schema True"),
    ],
)
def test_an_edited_file_is_refused(labels: LabelledSet, tmp_path: Path, path: str, value: Any, text: str) -> None:
    data = json.loads(calibration_text(made(labels, lambda v: said(v, 0.25 if v.labelled.consensus.v else 0.5))))
    edit(data, path, value)
    file = tmp_path / "c.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(LabelError) as caught:
        read_calibration(file)
    assert text in str(caught.value)
    assert str(file) in str(caught.value)
    assert "hush judge calibrate" in str(caught.value)


@pytest.mark.parametrize("body", [None, b"", b"[]", b"\xff\xfe", b"{", b"NaN"])
def test_what_is_no_calibration(tmp_path: Path, body: bytes | None) -> None:
    path = tmp_path / "c.json"
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(LabelError, match="hush judge calibrate"):
        read_calibration(path)


# ---- drift ------------------------------------------------------------------------------------------


def test_drift_names_what_changed_and_where(labels: LabelledSet) -> None:
    before = made(labels, agreeing)
    leaks = [v.labelled.item.id for v in views(labels) if v.labelled.consensus.v == 1.0]

    def later(v: LabelledView) -> Judgement | None:
        name = v.labelled.item.id
        return None if name == leaks[0] else said(v, 0.25) if name in leaks[1:3] else agreeing(v)

    drift = compare(before, made(labels, later, judge=replace(JUDGE, version="8")))
    assert drift.changed == ("version: '7' then, '8' now",)
    assert drift.unreadable == (0, 1)
    assert (drift.n, drift.shift) == (14, pytest.approx(-1.5 / 14))
    assert {(m.item, m.before, m.after) for m in drift.moved} == {
        (leaks[0], 1.0, None),
        (leaks[1], 1.0, 0.25),
        (leaks[2], 1.0, 0.25),
    }
    old, new = drift.alpha["v"]
    assert old == pytest.approx(1.0)
    assert new is not None
    assert new < 0.9
    assert set(drift.alpha) == set(SCORES)
    same = compare(before, before)
    assert (same.changed, same.moved, same.shift, same.same) == ((), (), 0, 100)


def test_other_labels_are_not_compared(labels: LabelledSet, tmp_path: Path) -> None:
    c = made(labels, agreeing)
    with pytest.raises(LabelError, match="part: 'tuning' then, 'held-out' now"):
        compare(made(tuning(labels.source), agreeing), c)
    with pytest.raises(LabelError, match=r"labels: 'labels-test .*different labels|different labels \(labels"):
        compare(made(held_out(write_set(tmp_path / "other", version="1.0", language="en-GB")), agreeing), c)
    few = views(labels)[:6]
    part = calibrate(few, [agreeing(v) for v in few], labels, JUDGE, made=TODAY, plugin_version="1", of=20)
    with pytest.raises(LabelError, match="items: '6' then, '20' now"):
        compare(part, c)


def test_what_ships_fits_the_judge_that_ships() -> None:
    """After a change of the embedded judge: hush judge calibrate labels-en-1 --out probes/labels-en-1/calibrations/…"""
    from tests.unit.judges.scenes import embedded

    own = [c for _, c in bundled_calibrations() if c.judge.name == "embedded"]
    if not own:
        pytest.skip("no calibration of the embedded judge ships")
    assert JudgeId.of(embedded()) in [c.judge for c in own]
    labels = held_out(own[0].labels.name)
    assert (own[0].labels.hash, own[0].labels.part, own[0].partial) == (labels.hash, "held-out", None)
