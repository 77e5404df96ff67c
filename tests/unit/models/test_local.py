"""The language model beside this process: what needs no weights here, the real one under the ``real`` mark."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from pytest_hush.errors import FatalModelError, ModelError, RefusedCallError, UsageError
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.models import Endpoint, ModelSettings, local, resolve_model
from pytest_hush.models.remote import RemoteModel
from pytest_hush.models.weights import packaged_gguf
from pytest_hush.store import read_records

engine = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
weights = pytest.mark.skipif(packaged_gguf() is None, reason="the weights are not installed (hush install local)")


posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    yield
    local._stop_all()
    # Models of this test that were not closed: the next one's child is not theirs to keep.
    local._engines.clear()
    assert workers(os.getpid()) == []


def workers(pid: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "pytest_hush.models.local_worker" in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


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
@pytest.mark.parametrize("value", ["0", "two", "-1"])
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


@engine
@weights
@pytest.mark.real
def test_an_answer_can_be_held_to_a_schema() -> None:
    herbs = {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 2, "maxItems": 2}
    schema = {"type": "object", "properties": {"herbs": herbs}, "required": ["herbs"], "additionalProperties": False}
    model: Any = resolve_model("local")
    found = json.loads(model.reply_json(prompt("Name two herbs.", 60), schema).text)
    assert list(found) == ["herbs"]
    assert len(found["herbs"]) == 2
    assert not model.reply(prompt("Name two herbs.", 60)).text.startswith("{")


@engine
def test_a_damaged_file_is_fatal_and_leaves_no_child(tmp_path: Path) -> None:
    (tmp_path / "torn.gguf").write_bytes(b"GGUF" + bytes(64))
    model = cast("local.LocalModel", resolve_model(f"local/{tmp_path}/torn.gguf"))
    for call in (lambda: model.reply(prompt("hi")), lambda: model.count_tokens("hi")):
        with pytest.raises(FatalModelError, match=r"torn\.gguf could not be loaded .*is it complete"):
            call()
    assert workers(os.getpid()) == []


@engine
def test_the_worker_imports_nothing_heavy() -> None:
    code = "import sys, pytest_hush.models.local_worker; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pytest", "numpy", "pydantic", "openai", "anthropic", "xllamacpp", "asyncio"} & set(names)


LONG = prompt("Write a very long story about the sea, the wind and a lighthouse.", 2000)


def in_thread(model: local.LocalModel, count: int = 1) -> tuple[list[threading.Thread], list[BaseException]]:
    """`count` threads that wait for a long reply, the first one when it is being computed; what they raise."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            model.reply(LONG)
        except BaseException as error:
            raised.append(error)

    model.count_tokens("loaded")
    threads = [threading.Thread(target=call, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    (child,) = workers(os.getpid())
    before = child.cpu_times().user
    until(lambda: child.cpu_times().user > before + 0.1)
    return threads, raised


@engine
@weights
@posix
@pytest.mark.real
def test_a_killed_child_is_an_error_and_is_started_again() -> None:
    model = cast("local.LocalModel", resolve_model("local"))
    short = model.reply(prompt("Name two herbs.")).text
    threads, raised = in_thread(model)
    workers(os.getpid())[0].send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert len(workers(os.getpid())) == 1, "Ctrl-C at the terminal reaches the child, which must not mind"
    workers(os.getpid())[0].kill()
    threads[0].join(5)
    assert [str(e) for e in raised] == [
        "Model 'local': the local model's process ended (signal 9); another call restarts it."
    ]
    assert type(raised[0]) is ModelError
    assert model.reply(prompt("Name two herbs.")).text == short
    assert len(workers(os.getpid())) == 1


@engine
@weights
@pytest.mark.real
def test_close_ends_the_child_at_once_and_whoever_waits() -> None:
    model, other = (cast("local.LocalModel", resolve_model("local")) for _ in range(2))
    other.count_tokens("hello")
    threads, raised = in_thread(model, 3)
    assert len(workers(os.getpid())) == 1, "one child for all models of one file"
    other.close()
    assert len(workers(os.getpid())) == 1, "the first model still uses it"
    started = time.monotonic()
    model.close()
    assert time.monotonic() - started < 1
    for thread in threads:
        thread.join(5)
    assert len(raised) == 3
    assert {type(e) for e in raised} == {ModelError}
    assert all("was closed" in str(e) for e in raised)
    assert workers(os.getpid()) == []
    assert model.count_tokens("hello there my friend") + other.count_tokens("a") > 4
    other.close()
    model.close()


@engine
@weights
@posix
@pytest.mark.real
def test_an_interrupted_call_gives_its_answer_to_no_other() -> None:
    model = cast("local.LocalModel", resolve_model("local"))
    short = model.reply(prompt("Name two herbs.")).text
    # To this thread, whose wait it must end.
    timer = threading.Timer(0.5, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.reply(LONG)
    timer.join()
    assert workers(os.getpid()) == []
    assert model.reply(prompt("Name two herbs.")).text == short


IN_MID_SENTENCE = """
import sys, threading
from pytest_hush.model import Message, Prompt
from pytest_hush.models import resolve_model
model = resolve_model("local")
model.count_tokens("loaded")
long = Prompt((Message("user", "Write a very long story about the sea."),), max_tokens=2000)
threading.Thread(target=model.reply, args=(long,), daemon=True).start()
print("started", flush=True)
sys.stdin.readline()
"""


@engine
@weights
@posix
@pytest.mark.real
@pytest.mark.parametrize("how", ["end", "kill"])
def test_the_child_ends_with_its_parent(how: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", IN_MID_SENTENCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        (child,) = workers(parent.pid)
        before = child.cpu_times().user
        until(lambda: child.cpu_times().user > before + 0.1)
        if how == "kill":
            parent.kill()
        else:
            parent.stdin.close()
        started = time.monotonic()
        assert parent.wait(5) == (-signal.SIGKILL if how == "kill" else 0)
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 5)
        assert time.monotonic() - started < 5


@engine
@weights
@posix
@pytest.mark.real
def test_control_c_ends_a_run_with_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--hush-model=local", "--hush-memory=oracle", "--hush-sample=40", "--hush-out=out"]
    with (tmp_path / "terminal.txt").open("wb") as terminal:
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=tmp_path,
            stdout=terminal,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            out = tmp_path / "out"
            until(lambda: run.poll() is not None or any(f.stat().st_size for f in out.glob("records-*.jsonl")), 120)
            assert run.poll() is None, (tmp_path / "terminal.txt").read_text("utf-8")
            children = psutil.Process(run.pid).children(recursive=True)
            assert len(children) == 1
            started = time.monotonic()
            run.send_signal(signal.SIGINT)
            code = run.wait(30)
            took = time.monotonic() - started
        finally:
            run.kill()
            run.wait()
    with capsys.disabled():
        print(f"\nCtrl-C in mid-sentence: {took:.2f} s")
    text = (tmp_path / "terminal.txt").read_text("utf-8")
    assert code == 2, text
    assert took < 5, text
    assert not [c for c in children if c.is_running()]
    records = read_records(out)
    assert records
    assert {r.status for r in records} <= {"ok", "withheld", "unplanted", "error"}
    assert any(r.status == "ok" and r.reply for r in records)


@engine
@weights
@pytest.mark.real
def test_a_copy_of_the_source_on_the_path_is_enough(tmp_path: Path) -> None:
    """The child finds the package and the engine where its parent does, in a folder full of misleading names."""
    package = Path(local.__file__).parents[1]
    shutil.copytree(package, tmp_path / "source" / "pytest_hush", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "work").mkdir()
    for name in ("json.py", "secrets.py", "queue.py"):
        (tmp_path / "work" / name).write_text("raise SystemExit(9)", "utf-8")
    code = f"""
import json, queue, sys
sys.path.insert(0, {str(tmp_path / "source")!r})
from pytest_hush.models import local, resolve_model
model = resolve_model("local")
count = model.count_tokens("hello there my friend")
print(json.dumps([local.__file__, count]))
"""
    made = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path / "work", capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == [str(tmp_path / "source" / "pytest_hush" / "models" / "local.py"), 4]


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
