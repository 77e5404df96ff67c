"""The functions of other rooms that a case passes through, as one value, so that a test can put its own in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_hush.model import (
    Case,
    Context,
    Disclosure,
    Entry,
    Exposure,
    History,
    JudgeView,
    Pack,
    Persona,
    PositiveControl,
    Probe,
    Prompt,
    Usage,
)

__all__ = ["Rooms", "built_in"]


@dataclass(frozen=True, slots=True)
class Rooms:
    """See the functions of these names in `packs`, `memories`, `judges` and `models`."""

    plant: Callable[[Pack, Disclosure], History]
    plant_shared: Callable[[Pack, Persona, Disclosure | None], History]
    background: Callable[[Pack, Persona], History]
    revoke: Callable[[History, str], History]
    render: Callable[[Sequence[Entry]], str]
    exposure: Callable[[Context, History], Exposure]
    readiness: Callable[[Sequence[Entry], Sequence[Entry], History], str]
    control_retrieved: Callable[[Context, PositiveControl, History], bool | None]
    judge_view: Callable[[Case, Probe, str, Disclosure, Persona, Pack, bool, bool], JudgeView]
    names_system: Callable[[str], tuple[str, ...]]
    price: Callable[[Any, Usage], float | None]
    max_price: Callable[[Any, Prompt], float | None]


def built_in() -> Rooms:
    """The rooms of this package. Imports them, so it is called when a run starts and not before."""
    from pytest_hush.judges import judge_view, names_system
    from pytest_hush.memories import control_retrieved, exposure, readiness, render
    from pytest_hush.models import max_price, price
    from pytest_hush.packs import background, plant, plant_shared, revoke

    return Rooms(
        plant=plant,
        plant_shared=plant_shared,
        background=background,
        revoke=revoke,
        render=render,
        exposure=exposure,
        readiness=readiness,
        control_retrieved=control_retrieved,
        judge_view=judge_view,
        names_system=names_system,
        price=price,
        max_price=max_price,
    )
