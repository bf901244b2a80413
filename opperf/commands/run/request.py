"""The request of `opperf run`, read once from its options; and readers of what several commands
have."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.environments import with_environments
from opperf.commands.frameworks import FrameworkChoice, read_choice
from opperf.commands.run.cluster import measuring_nodes, read_cluster
from opperf.commands.run.output_options import output_framework, read_output, read_resume
from opperf.commands.run.replay import WrittenTraces, open_replays, read_replay, read_written_traces
from opperf.commands.run.wrapping import read_wrapping
from opperf.errors import UsageError
from opperf.execution.executor import LOCAL
from opperf.execution.fleet.options import FleetOptions
from opperf.experiments.matrix import Matrix
from opperf.instruments.compilation import COMPILATION, FIRST_CALL
from opperf.model import DECLARED, DEFAULTS, MAPPINGS, Interpreter, Settings, Status, Wrapping
from opperf.parameters import spelling
from opperf.results.kept import is_name as is_kept_name
from opperf.results.run_files import locate as locate_run_file
from opperf.rules.fuzzing import Fuzz
from opperf.sources.base import (
    SourceFile,
    check_own_settings,
    completion_of,
    is_source,
    locate,
    open_files,
)
from opperf.sources.resolving import OWN_DEFAULT
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps
from opperf.sources.varying import Axes
from opperf.suite_runs.planning import SuiteRun


@dataclass(frozen=True)
class Request:
    """The request of `run`."""

    framework: FrameworkChoice
    selection: Selection
    axes: Axes
    paths: tuple[Path, ...]
    """Files as the user named them, of which several may be one source."""
    files: tuple[SourceFile, ...]
    interpreters: tuple[Interpreter, ...]
    explicit: frozenset[str]
    labels: Mapping[str, str]
    output: Path
    output_format: str
    is_default_output: bool
    overwrite: bool
    resume: Path | None
    resuming: bool
    retry: frozenset[Status]
    list_only: bool
    dry_run: bool
    strict: bool
    quiet: bool
    cpus: str
    executor: str
    cluster: FleetOptions
    every_node: bool
    command: str
    columns: tuple[str, ...] = ()
    quick: bool = False
    lists_lines: bool = False
    """Whether the list is a run file, instead of a table."""
    wrapping: Wrapping | None = None
    """Programs that the cases are profiled under; None without one."""
    traces: WrittenTraces | None = None
    """Traces that are written of replays; None for none."""
    matrix: Matrix | None = None
    """Models and axes of experiments; None of a run of operators."""
    suite: SuiteRun | None = None
    """Benches of a suite; None of any other run."""
    dumps: tuple[str, ...] = ()
    """Names of the dumps that are written of the cases."""
    traced_s: float = 0.0
    """Seconds that the calls in a dumped trace take at least; 0 for one call."""
    bar: bool = False
    """Whether progress is a bar where standard error is no terminal too."""
    compile_ahead: bool = True
    """Whether cases are compiled together before the first is measured, where that can be."""
    echo: bool = False
    """Whether the output of the cases' processes is printed."""

    @property
    def program(self) -> str:
        """The command that this is a request of."""
        if self.suite is not None:
            return "suite run"
        return "run" if self.matrix is None else "experiment"

    @property
    def has_operators(self) -> bool:
        """Whether cases of the registry are measured, not those of files or models alone."""
        return bool(self.selection.patterns) or not (self.files or self.matrix or self.suite)

    @property
    def may_compile_ahead(self) -> bool:
        """Whether cases are compiled beside others: not if how long that takes is asked for."""
        asked = {FIRST_CALL.name, COMPILATION}.intersection(self.columns)
        is_local = self.executor == LOCAL and self.wrapping is None and self.suite is None
        return self.compile_ahead and is_local and self.matrix is None and not asked

    def on_every_node(self) -> Request:
        """Returns the request with an axis of the cluster's nodes, if it is for every one. A run
        that is resumed has it already. Raises as `measuring_nodes` does."""
        if not self.every_node or self.resuming:
            return self
        axes = {**self.axes, "node": measuring_nodes(self.cluster)}
        return replace(self, axes=axes, explicit=self.explicit | {"node"})

    @property
    def overriding(self) -> frozenset[str]:
        """Names of the parameters that override a file's cases: counts of `--quick` do."""
        return self.explicit | (quick_settings(self.explicit).keys() if self.quick else set())


QUICK: dict[str, Any] = {"warmup": 2, "runs": 20, "max_time_s": 0.1, "configurations": 1}
"""Values of `--quick`: a tenth of a second an operator, so that a registry takes minutes."""


def quick_values(explicit: Collection[str]) -> dict[str, Any]:
    """Returns the values that `--quick` sets, without those that the user set."""
    return {name: value for name, value in QUICK.items() if name not in explicit}


def quick_settings(explicit: Collection[str]) -> dict[str, Any]:
    """Returns the settings among the values that `--quick` sets."""
    return {name: value for name, value in quick_values(explicit).items() if name in DECLARED}


GROUPS = ("categories", "namespaces", "tags", "variants")
"""Options that name groups of operators, and fields of a selection."""


def build_groups(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the groups of operators that are selected, by field of `Selection`."""
    return {name: tuple(word.lower() for word in options[name]) for name in GROUPS}


def build_choice(options: Mapping[str, Any]) -> Selection:
    """Returns the selection of operators, inputs and passes, without its settings."""
    shapes, swept = split_shapes(options["shapes"])
    return Selection(
        patterns=(*options["names"], *options["ops"]),
        exclude=options["exclude"],
        **build_groups(options),
        size=options["size"].lower(),
        backward=not options["no_backward"],
        configurations=options["configurations"],
        int64_tensor=options["int64_tensor"].lower() == "on",
        fuzz=build_fuzz(options),
        ids=options["ids"],
        shapes=shapes,
        swept_shapes=swept,
        sweeps=options["sweeps"],
        values=options["values"],
        dtype_given=bool(options["dtype"]),
    )


def split_sources(words: Iterable[str]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Splits words into operators' names and existing files, which no operator's name can be, or
    which are of cases. Raises `UsageError` for what can be neither."""
    names: list[str] = []
    files: list[Path] = []
    for word in words:
        path = locate_run_file(word)
        located = path if is_kept_name(word) else locate(word)
        if located is not None:
            files.append(located)
        elif path.is_file() and not word.isidentifier() or path.exists() and is_source(path):
            files.append(path)
        elif path.suffix in (".json", ".jsonl"):
            raise UsageError(f"{word}: no such file")
        elif path.is_dir() and not word.isidentifier():
            raise UsageError(f"{word} is a folder; name a file in it")
        else:
            names.append(word)
    return tuple(names), tuple(files)


def build_common_settings(options: Mapping[str, Any]) -> Settings:
    """Returns the settings of a command with one value of each; a device, profiler or mode that the
    user did not choose is empty, and chosen by the framework."""
    values = {name: options[name] for name, setting in DECLARED.items() if setting.common}
    chosen = {name: value for name, value in values.items() if value is not None}
    return Settings(**{**dict.fromkeys(OWN_DEFAULT, ""), **chosen})


def split_shapes(
    shapes: Mapping[str, tuple[int | str, ...]],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int | str, ...]]]:
    """Splits shapes into those of numbers alone, and those with swept variables."""
    fixed: dict[str, tuple[int, ...]] = {}
    swept: dict[str, tuple[int | str, ...]] = {}
    for name, shape in shapes.items():
        numbers = tuple(extent for extent in shape if isinstance(extent, int))
        if len(numbers) == len(shape):
            fixed[name] = numbers
        else:
            swept[name] = shape
    return fixed, swept


def build_selection(options: Mapping[str, Any]) -> Selection:
    """Returns the selection, with the settings that are not axes."""
    plain = {
        # Not each command has each.
        name: options.get(name, DEFAULTS[name])
        for name, setting in DECLARED.items()
        if not setting.axis
    }
    return msgspec.structs.replace(
        build_choice(options),
        shuffle=options["shuffle"],
        rounds=options["rounds"],
        batch_factor=options["batch_factor"],
        skip_views=options["skip_views"],
        partition=read_partition(options),
        settings=Settings(**plain),
    )


def read_partition(options: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns the part of the cases to measure, from 0, and the number of parts; None for all.
    Raises `UsageError` for an option alone, and for a part that there is not."""
    number, total = options["partition_id"], options["total_partitions"]
    if number is None and total is None:
        return None
    if number is None or total is None:
        raise UsageError("--total-partitions and --partition-id go together; set both")
    if number >= total:
        raise UsageError(f"--partition-id {number}: of {total} parts the last is {total - 1}")
    return number, total


def build_axes(options: Mapping[str, Any]) -> Axes:
    """Returns the axes that the options set, by field of `Settings`."""
    axes = {
        name: tuple(dict.fromkeys(options[name]))
        for name, setting in DECLARED.items()
        if setting.axis and name not in (*MAPPINGS, "python") and options.get(name)
    }
    for name in MAPPINGS:
        entries = [[(key, value) for value in values] for key, values in options[name].items()]
        if entries:
            axes[name] = tuple(dict(pairs) for pairs in itertools.product(*entries))
    labels = tuple(dict.fromkeys(interpreter.label for interpreter in options["python"]))
    if labels:
        axes["python"] = labels
    return axes


def build_fuzz(options: Mapping[str, Any]) -> Fuzz | None:
    """Returns the random shapes of `--fuzz-shapes`, or None. Raises `UsageError` for limits with
    nothing between them."""
    if options["fuzz_shapes"] is None:
        return None
    least, most = options["least_elements"], options["most_elements"]
    if least > most:
        raise UsageError(f"--min-elements {least} is more than --max-elements {most}")
    return Fuzz(count=options["fuzz_shapes"], least=least, most=most)


FUZZED = ("size", "shapes", "sweeps", "input_function")
"""Parameters of a rule's shapes, which random ones replace."""

MADE = ("size", "shapes")
"""Parameters of a rule's shapes, which those of a user's function replace."""

LIMITS = ("least_elements", "most_elements")
"""Parameters of random shapes only."""


def check_shape_options(explicit: Collection[str]) -> None:
    """Raises `UsageError` for contradictory options on shapes."""
    if "input_function" in explicit:
        for option in MADE:
            if option in explicit:
                raise UsageError(
                    f"{spelling(option)} has no effect with --inputs, whose function returns the "
                    "shapes; use only one of them"
                )
    fuzzed = "fuzz_shapes" in explicit
    for option in FUZZED if fuzzed else LIMITS:
        if option in explicit:
            fault = "has no effect with --fuzz-shapes; use only one of them"
            raise UsageError(f"{spelling(option)} {fault if fuzzed else 'needs --fuzz-shapes'}")


RULE_OPTIONS = (
    *("size", "shapes", "values", "input_function", "sweeps", "int64_tensor", "configurations"),
    *("namespaces", "tags", "variants", "fuzz_shapes"),
)
"""Parameters of the inputs that rules make, which do not apply to the cases of a file."""


def check_rule_options(path: Path, given: Collection[str]) -> None:
    """Raises `UsageError` for an option on the inputs that rules make."""
    for option in RULE_OPTIONS:
        if option in given:
            raise UsageError(
                f"{spelling(option)} does not apply to {path}, whose cases have inputs of "
                "their own; omit it, or name operators as well"
            )


RECORDED = ("batch_factor", "skip_views")
"""Parameters of recorded calls."""

NAME_A_LOG = "name a log of operator inputs, a trace or a recording"


def _check_files(request: Request) -> None:
    overriding = request.overriding
    if not request.has_operators:
        check_rule_options(request.files[0].path, overriding)
    recorded = [spelling(name) for name in RECORDED if name in overriding]
    if recorded and not request.files:
        raise UsageError(f"{recorded[0]} is for recorded calls; {NAME_A_LOG}")
    for path, source in request.files:
        check_own_settings(path, source, overriding)
        if recorded and completion_of(source) != "each":
            raise UsageError(
                f"{recorded[0]} does not apply to {path}, which has no recorded calls; {NAME_A_LOG}"
            )


COPIED = (
    *("quick", "labels", "overwrite", "list_only", "dry_run", "strict", "quiet", "cpus"),
    *("executor", "every_node", "columns", "compile_ahead"),
)
"""Fields of the request that are an option of the same name."""


def read_request(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> Request:
    """Returns the request of the options, of which the user set those of `set_here`. Raises
    `UsageError` for contradictory ones, the errors of files of cases, and `InstallationError`."""
    explicit = frozenset(set_here)
    check_shape_options(explicit)
    names, paths = split_sources(options["names"])
    replay = read_replay(options, explicit)
    files = open_files(paths) if replay is None else open_replays(paths, replay, names)
    quick = quick_values(explicit) if options["quick"] else {}
    options = {**options, **quick, "names": names}
    resume = read_resume(options)
    output, output_format, is_default = read_output(
        options, explicit, resume, output_framework(options, files)
    )
    selection = build_selection(options)
    check_sweeps(selection)
    options, set_here = with_environments(options, set_here)
    explicit = frozenset(set_here)
    request = Request(
        framework=read_choice(options, set_here),
        selection=selection,
        axes=build_axes(options),
        paths=paths,
        files=files,
        interpreters=options["python"],
        explicit=explicit,
        output=output,
        output_format=output_format,
        is_default_output=is_default,
        resume=Path(resume) if resume else None,
        resuming=resume is not None,
        retry=frozenset(map(Status, options["retry"])),
        # A table, if only the output file's name says that it is of lines.
        lists_lines=options["list_only"]
        and output_format == "jsonl"
        and "output_format" in explicit,
        cluster=read_cluster(options, explicit),
        wrapping=read_wrapping(options),
        traces=read_written_traces(options, paths, output),
        **{name: options[name] for name in COPIED},
        command=shlex.join(["opperf", *sys.argv[1:]]),
    )
    # What a run is resumed with is compared with its file.
    if not request.resuming:
        _check_files(request)
    return request
