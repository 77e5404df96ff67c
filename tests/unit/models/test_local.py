"""The in-process language model: what needs no weights here, the real one under the ``real`` mark."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_hush.errors import RefusedCallError, UsageError
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.models import Endpoint, ModelSettings, resolve_model
from pytest_hush.models.remote import RemoteModel
from pytest_hush.models.weights import packaged_gguf

engine = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
weights = pytest.mark.skipif(packaged_gguf() is None, reason="the weights are not installed (hush install local)")


def prompt(text: str, max_tokens: int = 24) -> Prompt:
    return Prompt((Message("system", "Be brief."), Message("user", text)), max_tokens=max_tokens)


@engine
def test_a_path_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        resolve_model(f"local/{tmp_path}/absent.gguf")
    with pytest.raises(UsageError, match="cannot be read"):
        resolve_model(f"local/{tmp_path}")
    (tmp_path / "text.gguf").write_text("hello", "utf-8")
    with pytest.raises(UsageError, match="not a GGUF file"):
        resolve_model("local/text.gguf", settings=ModelSettings(rootdir=str(tmp_path)))


@engine
@pytest.mark.parametrize("value", ["0", "two", "-1", ""])
def test_a_wrong_number_of_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUSH_LOCAL_THREADS", value)
    with pytest.raises(UsageError, match="HUSH_LOCAL_THREADS"):
        resolve_model("local")


@engine
@weights
@pytest.mark.real
def test_the_same_words_every_time_and_nothing_else_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    model: Any = resolve_model("local")
    assert (model.name, model.max_tokens, model.context_window, model.in_flight) == ("local", 256, 4096, 1)
    assert model.demonstration
    first = model.reply(prompt("Name two herbs."))
    model.reply(prompt("Tell me about the sea."))
    again = model.reply(prompt("Name two herbs."))
    assert first.text == again.text
    assert first.text.strip()
    assert first.usage.cost_usd == 0
    assert 0 < first.usage.output_tokens <= 24
    assert first.latency_s > 0
    assert capfd.readouterr() == ("", "")


@engine
@weights
@pytest.mark.real
def test_counts_tokens_exactly_and_refuses_what_is_too_long() -> None:
    model: Any = resolve_model("local")
    assert model.count_tokens("hello there my friend") == 4
    words = "river " * 9000
    assert model.count_tokens(words) == pytest.approx(9000, abs=2)
    with pytest.raises(RefusedCallError, match="context size"):
        model.reply(prompt(words))


@engine
@weights
@pytest.mark.real
def test_the_chat_template_counts() -> None:
    reply = cast("Reply", resolve_model("local").reply(prompt("hi", 1)))
    assert reply.usage.input_tokens > 10, "the template and the system line are part of the prompt"
    assert reply.notes == ("cut at max_tokens",)


SERVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx = sys.argv[1], int(sys.argv[2]), 2048
params.verbosity, params.warmup = -1, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.api_keys = ["sk-local-server-key"]
server = xllamacpp.Server(params)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def llama_server() -> Iterator[str]:
    """llama.cpp's own HTTP server in a process of its own."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(packaged_gguf()), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
                    if answer.status == 200:
                        break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@engine
@weights
@pytest.mark.real
def test_llama_cpp_as_a_compatible_endpoint(llama_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_KEY", "sk-local-server-key")
    settings = ModelSettings(endpoints={"llama": Endpoint(f"{llama_server}/v1", "LLAMA_KEY")})
    model = cast("RemoteModel", resolve_model("llama/smollm2", settings=settings))

    async def run() -> list[Reply]:
        replies = [await model.reply(prompt("Name two herbs.", 12)) for _ in range(2)]
        with pytest.raises(RefusedCallError, match="context size"):
            await model.reply(prompt("river " * 3000))
        await model.close()
        return replies

    first, second = asyncio.run(run())
    assert first.text.strip()
    assert first.returned_model
    assert first.usage.output_tokens == second.usage.output_tokens == 12
    assert first.notes == ("cut at max_tokens",)


@engine
@weights
@pytest.mark.real
def test_llama_cpp_with_a_wrong_key(llama_server: str) -> None:
    settings = ModelSettings(endpoints={"llama": Endpoint(f"{llama_server}/v1")})
    model = cast("RemoteModel", resolve_model("llama/smollm2", settings=settings))
    with pytest.raises(Exception, match="answered 401") as caught:
        asyncio.run(model.reply(prompt("hi")))
    assert type(caught.value).__name__ == "FatalModelError"
