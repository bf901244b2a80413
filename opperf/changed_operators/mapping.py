"""Maps the files that changed to operators: by a project's table, by a framework's repository, or
by functions of Python."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opperf.changed_operators.cpp import HEADERS, SUFFIXES, Definition, definitions
from opperf.changed_operators.python import (
    SUFFIX,
    ChangedFile,
    Function,
    PythonFiles,
    changed_files,
)
from opperf.frameworks.kernel_sources import KernelSources, read_kernel_sources
from opperf.plurals import pluralize
from opperf.reading import read_text
from opperf.repository import Repository

MOST = 60
"""Operators that one file may be mapped to: what more of them use is common code, whose users are
better chosen by the project's table."""

CODE = (*SUFFIXES, SUFFIX, ".c", ".pyx", ".pyi", ".S", ".asm", ".metal")
"""Suffixes of files that are said one by one if they could not be mapped."""

TABLE = "name its operators in [changed] of opperf.toml"

CALLERS = "callers of these are too many, and omitted"


class Mapped(NamedTuple):
    """A file that changed, with its operators, or why it has none, or no more."""

    path: str
    operators: tuple[str, ...] = ()
    reason: str = ""
    is_chosen: bool = False
    """Whether the project's table names the operators."""

    @property
    def is_code(self) -> bool:
        return self.path.endswith(CODE)


def map_changes(
    folder: Path, revision: str, framework: str, table: Mapping[str, Sequence[str]], here: Path
) -> list[Mapped]:
    """Returns the files that changed since a revision in the repository of a folder, mapped to a
    framework's operators and to functions as seen from the folder `here`. `table` has operators by
    glob of files. Raises `UsageError` without such a repository or revision."""
    root = Repository(folder).path
    changed = changed_files(root, revision)
    sources = read_kernel_sources(framework, root)
    mapper = _Mapper(root, sources, table, here)
    return [mapper.map(file) for file in changed]


class _Mapper:
    def __init__(
        self, root: Path, sources: KernelSources, table: Mapping[str, Sequence[str]], here: Path
    ) -> None:
        self._root, self._sources, self._table, self._here = root, sources, table, here
        self._kernels = Kernels(root, sources)
        self._python = PythonFiles(root)

    def map(self, file: ChangedFile) -> Mapped:
        matching = [glob for glob in self._table if fnmatch.fnmatchcase(file.path, glob)]
        if matching:
            named = dict.fromkeys(name for glob in matching for name in self._table[glob])
            reason = "" if named else "the project's table has no operator for it"
            return Mapped(file.path, tuple(named), reason, is_chosen=True)
        if file.is_deleted or not (self._root / file.path).is_file():
            return Mapped(file.path, reason=f"it is no file any more; {TABLE}")
        if file.path in self._sources.declarations:
            entries = self._sources.declarations[file.path]
            touched = [entry for entry in entries if file.touches(entry.first, entry.last)]
            return _mapped(file.path, {name for entry in touched for name in entry.operators})
        if self._kernels.has(file.path):
            return _mapped(file.path, self._kernels.operators_of(file))
        if file.path.endswith(SUFFIX):
            try:
                return self._map_python(file)
            except SyntaxError as error:
                return Mapped(file.path, reason=f"it is not Python: line {error.lineno}")
        return Mapped(file.path, reason=f"no kernels of the framework are there; {TABLE}")

    def _map_python(self, file: ChangedFile) -> Mapped:
        operators: set[str] = set()
        for functions in self._python.reached(file):
            more = operators | set(self._functions(functions))
            if operators and len(more) > MOST:
                # Names of callers' callers soon are those of everything.
                return _mapped(file.path, operators)._replace(reason=CALLERS)
            operators = more
        return _mapped(file.path, operators)

    def _functions(self, functions: Sequence[Function]) -> Iterator[str]:
        for entry in functions:
            if not entry.is_public:
                continue
            fitting = [start for start in self._sources.prefixes if entry.path.startswith(start)]
            if fitting:
                yield f"{self._sources.prefixes[max(fitting, key=len)]}{entry.name}"
            elif not self._sources.prefixes:
                yield self._python.target(entry, self._here)


def _mapped(path: str, operators: set[str]) -> Mapped:
    if not operators:
        return Mapped(path, reason=f"no operator uses what changed; {TABLE}")
    if len(operators) > MOST:
        return Mapped(
            path, reason=f"what changed is used by {pluralize(len(operators), 'operator')}; {TABLE}"
        )
    return Mapped(path, tuple(sorted(operators)))


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
            followed = {name for name in operators if re.match(self._sources.through, name)}
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
