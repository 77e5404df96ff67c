"""Sessions for a developer; `.ci/run` stays the one door before a change lands. Run with: nox -s lint types tests"""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

PYTHONS = ["3.11", "3.12", "3.13"]
PYTESTS = ["8.0", "latest"]
# pytest-asyncio for pytest 8.0 lacks the loop-scope option of pyproject.toml, so the ini file is not strict there.
LENIENT = ("-o", "addopts=", "-m", "not real", "-W", "ignore::pytest.PytestConfigWarning")


def _install(session: nox.Session, pytest: str = "latest") -> None:
    session.install("-e", ".[local,dev]")
    if pytest != "latest":
        session.install(f"pytest=={pytest}.*", "pytest-asyncio<0.24")
    session.run("hush", "install", "local")


@nox.session
def lint(session: nox.Session) -> None:
    """ruff: rules and layout."""
    session.install("ruff>=0.9")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict."""
    session.install("-e", ".[local,dev]")
    session.run("mypy")


@nox.session(python=PYTHONS)
@nox.parametrize("pytest", PYTESTS)
def tests(session: nox.Session, pytest: str) -> None:
    """The suite as the README runs it, on each Python and on the oldest and the newest pytest."""
    _install(session, pytest)
    session.run("pytest", "-n", "2", "-q", *(LENIENT if pytest != "latest" else ()), *session.posargs)


@nox.session
def real(session: nox.Session) -> None:
    """The real stack: a language model, embeddings, whole processes. Slow."""
    _install(session)
    session.run("pytest", "-m", "real", "-q", *session.posargs)
