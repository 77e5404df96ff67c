"""Real memory systems as conditions: their own libraries ingest, extract and retrieve; this room keeps the books.

An adapter writes a `backend.Backend` and a line in `registry.SYSTEMS`; `base.StoreMemory` does the rest: stores built
once and shared, a fork for each planted session, the provenance of every entry, and failures that surface. Nothing of
a system's library is imported before its first question.
"""
