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
from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, ProblemSet
from opperf.candidates.model import Candidate, Problem, TrialResult, VerdictStatus
from opperf.errors import one_line
from opperf.extras import install_command
from opperf.formats.documents import as_form, parse, read_form, wrong
from opperf.model import Struct

NAME = "FlashInfer-Bench"

TOLERANCE = 1e-2

Floats = Literal["float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float4_e2m1"]

Others = Literal["int64", "int32", "int16", "int8", "bool"]

SIMPLE = re.compile(r"(?!.*(?:\*\*|<<))[\w\s+*/%<>=!()-]+")
"""A constraint that is arithmetic of sizes."""


class Axis(Struct, frozen=True):
    """An axis: constant, or another in each workload."""

    type: Literal["const", "var"]
    value: int = 0


class Tensor(Struct, frozen=True, omit_defaults=False):
    """An input or output; without a shape, a number."""

    shape: list[str] | None
    dtype: Floats | Others


class Definition(Struct, frozen=True):
    """The function that has to be computed."""

    name: str
    op_type: str
    axes: dict[str, Axis]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
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


class Build(Struct, frozen=True):
    """How a solution is built and called."""

    language: str
    entry_point: str
    destination_passing_style: bool = True


class Source(Struct, frozen=True):
    """A file of a solution."""

    path: str
    content: str


class Solution(Struct, frozen=True):
    """A candidate."""

    name: str
    definition: str
    author: str
    spec: Build
    sources: list[Source]


class Input(Struct, frozen=True):
    """Where an input of a workload is from."""

    type: Literal["random", "scalar", "safetensors"]
    value: int | float | bool | None = None
    path: str = ""
    tensor_key: str = ""


class Workload(Struct, frozen=True):
    """Sizes and inputs of a call."""

    uuid: str
    axes: dict[str, int]
    inputs: dict[str, Input]


class Trace(Struct, frozen=True):
    """A line of a file of workloads."""

    definition: str
    workload: Workload


def recognizes(path: Path) -> bool:
    """Whether there is a folder of definitions."""
    return any((path / "definitions").rglob("*.json"))


def read(asked: Asked) -> ProblemSet:
    """Returns a problem for each definition with workloads. Raises `RunFileError`."""
    root = asked.path
    definitions: dict[str, Definition] = {}
    for path in sorted((root / "definitions").rglob("*.json")):
        made = read_form(path, Definition)
        _check_definition(path, made)
        if definitions.setdefault(made.name, made) is not made:
            raise wrong(path, "name", f"{made.name!r} is another definition's; rename one")
    known = (name for each in definitions.values() for name in each.axes)
    sizes = base.check_sets(asked, known)
    workloads: dict[str, list[Workload]] = {name: [] for name in definitions}
    known_uuids: set[tuple[str, str]] = set()
    skipped = {name: each.refusal for name, each in definitions.items() if each.refusal}
    for path in sorted((root / "workloads").rglob("*.jsonl")):
        for number, line in enumerate(base.read_file(path).rstrip().splitlines(), 1):
            at = f"line {number}"
            trace = as_form(parse(line, path), Trace, path, at)
            if trace.definition not in definitions:
                raise wrong(path, at, f"no definition {trace.definition!r}; add it")
            _check_workload(path, at, definitions[trace.definition], trace.workload)
            key = trace.definition, trace.workload.uuid
            if key in known_uuids:
                raise wrong(path, at, f"uuid {key[1]!r} is another workload's; change it")
            known_uuids.add(key)
            if reason := _lacking(trace.workload, root):
                skipped[f"{trace.definition}, workload {trace.workload.uuid}"] = reason
            elif trace.definition not in skipped:
                workloads[trace.definition].append(trace.workload)
    solutions = list(_solutions(asked, definitions))
    problems = [
        _problem(
            asked,
            definition,
            workloads[name],
            sizes,
            [each for each in solutions if each.definition == name],
        )
        for name, definition in definitions.items()
        if workloads[name]
    ]
    for name in (name for name, own in workloads.items() if not own):
        skipped.setdefault(name, "it has no workload that can be run")
    return ProblemSet(NAME, problems, skipped)


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


def _check_workload(path: Path, at: str, definition: Definition, workload: Workload) -> None:
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


def _lacking(workload: Workload, root: Path) -> str:
    """Returns why a workload cannot be run; empty if it can."""
    for name, given in workload.inputs.items():
        if given.type == "safetensors" and not importlib.util.find_spec("safetensors"):
            return f"{name} needs safetensors: {install_command('safetensors')}"
        if given.type == "safetensors" and not (root / given.path).is_file():
            return f"{name}: no file {given.path} in {root}"
    return ""


def _solutions(asked: Asked, definitions: Mapping[str, Definition]) -> Iterator[Solution]:
    own = sorted((asked.path / "solutions").rglob("*.json"))
    names: set[str] = set()
    for path in dict.fromkeys([*own, *asked.candidates]):
        solution = read_form(path, Solution)
        if solution.name in names:
            raise wrong(path, "name", f"{solution.name!r} is another solution's; rename one")
        names.add(solution.name)
        if solution.definition not in definitions:
            raise wrong(path, "definition", f"no definition {solution.definition!r}; add it")
        for index, source in enumerate(solution.sources):
            place = PurePosixPath(source.path)
            if place.is_absolute() or {"..", ""} & {*place.parts, place.name} or "\\" in str(place):
                raise wrong(path, f"sources[{index}].path", f"{place} leads out of the solution")
        file, _, function = solution.spec.entry_point.partition("::")
        if not function or all(file != source.path for source in solution.sources):
            raise wrong(path, "spec.entry_point", "it is not FILE::FUNCTION of one of the sources")
        yield solution


def _problem(
    asked: Asked,
    definition: Definition,
    workloads: Sequence[Workload],
    sizes: Mapping[str, Any],
    solutions: Sequence[Solution],
) -> PosedProblem:
    name = definition.name
    settings = {
        **{"format": NAME, "problem": "reference.py"},
        "axes": base.with_sizes(definition.constant, sizes),
        "inputs": msgspec.to_builtins(definition.inputs),
        "outputs": msgspec.to_builtins(definition.outputs),
    }
    candidates = []
    refused = {}
    for solution in solutions:
        language = solution.spec.language
        if language != "python":
            refused[solution.name] = f"{language} needs a GPU; candidates are judged on the CPU"
            continue
        file, _, function = solution.spec.entry_point.partition("::")
        own = {
            **{**settings, "candidate": file, "function": function},
            "destination_passing_style": solution.spec.destination_passing_style,
        }
        sources = {source.path: source.content.encode() for source in solution.sources}
        made = base.install(asked, ("candidates", name, solution.name), sources, own)
        candidates.append(Candidate(solution.name, made, solution.author))
    inputs = {each.uuid: msgspec.to_builtins(each.inputs) for each in workloads}
    placed = {
        uuid: {
            key: {**given, "path": str((asked.path / given.get("path", "")).resolve())}
            for key, given in own.items()
        }
        for uuid, own in inputs.items()
    }
    reference = {"reference.py": definition.reference.encode()}
    made = base.install(asked, ("problems", name), reference, {**settings, "workloads": placed})
    trials = tuple(
        {"workload": each.uuid, **base.with_sizes(each.axes, sizes)} for each in workloads
    )
    problem = Problem(name, base.FRAMEWORK, made, trials, rtol=TOLERANCE, atol=TOLERANCE)
    facts = {"op_type": definition.op_type, "inputs": inputs}
    return PosedProblem(problem, tuple(candidates), refused, facts=facts)


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
    found: dict[str, Any] = {
        "status": status,
        "environment": {"hardware": made.hardware, "libs": dict(made.libraries)},
        "timestamp": made.timestamp,
        "log": one_line(trial.reason),
        "correctness": None,
        "performance": None,
    }
    if status in ("PASSED", "INCORRECT_NUMERICAL"):
        errors = {
            "max_relative_error": trial.max_relative_error,
            "max_absolute_error": trial.max_absolute_error,
        }
        # Their reader takes that for a number.
        found["correctness"] = {
            name: "NaN" if error is None else error for name, error in errors.items()
        }
    if status == "PASSED":
        found["performance"] = {
            "latency_ms": base.mean_ms(trial.ns) or 0.0,
            "reference_latency_ms": base.mean_ms(trial.baselines.get(scores.REFERENCE)) or 0.0,
            "speedup_factor": scores.speedup(trial) or 0.0,
        }
    return found
