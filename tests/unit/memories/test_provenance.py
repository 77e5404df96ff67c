from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.errors import StoreError
from pytest_hush.memories import Ledger


def test_adds_updates_and_deletes() -> None:
    ledger = Ledger()
    ledger.update({}, {"a": "bees", "b": "rows"}, "s1")
    ledger.update({"a": "bees", "b": "rows"}, {"a": "bees and kidneys", "b": "rows", "c": "kettle"}, "s2")
    assert ledger.sources("a") == ("s1", "s2")
    assert ledger.sources("b") == ("s1",)
    assert ledger.sources("c") == ("s2",)
    ledger.update({"a": "bees and kidneys", "b": "rows", "c": "kettle"}, {"b": "rows"}, "s3")
    assert ledger.sources("a") is None
    assert len(ledger) == 1


def test_an_id_that_comes_back_starts_anew() -> None:
    ledger = Ledger()
    ledger.update({}, {"a": "x"}, "s1")
    ledger.update({"a": "x"}, {}, "s2")
    ledger.update({}, {"a": "y"}, "s3")
    assert ledger.sources("a") == ("s3",)


def test_a_merge_inherits_the_sources_of_what_it_was_made_of() -> None:
    ledger = Ledger()
    ledger.update({}, {"a": "x"}, "s1")
    ledger.update({"a": "x"}, {"a": "x", "b": "y"}, "s2")
    ledger.update({"a": "x", "b": "y"}, {"m": "x and y"}, "s3", derived={"m": ["a", "b"]})
    assert ledger.sources("m") == ("s1", "s2", "s3")


def test_what_the_ledger_never_saw_is_an_error_not_a_guess() -> None:
    with pytest.raises(StoreError, match=r"'a'.*never saw"):
        Ledger().update({"a": "x"}, {"a": "x"}, "s1")
    with pytest.raises(StoreError, match="'ghost'"):
        Ledger().update({}, {"m": "x"}, "s1", derived={"m": ["ghost"]})


def test_a_failed_update_changes_nothing() -> None:
    ledger = Ledger()
    ledger.update({}, {"a": "x"}, "s1")
    before = ledger.to_json()
    with pytest.raises(StoreError):
        ledger.update({"a": "x"}, {"b": "y"}, "s2", derived={"b": ["ghost"]})
    assert ledger.to_json() == before


def test_a_fork_is_independent() -> None:
    base = Ledger()
    base.update({}, {"a": "x"}, "s1")
    fork = base.copy()
    fork.update({"a": "x"}, {"a": "x2"}, "s2")
    assert base.sources("a") == ("s1",)
    assert fork.sources("a") == ("s1", "s2")


@pytest.mark.parametrize(
    "data", [None, [], {}, {"schema": 2, "entries": {}}, {"schema": 1, "entries": {"a": "s1"}}, {"schema": 1}]
)
def test_anything_else_is_not_read_as_a_ledger(data: object) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        Ledger.from_json(data)


Operations = st.lists(
    st.tuples(st.sampled_from(["add", "update", "rewrite", "delete", "merge"]), st.integers(0, 99)), max_size=6
)


@settings(deadline=None)  # shared cores: a slow example is no failure
@given(st.lists(st.tuples(st.integers(0, 6), Operations), max_size=12))
def test_any_order_of_ingests_keeps_the_ledger_true_to_the_content(
    ingests: list[tuple[int, list[tuple[str, int]]]],
) -> None:
    """A store whose every text names the sessions that it was made of, driven at random, checks its ledger."""
    ledger = Ledger()
    store: dict[str, list[str]] = {}
    made = 0
    for step, (number, operations) in enumerate(ingests):
        source = f"s{number}"
        before = {k: " ".join(v) for k, v in store.items()}
        derived: dict[str, list[str]] = {}
        for operation, pick in operations:
            old = sorted(before.keys() & store.keys() - derived.keys())
            made += 1
            mark = f"{source}/{step}.{made}"
            if operation == "add" or not old:
                store[f"e{made}"] = [mark]
            elif operation == "update":
                store[old[pick % len(old)]].append(mark)
            elif operation == "rewrite":
                store[old[pick % len(old)]] = [mark]
            elif operation == "delete":
                del store[old[pick % len(old)]]
            else:
                first, second = old[pick % len(old)], old[-1]
                # As systems do it: the parts as they were before the ingest, under a new id.
                store[f"m{made}"] = [*before[first].split(), *before[second].split(), mark]
                derived[f"m{made}"] = [first, second]
        after = {k: " ".join(v) for k, v in store.items()}
        ledger.update(before, after, source, derived=derived)
        rewritten = any(operation == "rewrite" for _, ops in ingests for operation, _ in ops)
        for entry, text in after.items():
            truth = {mark.split("/")[0] for mark in text.split()}
            found = set(ledger.sources(entry) or ())
            assert truth <= found
            if not rewritten:  # a rewrite drops words, and the ledger rightly keeps where they came from
                assert truth == found
        assert len(ledger) == len(store)
        again = Ledger.from_json(json.loads(json.dumps(ledger.to_json())))
        assert again.to_json() == ledger.to_json()
