"""The paper's experiments on one's own models: which runs they are, and its tables with ours beside the published."""

from __future__ import annotations

from pytest_hush.reproduce.matrix import EXPERIMENTS, Experiment, Job, jobs
from pytest_hush.reproduce.tables import Measured, Table, tables

__all__ = ["EXPERIMENTS", "Experiment", "Job", "Measured", "Table", "jobs", "tables"]
