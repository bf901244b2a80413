"""A problem that another tool's files state, with its candidates: what is read, how its functions
become files of their own, and what results say."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import msgspec

from opperf import frameworks
from opperf.candidates.model import Candidate, Problem, TrialResult, Verdict
from opperf.decoding import parse_python
from opperf.errors import UsageError, one_line, unknown
from opperf.model import Struct, Summary
from opperf.reading import WRITTEN_BY_HAND, read_bytes

FRAMEWORK = "torch"
"""All of these tools have problems of PyTorch."""

FUNCTIONS = Path(frameworks.__file__).with_name(FRAMEWORK) / "posed.py"
"""The functions of a problem, which are copied."""

SETTINGS = "opperf_settings.json"

ADAPTOR = "opperf_problem.py"

SOLUTION = "opperf_candidate.py"


class PosedProblem(Struct, frozen=True):
    """A problem, and candidates for it."""

    problem: Problem
    candidates: tuple[Candidate, ...] = ()
    refused: dict[str, str] = {}
    """Candidates that are not run here, by name, each with the reason."""
    checks: int = 0
    """The number of first trials whose times do not count."""
    facts: dict[str, Any] = {}
    """Facts of the format that its results name."""


class ProblemSet(NamedTuple):
    """The problems of a file or folder."""

    format: str
    problems: list[PosedProblem]
    skipped: dict[str, str]
    """Problems that cannot be run here, by name, each with the reason."""


class Asked(NamedTuple):
    """Files that are read, and how."""

    path: Path
    folder: Path
    """An empty one, for the files that are made."""
    sets: Mapping[str, str] = {}
    """Values of constants or sizes, literals of Python, by name."""
    candidates: Sequence[Path] = ()
    """Files of candidates elsewhere."""


class Judged(NamedTuple):
    """A problem, and the verdicts on its candidates."""

    posed: PosedProblem
    verdicts: Sequence[Verdict]


def completed(posed: PosedProblem, verdict: Verdict) -> Verdict:
    """Returns a verdict with all trials of its problem: those that it ended before, as itself."""
    trials = list(verdict.trials)
    for index, trial in enumerate(posed.problem.trials):
        if index == len(trials) or trials[index].trial != trial:
            trials[index:] = [TrialResult(trial, verdict.status, verdict.reason)]
    return msgspec.structs.replace(verdict, trials=tuple(trials))


class Made(NamedTuple):
    """Where and when verdicts were made."""

    hardware: str
    libraries: Mapping[str, str]
    timestamp: str


def install(
    asked: Asked, words: Sequence[str], files: Mapping[str, bytes], settings: Mapping[str, Any]
) -> str:
    """Copies files, as they are, into a new folder, with the functions that call them; returns the
    path of those. Raises `UsageError`."""
    asked.folder.mkdir(parents=True, exist_ok=True)
    # Of any names, such as "..", or two that differ in a sign.
    prefix = re.sub(r"[^\w-]", "_", "-".join(words))[:80]
    folder = Path(mkdtemp(prefix=f"{prefix}-", dir=asked.folder)).resolve()
    contents = {SETTINGS: json.dumps(settings).encode(), ADAPTOR: FUNCTIONS.read_bytes()}
    for name, content in {**files, **contents}.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{' '.join(words)}: {name!r} is no name of a file: {error}"
            ) from error
    return str(folder / ADAPTOR)


class PythonFile(NamedTuple):
    """A file of Python, as far as it is known without running it."""

    path: Path
    text: bytes
    names: frozenset[str]
    """Of functions, classes and constants."""
    constants: frozenset[str]
    gpu: str
    """The name of a part that needs a GPU; empty without one."""


NEED_GPU = re.compile(
    rb"^\s*(?:import|from)\s+(cupy|cutlass|helion|pycuda|tilelang|triton)\b|(cuda_sources)", re.M
)
"""Packages and arguments that make kernels which no CPU runs."""


def read_file(path: Path) -> bytes:
    """Returns the content of a file. Raises `UsageError`."""
    try:
        return read_bytes(path, WRITTEN_BY_HAND)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def read_python(path: Path, *required: str) -> PythonFile:
    """Returns what a file has. Raises `UsageError` for one that is no Python, and for a function or
    class that it lacks."""
    text = read_file(path)
    try:
        tree = parse_python(text, str(path))
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"{path}{line} is no Python: {one_line(str(error))}") from error
    kinds = (ast.FunctionDef, ast.ClassDef)
    targets = [
        target
        for node in tree.body
        for target in (
            node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        )
    ]
    constants = frozenset(target.id for target in targets if isinstance(target, ast.Name))
    names = constants.union(node.name for node in tree.body if isinstance(node, kinds))
    for name in required:
        if name not in names:
            raise UsageError(f"{path} has no {name}; define it, or name another file")
    found = NEED_GPU.search(text)
    gpu = (found[1] or found[2]).decode() if found else ""
    return PythonFile(path, text, names, constants, gpu)


def solved_by(
    asked: Asked,
    problem: str,
    solutions: Iterable[PythonFile],
    files: Mapping[str, bytes],
    settings: Mapping[str, Any],
) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Returns the candidates in files, and those that are not run here, by name, each with the
    reason. Other files that a candidate needs are `files`."""
    made: list[Candidate] = []
    refused: dict[str, str] = {}
    for solution in {each.path.resolve(): each for each in solutions}.values():
        name = solution.path.stem
        for folder in solution.path.resolve().parents:
            if name in refused or any(name == other.name for other in made):
                name = f"{folder.name}/{name}"
        if solution.gpu:
            refused[name] = f"{solution.gpu} needs a GPU; candidates are judged on the CPU"
            continue
        contents = {**files, SOLUTION: solution.text}
        own = {**settings, "candidate": SOLUTION}
        place = ("candidates", problem, name)
        made.append(Candidate(name, install(asked, place, contents, own)))
    return tuple(made), refused


def check_sets(asked: Asked, known: Iterable[str]) -> dict[str, Any]:
    """Returns the values of `--set`. Raises `UsageError` for a name that is not known, and for what
    is no literal."""
    names = sorted(set(known))
    found = {}
    for name, text in asked.sets.items():
        if name not in names:
            raise unknown("name of --set", name, names, str(asked.path))
        try:
            found[name] = ast.literal_eval(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(
                f"--set {name}={one_line(text, 40)}: not a number, text, tuple or list of Python"
            ) from error
    return found


def with_sizes(trial: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a trial with other values of what it has."""
    return {name: sizes.get(name, value) for name, value in trial.items()}


def mean_ms(times: Summary | None) -> float | None:
    """Returns a mean in milliseconds; None without times."""
    return None if times is None else times.mean / 1e6
