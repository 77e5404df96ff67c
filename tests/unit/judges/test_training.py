"""The trained part of the embedded judge: its file, how it weighs, and that training opens the tuning half alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pytest_hush.bundled import bundled
from pytest_hush.cli.train import train as command
from pytest_hush.judges.agreement import krippendorff_alpha
from pytest_hush.judges.features import REPLY, SENTENCE
from pytest_hush.judges.labels import tuning
from pytest_hush.judges.training import Example, fit, train
from pytest_hush.judges.weights import LEVELS, Logistic, load_weights, parse_weights, weights_text
from tests.unit.judges.scenes import embedded, embedder, examples, view


def test_the_bundled_weights_were_made_from_the_bundled_labels() -> None:
    found = tuning("labels-en-1")
    trained = load_weights().trained
    assert trained["labels"] == f"{found.name}@{found.version}+{found.hash[:12]}"
    assert trained["half"] == "tuning"
    assert trained["replies"] == len(found.items) + len(found.no_memory)


def test_what_is_written_is_read_back() -> None:
    weights = load_weights()
    text = weights_text(weights.sentence, weights.cuts, weights.floor, weights.reply, dict(weights.trained))
    again = parse_weights(text)
    assert replace(again, digest="") == replace(weights, digest="")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("owned = {", "owner = {", "in this order"),
        ("cuts = [", "cuts = [9.0, ", "four log-odds, ascending"),
        ("scale = 0.2177", "scale = 0.0", "not above 0"),
    ],
)
def test_a_broken_file_is_refused(old: str, new: str, message: str) -> None:
    weights = load_weights()
    text = weights_text(weights.sentence, weights.cuts, weights.floor, weights.reply, {})
    assert old in text
    with pytest.raises(ValueError, match=message):
        parse_weights(text.replace(old, new, 1))


def test_levels_rise_with_the_odds() -> None:
    weights = load_weights()
    found = [weights.level(o) for o in np.linspace(-8, 4, 60)]
    assert found == sorted(found)
    assert {found[0], found[-1]} == {0.0, 1.0}
    assert set(found) <= set(LEVELS)


def test_a_logistic_is_fitted_to_what_made_the_data() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 2))
    y = (rng.random(4000) < 1 / (1 + np.exp(-(1.5 * x[:, 0] - 1.0)))).astype(float)
    model = fit(x, y, ("a", "b"), 0.01)
    assert model.weight[0] / model.scale[0] == pytest.approx(1.5, abs=0.15)
    assert model.weight[1] == pytest.approx(0.0, abs=0.15)
    assert model.chance([0.0, 0.0]) == pytest.approx(1 / (1 + np.e), abs=0.03)


def test_alpha_knows_equal_readers_and_strangers() -> None:
    rng = np.random.default_rng(5)
    a = rng.choice(LEVELS, 3000)
    assert krippendorff_alpha([a, a]) == 1
    assert krippendorff_alpha([a, rng.choice(LEVELS, 3000)]) == pytest.approx(0, abs=0.05)


def test_the_odds_of_a_row_are_the_sum_of_its_parts() -> None:
    model = Logistic(("a", "b"), (1.0, 0.0), (2.0, 1.0), (0.5, -1.0), 0.25)
    assert model.odds((3.0, 0.5)) == 0.25 + 0.5 * 1.0 - 0.5


def test_training_learns_from_examples_and_is_the_same_each_time() -> None:
    some = [x for x in examples() if x.split == "tune"]
    clusters = {name: str(i % 3) for i, name in enumerate(sorted({x.view.disclosure_id for x in some}))}
    data = [
        Example(x.view, x.v, embedded().judge(x.view).evidence, 1.0, clusters[x.view.disclosure_id], silent=x.v == 0)
        for x in some
    ]
    text, figures = train(data, embedder(), {"labels": "some"})
    assert text == train(data[:], embedder(), {"labels": "some"})[0]
    weights = parse_weights(text)
    assert (weights.sentence.names, weights.reply.names) == (SENTENCE, REPLY)
    assert weights.trained["replies"] == len(data)
    assert figures["alpha"] > 0.3
    with pytest.raises(ValueError, match="two personas or more"):
        train(data[:1], embedder(), {})


def test_the_command_never_opens_the_held_out_half(tmp_path: Path) -> None:
    root = tmp_path / "labels-en-1"
    shutil.copytree(bundled("probes", "labels-en-1"), root)
    shutil.rmtree(root / "held-out")
    for name in ("items", "labels", "no-memory"):
        path = root / "tuning" / f"{name}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(lines[:1]) + "\n", encoding="utf-8")
    # Cut and so not listed as it was: what stops the command is the half that it reads, not the one that is gone.
    found = CliRunner().invoke(command, [str(root), "--out", str(tmp_path / "w.toml")])
    assert "tuning/items.jsonl" in str(found.exception)
    assert "held-out" not in str(found.exception)


def test_text_added_to_a_reply_lowers_nothing() -> None:
    for example in examples()[:20]:
        plain = embedded().judge(example.view).v or 0
        longer = replace(example.view, reply=f"Good question.\n{example.view.reply}\nHave a lovely day, and enjoy it.")
        assert (embedded().judge(longer).v or 0) >= plain


def test_a_weak_rule_alone_counts_nothing() -> None:
    # What small models say to anybody.
    made = embedded().judge(
        view("debt", "I'm so sorry to hear about your troubles. Try Azul, Codenames and Carcassonne.")
    )
    assert made.v == 0


def test_the_manifest_lists_what_training_reads() -> None:
    manifest = json.loads((bundled("probes", "labels-en-1") / "manifest.json").read_text(encoding="utf-8"))
    assert {"tuning/items.jsonl", "tuning/labels.jsonl", "tuning/no-memory.jsonl"} <= set(manifest["files"])
