"""Sources of cases: what one is, and which one a file is for."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from opperf.errors import UsageError
from opperf.model import Case

GROUP = "opperf.sources"

BUILT_IN = {"run file": "opperf.sources.runfile:source"}
"""Known without an installed distribution, so that a plain checkout works."""


class Source(Protocol):
    """Yields cases."""

    excluded: dict[str, str]
    """What has no case, each with the reason; complete once all cases have been yielded. A source
    may also have `interpreters`, those of the labels that its cases name, and `warnings` about the
    file."""

    def cases(self) -> Iterator[Case]: ...


class FileSource(Protocol):
    """A kind of file that cases are read from."""

    name: str
    """What users call such a file."""

    def recognizes(self, path: Path) -> bool:
        """Whether a file is of this kind, by its content."""
        ...

    def open(self, path: Path) -> Source:
        """The source in a file. Raises `RunFileError` or `UsageError` with the place of a fault."""
        ...


@functools.cache
def available() -> dict[str, FileSource]:
    """Every kind of file that holds cases, built in or added by another package."""
    found = BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}
    sources = {}
    for name, place in found.items():
        module, _, attribute = place.partition(":")
        made: FileSource = getattr(importlib.import_module(module), attribute)()
        sources[name] = made
    return sources


def is_source(path: Path) -> bool:
    """Whether a file is of a known kind."""
    return any(kind.recognizes(path) for kind in available().values())


def open_source(path: Path) -> Source:
    """The source in an existing file, recognized by its content.

    Raises `UsageError` if it is of no known kind, and what the kind's `open` does.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    for kind in available().values():
        if kind.recognizes(path):
            return kind.open(path)
    raise UsageError(
        f"{path} holds no cases that opperf knows; it reads: "
        f"{', '.join(kind.name for kind in available().values())}"
    )
