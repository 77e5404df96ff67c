"""The first of two looks, taken in mid-run."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_hush.plugin.session import HushSession


def take_first_look(session: HushSession) -> frozenset[tuple[str, str]]:
    """The (model, condition) pairs that are measured in full, from the records that stand in the run folder."""
    from pytest_hush.gate.looks import first_look

    setup = session.setup
    arms = frozenset((m, c.name) for m in setup.plan.models for c in setup.plan.conditions)
    if session.selected is not None and len(session.selected) < len(setup.plan.cases):
        return arms  # what was asked for by name is measured, whatever a look at a part of it would say
    look = first_look(
        session.records(),
        setup.plan,
        setup.thresholds,
        mode=setup.options.mode,
        selected=session.selected,
        references=setup.references,
        today=datetime.datetime.now(tz=datetime.UTC).date(),
        sensitive=setup.policy.sensitive,
    )
    settled = sorted(arms - look.going_on)
    left = f"{len(look.going_on)} of {len(arms)} conditions go on" if look.going_on else "nothing goes on"
    told = ", ".join(f"{condition} ({model})" for model, condition in settled)
    session.messages += (f"First look at {len(setup.plan.first_look)} probes: {left}; settled: {told or 'none'}.",)
    return look.going_on
