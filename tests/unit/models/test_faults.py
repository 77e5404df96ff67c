"""The official SDKs against a real HTTP server that fails: which error, whether it is retried, what it says."""

from __future__ import annotations

import datetime
import email.utils
import socket

import pytest

from pytest_hush.errors import FatalModelError, RefusedCallError, TransientError
from tests.unit.models import server as s
from tests.unit.models.clients import KEY, PROMPT, Make, anthropic, ask, failure, openai
from tests.unit.models.server import ScriptedServer, Step

DEEP = "[" * 200_000
"""JSON that Python's reader ends with a RecursionError."""

# ---- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_fatal_and_names_the_variable(status: int) -> None:
    error = failure(openai, s.openai_error(status, f"Incorrect API key provided: {KEY}. See https://x.test"))
    assert isinstance(error, FatalModelError)
    assert error.status == status
    assert "MY_KEY" in str(error)
    assert "Incorrect API key" in str(error)
    error = failure(anthropic, s.anthropic_error(status, "authentication_error", f"invalid x-api-key {KEY[:12]}****"))
    assert isinstance(error, FatalModelError)
    assert "ANTHROPIC_API_KEY" in str(error)


@pytest.mark.parametrize(
    "step",
    [
        s.openai_error(404, "The model `m-1` does not exist"),
        s.openai_error(400, "Model Not Exist"),
        s.openai_error(402, "Insufficient Balance"),
        s.openai_error(429, "You exceeded your current quota", code="insufficient_quota"),
        Step(404, "<html><body><h1>404</h1></body></html>", "text/html"),
        Step(405, "", "text/plain"),
    ],
    ids=lambda step: f"{step.status}",
)
def test_what_waiting_cannot_heal_is_fatal(step: Step) -> None:
    error = failure(openai, step)
    assert isinstance(error, FatalModelError)
    assert error.status == step.status
    assert "<html" not in str(error)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("make", [openai, anthropic])
def test_what_may_heal_is_transient(make: Make, status: int) -> None:
    error = failure(make, Step(status, {"error": {"message": "later", "type": "x"}}, headers={"Retry-After": "7"}))
    assert isinstance(error, TransientError)
    assert (error.status, error.retry_after) == (status, 7.0)


def test_retry_after_in_all_its_forms() -> None:
    late = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    seen = []
    for headers in (
        {"Retry-After": email.utils.format_datetime(late, usegmt=True)},
        {"Retry-After-Ms": "1500", "Retry-After": "7"},
        {"Retry-After": "soon"},
        {},
    ):
        error = failure(openai, s.openai_error(429, "slow down", headers=headers))
        assert isinstance(error, TransientError)
        seen.append(error.retry_after)
    assert seen[0] is not None
    assert 80 < seen[0] <= 90
    assert seen[1:] == [1.5, None, None]


def test_another_400_is_a_refused_call_and_cut() -> None:
    error = failure(openai, s.openai_error(400, "maximum context length is 8192 tokens " + "x" * 900))
    assert isinstance(error, RefusedCallError)
    assert "maximum context length" in str(error)
    assert len(str(error)) < 450


@pytest.mark.parametrize("make", [openai, anthropic])
@pytest.mark.parametrize(
    "step",
    [s.HTML, Step(200, ""), Step(200, "{not json"), Step(200, {"hello": 1}), Step(200, [1]), Step(200, DEEP)],
    ids=["html", "nothing", "garbage", "other-json", "list", "nested"],
)
def test_a_server_that_is_no_model_server_is_fatal(make: Make, step: Step) -> None:
    error = failure(make, step)
    assert isinstance(error, FatalModelError)
    assert "base URL" in str(error)
    assert "<html" not in str(error)


def test_garbage_after_a_good_answer_is_transient() -> None:
    with ScriptedServer([s.chat(), Step(200, "{not json")]) as server, pytest.raises(TransientError):
        ask(openai(server.url), PROMPT, PROMPT)


@pytest.mark.parametrize("status, kind", [(400, RefusedCallError), (500, TransientError)])
@pytest.mark.parametrize("depth", [900, 200_000])
def test_an_error_body_nested_too_deep(status: int, kind: type[Exception], depth: int) -> None:
    error = failure(openai, Step(status, "[" * depth + "]" * depth))
    assert isinstance(error, kind)
    assert len(str(error)) < 450


@pytest.mark.parametrize("escaped", [KEY, KEY.replace("S", "\\u0053")], ids=["plain", "escaped"])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_in_a_body_of_no_known_form(status: int, escaped: str) -> None:
    error = failure(openai, Step(status, f'{{"echo": "{escaped}", "half": "\\ud800"}}'))
    assert KEY[8:] not in str(error)
    assert "echo" in str(error)
    str(error).encode()


def test_a_key_in_the_finish_reason() -> None:
    error = failure(openai, s.chat("", reason=KEY + "x" * 900))
    assert len(str(error)) < 450


def test_an_error_object_in_a_200() -> None:
    error = failure(openai, Step(200, {"error": {"message": "upstream is busy", "code": 503}}))
    assert isinstance(error, TransientError)
    assert error.status == 503


@pytest.mark.parametrize(
    "make, step",
    [
        (openai, s.chat("")),
        (openai, s.chat(None, reason="content_filter")),
        (openai, s.chat("  ", reason="length")),
        (openai, s.chat(" \u200b\u2060\ufeff\u3164 ")),
        (anthropic, s.message("\u200d\n\u00ad")),
        (anthropic, s.message("", reason="refusal")),
        (anthropic, s.message("", reason="max_tokens")),
    ],
)
def test_an_empty_text_is_never_a_reply(make: Make, step: Step) -> None:
    error = failure(make, step)
    assert isinstance(error, RefusedCallError)
    assert "empty text" in str(error)


@pytest.mark.parametrize("make", [openai, anthropic])
def test_a_server_that_hangs(make: Make) -> None:
    error = failure(make, Step(deed="hang"), timeout_s=0.5)
    assert isinstance(error, TransientError)
    assert "within 0.5 s" in str(error)


@pytest.mark.parametrize("make", [openai, anthropic])
def test_a_connection_that_is_cut(make: Make) -> None:
    assert isinstance(failure(make, Step(deed="cut")), TransientError)


@pytest.mark.parametrize("make", [openai, anthropic])
def test_nobody_listens(make: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(FatalModelError, match="nothing listens there"):
        ask(make(url))


def test_a_server_that_goes_away_is_transient() -> None:
    with ScriptedServer([s.chat()]) as server:
        model = openai(server.url)
        ask(model)
    with pytest.raises(TransientError):
        ask(model)


def test_credentials_in_a_base_url_stay_out_of_sight() -> None:
    error = failure(lambda url: openai(url.replace("//", "//bob:SECRETWORD@")), s.openai_error(404, "nothing here"))
    assert "bob" not in str(error)
