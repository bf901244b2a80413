"""Files of snippets, and the cases of their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opperf.errors import UsageError, suggest
from opperf.model import Case, Settings, SnippetTarget
from opperf.model.targets import LABEL_SEPARATOR
from opperf.snippets import Snippet, expand
from opperf.sources.selecting import as_operator, make_matcher
from opperf.sources.snippets.loading import load

FRAMEWORK = "torch"
"""The framework whose snippets they are: the definitions are those of its suite."""

IMPORT = re.compile(
    rb"^\s*(?:from\s+opperf\.snippets[\w.]*\s+import\b|import\s+opperf\.snippets\b"
    rb"|from\s+opperf\s+import\b.*\bsnippets\b)",
    re.MULTILINE,
)
"""Import that a file of snippets has, and other files of Python do not."""

PROFILER = "python"
"""The profiler of snippets where none is chosen: most are about the time around a kernel."""


class SnippetFile:
    """The snippets of a file. Runs the file, so that nothing is measured of one with an error."""

    own_settings = ("device", "dtype", "mode", "phase", "grad", "memory_format")
    """Settings that the snippets' own code decides."""

    def __init__(self, path: Path, pattern: str = "") -> None:
        self.excluded: dict[str, str] = {}
        self._cases = [case_of(snippet) for snippet in expand(load(path))]
        if pattern:
            self._cases = select(self._cases, pattern, path)

    def cases(self) -> Iterator[Case]:
        yield from self._cases


def select(cases: Sequence[Case], pattern: str, path: Path) -> list[Case]:
    """Returns the cases whose name, or the beginning of whose name to some label, a pattern
    matches: a name, a glob or a regular expression, as those of operators.

    Raises `UsageError` if there is none.
    """
    names = {case.label: as_operator(case) for case in cases}
    matches = make_matcher(pattern, names.values())
    found = [case for case in cases if matches(names[case.label])]
    if not found:
        known = dict.fromkeys(name for places in names.values() for name in places.names)
        raise UsageError(
            f"{path}: no snippet is called {pattern!r}{suggest(pattern, known)}; "
            f"opperf run {path} --list prints all"
        )
    return found


def case_of(snippet: Snippet) -> Case:
    """Returns the case of a snippet."""
    return Case(
        target=SnippetTarget(
            framework=FRAMEWORK,
            source=snippet.source,
            setup=snippet.setup,
            language=snippet.language,
            name=LABEL_SEPARATOR.join(snippet.labels),
            global_setup=snippet.global_setup,
            model=snippet.model,
            output=snippet.output,
            differentiated=snippet.has_backward,
        ),
        arguments={},
        settings=Settings(mode=snippet.mode, profiler=PROFILER, threads=snippet.threads),
        passes=("forward", "backward") if snippet.has_backward else ("forward",),
        origin=str(snippet.place),
        category=snippet.labels[0].lower(),
    )


class SnippetFiles:
    """Python files that import `opperf.snippets`."""

    name = "file of snippets (Python that imports opperf.snippets)"

    def recognizes(self, path: Path) -> bool:
        """Whether its text imports `opperf.snippets`; it is not run for that."""
        return path.suffix == ".py" and bool(IMPORT.search(path.read_bytes()))

    def open(self, path: Path) -> SnippetFile:
        return SnippetFile(path)

    def select(self, path: Path, pattern: str) -> SnippetFile:
        return SnippetFile(path, pattern)


def source() -> SnippetFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return SnippetFiles()
