"""The interface of a source of cases, and the source for a file."""

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

BUILT_IN = {
    "run file": "opperf.sources.runfile:source",
    "input log": "opperf.sources.input_log:source",
    "configuration": "opperf.sources.param.files:source",
}
"""Sources that need no entry point, so that a checkout works without installation."""


class Source(Protocol):
    """Yields cases."""

    excluded: dict[str, str]
    """Targets without a case, each with the reason; complete once all cases were yielded. A source
    may also have `interpreters`, those whose labels its cases name, and `warnings` about the
    file. Where `completion` is set, the cases are as the file has them, and the framework completes
    them as `opperf.sources.completing` says."""

    def cases(self) -> Iterator[Case]: ...


class FileSource(Protocol):
    """A kind of file that contains cases."""

    name: str
    """Name of the kind in messages."""

    def recognizes(self, path: Path) -> bool:
        """Whether a file is of this kind, by its content."""
        ...

    def open(self, path: Path) -> Source:
        """Returns the source in a file. Raises `RunFileError` or `UsageError` with the location of
        an error."""
        ...


@functools.cache
def available() -> dict[str, FileSource]:
    """Returns every kind of file that contains cases, built in or added by another package."""
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
    """Returns the source in an existing file, recognized by its content.

    Raises `UsageError` if it is of no known kind, and the errors of the kind's `open`.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    for kind in available().values():
        if kind.recognizes(path):
            return kind.open(path)
    advice = f"; for a function in it, write {path}:NAME" if path.suffix == ".py" else ""
    raise UsageError(
        f"{path} is not a file of cases that opperf reads: "
        f"{', '.join(kind.name for kind in available().values())}{advice}"
    )
