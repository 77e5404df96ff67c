"""Run folders, records, the response cache and the budget: everything that a run keeps on disk."""

from __future__ import annotations

from pytest_hush.store.baseline import Scores, load_scores, save_baseline
from pytest_hush.store.budget import Budget
from pytest_hush.store.cache import Cache, cache_key
from pytest_hush.store.codec import record_from_json, record_to_json
from pytest_hush.store.folder import RunFolder, latest, write_atomically
from pytest_hush.store.labels import Label, RunLabels, read_labels, usable_labels, write_labels
from pytest_hush.store.merge import merge_shards
from pytest_hush.store.records import RecordLog, StoreWarning, read_records
from pytest_hush.store.revision import Revision, revision_from, revision_of, revision_text

__all__ = [
    "Budget",
    "Cache",
    "Label",
    "RecordLog",
    "Revision",
    "RunFolder",
    "RunLabels",
    "Scores",
    "StoreWarning",
    "cache_key",
    "latest",
    "load_scores",
    "merge_shards",
    "read_labels",
    "read_records",
    "record_from_json",
    "record_to_json",
    "revision_from",
    "revision_of",
    "revision_text",
    "save_baseline",
    "usable_labels",
    "write_atomically",
    "write_labels",
]
