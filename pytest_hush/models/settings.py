"""What a user may set about models, and the named endpoints of the ini file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pytest_hush.errors import UsageError

DEFAULT_MAX_TOKENS: Final = 800
"""Output tokens of every model but the local one (paper, experimental setup)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_FIELDS = frozenset(
    {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "stream", "n"}
)
_ENDPOINT_FORM = "name = base URL [KEY_VARIABLE] [{JSON}], for example: qwen-local = http://localhost:8000/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks OpenAI's chat completions. `key_env` names the variable of its key; None: no key.

    `extra` are fields for every request body beyond OpenAI's own (a server's switch for thinking, say): they change
    answers, so records show them, and no secret belongs there.
    """

    base_url: str
    key_env: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Options for one role (generator, judge or memory model).

    `base_url` replaces the address of the ``openai`` and ``anthropic`` providers; `endpoints` are the named ones.
    `temperature`, where it is not 0, wins over the prompt's. `max_tokens` None: 800, for ``local`` 256.
    `timeout_s` bounds one request in seconds, not its retries. `rootdir` goes on ``sys.path`` for ``python:``.
    """

    base_url: str | None = None
    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: MappingProxyType({}))
    temperature: float = 0.0
    max_tokens: int | None = None
    timeout_s: float = 120.0
    rootdir: str | None = None


def parse_endpoints(lines: Iterable[str]) -> dict[str, Endpoint]:
    """Read the lines of ``hush_endpoints``, ``name = base URL [KEY_VARIABLE] [{extra fields}]``, one endpoint a line.

    Raises `UsageError` for a line of another form, a doubled name, a built-in provider's name or a bad URL.
    """
    from pytest_hush.models.registry import known_providers

    found: dict[str, Endpoint] = {}
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line:
            continue
        where = f"hush_endpoints, line {number}"
        name, equals, rest = line.partition("=")
        rest, brace, extra = rest.partition("{")
        name, parts = name.strip(), rest.split()
        # A line is quoted only up to its `=`: someone may have pasted a key where the variable belongs.
        if not equals or not _NAME.fullmatch(name) or len(parts) not in (1, 2):
            raise UsageError(f"{where}: expected `{_ENDPOINT_FORM}`.")
        if name in found:
            raise UsageError(f"{where}: the endpoint {name!r} is named twice; give each a name of its own.")
        if name in known_providers():
            raise UsageError(f"{where}: {name!r} is a built-in provider; give the endpoint another name.")
        key_env = parts[1].removeprefix("$") if len(parts) == 2 else None
        if key_env is not None and not _VARIABLE.fullmatch(key_env):
            raise UsageError(f"{where}: after the URL comes the NAME of an environment variable, never the key itself.")
        found[name] = Endpoint(check_base_url(parts[0], where), key_env, _extra(brace + extra, where))
    return found


def _extra(text: str, where: str) -> Mapping[str, Any]:
    if not text:
        return MappingProxyType({})
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where}: the extra fields are not a JSON object ({error}).") from error
    taken = sorted(_OWN_FIELDS & set(value))
    if taken:
        raise UsageError(f"{where}: the extra field {taken[0]!r} is set by the run; leave it out.")
    return MappingProxyType(value)


def check_base_url(url: str, where: str) -> str:
    """`url` without a trailing slash. Raises `UsageError` unless it is an http(s) address with a host."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"{where}: {shown_url(url)!r} is not an address like http://localhost:8000/v1 or https://api.example.com/v1."
        )
    return url.rstrip("/")


def shown_url(url: str) -> str:
    """`url` as messages and records may show it: no user, no password, no query, no fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    except ValueError:
        return "<unreadable URL>"
