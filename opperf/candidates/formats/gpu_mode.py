"""GPU MODE: a folder for each task, with `task.yml`, `reference.py` and submissions; results as
lines of a key and a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import Problem, Verdict, VerdictStatus
from opperf.decoding import read_yaml
from opperf.errors import UsageError, one_line
from opperf.extras import load_extra
from opperf.formats.documents import as_form
from opperf.model import Struct

NAME = "GPU MODE"

TASK = "task.yml"

REFERENCE = "reference.py"

SUBMISSION = "@SUBMISSION@"
"""In place of a file that a task does not have."""

TOLERANCE = 1e-4


class SourceFile(Struct, frozen=True):
    """A file under the name by which others import it."""

    name: str
    source: str


class TaskFile(Struct, frozen=True):
    """The content of `task.yml`."""

    files: list[SourceFile]
    lang: str = "py"
    config: dict[str, Any] = {}
    tests: list[dict[str, Any]] = []
    benchmarks: list[dict[str, Any]] = []
    multi_gpu: bool = False

    @property
    def refusal(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if self.lang != "py":
            return f"its language is {self.lang}, and only Python is run here"
        return "it needs several GPUs" if self.multi_gpu else ""


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] * (path.name == TASK)
    return sorted([*path.glob(TASK), *path.glob(f"*/{TASK}"), *path.glob(f"*/*/{TASK}")])


def recognizes(path: Path) -> bool:
    """Whether there is a `task.yml`."""
    return bool(_files(path))


def read(asked: Asked) -> ProblemSet:
    """Returns the problems: their tests are trials whose times do not count, before their
    benchmarks. Raises `UsageError` and `RunFileError`."""
    tasks = {path: _task(path) for path in _files(asked.path)}
    specs = [spec for task in tasks.values() for spec in (*task.tests, *task.benchmarks)]
    sizes = base.check_sets(asked, (name for spec in specs for name in spec if name != "seed"))
    skipped = {_name(path): task.refusal for path, task in tasks.items() if task.refusal}
    problems = [
        _problem(asked, path, task, sizes) for path, task in tasks.items() if not task.refusal
    ]
    return ProblemSet(NAME, problems, skipped)


def _name(path: Path) -> str:
    return path.resolve().parent.name


def _task(path: Path) -> TaskFile:
    yaml = load_extra("yaml", "a task of GPU MODE")
    try:
        content = read_yaml(base.read_file(path))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {one_line(str(error))}") from error
    task = as_form(content, TaskFile, path)
    if not (task.tests or task.benchmarks):
        raise UsageError(f"{path}: neither tests nor benchmarks; add a list of keywords")
    return task


def _problem(asked: Asked, path: Path, task: TaskFile, sizes: Mapping[str, Any]) -> PosedProblem:
    name = _name(path)
    sources = {
        file.name: path.parent / file.source
        for file in task.files
        if file.source != SUBMISSION and file.name != task.config.get("main")
    }
    for key in sources:
        if Path(key).name != key or key in ("", "..") or "\0" in key:
            raise UsageError(
                f"{path}: files: {key!r} is no name of a file; name it as it is imported"
            )
    if REFERENCE not in sources:
        raise UsageError(f"{path}: files: no {REFERENCE}; add its name and source")
    base.read_python(sources[REFERENCE], "generate_input", "ref_kernel")
    files = {key: base.read_file(source) for key, source in sources.items()}
    own = sorted({*path.parent.glob("submission*.py"), *path.parent.glob("s*/**/*.py")})
    solutions = [each for each in map(base.read_python, own) if "custom_kernel" in each.names]
    solutions += [base.read_python(each, "custom_kernel") for each in asked.candidates]
    settings = {"format": NAME, "problem": REFERENCE}
    # What is expected is not where it could be called.
    others = {key: content for key, content in files.items() if key != REFERENCE}
    solved = base.solved_by(asked, name, solutions, others, settings)
    made = base.install(asked, ("problems", name), files, settings)
    trials = tuple(
        # The trial's own seed by another name.
        {f"task_{key}" if key == "seed" else key: value for key, value in spec.items()}
        for spec in (base.with_sizes(each, sizes) for each in (*task.tests, *task.benchmarks))
    )
    problem = Problem(name, base.FRAMEWORK, made, trials, rtol=TOLERANCE, atol=TOLERANCE)
    return PosedProblem(problem, *solved, checks=len(task.tests) if task.benchmarks else 0)


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns a file of each candidate with the lines of its tests, and one with those of its
    benchmarks; times are in nanoseconds."""
    return {
        f"{verdict.problem}/{verdict.candidate}.{kind}.txt": "".join(
            f"{line}\n" for line in _lines(posed.checks, verdict, kind)
        )
        for posed, verdicts in judged
        for verdict in verdicts
        for kind in ("test", "benchmark")
    }


def _lines(checks: int, verdict: Verdict, kind: str) -> Iterator[str]:
    trials = verdict.trials[:checks] if kind == "test" else verdict.trials[checks:]
    yield f"{kind}-count: {len(trials)}"
    for index, trial in enumerate(trials):
        start = f"{kind}.{index}"
        pairs = (f"{name.removeprefix('task_')}: {value}" for name, value in trial.trial.items())
        yield f"{start}.spec: {'; '.join(pairs)}"
        if trial.status is not VerdictStatus.PASSED:
            yield f"{start}.status: fail"
            yield f"{start}.error: {trial.reason}"
        elif kind == "test":
            yield f"{start}.status: pass"
        elif times := trial.ns:
            figures = {"runs": times.n, "mean": times.mean, "best": times.min, "worst": times.max}
            yield from (f"{start}.{name}: {figure}" for name, figure in figures.items())
    yield f"check: {'pass' if verdict.status is VerdictStatus.PASSED else 'fail'}"
