"""Files of snippets: what is wrong with one, and the cases of its definitions."""

from __future__ import annotations

import ast
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from opperf.decoding import parse_python
from opperf.errors import OpperfError, UsageError, one_line, suggest
from opperf.model import Case, Settings, SnippetTarget
from opperf.model.targets import LABEL_SEPARATOR
from opperf.reading import WRITTEN_BY_HAND, open_file, read_bytes
from opperf.snippets import Benchmarks, Snippet, expand
from opperf.sources.base import FileSource, Source
from opperf.sources.selecting import as_operator, make_matcher

VARIABLE = "BENCHMARKS"
"""The variable of a file with its definitions."""

PREFIX = "opperf_snippets_"
"""Beginning of the name of the module that a file is run as: its own may be another module's."""


def load(path: Path) -> Benchmarks:
    """Returns the definitions of a file, which is run as a module. Its folder comes last on the
    path of imports, so that it can import modules beside it.

    Raises `UsageError` with file and line.
    """
    tree = _parse(path)
    for line, label, first in _repeated_keys(tree):
        raise UsageError(
            f"{path}:{line}: a second definition of {label!r} in one dict; the first one is in "
            f"line {first}"
        )
    module = ModuleType(f"{PREFIX}{path.stem}")
    module.__file__ = str(path)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[module.__name__] = module
    try:
        exec(compile(tree, str(path), "exec"), vars(module))
    except OpperfError:
        # The message of a definition has its place.
        raise
    except Exception as error:
        raise UsageError(
            f"{path}:{_line(error, path)}: {one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    found: Any = getattr(module, VARIABLE, None)
    if not isinstance(found, Mapping) or not found:
        raise UsageError(
            f"{path}: no definitions; assign a dict of them to {VARIABLE}, as "
            f"{VARIABLE} = {{'add': GroupedStmts('x + 1', setup='x = torch.ones(2)')}}"
        )
    return found


def _parse(path: Path) -> ast.Module:
    try:
        return parse_python(read_bytes(path, WRITTEN_BY_HAND), str(path))  # type: ignore[no-any-return]
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None


def _line(error: Exception, path: Path) -> int:
    """Returns the last line of the file that was run before an error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) and frame.lineno
    ]
    return lines[-1] if lines else 1


def _repeated_keys(tree: ast.Module) -> Iterator[tuple[int, Any, int]]:
    """Yields each constant key that a dict of the code has twice, of which Python keeps the last
    one: its line, the key, and the line of the first one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        lines: dict[Any, int] = {}
        for key in node.keys:
            try:
                value = ast.literal_eval(key) if key is not None else None
            except ValueError:
                # An expression, whose value only a run shows.
                continue
            if key is None or not isinstance(value, (str, tuple)):
                continue
            if value in lines:
                yield key.lineno, value, lines[value]
            lines[value] = key.lineno


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


class SnippetFile(Source):
    """The snippets of a file. Runs the file, so that nothing is measured of one with an error."""

    own_settings = ("device", "dtype", "mode", "phase", "grad", "memory_format")
    """Settings that the snippets' own code decides."""

    def __init__(self, path: Path, pattern: str = "") -> None:
        super().__init__(case_of(snippet) for snippet in expand(load(path)))
        if pattern:
            self._cases = select(self._cases, pattern, path)


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


class SnippetFiles(FileSource):
    """Python files that import `opperf.snippets`."""

    name = "file of snippets (Python that imports opperf.snippets)"
    selects = True

    def recognizes(self, path: Path) -> bool:
        """Whether its text imports `opperf.snippets`; it is not run for that."""
        if path.suffix != ".py":
            return False
        with open_file(path) as file:
            return IMPORT.search(file.read(WRITTEN_BY_HAND)) is not None

    def open(self, path: Path) -> SnippetFile:
        return SnippetFile(path)

    def select(self, path: Path, pattern: str) -> SnippetFile:
        return SnippetFile(path, pattern)
