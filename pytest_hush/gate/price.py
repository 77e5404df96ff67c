"""What a case cost, and when nobody knows."""

from __future__ import annotations

import math

from pytest_hush.model import Record


def cost(record: Record) -> float | None:
    """US dollars of the record's calls to the generator, None where they are not known.

    A case that sent nothing cost nothing. One that was answered at a price nobody knows is never taken for free,
    also where the provider counted no tokens; a cost below 0 or not finite is no price.
    """
    usage = record.usage
    if usage.cost_usd is not None:
        return usage.cost_usd if math.isfinite(usage.cost_usd) and usage.cost_usd >= 0 else None
    answered = record.attempts > 0 and (record.measured or bool(record.reply))
    return None if answered or usage.input_tokens or usage.output_tokens else 0.0
