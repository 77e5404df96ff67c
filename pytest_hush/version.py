"""The installed version. Read from the package's metadata, on demand of the modules that record it."""

from importlib.metadata import version

__version__ = version("pytest-hush")
