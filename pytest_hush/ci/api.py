"""GitHub's REST interface over the standard library: retries, pages, redirects, and a token that is never printed."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http.client import HTTPException
from typing import Any, Final, TypeVar

from pytest_hush.errors import HushError, UsageError
from pytest_hush.secrets import blot, register
from pytest_hush.version import __version__

API: Final = "https://api.github.com"
TRIES: Final = 4
TIMEOUT_S: Final = 30.0
LONGEST_WAIT_S: Final = 60.0
PAGE: Final = 100
MOST_PAGES: Final = 50
_T = TypeVar("_T")
_REDIRECTS: Final = 5
_ANSWER_LIMIT: Final = 32 * 1024 * 1024
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class ApiError(HushError):
    """A request without a usable answer. `status` is the HTTP status, 0 where there was none."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        """Worth another try: no answer, 5xx, 429, or a limit that will be lifted."""
        return self.status in (0, 429) or self.status >= 500 or self.retry_after is not None


class _Stay(urllib.request.HTTPRedirectHandler):
    """No redirect is followed by itself: the token would go along to whatever host it names."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """`token` goes to `base` alone, and only over TLS or to this machine. `say` gets a line before each wait."""

    def __init__(
        self,
        base: str,
        token: str,
        *,
        say: Callable[[str], object] = str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urllib.parse.urlsplit(base)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise UsageError(f"GITHUB_API_URL={base!r}: expected an address such as {API}.")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UsageError(f"GITHUB_API_URL={base!r}: a token is not sent in clear. Give an https address.")
        register(token)
        self.base = base.rstrip("/")
        self._origin = (parts.scheme, parts.netloc)
        self._token = token
        self._say = say
        self._sleep = sleep
        local = [urllib.request.ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        self._opener = urllib.request.build_opener(_Stay, *local)

    def get(self, path: str, **query: Any) -> Any:
        """The JSON answer of a GET, tried again while that is worth it. Raises `ApiError`."""
        return self.patiently(lambda: self._json("GET", self._address(path, query))[0])

    def each(self, path: str, key: str = "", **query: Any) -> Iterator[Any]:
        """The items of a list, page after page; `key` names the list where the answer is an object."""
        for number in range(1, MOST_PAGES + 1):
            found = self.get(path, **query, per_page=PAGE, page=number)
            items = found.get(key) if key and isinstance(found, Mapping) else found
            if not isinstance(items, list):
                raise ApiError(f"GET {path}: expected a list; read {type(items).__name__}.", status=200)
            yield from items
            if len(items) < PAGE:
                return

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """One request that changes something, tried once: the caller knows what a second try would do."""
        return self._json(method, self._address(path, {}), body)[0]

    def download(self, path: str, *, limit: int) -> bytes:
        """The bytes behind `path`, redirects followed; at most `limit`. Raises `ApiError`."""
        return self.patiently(lambda: self._fetch("GET", self._address(path, {}), None, limit)[0])

    def patiently(self, work: Callable[[], _T]) -> _T:
        """`work`, up to `TRIES` times while it raises an error that may pass."""
        for number in range(1, TRIES):
            try:
                return work()
            except ApiError as error:
                if not error.passing:
                    raise
                self.wait(error, number)
        return work()

    def wait(self, error: ApiError, number: int) -> None:
        """Wait before the try after the `number`-th, as long as the server asks, within `LONGEST_WAIT_S`."""
        seconds = min(LONGEST_WAIT_S, max(2.0 ** (number - 1), error.retry_after or 0.0))
        self._say(f"{error} Trying again in {seconds:.0f} s ({number} of {TRIES}).")
        self._sleep(seconds)

    # ---- one request ------------------------------------------------------------------------------

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        tail = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None})
        return f"{self.base}/{path.lstrip('/')}" + (f"?{tail}" if tail else "")

    def _json(self, method: str, address: str, body: Mapping[str, Any] | None = None) -> tuple[Any, Message]:
        raw, headers = self._fetch(method, address, body, _ANSWER_LIMIT)
        try:
            return (json.loads(raw) if raw else None), headers
        except ValueError:
            raise ApiError(f"{method} {_shown(address)}: the answer is no JSON.", status=502) from None

    def _fetch(self, method: str, address: str, body: Mapping[str, Any] | None, limit: int) -> tuple[bytes, Message]:
        for _ in range(_REDIRECTS):
            request = self._request(method, address, body)
            try:
                with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                    raw = answer.read(limit + 1)
                    if len(raw) > limit:
                        raise ApiError(f"{method} {_shown(address)}: the answer has over {limit:,} bytes.", status=200)
                    return raw, answer.headers
            except urllib.error.HTTPError as error:
                with error:
                    where = error.headers.get("Location") if error.code in (301, 302, 303, 307, 308) else None
                    if where is None or method != "GET":
                        raise _refused(method, address, error) from None
                address = urllib.parse.urljoin(address, where)
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                raise ApiError(blot(f"{method} {_shown(address)}: no answer ({reason}).")) from None
        raise ApiError(f"{method} {_shown(address)}: more than {_REDIRECTS} redirects.", status=508)

    def _request(self, method: str, address: str, body: Mapping[str, Any] | None) -> urllib.request.Request:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ApiError(f"{method} {_shown(address)}: a redirect away from https is not followed.", status=400)
        headers = {"User-Agent": f"pytest-hush/{__version__}"}
        if (parts.scheme, parts.netloc) == self._origin:
            headers |= {
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "Authorization": f"Bearer {self._token}",
            }
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        return urllib.request.Request(address, data=data, headers=headers, method=method)


def _shown(address: str) -> str:
    """The address without its query: that of a download holds a signature."""
    return urllib.parse.urlsplit(address)._replace(query="", fragment="").geturl()


def _refused(method: str, address: str, error: urllib.error.HTTPError) -> ApiError:
    try:
        told = str(json.loads(error.read(100_000)).get("message", ""))
    except (OSError, ValueError, AttributeError, HTTPException):
        told = ""
    words = " ".join(told.split())[:200]
    limited = error.code in (403, 429) and (
        error.headers.get("X-RateLimit-Remaining") == "0" or error.headers.get("Retry-After") or "rate limit" in words
    )
    wait = _seconds(error.headers) if limited or error.code >= 500 else None
    text = f"{method} {_shown(address)}: the server answered {error.code}" + (f" ({words})." if words else ".")
    return ApiError(blot(text), status=error.code, retry_after=wait if wait is not None else 5.0 if limited else None)


def _seconds(headers: Message) -> float | None:
    """How long the server asks to wait: Retry-After, else the time of its limit's reset."""
    for name, now in (("Retry-After", 0.0), ("X-RateLimit-Reset", time.time())):
        try:
            return max(0.0, float(headers[name]) - now)
        except (TypeError, ValueError):
            continue
    return None
