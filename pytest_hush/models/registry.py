"""From the text of ``--hush-model`` to a model: a table of providers, each imported when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pytest_hush.errors import UsageError
from pytest_hush.models.python_callable import resolve_callable
from pytest_hush.models.settings import Endpoint, ModelSettings
from pytest_hush.protocols import Model

Factory = Callable[[str, ModelSettings], Model]
"""Called with what follows the provider's name and the settings. Raises `UsageError`; calls nothing."""


def _openai(rest: str, settings: ModelSettings) -> Model:
    from pytest_hush.models.openai import OpenAIModel

    return OpenAIModel.for_openai(_needed("openai", rest, "gpt-4o"), settings)


def _anthropic(rest: str, settings: ModelSettings) -> Model:
    from pytest_hush.models.anthropic import AnthropicModel

    return AnthropicModel.create(_needed("anthropic", rest, "claude-sonnet-4-6"), settings)


def _local(rest: str, settings: ModelSettings) -> Model:
    from pytest_hush.models.local import LocalModel

    return LocalModel.create(rest, settings)


def _parrot(rest: str, settings: ModelSettings) -> Model:
    from pytest_hush.models.parrot import Parrot

    return Parrot.create(rest, settings)


def _recorded(rest: str, settings: ModelSettings) -> Model:
    from pytest_hush.models.recorded import Recorded

    return Recorded.create(rest, settings)


BUILT_IN: Final[Mapping[str, Factory]] = MappingProxyType(
    {"openai": _openai, "anthropic": _anthropic, "local": _local, "parrot": _parrot, "recorded": _recorded}
)


def known_providers() -> tuple[str, ...]:
    """The names that may stand before the slash, ``python`` among them (written ``python:module:attr``)."""
    return (*BUILT_IN, "python")


def resolve_model(
    spec: str, *, settings: ModelSettings | None = None, providers: Mapping[str, Factory] | None = None
) -> Model:
    """The model that `spec` names; nothing is called, loaded or sent.

    Grammar: ``provider/name``, ``local``, ``local/<gguf path>``, ``parrot``, ``parrot/<degree 0..1>``, ``recorded``,
    ``recorded/<folder>``, ``python:module:attr``, ``<endpoint name>/<model>``. `providers` are those of third parties;
    they are looked up after the built-in ones and before the endpoints. Raises `UsageError` for anything else, for a
    missing key, and `MissingExtraError` where the provider's library is not installed.
    """
    settings = settings or ModelSettings()
    text = spec.strip()
    if text.startswith("python:"):
        return resolve_callable(text, settings)
    provider, slash, rest = text.partition("/")
    factory = BUILT_IN.get(provider) or (providers or {}).get(provider)
    if factory is not None:
        return factory(rest if slash else "", settings)
    endpoint = settings.endpoints.get(provider)
    if endpoint is not None:
        from pytest_hush.models.openai import OpenAIModel

        return OpenAIModel.for_endpoint(provider, _needed(provider, rest, "model"), endpoint, settings)
    raise UsageError(_unknown(text, provider, tuple(providers or ()), settings.endpoints))


def _needed(provider: str, rest: str, example: str) -> str:
    if not rest:
        raise UsageError(
            f"Model {provider!r} lacks a name: write {provider}/<model>, for example {provider}/{example}."
        )
    return rest


def _unknown(spec: str, provider: str, extra: tuple[str, ...], endpoints: Mapping[str, Endpoint]) -> str:
    if not provider:
        return f"Model {spec!r} names no provider; expected provider/name, one of: {_listed(known_providers())}."
    names = (*known_providers(), *extra, *endpoints)
    close = difflib.get_close_matches(provider.lower(), names, n=1, cutoff=0.6)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    configured = _listed(tuple(endpoints)) if endpoints else "none (see hush_endpoints in the ini file)"
    return (
        f"Model {spec!r}: unknown provider {provider!r}.{hint} "
        f"Known providers: {_listed((*known_providers(), *extra))}; configured endpoints: {configured}."
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
