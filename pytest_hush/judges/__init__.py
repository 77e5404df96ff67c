"""Condition-blind judges: what they see, the embedded screening judge, models that judge by a rubric."""

from pytest_hush.judges.registry import resolve_judge
from pytest_hush.judges.view import judge_view, names_system

__all__ = ["judge_view", "names_system", "resolve_judge"]
