"""What a call costs in US dollars, from the price table inside ``genai-prices``: no network, never a guess.

The table is the one of the installed release; its self-update is a separate object that this project never makes.
"""

from __future__ import annotations

from pytest_hush.model import Prompt, Usage
from pytest_hush.models.settings import DEFAULT_MAX_TOKENS
from pytest_hush.models.tokens import most_tokens

_FREE = ("local", "parrot", "recorded")


def price(model: object, usage: Usage) -> float | None:
    """Dollars of one call, 0 for the in-process models, None where the model's price is not known.

    `model` is a model or its name, ``provider/name``. A model's `price_ref`, (provider id or base URL, model id),
    goes before its name: an endpoint's own name says nothing about who is paid.
    """
    name = model if isinstance(model, str) else str(getattr(model, "name", ""))
    provider, _, rest = name.partition("/")
    if provider in _FREE:
        return 0.0
    reference: tuple[str, str] | None = (provider, rest)
    if not isinstance(model, str):
        reference = getattr(model, "price_ref", reference)
    if reference is None or not reference[1] or name.startswith("python:"):
        return None
    return _table_price(reference[0], reference[1], usage)


def max_price(model: object, prompt: Prompt) -> float | None:
    """The most that a call with `prompt` can cost: its input taken on the high side, its output to the last token."""
    return price(model, Usage(most_tokens(prompt), prompt.max_tokens or DEFAULT_MAX_TOKENS))


def _table_price(provider: str, model: str, usage: Usage) -> float | None:
    import genai_prices

    counts = genai_prices.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        if "://" in provider:
            found = genai_prices.calc_price(counts, model, provider_api_url=provider)
        else:
            found = genai_prices.calc_price(counts, model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
