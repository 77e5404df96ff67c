"""From what an SDK raises, or a server answers, to the kinds of `pytest_hush.errors`: one rule for every provider.

The text says what was asked, where, what the server said (cut), and what to do; it never holds a key.
"""

from __future__ import annotations

import datetime
import email.utils
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_hush.errors import EmptyReplyError, FatalModelError, ModelError, RefusedCallError, TransientError
from pytest_hush.secrets import blot

_LONGEST = 200
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<head|<body|<\?xml)", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|pk|key|rk)-[\w*.…-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
_NO_MODEL = re.compile(r"model\W.{0,60}(?:not exist|not found|unknown|not supported|no such)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a call is for, as messages name it. `address` holds no credentials; `key` is only used to blot it out."""

    model: str
    address: str
    key_env: str | None
    key: str

    def __repr__(self) -> str:
        return f"Target({self.model!r}, {self.address!r})"

    def said(self, text: str) -> str:
        """The server's words in one line of at most 200 characters, without any key."""
        if _HTML.match(text):
            return "a page of HTML"
        line = _KEY.sub("[key]", " ".join(self.shown(text).split()))
        return f"“{line[:_LONGEST]}{'…' if len(line) > _LONGEST else ''}”" if line else "nothing"

    def shown(self, text: str) -> str:
        """`text` as messages show it: no key, no known secret, nothing that is no Unicode text."""
        if self.key:
            text = text.replace(self.key, "[key]")
        return blot(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def from_status(target: Target, status: int, body: str, headers: Mapping[str, str], *, attempts: int = 1) -> ModelError:
    """The error for an answer with an HTTP status of 400 or above (or an error object with such a code)."""
    said = target.said(error_text(body))
    start = f"{target.model} at {target.address} answered {status}"
    if status in (401, 403):
        key = f"Check the value of {target.key_env}" if target.key_env else "Name the endpoint's key variable"
        return _fatal(f"{start}: {said}. {key} and that it may use this model.", status, attempts)
    if status == 402 or (status in (400, 429) and _NO_MONEY.search(body)):
        return _fatal(
            f"{start}: {said}. The account has no credit or quota left; waiting does not help.", status, attempts
        )
    if status in (404, 405, 410) or (status == 400 and _NO_MODEL.search(error_text(body))):
        return _fatal(
            f"{start}: {said}. Check the model's name and the base URL (most servers want it to end in /v1).",
            status,
            attempts,
        )
    if status in (408, 409, 429) or status >= 500:
        wait = retry_after(headers)
        return TransientError(f"{start}: {said}.", status=status, attempts=attempts, retry_after=wait)
    if _HTML.match(body):
        return _fatal(f"{start}: {said}. That is no model server; check the base URL.", status, attempts)
    return RefusedCallError(
        f"{start}: {said}. This request was refused; the case has no score.", status=status, attempts=attempts
    )


def from_connection(target: Target, error: BaseException, *, answered: bool, attempts: int = 1) -> ModelError:
    """No answer at all. Fatal where nobody listens and this model never answered before; else worth another try."""
    causes = list(_causes(error))
    refused = any(isinstance(c, ConnectionRefusedError) for c in causes)
    unknown = any("getaddrinfo" in str(c) or "Name or service not known" in str(c) for c in causes) or any(
        type(c).__name__ == "gaierror" for c in causes
    )
    # httpx tells a refused connection only by the text of the innermost error on some platforms.
    refused = refused or any("All connection attempts failed" in str(c) for c in causes)
    if (refused or unknown) and not answered:
        why = "no server of that name is known" if unknown else "nothing listens there"
        return _fatal(
            f"{target.model}: {target.address} cannot be reached: {why}. Check the base URL and that the server runs.",
            None,
            attempts,
        )
    kind = type(causes[-1]).__name__ if causes else type(error).__name__
    return TransientError(f"{target.model}: the connection to {target.address} failed ({kind}).", attempts=attempts)


def from_timeout(target: Target, seconds: float, *, attempts: int = 1) -> ModelError:
    """The server took the request and did not finish in time."""
    return TransientError(f"{target.model}: no answer from {target.address} within {seconds:g} s.", attempts=attempts)


def from_body(target: Target, body: str, *, answered: bool, expected: str, attempts: int = 1) -> ModelError:
    """A 200 that holds no answer. HTML is fatal; so is any other garbage of a model that never answered before."""
    said = target.said(plain_json(body))
    text = f"{target.model} at {target.address} answered 200 with {said}, expected {expected}"
    if _HTML.match(body) or not answered:
        return _fatal(
            f"{text}. That is no such server; check the base URL (most servers want it to end in /v1).", 200, attempts
        )
    return TransientError(f"{text}.", status=200, attempts=attempts)


def empty_text(target: Target, reason: str, *, attempts: int = 1) -> ModelError:
    """An answer without text: never scored, since silence that nobody chose would count as a clean reply."""
    if reason in ("length", "max_tokens"):
        why = "it used all its output tokens before the first word (a reasoning model?): raise the output tokens"
    elif reason in ("content_filter", "refusal"):
        why = f"the provider withheld it ({reason})"
    else:
        why = f"finish reason {' '.join(target.shown(reason).split())[:_LONGEST] or 'not given'}"
    return EmptyReplyError(
        f"{target.model} answered with an empty text: {why}. The case has no score.", attempts=attempts
    )


def error_text(body: str) -> str:
    """What an error body says: its `error.message` or `message` or `detail`, else the whole body."""
    value = read_json(body)
    body = plain_json(body)
    for _ in range(3):
        if not isinstance(value, dict):
            break
        inner = next((value[k] for k in ("error", "message", "detail") if value.get(k)), None)
        if inner is None:
            return body
        value = inner
    return value if isinstance(value, str) else body


def read_json(text: str) -> Any:
    """The value of a JSON text; None where it is none, or is nested too deep to be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def plain_json(text: str) -> str:
    """JSON written anew without escapes, which could hide a key from the search for it; any other text as it is."""
    value = read_json(text)
    try:
        return text if value is None else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return text


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms``, or by ``retry-after`` in seconds or as a date; None: not said."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return max(0.0, (when - datetime.datetime.now(datetime.UTC)).total_seconds())


def _fatal(text: str, status: int | None, attempts: int) -> FatalModelError:
    return FatalModelError(text, status=status, attempts=attempts)


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    queue = [error]
    while queue:
        current = queue.pop(0)
        if current is None or current in found:
            continue
        found.append(current)
        queue.append(current.__cause__ or current.__context__)
        if isinstance(current, BaseExceptionGroup):
            queue.extend(current.exceptions)
    return found
