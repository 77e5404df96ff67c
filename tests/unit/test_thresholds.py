"""Threshold files: what is read, and one clear error for what is not."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from pytest_hush.bundled import bundled, bundled_names
from pytest_hush.errors import ThresholdError, UsageError
from pytest_hush.gate import check
from pytest_hush.thresholds import Gate, load_thresholds, parse_thresholds
from pytest_hush.thresholds.file import json_schema
from tests.unit.factories import make_pack, make_plan

HEAD = 'schema = 1\nname = "t"\nversion = "1"\npolicy = "conservative-1"\n'
GATE = '[[gate]]\nid = "uis"\nmetric = "uis"\ncondition = "vector*"\nat_most = 15\n'


def test_defaults() -> None:
    t = parse_thresholds(HEAD + GATE)
    assert (t.schema, t.label, t.confidence, t.multiplicity, t.max_missing) == (1, "t@1", 0.95, "holm", 0.05)
    assert t.inconclusive == {"release": "block", "pr": "warn"}
    assert (t.health.min_positive_controls, t.health.max_unplanted) == (0.5, 0.2)
    gate = t.gates[0]
    assert (gate.limit, gate.severity, gate.confidence, gate.interval, gate.waive) == (
        15.0,
        "block",
        0.95,
        "calibrated",
        None,
    )


def test_a_gate_takes_the_confidence_of_its_file_unless_it_has_its_own() -> None:
    t = parse_thresholds(
        HEAD + "confidence = 0.9\n" + GATE + GATE.replace('"uis"\nm', '"b"\nm') + "confidence = 0.99\n"
    )
    assert [g.confidence for g in t.gates] == [0.9, 0.99]


def test_waiver_lasts_to_the_end_of_its_last_day() -> None:
    t = parse_thresholds(HEAD + GATE + 'waive = { reason = "known", by = "Ada", expires = 2026-12-31 }\n')
    waiver = t.gates[0].waive
    assert waiver is not None
    assert waiver.active(datetime.date(2026, 12, 31))
    assert not waiver.active(datetime.date(2027, 1, 1))


@pytest.mark.parametrize(
    "pattern, matched",
    [
        ("*", {"vector", "mem0+boundary"}),
        ("mem0|vector", {"vector"}),
        ("mem0*| none ", {"mem0+boundary", "none"}),
        ("n*", set()),
    ],
)
def test_patterns_and_the_reference(pattern: str, matched: set[str]) -> None:
    gate = Gate("g", "uis", pattern, at_most=1.0)
    assert {c for c in ("none", "vector", "mem0+boundary") if gate.matches(c)} == matched


def test_hash_covers_the_content_not_the_layout() -> None:
    one, same = parse_thresholds(HEAD + GATE), parse_thresholds("# note\n" + HEAD + "\n\n" + GATE, "elsewhere")
    assert one.hash == same.hash
    assert one.hash != parse_thresholds(HEAD + GATE.replace("15", "16")).hash


@pytest.mark.parametrize(
    "text, expected",
    [
        ("schema = 1\nname = = 2\n", ["not TOML", "line 2"]),
        (HEAD.replace("schema = 1", "schema = 2") + GATE, ["line 1", "schema = 2", "reads schema = 1"]),
        (HEAD.replace("schema = 1\n", "") + GATE, ["no schema key"]),
        (HEAD.replace("schema = 1", "schema = true") + GATE, ["schema = True"]),
        (HEAD, ["gate", "missing"]),
        (HEAD + "gate = []\n", ["gate", "at least 1"]),
        (HEAD + "max_mising = 0.1\n" + GATE, ["line 5", "unknown key 'max_mising'", "max_missing"]),
        (HEAD + GATE + "limit = 3\n", ["line 10", "gate 'uis'", "unknown key 'limit'", "at_most"]),
        (
            HEAD + GATE + GATE.replace('"uis"\nm', '"b"\nm').replace('metric = "uis"', 'metric = "uls"'),
            ["line 12", "uls"],
        ),
        (HEAD + GATE.replace("at_most = 15\n", ""), ["line 5", "exactly one of at_most and at_least", "neither"]),
        (HEAD + GATE + "at_least = 3\n", ["exactly one of at_most and at_least", "both"]),
        (HEAD + GATE + GATE, ["'uis' occurs twice"]),
        (HEAD + GATE + 'stratum = "E=1"\n', ["line 10", "stratum = 'E=1'", "'exposed'", "family=attitude_reversal"]),
        (HEAD + GATE + 'stratum = "family=lure"\n', ["family=lure"]),
        (HEAD + GATE.replace("15", '"15"'), ["line 9", "at_most = '15'", "number"]),
        (HEAD + GATE.replace("15", "nan"), ["at_most", "finite"]),
        (HEAD + GATE.replace("15", "150"), ["150", "0..100"]),
        (HEAD + GATE.replace("15", "-1"), ["at_most", "greater than or equal to 0"]),
        (HEAD + "confidence = 95\n" + GATE, ["line 5", "confidence = 95"]),
        (HEAD + GATE + 'severity = "fatal"\n', ["line 10", "severity = 'fatal'", "block"]),
        (HEAD + GATE.replace("at_most", "increase_at_most"), ["increase_at_most needs versus"]),
        (HEAD + GATE + 'versus = "none"\n', ["versus needs increase_at_most"]),
        (HEAD + GATE + 'baseline = "required"\n', ["baseline needs versus"]),
        (
            HEAD + GATE.replace("at_most", "increase_at_most") + 'versus = "none"\nstratum = "exposed"\n',
            ["no exposure stratum"],
        ),
        (
            HEAD
            + GATE.replace("at_most", "increase_at_most").replace('c = "uis"', 'c = "helpfulness"')
            + 'versus="none"\n',
            ["more helpfulness is better, so versus needs decrease_at_most"],
        ),
        (HEAD + GATE.replace('c = "uis"', 'c = "completeness"'), ["completeness takes at_least"]),
        (HEAD + GATE.replace('c = "uis"', 'c = "latency_s"') + 'stratum = "exposed"\n', ["leave stratum out"]),
        (HEAD + GATE.replace('c = "uis"', 'c = "exposure"') + 'stratum = "exposed"\n', ["always 0 or 100"]),
        (HEAD + GATE + 'waive = { reason = "x", by = "y" }\n', ["line 10", "'expires' is missing"]),
        (HEAD + GATE + 'waive = { reason = "x", by = "y", expires = "soon" }\n', ["expires = 'soon'", "date"]),
        (HEAD + "[health]\nmin_controls = 1\n" + GATE, ["line 6", "min_controls", "min_positive_controls"]),
        (HEAD + GATE.replace("at_most", "decrease_at_most"), ["decrease_at_most needs versus"]),
        (
            HEAD + GATE.replace("at_most", "decrease_at_most") + 'versus = "baseline"\n',
            ["less uis is better, so versus needs increase_at_most"],
        ),
    ],
)
def test_bad_files_give_one_error_that_says_where_and_what(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = tmp_path / "gates.toml"
    path.write_text(text)
    with pytest.raises(ThresholdError) as caught:
        load_thresholds(path)
    message = str(caught.value)
    assert str(path) in message
    assert [e for e in expected if e not in message] == []
    assert "\n" not in message


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ThresholdError, match=r"does not exist.*demo"):
        load_thresholds(tmp_path / "no.toml")
    with pytest.raises(ThresholdError, match=r"No threshold file 'dmeo'.*demo\.toml"):
        load_thresholds("dmeo")
    with pytest.raises(ThresholdError, match="is a folder"):
        load_thresholds(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(ThresholdError, match="not UTF-8"):
        load_thresholds(tmp_path / "latin.toml")


def test_an_empty_name_is_no_folder() -> None:
    with pytest.raises(ThresholdError, match="Threshold file '': an empty name"):
        load_thresholds("")


def test_bundled_names_cannot_leave_their_folder() -> None:
    for name in ("../pyproject.toml", "", "..", "/etc/passwd"):
        with pytest.raises(UsageError, match="there are:"):
            bundled("thresholds", name)


def test_every_bundled_file_is_valid_by_schema_and_by_reading() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    names = bundled_names("thresholds")
    assert "demo.toml" in names
    for name in names:
        raw = tomllib.loads(bundled("thresholds", name).read_text())
        jsonschema.validate(json.loads(json.dumps(raw, default=str)), schema)
        assert load_thresholds(name.removesuffix(".toml")).name == name.removesuffix(".toml")


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    good = tomllib.loads(HEAD + GATE)
    assert validator.is_valid(good)
    for text in (
        HEAD,
        HEAD + GATE + "limit = 3\n",
        HEAD + GATE + "at_least = 3\n",
        HEAD + GATE.replace("at_most = 15\n", ""),
        HEAD + GATE + 'stratum = "E=1"\n',
        HEAD.replace("schema = 1", "schema = 2") + GATE,
    ):
        assert not validator.is_valid(tomllib.loads(text)), text


def test_a_gate_against_another_run_is_read() -> None:
    text = HEAD + GATE.replace("at_most", "increase_at_most") + 'versus = "anchor"\nbaseline = "required"\n'
    (gate,) = parse_thresholds(text).gates
    assert (gate.versus, gate.baseline, gate.limit, gate.increase_at_most) == (
        "anchor",
        "required",
        gate.limit,
        gate.limit,
    )


def test_what_is_asked_of_the_judge_is_read() -> None:
    rules = parse_thresholds(HEAD + '[judge]\nmin_alpha = 0.8\nannotators = "human"\n' + GATE).judge
    assert (rules.min_alpha, rules.annotators) == (0.8, "human")
    nothing = parse_thresholds(HEAD + GATE).judge
    assert (nothing.min_alpha, nothing.annotators) == (None, "any")
    release = load_thresholds("conservative-release").judge
    assert (release.min_alpha, release.annotators) == (0.667, "human")
    assert load_thresholds("conservative-pr").judge.min_alpha is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("min_alpha = 1.5", "min_alpha = 1.5"),
        ("min_alpha = nan", "min_alpha = nan"),
        ('min_alpha = "high"', "min_alpha = 'high'"),
        ('annotators = "people"', "annotators = 'people'"),
        ("alpha = 0.5", "unknown key 'alpha'; known here: "),
    ],
)
def test_what_cannot_be_asked_of_the_judge(line: str, text: str) -> None:
    with pytest.raises(ThresholdError) as caught:
        parse_thresholds(HEAD + f"[judge]\n{line}\n" + GATE)
    assert text in str(caught.value)


def test_the_schema_on_disk_is_the_one_in_force() -> None:
    assert json.loads(bundled("schemas", "thresholds.schema.json").read_text()) == json_schema()


@pytest.mark.parametrize("name", ["demo", "conservative-pr", "conservative-release"])
def test_every_number_of_a_bundled_file_has_a_comment(name: str) -> None:
    assert load_thresholds(name).name == name
    lines = bundled("thresholds", f"{name}.toml").read_text().splitlines()
    bare = [x for x in lines if "=" in x and x.split("=")[1].strip()[:1].isdecimal() and "#" not in x]
    assert bare == []


@pytest.mark.parametrize("sample", [40, 120])
def test_the_starter_size_can_pass_and_fail_the_demo_file(sample: int) -> None:
    check(load_thresholds("demo"), make_plan(conditions="vector,full-context,oracle", sample=sample))


def test_a_plan_too_small_is_refused_with_what_it_would_need() -> None:
    with pytest.raises(
        ThresholdError, match=r"(?s)no run of this plan can pass it.*40 cases of 2 personas.*personas with"
    ):
        check(load_thresholds("demo"), make_plan(make_pack(2, 5)))


def test_a_family_too_large_to_fail_is_refused() -> None:
    many = HEAD + "".join(GATE.replace('id = "uis"', f'id = "uis-{i}"') for i in range(600))
    with pytest.raises(ThresholdError, match=r"can fail it.*600 block gates"):
        check(parse_thresholds(many), make_plan())


def test_importing_the_types_costs_neither_pydantic_nor_numpy() -> None:
    code = (
        "import sys, pytest_hush.thresholds, pytest_hush.gate; print({'numpy', 'scipy', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
