"""GPU MODE: a folder for each task, with `task.yml`, `reference.py` and submissions; results as
lines of a key and a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import Verdict, VerdictStatus
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

FUNCTION = "custom_kernel"

TOLERANCE = 1e-4


class _Source(Struct, frozen=True):
    name: str
    """By which other files import it."""
    source: str


class _Task(Struct, frozen=True):
    files: list[_Source]
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
        return "it needs several GPUs" * self.multi_gpu


def files(path: Path) -> list[Path]:
    """Returns the files of tasks."""
    if path.is_file():
        return [path] * (path.name == TASK)
    return sorted([*path.glob(TASK), *path.glob(f"*/{TASK}"), *path.glob(f"*/*/{TASK}")])


def read(asked: Asked) -> ProblemSet:
    """Returns the problems: their tests are trials whose times do not count, before their
    benchmarks. Raises `UsageError` and `RunFileError`."""
    tasks = {path: _task(path) for path in files(asked.path)}
    specs = [spec for task in tasks.values() for spec in (*task.tests, *task.benchmarks)]
    sizes = base.check_sets(asked, (name for spec in specs for name in spec if name != "seed"))
    skipped = {_name(path): task.refusal for path, task in tasks.items() if task.refusal}
    problems = [
        _problem(asked, path, task, sizes) for path, task in tasks.items() if not task.refusal
    ]
    return ProblemSet(NAME, problems, skipped)


def _name(path: Path) -> str:
    return path.resolve().parent.name


def _task(path: Path) -> _Task:
    yaml = load_extra("yaml", "a task of GPU MODE")
    try:
        content = read_yaml(base.read_file(path))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {one_line(str(error))}") from error
    task = as_form(content, _Task, path)
    if not (task.tests or task.benchmarks):
        raise UsageError(f"{path}: neither tests nor benchmarks; add a list of keywords")
    return task


def _problem(asked: Asked, path: Path, task: _Task, sizes: Mapping[str, Any]) -> PosedProblem:
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
    contents = {key: base.read_file(source) for key, source in sources.items()}
    own = sorted({*path.parent.glob("submission*.py"), *path.parent.glob("s*/**/*.py")})
    found = [each for each in map(base.read_python, own) if FUNCTION in each.names]
    found += [base.read_python(each, FUNCTION) for each in asked.candidates]
    # What is expected is not where it could be called.
    others = {key: content for key, content in contents.items() if key != REFERENCE}
    solutions = base.solutions_in(found, others)
    # The trial's own seed by another name.
    trials = [
        {f"task_{key}" if key == "seed" else key: value for key, value in spec.items()}
        for spec in (base.with_sizes(each, sizes) for each in (*task.tests, *task.benchmarks))
    ]
    checks = len(task.tests) if task.benchmarks else 0
    settings = {"format": NAME, "problem": REFERENCE, "reference": "ref_kernel"}
    settings["function"] = FUNCTION
    return base.pose(
        asked, _name(path), TOLERANCE, contents, settings, solutions, trials, checks=checks
    )


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
