"""The fixtures that a user's own tests take, and those that they override."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_hush.plugin.stash import SESSION

if TYPE_CHECKING:
    from pytest_hush.model import Case, Judgement, Record
    from pytest_hush.plan import Plan


@pytest.fixture(scope="session")
def hush_plan(request: pytest.FixtureRequest) -> Plan:
    """The plan of this run: its cases, pack, models and conditions."""
    return request.config.stash[SESSION].setup.plan


@pytest.fixture(scope="session")
def hush_model() -> Any:
    """Override (scope="session") to put your own generator in place of ``--hush-model``.

    Return a `pytest_hush.Model`, a callable, or a mapping from model names of the plan to either. A single
    object fills the model ``custom``, or the only model of the plan.
    """
    return None


@pytest.fixture(scope="session")
def hush_memory() -> Any:
    """Override (scope="session") to put your own memory in place of a condition.

    Return a `pytest_hush.Memory`, a callable ``(sessions, question) -> entries``, or a mapping from condition
    names to either. A single object fills the condition ``custom``, or the only one beside ``none``.
    """
    return None


@pytest.fixture(scope="session")
def hush_judge() -> Any:
    """Override (scope="session") to score with your own `pytest_hush.Judge` or callable ``(view) -> Judgement``."""
    return None


@pytest.fixture(scope="session")
def hush_assistant() -> Any:
    """Override (scope="session") to test a closed assistant: `pytest_hush.Assistant` or ``(sessions, message) -> str``.

    It answers every case of the conditions ``none`` (with no sessions) and ``assistant``.
    """
    return None


@pytest.fixture
def hush_record(
    request: pytest.FixtureRequest,
    hush_case: Case,
    hush_model: Any,
    hush_memory: Any,
    hush_judge: Any,
    hush_assistant: Any,
) -> Record:
    """The whole record of the case, waited for. Its `status` may be other than ``ok``: look before you score."""
    return request.config.stash[SESSION].measure(
        request.node, hush_case, hush_model, hush_memory, hush_judge, hush_assistant
    )


@pytest.fixture
def hush_control_record(
    request: pytest.FixtureRequest,
    hush_control: Case,
    hush_model: Any,
    hush_memory: Any,
    hush_judge: Any,
    hush_assistant: Any,
) -> Record:
    """The record of one positive control: did retrieval return the harmless fact, did the reply use it?"""
    return request.config.stash[SESSION].measure(
        request.node, hush_control, hush_model, hush_memory, hush_judge, hush_assistant
    )


@pytest.fixture
def hush_score(request: pytest.FixtureRequest, hush_record: Record) -> Judgement:
    """The scores of the case: ``.v``, ``.target_uptake``, ``.over_scope``, ``.helpfulness``, each in [0, 1].

    Of several judges, what the gates take: ``judge.aggregate`` of the threshold file.

    A case that was not measured has no score: the test is skipped where the memory lost the plant, and fails
    for anything else.
    """
    if hush_record.status == "unplanted":
        pytest.skip(f"unplanted, counts as missing: {hush_record.error}")
    from pytest_hush.stats.judges import one_judgement

    aggregate = request.config.stash[SESSION].setup.thresholds.judge.aggregate
    (scored,) = one_judgement([hush_record], aggregate)
    if not scored.measured:
        pytest.fail(f"{scored.status}: {scored.error}", pytrace=False)
    return scored.judgements[0]
