"""Follows names through the kernels of a repository in C++: from a definition that changed to those
that use its name, up to operators."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opperf.changed_operators.cpp import HEADERS, SUFFIXES, Definition, definitions
from opperf.changed_operators.lines import ChangedFile
from opperf.frameworks.kernel_sources import KernelSources
from opperf.reading import read_text

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)

SHORTEST = 3
"""Letters of a name that is followed: shorter ones are of other things too."""


class Kernels:
    """The kernels of a repository, read when a name is looked for."""

    def __init__(self, root: Path, sources: KernelSources) -> None:
        self._root, self._sources = root, sources
        self._registering = re.compile(sources.registering)

    def has(self, path: str) -> bool:
        """Returns whether a file is one of the kernels."""
        in_folder = any(path.startswith(f"{folder}/") for folder in self._sources.folders)
        return in_folder and path.endswith(SUFFIXES)

    def operators_of(self, changed: ChangedFile) -> set[str]:
        """Returns the operators that what changed in a file is used by. Where none is found those
        that are registered in the file, or in the files that include it."""
        own = [
            definition
            for definition in self._definitions(changed.path)
            if changed.touches(definition.first, definition.last)
        ]
        if not own:
            return set()
        found = self._follow(changed.path, own)
        return found or self._registered(changed.path)

    def _follow(self, path: str, own: Iterable[Definition]) -> set[str]:
        found: set[str] = set()
        seen: set[tuple[str, str]] = set()
        waiting = [(path, definition) for definition in own]
        while waiting:
            place, definition = waiting.pop()
            operators = self._implemented(definition)
            found |= operators
            followed = {name for name in operators if self._sources.is_followed(name)}
            found |= {
                forward for name in operators for forward in self._sources.gradients.get(name, ())
            }
            if operators and not followed:
                continue
            bases = {name.partition(".")[0] for name in followed}
            names = definition.names | bases | {f"{name}_out" for name in bases}
            for name in names:
                # What a file keeps to itself is looked for there.
                where = place if definition.is_local and name in definition.names else ""
                if len(name) >= SHORTEST and (name, where) not in seen:
                    seen.add((name, where))
                    waiting += self._users(name, where)
        return found

    def _implemented(self, definition: Definition) -> set[str]:
        found = {
            operator
            for name in definition.names
            for operator in self._sources.kernels.get(name, ())
        }
        if definition.macro and self._registering.fullmatch(definition.macro):
            # The shortest is the first argument, and another one all of them.
            found |= set(sorted(definition.names, key=len)[:1])
        return found

    def _users(self, name: str, where: str) -> Iterator[tuple[str, Definition]]:
        for path in [where] if where else self._files:
            if name in self._text(path):
                for definition in self._definitions(path):
                    if name in definition.uses and name not in definition.names:
                        yield path, definition

    def _registered(self, path: str) -> set[str]:
        found: set[str] = set()
        waiting, seen = [path], {path}
        while waiting:
            place = waiting.pop()
            for definition in self._definitions(place):
                found |= self._implemented(definition)
            if place.endswith(HEADERS):
                new = [other for other in self._including(place) if other not in seen]
                waiting += new
                seen.update(new)
        return found

    def _including(self, path: str) -> list[str]:
        name = path.rpartition("/")[2]
        return [other for other in self._files if name in self._included(other)]

    def _included(self, path: str) -> set[str]:
        """Returns the names, without folders, of the files that a file includes."""
        return {found.rpartition("/")[2] for found in INCLUDE.findall(self._text(path))}

    @functools.cached_property
    def _files(self) -> Sequence[str]:
        return sorted(
            path.relative_to(self._root).as_posix()
            for folder in self._sources.folders
            for path in (self._root / folder).rglob("*")
            if path.suffix in SUFFIXES and path.is_file()
        )

    @functools.cache  # noqa: B019 - of one command
    def _text(self, path: str) -> str:
        return read_text(self._root / path, errors="replace")

    @functools.cache  # noqa: B019 - of one command
    def _definitions(self, path: str) -> list[Definition]:
        return definitions(self._text(path), is_header=path.endswith(HEADERS))
