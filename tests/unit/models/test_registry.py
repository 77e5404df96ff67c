"""From the text of ``--hush-model`` to a model, and one clear error for every text that names none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_hush.errors import MissingExtraError, UsageError
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.models import Endpoint, ModelSettings, known_providers, parse_endpoints, resolve_model
from pytest_hush.protocols import Model

ENDPOINTS = {"qwen-local": Endpoint("http://localhost:8000/v1")}


class Third:
    name = "third/x"

    def reply(self, prompt: Prompt) -> Reply:
        return Reply(prompt.messages[0].content)


def test_names_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000000000000")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-000000000000")
    settings = ModelSettings(endpoints=ENDPOINTS)
    for spec, window in (
        ("openai/gpt-4o", 800),
        ("anthropic/claude-sonnet-4-6", 800),
        ("qwen-local/Qwen/Qwen3.5-9B", 800),
        ("parrot", 800),
        ("parrot/0.25", 800),
    ):
        model = resolve_model(spec, settings=settings)
        assert isinstance(model, Model)
        assert getattr(model, "name") == spec  # noqa: B009
        assert getattr(model, "max_tokens") == window  # noqa: B009
    assert getattr(resolve_model("parrot", settings=ModelSettings(max_tokens=9)), "max_tokens") == 9  # noqa: B009


@pytest.mark.parametrize(
    "spec, parts",
    [
        ("opnai/gpt-4o", ["unknown provider 'opnai'", "Did you mean 'openai'?", "qwen-local", "anthropic"]),
        ("qwen-locl/x", ["Did you mean 'qwen-local'?"]),
        ("OpenAI/gpt-4o", ["Did you mean 'openai'?"]),
        ("gpt-4o", ["unknown provider 'gpt-4o'", "Known providers: openai"]),
        ("", ["names no provider"]),
        ("/x", ["names no provider"]),
        ("openai", ["openai/gpt-4o"]),
        ("openai/", ["openai/gpt-4o"]),
        ("anthropic", ["anthropic/claude-sonnet-4-6"]),
        ("qwen-local", ["qwen-local/<model>"]),
        ("parrot/often", ["a number from 0 to 1"]),
        ("parrot/1.5", ["a number from 0 to 1"]),
        ("parrot/nan", ["a number from 0 to 1"]),
        ("python:app", ["python:module:attr"]),
    ],
)
def test_one_clear_error(spec: str, parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_model(spec, settings=ModelSettings(endpoints=ENDPOINTS))
    for part in parts:
        assert part in str(caught.value)


def test_third_party_providers_are_asked_before_the_endpoints() -> None:
    providers = {"qwen-local": lambda rest, settings: Third(), "openai": lambda rest, settings: Third()}
    found = resolve_model("qwen-local/x", settings=ModelSettings(endpoints=ENDPOINTS), providers=providers)
    assert isinstance(found, Third)
    with pytest.raises(UsageError):
        resolve_model("openai", providers=providers)


def test_endpoints_of_the_ini_file() -> None:
    lines = [
        "deepseek = https://api.deepseek.com/  DEEPSEEK_API_KEY",
        "",
        " qwen-local=http://[::1]:8000/v1 ",
        'x = http://x K {"a": {"b": 1}}',
    ]
    assert parse_endpoints(lines) == {
        "deepseek": Endpoint("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        "qwen-local": Endpoint("http://[::1]:8000/v1"),
        "x": Endpoint("http://x", "K", {"a": {"b": 1}}),
    }


@pytest.mark.parametrize(
    "lines, part",
    [
        (["qwen-local http://localhost"], "line 1"),
        (["a = http://x", "b = ftp://x"], "line 2"),
        (["a = localhost:8000"], "is not an address"),
        (["a = http://x:port"], "is not an address"),
        (["a = http://x", "a = http://y"], "named twice"),
        (["openai = http://x"], "built-in provider"),
        (["a = http://x sk-SECRET-123"], "never the key itself"),
        (["a = http://x SECRET EXTRA"], "expected `name"),
        (['a = http://x {"b": '], "not a JSON object"),
        (['a = http://x {"seed": 1}'], "'seed' is set by the run"),
        (["a = ftp://bob:SECRET@x"], "is not an address"),
    ],
)
def test_endpoint_lines_that_cannot_be_read(lines: list[str], part: str) -> None:
    with pytest.raises(UsageError, match=part) as caught:
        parse_endpoints(lines)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("module, spec", [("openai", "openai/x"), ("anthropic", "anthropic/x"), ("xllamacpp", "local")])
def test_a_missing_library_names_the_install_line(module: str, spec: str) -> None:
    code = f"""
import importlib.abc, importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {module!r} else real(name, package)
from pytest_hush.errors import MissingExtraError
from pytest_hush.models import resolve_model
try:
    resolve_model({spec!r})
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pytest-hush[" in done.stdout


def test_resolving_imports_no_sdk() -> None:
    code = """
import os, sys
os.environ["OPENAI_API_KEY"] = os.environ["ANTHROPIC_API_KEY"] = "sk-test-000000000000"
from pytest_hush.models import resolve_model
for spec in ("openai/x", "anthropic/x", "parrot"):
    resolve_model(spec)
heavy = {"numpy", "openai", "anthropic", "httpx2", "pydantic", "genai_prices", "xllamacpp", "pytest"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_known_providers() -> None:
    assert known_providers() == ("openai", "anthropic", "local", "parrot", "recorded", "python")
    assert issubclass(MissingExtraError, UsageError)


def test_a_prompt_is_enough_for_the_parrot() -> None:
    reply = resolve_model("parrot").reply(Prompt((Message("user", "Which herbs like shade?"),)))
    assert isinstance(reply, Reply)
    assert "herbs" in reply.text
