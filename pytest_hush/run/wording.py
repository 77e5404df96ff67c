"""What may be said of an error, and what may be shown of settings: one line, Unicode, and no secret."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pytest_hush import secrets
from pytest_hush.errors import HushError

LONGEST: Final = 600


def unicode_text(text: str) -> str:
    """`text` with lone surrogates, which are no UTF-8, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def said(text: str) -> str:
    """`text` in one line, without known secrets."""
    # Before the blanks are joined as well: a secret may hold some.
    return secrets.blot(" ".join(secrets.blot(unicode_text(text)).split()))


def error_text(error: BaseException) -> str:
    """An error in one line of at most `LONGEST` characters, without known secrets; its kind where it is not ours."""
    try:
        text = said(str(error))
    except Exception as broken:  # a user's exception whose text cannot be made
        text = f"<its text raised {type(broken).__name__}>"
    if not isinstance(error, HushError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def plain(value: object) -> Any:
    """`value` as JSON: what is none is given as its text, so that settings of any kind can be hashed and kept."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {unicode_text(str(k)): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Set):
        return sorted((plain(v) for v in value), key=str)
    return unicode_text(str(value))


def shown(value: Any) -> Any:
    """JSON of `plain` as records may hold it.

    Gone are texts under a name that looks secret, known secrets, and the user, password, query and fragment of
    addresses. A number under such a name (``max_tokens``) is no secret.
    """
    if isinstance(value, dict):
        return {secrets.blot(k): _hidden(v) if secrets.NAME.search(k) else shown(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shown(v) for v in value]
    return secrets.blot(_address(value)) if isinstance(value, str) else value


def _hidden(value: Any) -> Any:
    if isinstance(value, (dict, list, str)):
        return secrets.MARK if value else value
    return value


def _address(text: str) -> str:
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return secrets.MARK  # looks like an address, but where its password ends cannot be told
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
