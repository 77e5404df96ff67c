"""What is known before the first call is said then: aliases, gates about nothing, places that cannot be written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_hush.cli.plan import hook_relay
from pytest_hush.errors import UsageError
from pytest_hush.models import resolve_model
from pytest_hush.plan import parse_conditions
from pytest_hush.plugin.foreseen import check_place, refuse_aliases
from pytest_hush.plugin.judging import check_policies
from pytest_hush.plugin.options import Options
from pytest_hush.plugin.setup import Setup, known_instrument, prepare
from pytest_hush.thresholds import load_thresholds
from tests.unit.gate.making import HEAD


def prepared(folder: Path, condition: str = "vector", *, dry: bool = False, **options: Any) -> Setup:
    """The setup of a parrot's run under a file with one gate on `condition`."""
    file = folder / "gates.toml"
    gate = f'[[gate]]\nid = "g"\nmetric = "uis"\ncondition = "{condition}"\nat_most = 40\n'
    file.write_text(HEAD + gate, encoding="utf-8")
    given = {"model": ("parrot",), "memory": ("vector",), "thresholds": str(file), **options}
    return prepare(hook_relay(), Options(rootpath=folder, **given), dry=dry)


def test_a_gate_that_nothing_in_the_plan_matches_is_a_usage_error_before_any_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gate 'g': 'mem0' matches no planned condition.*--hush-allow-no-verdict"):
        prepared(tmp_path, "mem0")
    assert prepared(tmp_path, "mem0", allow_no_verdict=True).unknown == ()
    assert prepared(tmp_path, "mem0", shard="1/2").unknown == ()  # judged with the others, by the file named then


def test_a_misspelt_condition_is_a_usage_error_beside_gates_that_match(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"condition 'mem00' names no memory \(did you mean mem0"):
        prepared(tmp_path, "vector|mem00")
    (told,) = prepared(tmp_path, "vector|mem00", dry=True).unknown
    assert "'mem00'" in told


@pytest.mark.parametrize("names", [("parrot/0.5", "parrot/0.50"), ("parrot", "parrot/.5")])
def test_two_names_of_one_generator_are_not_two(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=rf"--hush-model={names[1]}: it is the same generator as {names[0]}"):
        prepared(tmp_path, model=names)
    assert len(prepared(tmp_path, model=("parrot/0.5", "parrot/0.6")).models) == 2


def test_two_names_of_one_model_at_one_address() -> None:
    pytest.importorskip("openai")
    from pytest_hush.models.settings import ModelSettings, parse_endpoints

    urls = ["a = http://127.0.0.1:9/v1", "b = http://127.0.0.1:9/v1", "c = http://127.0.0.1:9/v1?tenant=2"]
    settings = ModelSettings(endpoints=parse_endpoints(urls))
    models = {name: resolve_model(name, settings=settings) for name in ("a/m", "a/n", "c/m")}
    refuse_aliases(models)
    with pytest.raises(UsageError, match=r"--hush-model=b/m: it is the same generator as a/m"):
        refuse_aliases({**models, "b/m": resolve_model("b/m", settings=settings)})


def test_two_orders_of_modifiers_are_one_condition() -> None:
    with pytest.raises(
        UsageError, match=r"vector\+boundary\+guard: it is the same condition as vector\+guard\+boundary"
    ):
        parse_conditions(["vector+guard+boundary,vector+boundary+guard"])
    with pytest.raises(UsageError, match="a modifier stands twice"):
        parse_conditions(["vector+guard+guard"])
    assert len(parse_conditions(["vector", "vector+guard", "vector+guard+boundary"])) == 4


def test_a_report_that_could_not_be_written_is_refused_before_any_call(tmp_path: Path) -> None:
    check_place(tmp_path / "new" / "deeper" / "r.html")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--hush-report=.*file/r\.html: it cannot be written"):
        check_place(tmp_path / "file" / "r.html")


def test_a_judge_that_names_no_policy_is_no_judge_of_a_release(tmp_path: Path) -> None:
    judge: Any = SimpleNamespace(judge=lambda view: None, policy="")
    demo = load_thresholds("demo")
    release = Options(rootpath=tmp_path, mode="release")
    check_policies({"mine": judge}, Options(rootpath=tmp_path), demo)
    check_policies({"mine": judge}, Options(rootpath=tmp_path, mode="release", policy="conservative-1"), demo)
    with pytest.raises(UsageError, match=r"release: the judge mine names no policy.*`policy`.*--hush-policy"):
        check_policies({"mine": judge}, release, demo)


def test_a_judge_without_a_version_is_told_from_one_that_is_not_known_yet(tmp_path: Path) -> None:
    setup = prepared(tmp_path)
    judge: Any = SimpleNamespace(judge=lambda view: None)
    assert known_instrument(setup.plan, {"mine": judge}, setup.options)["judge_version"] == ""
    assert "judge_version" not in known_instrument(setup.plan, {"custom": None}, setup.options)


def test_a_plan_that_no_memory_holds_is_refused_without_being_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"The plan would have 240,000,000 cases: 120 probes, 2 conditions, 1 models"):
        prepared(tmp_path, repeats=1_000_000)
