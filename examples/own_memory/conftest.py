"""Makes ``--hush-memory=keyword`` a condition like any other."""

from keyword_memory import KeywordMemory


def pytest_hush_memory(condition):
    return KeywordMemory() if condition.base == "keyword" else None
