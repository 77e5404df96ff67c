"""Generators: OpenAI and every compatible endpoint, Anthropic, an in-process model, the parrot, a Python callable.

Importing this package costs the standard library only; SDKs load with the first call of the model that needs them.
"""

from __future__ import annotations

from pytest_hush.models.prices import max_price, price
from pytest_hush.models.python_callable import wrap_model
from pytest_hush.models.registry import known_providers, resolve_model
from pytest_hush.models.settings import Endpoint, ModelSettings, parse_endpoints

__all__ = [
    "Endpoint",
    "ModelSettings",
    "known_providers",
    "max_price",
    "parse_endpoints",
    "price",
    "resolve_model",
    "wrap_model",
]
