"""``docs/guide/guard.md`` says what its code prints, every setting there is, and gates that are in the gate file."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_hush.guard import GuardSettings
from pytest_hush.thresholds import load_thresholds

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "guard.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_the_code_prints_what_stands_below_it(number: int) -> None:
    code, expected = BLOCKS[number]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, f"guard.md block {number + 1}", "exec"), {"__name__": "guide"})
    assert told.getvalue() == expected


def test_no_code_of_the_guide_is_left_untested() -> None:
    assert GUIDE.count("```python") == len(BLOCKS) == 2


def test_every_setting_is_described_and_the_example_is_one() -> None:
    table = GUIDE.split("| key | default | meaning |")[1].split("## Use it")[0]
    described = {n for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for n in re.findall(r"`(\w+)`", row)}
    assert described == {f.name for f in fields(GuardSettings)}
    example = tomllib.loads(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0])
    assert GuardSettings.from_table(example["tool"]["pytest_hush"]["guard"]).otherwise == "ask"


def test_the_gates_of_the_guides_command_are_all_judged() -> None:
    """Of a command and the file that it names, no gate may be skipped: a skipped one lets everything pass."""
    command = GUIDE.split("## Gate it")[1].split("```")[1]
    conditions = command.split("--hush-memory=")[1].split()[0].split(",")
    gates = load_thresholds("silent-and-useful").gates
    matched = {g.id: {c for c in conditions if g.matches(c)} for g in gates}
    assert all(matched.values()), matched
    assert matched["gain"] == {"oracle+guard"}
    assert matched["withdrawn"] == matched["withdrawn-also-when-invited"] == {"oracle+revoked+guard"}
    assert matched["a-gain-at-all"] == {"vector+guard"}
    assert all(f"`{gate.id}`" in GUIDE for gate in gates)
