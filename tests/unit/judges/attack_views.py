"""A view for tests that only need some."""

from __future__ import annotations

from dataclasses import replace

from pytest_hush.judges.attacks import scenes
from pytest_hush.model import JudgeView


def a_view(reply: str) -> JudgeView:
    return replace(scenes()[0].view, reply=reply)
