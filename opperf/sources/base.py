"""Sources of cases, run files among them, and the source for a file."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple

from opperf.declared import NO_OPTIONS, PackageOptions
from opperf.dtypes import DTYPES, is_floating
from opperf.errors import UsageError
from opperf.instruments.times import RECORDED
from opperf.model import DECLARED, Argument, Case, Interpreter, Program, Record, iter_tensors
from opperf.results.recordings import program_of
from opperf.results.runfile import is_run_file, read_run

GROUP = "opperf.sources"

BUILT_IN = {
    "run file": "opperf.sources.base:RunFiles",
    "input log": "opperf.sources.logged_text:InputLogs",
    "trace": "opperf.sources.traces:TraceFiles",
    "results of PARAM": "opperf.sources.param.files:ResultFiles",
    "configuration": "opperf.sources.param.files:ConfigurationFiles",
    "snippets": "opperf.sources.snippet_files:SnippetFiles",
}
"""Sources that need no entry point, so that a checkout works without installation."""


Completion = Literal["each", "all"]
"""Whether a case that cannot be completed is that case's record, or an error of the file."""


class Source:
    """Cases, and what a run says of where they are from."""

    completion: Completion | None = None
    """How the framework completes the cases, which then are as the file has them, as
    `opperf.sources.completing` says; None where they are complete."""
    own_settings: tuple[str, ...] = ()
    """Fields of `Settings` that the cases decide."""
    interpreters: tuple[Interpreter, ...] = ()
    """Those whose labels the cases name."""
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    """Sentences on what is not wrong."""
    program: Program | None = None
    """The program whose recorded calls the cases are."""
    records: tuple[Record, ...] = ()
    """By which the time of a run is forecast."""

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        self._cases = list(cases)
        self.excluded: dict[str, str] = {}
        """Targets without a case, each with the reason; complete once all cases were yielded."""

    def cases(self) -> Iterator[Case]:
        """Returns the cases in their order."""
        return iter(self._cases)


def check_own_settings(path: Path, source: Source, given: Collection[str]) -> None:
    """Raises `UsageError` for an option on what the cases of a source decide themselves."""
    for name in source.own_settings:
        if name in given:
            raise UsageError(
                f"{DECLARED[name].option} does not apply to {path}, whose own code decides it; "
                "omit it"
            )


class FileSource:
    """A kind of file that contains cases."""

    name: str
    """Name of the kind in messages."""
    folders = False
    """Whether a folder can be of this kind."""
    options: type[Any] | None = None
    """Its own options, which `open` is given after the path."""
    selects = False
    """Whether its cases are selected by name, as `FILE:PATTERN`."""
    unites = False
    """Whether several files are one source, as the traces of a program are."""

    def recognizes(self, path: Path) -> bool:
        """Whether a file is of this kind, by its content."""
        raise NotImplementedError

    def open(self, path: Path) -> Source:
        """Returns the source in a file. Raises `RunFileError` or `UsageError` with the location of
        an error."""
        raise NotImplementedError

    def select(self, path: Path, pattern: str) -> Source:
        """Returns the source in a file, with only the cases that a pattern selects. Raises what
        `open` raises, and `UsageError` for a pattern that selects none."""
        raise NotImplementedError

    def open_all(self, paths: Sequence[Path]) -> Source:
        """Returns the source in several files. Raises what `open` raises."""
        raise NotImplementedError


class RunFile(Source):
    """The planned cases of a run, with or without a record."""

    def __init__(self, path: Path) -> None:
        run, self.warnings = read_run(path)
        super().__init__(run.cases)
        self.excluded = run.header.excluded
        self.interpreters = run.header.interpreters
        self.program = program_of(run)
        self.records = run.records
        measured = {name for record in run.records for name in record.summaries}
        # Calls of a recording as those of any other, those that a run has measured not at all.
        if run.header.program and measured <= {RECORDED.name}:
            self.completion = "each"


class RunFiles(FileSource):
    """Run files, as `opperf run -f jsonl` writes them."""

    name = "run file (opperf run -f jsonl)"

    def recognizes(self, path: Path) -> bool:
        return is_run_file(path)

    def open(self, path: Path) -> RunFile:
        return RunFile(path)


@functools.cache
def available() -> dict[str, FileSource]:
    """Returns every kind of file that contains cases, built in or added by another package."""
    found = BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}
    sources = {}
    for name, place in found.items():
        module, _, attribute = place.partition(":")
        made = getattr(importlib.import_module(module), attribute)()
        if not isinstance(made, FileSource):
            raise UsageError(
                f"the kind of file {place}, an entry point of the group {GROUP}, is not a "
                "FileSource; fix its package, or remove it"
            )
        sources[name] = made
    return sources


def is_source(path: Path) -> bool:
    """Whether a file is of a known kind."""
    return _kind_of(path) is not None


def _kind_of(path: Path) -> FileSource | None:
    kinds = list(available().values())
    if path.is_dir():
        kinds = [kind for kind in kinds if kind.folders]
    return next((kind for kind in kinds if kind.recognizes(path)), None)


SHIPPED = "opperf.snippets."
"""Beginning of the names of modules of opperf that are files of cases."""

WITH_PATTERN = re.compile(r"(?P<file>.+?\.py):(?P<pattern>.+)")
"""A file, and which of its cases: `snippets.py:views/*`."""


def locate(word: str) -> Path | None:
    """Returns the path of what a word of a command names as a source: cases of a file, as
    `snippets.py:views/*`, or of a module of opperf, as `opperf.snippets.standard`; None for any
    other word. `open_source` takes the path."""
    name, colon, pattern = word.partition(":")
    if word.startswith(SHIPPED):
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is not None and found.origin:
            return Path(f"{found.origin}{colon}{pattern}")
    return Path(word) if _named_cases(Path(word)) is not None else None


def _named_cases(path: Path) -> tuple[FileSource, Path, str] | None:
    """Returns the kind of file, the file and the pattern of a path that has one."""
    match = WITH_PATTERN.fullmatch(str(path))
    if match is None or not Path(match["file"]).is_file():
        return None
    file = Path(match["file"])
    kind = _kind_of(file)
    return (kind, file, match["pattern"]) if kind is not None and kind.selects else None


def open_source(path: Path, added: PackageOptions = NO_OPTIONS) -> Source:
    """Returns the source in an existing file, recognized by its content, or in a path that `locate`
    returned; `added` are the options of other packages that were set.

    Raises `UsageError` if it is of no known kind, and the errors of the kind's `open`.
    """
    named = _named_cases(path)
    if named is not None:
        selecting, file, pattern = named
        return selecting.select(file, pattern)
    kind = _kind_of(path)
    if kind is not None:
        return kind.open(path, *([added.among(kind.options)] if kind.options else ()))
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    advice = f"; for a function in it, write {path}:NAME" if path.suffix == ".py" else ""
    raise UsageError(
        f"{path} is not a file of cases that opperf reads: "
        f"{', '.join(kind.name for kind in available().values())}{advice}"
    )


class SourceFile(NamedTuple):
    """A file of cases, opened: it is read once, and snippets in it are run once."""

    path: Path
    source: Source


def open_files(paths: Iterable[Path], added: PackageOptions = NO_OPTIONS) -> tuple[SourceFile, ...]:
    """Returns the files, opened; those that are one source as the first of them."""
    groups: list[tuple[FileSource | None, list[Path]]] = []
    for path in paths:
        kind = None if _named_cases(path) else _kind_of(path)
        united = [
            own for other, own in groups if other is kind and kind is not None and kind.unites
        ]
        if united:
            united[0].append(path)
        else:
            groups.append((kind, [path]))
    return tuple(
        SourceFile(
            own[0],
            kind.open_all(own) if kind is not None and own[1:] else open_source(own[0], added),
        )
        for kind, own in groups
    )


BASELINE = "float32"
"""Dtype of a case without floating tensors, as everywhere."""


def call_dtype(arguments: Iterable[Argument]) -> str:
    """Returns the dtype of a call: the floating one of fewest bytes, since in mixed precision
    some tensors have more."""
    used = {spec.dtype for value in arguments for spec in iter_tensors(value)}
    floating = [DTYPES[name] for name in used if is_floating(name)]
    return min(floating, key=lambda dtype: (dtype.bytes, dtype.name)).name if floating else BASELINE
