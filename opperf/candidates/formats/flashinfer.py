"""FlashInfer-Bench: a trace set's definitions, solutions and workloads; results as traces."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from opperf.candidates import scores
from opperf.candidates.formats import base
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet, Solution
from opperf.candidates.model import TrialResult, VerdictStatus
from opperf.errors import one_line
from opperf.extras import install_command
from opperf.formats.documents import as_form, parse, read_form, wrong
from opperf.model import Struct

NAME = "FlashInfer-Bench"

TOLERANCE = 1e-2

Floats = Literal["float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float4_e2m1"]

Others = Literal["int64", "int32", "int16", "int8", "bool"]

OF_TORCH = {"float8_e4m3": "float8_e4m3fn"}
"""Dtypes that PyTorch has by another name."""

SIMPLE = re.compile(r"(?!.*(?:\*\*|<<))[\w\s+*/%<>=!()-]+")
"""A constraint that is arithmetic of sizes."""


class _Axis(Struct, frozen=True):
    type: Literal["const", "var"]
    value: int = 0


class _Tensor(Struct, frozen=True, omit_defaults=False):
    """An input or output; without a shape, a number."""

    shape: list[str] | None
    dtype: Floats | Others


class Definition(Struct, frozen=True):
    """The function that has to be computed."""

    name: str
    op_type: str
    axes: dict[str, _Axis]
    inputs: dict[str, _Tensor]
    outputs: dict[str, _Tensor]
    reference: str
    constraints: list[str] | None = None

    @property
    def refusal(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if self.op_type == "sampling":
            return "its results are random, which are not compared here"
        dtypes = {each.dtype for each in (*self.inputs.values(), *self.outputs.values())}
        return "it has numbers of four bits" if "float4_e2m1" in dtypes else ""

    @property
    def constant(self) -> dict[str, int]:
        """The sizes that are the same in each workload."""
        return {name: axis.value for name, axis in self.axes.items() if axis.type == "const"}


class _Build(Struct, frozen=True):
    language: str
    entry_point: str
    destination_passing_style: bool = True


class _Source(Struct, frozen=True):
    path: str
    content: str


class _SolutionFile(Struct, frozen=True):
    name: str
    definition: str
    author: str
    spec: _Build
    sources: list[_Source]


class _Input(Struct, frozen=True):
    type: Literal["random", "scalar", "safetensors"]
    value: int | float | bool | None = None
    path: str = ""
    tensor_key: str = ""


class _Workload(Struct, frozen=True):
    uuid: str
    axes: dict[str, int]
    inputs: dict[str, _Input]


class _Trace(Struct, frozen=True):
    definition: str
    workload: _Workload


def files(path: Path) -> list[Path]:
    """Returns the files of definitions."""
    return sorted((path / "definitions").rglob("*.json"))


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each definition with workloads. Raises `RunFileError`."""
    definitions: dict[str, Definition] = {}
    for path in files(asked.path):
        made = read_form(path, Definition)
        _check_definition(path, made)
        if definitions.setdefault(made.name, made) is not made:
            raise wrong(path, "name", f"{made.name!r} is another definition's; rename one")
    sizes = base.check_sets(asked, (name for each in definitions.values() for name in each.axes))
    skipped = {name: each.refusal for name, each in definitions.items() if each.refusal}
    workloads: dict[str, list[_Workload]] = {name: [] for name in definitions}
    for name, workload in _workloads(asked.path, definitions):
        if reason := _lacking(workload, asked.path):
            skipped[f"{name}, workload {workload.uuid}"] = reason
        elif name not in skipped:
            workloads[name].append(workload)
    solutions: dict[str, list[Solution]] = {name: [] for name in definitions}
    for name, solution in _solutions(asked, definitions):
        solutions[name].append(solution)
    problems = []
    for name, own in workloads.items():
        if own:
            problems.append(_problem(asked, definitions[name], own, sizes, solutions[name]))
        else:
            skipped.setdefault(name, "it has no workload that can be run")
    return ProblemSet(NAME, problems, skipped)


def _workloads(
    root: Path, definitions: Mapping[str, Definition]
) -> Iterator[tuple[str, _Workload]]:
    """Yields workloads, each with its definition's name. Raises `RunFileError`."""
    known: set[tuple[str, str]] = set()
    for path in sorted((root / "workloads").rglob("*.jsonl")):
        for number, line in enumerate(base.read_file(path).rstrip().splitlines(), 1):
            at = f"line {number}"
            trace = as_form(parse(line, path), _Trace, path, at)
            name, uuid = trace.definition, trace.workload.uuid
            if name not in definitions:
                raise wrong(path, at, f"no definition {name!r}; add it")
            _check_workload(path, at, definitions[name], trace.workload)
            if (name, uuid) in known:
                raise wrong(path, at, f"uuid {uuid!r} is another workload's; change it")
            known.add((name, uuid))
            yield name, trace.workload


def _check_definition(path: Path, definition: Definition) -> None:
    for kind, tensors in (("inputs", definition.inputs), ("outputs", definition.outputs)):
        for name, tensor in tensors.items():
            for axis in tensor.shape or ():
                if axis not in definition.axes:
                    raise wrong(path, f"{kind}.{name}.shape", f"no axis {axis!r}; add it to axes")
    for name, size in definition.constant.items():
        if size <= 0:
            raise wrong(path, f"axes.{name}.value", "a constant axis needs a positive integer")
    if not re.search(r"^def run\b", definition.reference, re.MULTILINE):
        raise wrong(path, "reference", "no function run; define it")


def _check_workload(path: Path, at: str, definition: Definition, workload: _Workload) -> None:
    axes = {**definition.constant, **workload.axes}
    for name in definition.axes:
        if axes.get(name, -1) < 0:
            raise wrong(path, f"{at}: workload.axes", f"no size of {name!r}; add it")
    for constraint in definition.constraints or ():
        # Others are on contents.
        names = set(re.findall(r"[^\W\d]\w*", constraint))
        if SIMPLE.fullmatch(constraint) and names <= axes.keys():
            try:
                holds = eval(constraint, {"__builtins__": {}}, dict(axes))
            except (SyntaxError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
                raise wrong(path, at, f"{constraint}: {error}; change the constraint") from error
            if not holds:
                raise wrong(path, f"{at}: workload.axes", f"{constraint} is false; change a size")


def _lacking(workload: _Workload, root: Path) -> str:
    """Returns why a workload cannot be run; empty if it can."""
    for name, given in workload.inputs.items():
        if given.type == "safetensors" and not importlib.util.find_spec("safetensors"):
            return f"{name} needs safetensors: {install_command('safetensors')}"
        if given.type == "safetensors" and not (root / given.path).is_file():
            return f"{name}: no file {given.path} in {root}"
    return ""


def _solutions(
    asked: Asked, definitions: Mapping[str, Definition]
) -> Iterator[tuple[str, Solution]]:
    """Yields solutions, each with its definition's name. Raises `RunFileError`."""
    own = sorted((asked.path / "solutions").rglob("*.json"))
    names: set[str] = set()
    for path in dict.fromkeys([*own, *asked.candidates]):
        found = read_form(path, _SolutionFile)
        if found.name in names:
            raise wrong(path, "name", f"{found.name!r} is another solution's; rename one")
        names.add(found.name)
        if found.definition not in definitions:
            raise wrong(path, "definition", f"no definition {found.definition!r}; add it")
        for index, source in enumerate(found.sources):
            place = PurePosixPath(source.path)
            if place.is_absolute() or {"..", ""} & {*place.parts, place.name} or "\\" in str(place):
                raise wrong(path, f"sources[{index}].path", f"{place} leads out of the solution")
        contents = {source.path: source.content.encode() for source in found.sources}
        file, _, function = found.spec.entry_point.partition("::")
        if not function or file not in contents:
            raise wrong(path, "spec.entry_point", "it is not FILE::FUNCTION of one of the sources")
        settings = {
            **{"candidate": file, "function": function},
            "destination_passing_style": found.spec.destination_passing_style,
        }
        language = found.spec.language
        refusal = base.refusal_of(b"\n".join(contents.values()))
        if language != "python":
            is_cpp = language == "cpp"
            refusal = "C++ is not compiled here" if is_cpp else base.NO_GPU.format(language)
        yield found.definition, Solution(found.name, contents, settings, found.author, refusal)


def _problem(
    asked: Asked,
    definition: Definition,
    workloads: Sequence[_Workload],
    sizes: Mapping[str, Any],
    solutions: Sequence[Solution],
) -> PosedProblem:
    inputs = {each.uuid: msgspec.to_builtins(each.inputs) for each in workloads}
    placed = {
        uuid: {
            key: {**given, "path": str((asked.path / given.get("path", "")).resolve())}
            for key, given in own.items()
        }
        for uuid, own in inputs.items()
    }
    return base.pose(
        asked,
        definition.name,
        TOLERANCE,
        {"reference.py": definition.reference.encode()},
        {
            **{"format": NAME, "problem": "reference.py", "reference": "run"},
            "axes": base.with_sizes(definition.constant, sizes),
            "inputs": _tensors(definition.inputs),
            "outputs": _tensors(definition.outputs),
        },
        solutions,
        [{"workload": each.uuid, **base.with_sizes(each.axes, sizes)} for each in workloads],
        {"workloads": placed},
        facts={"op_type": definition.op_type, "inputs": inputs},
    )


def _tensors(found: Mapping[str, _Tensor]) -> dict[str, Any]:
    return {
        name: {"shape": each.shape, "dtype": OF_TORCH.get(each.dtype, each.dtype)}
        for name, each in found.items()
    }


STATUSES = {
    VerdictStatus.PASSED: "PASSED",
    VerdictStatus.WRONG: "INCORRECT_NUMERICAL",
    VerdictStatus.CHEATED: "INCORRECT_NUMERICAL",
    VerdictStatus.TIMEOUT: "TIMEOUT",
}


def results(judged: Sequence[Judged], made: Made) -> dict[str, str]:
    """Returns the traces of each author, a line for each workload."""
    found: dict[str, str] = {}
    for posed, verdicts in judged:
        authors = {each.name: each.author for each in posed.candidates}
        for verdict in verdicts:
            words = authors[verdict.candidate], posed.facts["op_type"], verdict.problem
            # None of them leads out of the folder.
            places = (re.sub(r"[/\\\0]|^\.+$", "_", word) or "_" for word in words)
            name = f"traces/{'/'.join(places)}.jsonl"
            for trial in verdict.trials:
                axes = dict(trial.trial)
                uuid = axes.pop("workload")
                line = {
                    "definition": verdict.problem,
                    "workload": {"uuid": uuid, "axes": axes, "inputs": posed.facts["inputs"][uuid]},
                    "solution": verdict.candidate,
                    "evaluation": _evaluation(trial, made),
                }
                found[name] = found.get(name, "") + json.dumps(line) + "\n"
    return found


def _evaluation(trial: TrialResult, made: Made) -> dict[str, Any]:
    status = STATUSES.get(trial.status, "RUNTIME_ERROR")
    if trial.differs:
        status = f"INCORRECT_{trial.differs.upper()}"
    errors = {
        "max_relative_error": trial.max_relative_error,
        "max_absolute_error": trial.max_absolute_error,
    }
    times = {
        "latency_ms": base.mean_ms(trial.ns),
        "reference_latency_ms": base.mean_ms(trial.baselines.get(scores.REFERENCE)),
        "speedup_factor": scores.speedup(trial),
    }
    has_errors = status in ("PASSED", "INCORRECT_NUMERICAL")
    return {
        "status": status,
        "environment": {"hardware": made.hardware, "libs": dict(made.libraries)},
        "timestamp": made.timestamp,
        "log": one_line(trial.reason),
        # Their reader takes NaN for a number.
        "correctness": _without(errors, "NaN") if has_errors else None,
        "performance": _without(times, 0.0) if status == "PASSED" else None,
    }


def _without(figures: Mapping[str, float | None], other: float | str) -> dict[str, float | str]:
    """Returns figures, with another one in place of each that is not known."""
    return {name: other if figure is None else figure for name, figure in figures.items()}
