"""A reply as a model gave it, checked: what is no answer must not reach a record, a score or the books."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from pytest_hush.errors import ModelError
from pytest_hush.model import Reply, Usage
from pytest_hush.run.wording import unicode_text


def checked_reply(answer: object, name: str) -> Reply:
    """`answer`, a text or a `Reply`, with plain types. Raises `ModelError` that names the field and what it holds.

    Lone surrogates in the text are replaced, with a note.
    """
    reply = Reply(answer) if isinstance(answer, str) else answer
    if not isinstance(reply, Reply):
        raise ModelError(f"{name}: answered with {type(reply).__name__}; expected the text or a Reply.")
    text, notes = _text(reply.text, "text", name), reply.notes
    if not isinstance(notes, (tuple, list)):
        raise _wrong(name, "notes", "a tuple of texts", notes)
    notes = tuple(_text(note, "notes", name) for note in notes)
    clean = unicode_text(text)
    if clean != text:
        notes = (*notes, "reply: characters that are no Unicode text were replaced")
    if not isinstance(reply.usage, Usage):
        raise _wrong(name, "usage", "a Usage", reply.usage)
    cost = reply.usage.cost_usd
    return replace(
        reply,
        text=clean,
        returned_model=unicode_text(_text(reply.returned_model, "returned_model", name)),
        usage=Usage(
            _count(reply.usage.input_tokens, "usage.input_tokens", name),
            _count(reply.usage.output_tokens, "usage.output_tokens", name),
            None if cost is None else _amount(cost, "usage.cost_usd", name),
        ),
        latency_s=_amount(reply.latency_s, "latency_s", name),
        attempts=_count(reply.attempts, "attempts", name),
        notes=notes,
    )


def _text(value: Any, field: str, name: str) -> str:
    if not isinstance(value, str):
        raise _wrong(name, field, "a text", value)
    return value


def _count(value: Any, field: str, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise _wrong(name, field, "a whole number that is not negative", value)
    return int(value)


def _amount(value: Any, field: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise _wrong(name, field, "a finite number that is not negative", value)
    return float(value)


def _wrong(name: str, field: str, expected: str, value: object) -> ModelError:
    shown = repr(value)[:40] if isinstance(value, (int, float)) else type(value).__name__
    return ModelError(f"{name}: answered with a Reply whose {field} is {shown}; expected {expected}.")
