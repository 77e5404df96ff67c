"""Errors that a user meets. Each says what was read, where, what was expected, and what to do.

`HushError` is the root. The kinds decide what the run does with one, not what the user reads:
a `UsageError` ends it before any call, a `FatalModelError` stops that model, a `TransientError` is retried.
"""

from __future__ import annotations


class HushError(Exception):
    """Root of all errors of this package; its text is meant for the user and holds no secret."""


class UsageError(HushError):
    """A wrong option, name, file or setting: nothing was called. Exit code 4."""


class PackError(UsageError):
    """A probe pack or background file that cannot be read. The text names file, line and field."""


class LabelError(UsageError):
    """A labelled set or calibration that cannot be read or used. The text names file, line and field."""


class ThresholdError(UsageError):
    """A threshold file that cannot be read or can never be passed."""


class MissingExtraError(UsageError):
    """A library of an optional extra is absent. The text is the line that installs it."""


class StoreError(HushError):
    """A run folder or cache that cannot be used."""


class ModelError(HushError):
    """A generator or judge call failed. `status` is the HTTP status, None where there was none."""

    def __init__(self, message: str, *, status: int | None = None, attempts: int = 1) -> None:
        super().__init__(message)
        self.status = status
        self.attempts = attempts


class TransientError(ModelError):
    """Worth another try: 408, 409, 429, 5xx, a lost connection. `retry_after` is seconds, or None."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        attempts: int = 1,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, status=status, attempts=attempts)
        self.retry_after = retry_after


class FatalModelError(ModelError):
    """No other call to this model can succeed: 401, 403, 404, a page of HTML. The model is stopped."""


class RefusedCallError(ModelError):
    """This one request was refused (400, context too long, empty choice): the case fails, others go on."""


class EmptyReplyError(RefusedCallError):
    """The model answered without a word. A generator's case fails; a judge is asked once more."""


class BudgetError(HushError):
    """The next call could exceed ``--hush-max-cost``: it was not made; the rest is missing, resumable."""


class MemoryStoreError(HushError):
    """A memory system failed on one history. An infrastructure failure: never a score."""


class UnreadableJudgement(HushError):
    """A judge's answer that is not a judgement after the one re-ask: the case is unscored, never 0."""


class UnsupportedLanguage(UnreadableJudgement):
    """The judge does not read this language: unscored, with the reason."""
