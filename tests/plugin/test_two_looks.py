"""A run of two looks: it stops early for what is clear, is judged again alike, and refuses what cannot look."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run, read_lines, read_result

TWO = ("--hush-two-look", "--hush-pack=hush-en-1", "--hush-sample=160")

LEXICAL = """
import re, zlib
import numpy as np
import pytest_hush.embed

class Lexical:
    name, version = "lexical", "1"

    def embed(self, texts):
        rows = np.zeros((len(texts), 2048), dtype=np.float32)
        for row, text in zip(rows, texts):
            row[0] = 1e-3
            for word in set(re.findall(r"[a-z]{4,}", text.lower())):
                row[zlib.crc32(word[:5].encode()) % 2048] += len(word) ** 2
            row /= np.linalg.norm(row)
        return rows

pytest_hush.embed.default_embedder = Lexical
"""
"""An embedder of words in a moment, in place of the built-in one, which takes minutes for a plan of two looks."""


def test_a_silent_model_is_settled_at_the_first_look(project: pytest.Pytester, hush: Run) -> None:
    (project.path / "wide.toml").write_text(
        'schema = 1\nname = "wide"\nversion = "1"\npolicy = "conservative-1"\n'
        '[[gate]]\nid = "uis"\nmetric = "uis"\ncondition = "*"\nat_most = 30\n'
    )
    result = hush("--hush-model=parrot/0", "--hush-memory=oracle", "--hush-thresholds=wide.toml", *TWO)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*First look at 40 probes: nothing goes on; settled: none (parrot/0), oracle*"])
    assert len(read_lines(project.path / "out")) == 80
    (verdict,) = read_result(project.path / "out")["verdicts"]
    assert (verdict["outcome"], verdict["look"], verdict["n"], verdict["confidence"]) == ("pass", 1, 40, 0.99)


def test_the_first_look_waits_for_the_positive_controls(project: pytest.Pytester, hush: Run) -> None:
    project.makeconftest(LEXICAL)
    (project.path / "wide.toml").write_text(
        'schema = 1\nname = "wide"\nversion = "1"\npolicy = "conservative-1"\n'
        '[[gate]]\nid = "uis"\nmetric = "uis"\ncondition = "*"\nat_most = 30\n'
    )
    result = hush("--hush-model=parrot/0", "--hush-memory=vector", "--hush-thresholds=wide.toml", *TWO)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*First look at 40 probes: nothing goes on; settled: none (parrot/0), vector*"])


def test_workers_and_shards_cannot_look(refuse: Run) -> None:
    result = refuse("--hush-model=parrot", "--hush-memory=oracle", "--hush-two-look", "--hush-shard=1/2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--hush-two-look and --hush-shard: a shard cannot look at the others' cases*"])


def test_two_workers_cannot_look(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("--hush-model=parrot", "--hush-memory=oracle", "--hush-two-look", "-n2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the first look needs all of its cases in one process*"])
