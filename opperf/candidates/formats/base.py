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

from opperf import frameworks
from opperf.candidates.model import Candidate, Problem, Verdict
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


class Asked(NamedTuple):
    """Files that are read, and how."""

    path: Path
    folder: Path
    """An empty one, for the files that are made."""
    sets: Mapping[str, str] = {}
    """Values of constants or sizes, literals of Python, by name."""
    candidates: Sequence[Path] = ()
    """Files of candidates elsewhere."""


class Solution(NamedTuple):
    """A candidate as a format's files have it."""

    name: str
    files: Mapping[str, bytes] = {}
    settings: Mapping[str, Any] = {}
    """Of this candidate alone."""
    author: str = ""
    refusal: str = ""
    """Why it is not run here; empty if it is."""


class PosedProblem(Struct, frozen=True):
    """A problem, and candidates for it."""

    problem: Problem
    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Solution, ...] = ()
    """Those that are not run here."""
    checks: int = 0
    """The number of first trials whose times do not count."""
    facts: Mapping[str, Any] = {}
    """Facts of the format that its results name."""


class ProblemSet(NamedTuple):
    """The problems of a file or folder."""

    format: str
    problems: list[PosedProblem]
    skipped: dict[str, str]
    """Problems that cannot be run here, by name, each with the reason."""


class Judged(NamedTuple):
    """A problem, and the verdicts on its candidates."""

    posed: PosedProblem
    verdicts: Sequence[Verdict]


class Made(NamedTuple):
    """Where and when verdicts were made."""

    hardware: str
    libraries: Mapping[str, str]
    timestamp: str


def pose(
    asked: Asked,
    name: str,
    tolerance: float,
    files: Mapping[str, bytes],
    settings: Mapping[str, Any],
    solutions: Sequence[Solution],
    trials: Sequence[dict[str, Any]] = ({},),
    own: Mapping[str, Any] = {},
    **more: Any,
) -> PosedProblem:
    """Returns a problem whose functions, and those of its candidates, have folders of their own;
    `own` are settings that candidates do not see, and `more` fields of it. Raises `UsageError`."""
    candidates = []
    for each in (each for each in solutions if not each.refusal):
        place = ("candidates", name, each.name)
        made = _install(asked, place, each.files, {**settings, **each.settings})
        candidates.append(Candidate(each.name, made, each.author))
    made = _install(asked, ("problems", name), files, {**settings, **own})
    problem = Problem(name, FRAMEWORK, made, tuple(trials), rtol=tolerance, atol=tolerance)
    refused = tuple(each for each in solutions if each.refusal)
    return PosedProblem(problem, tuple(candidates), refused, **more)


def _install(
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
    names: set[str] = set()
    constants: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                constants.update(each.id for each in targets if isinstance(each, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                constants.add(name)
    names |= constants
    for name in required:
        if name not in names:
            raise UsageError(f"{path} has no {name}; define it, or name another file")
    return PythonFile(path, text, frozenset(names), frozenset(constants))


NEED_GPU = re.compile(
    rb"^\s*(?:import|from)\s+(cupy|cutlass|helion|pycuda|tilelang|triton)\b|(cuda_sources)", re.M
)
"""Packages and arguments that make kernels which no CPU runs."""

NO_GPU = "{} needs a GPU; candidates are judged on the CPU"


def refusal_of(text: bytes) -> str:
    """Returns why a kernel of such a text is not run here; empty if it is."""
    found = NEED_GPU.search(text)
    return NO_GPU.format((found[1] or found[2]).decode()) if found else ""


def solutions_in(found: Iterable[PythonFile], needed: Mapping[str, bytes]) -> list[Solution]:
    """Returns the candidates in files, each by another name; `needed` are other files of each."""
    made: dict[str, Solution] = {}
    for file in {each.path.resolve(): each for each in found}.values():
        name = file.path.stem
        for folder in file.path.resolve().parents:
            if name in made:
                name = f"{folder.name}/{name}"
        files = {**needed, SOLUTION: file.text}
        own = {"candidate": SOLUTION}
        made[name] = Solution(name, files, own, refusal=refusal_of(file.text))
    return list(made.values())


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
