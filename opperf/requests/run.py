"""Measures operators: the request of `opperf run` and of `opperf.run`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from opperf.declared import PackageOptions
from opperf.errors import UsageError
from opperf.frameworks.mentioned import FrameworkChoice, choose_framework
from opperf.model import DECLARED, Settings
from opperf.model.declaring import number_between
from opperf.reports.formats import RUN
from opperf.requests.declaring import Option, Say, declared
from opperf.requests.measuring import MeasuringRequest, ResolvedRun, quick_values
from opperf.requests.operators import Changed, Framework, Inputs, NoBackward, Operators
from opperf.requests.outputs import file_option, format_option, named_output, output_of
from opperf.requests.profiling import ProfilingPrograms
from opperf.requests.replays import Replay, open_replays
from opperf.requests.selecting import (
    add_changed,
    check_rule_options,
    check_shape_options,
    select_inputs,
    split_sources,
)
from opperf.requests.settings import SettingFields
from opperf.results.output import Output
from opperf.sources.base import SourceFile, check_own_settings, open_files
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import check_sweeps

AXES = tuple(name for name, setting in DECLARED.items() if setting.axis and name != "python")
"""Settings of which each value makes a case of its own; interpreters have a field of theirs."""

SINGLE = (
    *("precision", "max_time_s", "warmup", "runs", "input_function", "imports", "grad"),
    *("callgrind_cache", "memory", "verify", "seed", "timeout_s"),
)
"""Settings of one value."""


class RunRequest(MeasuringRequest, frozen=True, kw_only=True):
    """Measures operators in worker processes, and writes a run file and an output."""

    no_keywords = (
        *("output_file", "output_format", "columns", "list_only", "dry_run", "resume", "retry"),
        "strict",
    )
    operators: Operators = Operators()
    changed: Changed = Changed()
    output_format: Annotated[
        str,
        format_option(
            RUN,
            "json; md, a page to read; csv; jsonl, the run file with every sample; param, the "
            "lines of PARAM's benchmarks; instruction-counts, the object of PyTorch's suite of "
            "that name; a tool's, as `opperf export` writes it; or another package's.",
            "json",
            "-f --output-format",
        ),
    ] = ""
    output_file: Annotated[
        Path | None,
        file_option(
            "Output file; - prints the output, and messages go to standard error.  "
            "[default: ./<framework>_operator_benchmarks.<format>]"
        ),
    ] = None
    quick: Annotated[
        bool,
        Option(
            "One configuration and few calls of each operator: a registry of 600 takes 2 minutes "
            "on two cores, and up to 15 without this option. -w, -r, --max-time and --max-configs "
            "override it.",
            section="Cases",
            may_differ=True,
        ),
    ] = False
    inputs: Inputs = Inputs()
    axes: Annotated[dict[str, tuple[Any, ...]], SettingFields(AXES, are_axes=True)] = {}
    settings: Annotated[Settings, SettingFields(SINGLE)] = Settings()
    compile_ahead: Annotated[
        bool,
        Option(
            "Compile the cases on all cores before the first is measured, in modes with a cache of "
            "programs on disk, as JAX's. Times of compilation are then longer than alone.  "
            "[default: compile ahead, unless --columns has one of these times]",
            section="Settings",
            may_differ=True,
            spellings="--compile-ahead/--no-compile-ahead",
        ),
    ] = True
    executor: Annotated[
        str,
        Option(
            "What measures the cases: worker processes of this machine; isolated, a process for "
            "each; ray, the nodes of a cluster; or another package's executor.",
            metavar="NAME",
            section="Settings",
            may_differ=True,
        ),
    ] = "local"
    no_backward: NoBackward = False
    programs: ProfilingPrograms = ProfilingPrograms()
    batch_factor: Annotated[
        float,
        Option(
            "Scale the batch of recorded calls, for example by 0.25 where they need too much "
            "memory.",
            number_between(0),
            metavar="FACTOR",
            section="Inputs",
            spellings="--scale-batch",
        ),
    ] = 1.0
    skip_views: Annotated[
        bool,
        Option(
            "Skip recorded calls that only make a view of a tensor, and compute nothing.",
            section="Inputs",
        ),
    ] = False
    chains: Annotated[
        int,
        Option(
            "Measure so many chains of a recording's calls too, those that fusing would save most "
            "of, each with one operator called after the other and compiled.  [default: 0]",
            low=1,
            section="Inputs",
        ),
    ] = 0
    replayed: Replay = Replay()
    framework: Framework = ""

    @property
    def output(self) -> Output:
        """The output that is named, and its format. Raises `UsageError` for an extension of
        none."""
        return output_of(self.output_file or Path(), self.output_format, RUN, "json")

    @property
    def settled(self) -> RunRequest:
        """With the values of `quick`, where no others were given."""
        if not self.quick:
            return self
        values = quick_values(self.given)
        configurations = values.pop("configurations", self.inputs.configurations)
        return msgspec.structs.replace(
            self,
            settings=msgspec.structs.replace(self.settings, **values),
            inputs=msgspec.structs.replace(self.inputs, configurations=configurations),
        )

    @property
    def selection(self) -> Selection:
        """The operators, inputs, order and single settings."""
        return msgspec.structs.replace(
            select_inputs(self.operators, self.inputs),
            backward=not self.no_backward,
            ids=self.ids,
            dtype_given="dtype" in self.axes,
            shuffle=self.shuffle,
            rounds=self.rounds,
            batch_factor=self.batch_factor,
            skip_views=self.skip_views,
            chains=self.chains,
            partition=self.partition.part,
            settings=self.settings,
        )

    def choose_framework(self) -> FrameworkChoice:
        """Returns the named framework, or else that which names, files and requirements mention, or
        else the preferred one."""
        words = (*self.operators.names, *self.operators.ops)
        required = [spec.text for spec in self.environments.requirements]
        return choose_framework(self.framework, words, self.settings, self.interpreters, required)

    def _with_changed(self, framework: str, say: Say) -> Operators | None:
        pythons = list(dict.fromkeys(each.path for each in self.interpreters)) or [""]
        has_inputs = bool(self.settings.input_function)
        return add_changed(
            self.changed, self.operators, framework, pythons, say, has_inputs=has_inputs
        )

    def resolve(self, say: Say, command: str) -> ResolvedRun | None:
        from opperf.execution.planning import RegistrySource

        given = self.given
        check_shape_options(given)
        choice = self.choose_framework()
        changed = self._with_changed(choice.name, say)
        if changed is None:
            return None
        names, paths = split_sources(changed.names)
        replay = self.replayed.target(given)
        files = (
            open_files(paths, PackageOptions(self.added))
            if replay is None
            else open_replays(paths, replay, names)
        )
        operators = msgspec.structs.replace(changed, names=names)
        settled = msgspec.structs.replace(self.settled, operators=operators)
        selection = settled.selection
        patterns = selection.patterns
        both = msgspec.structs.replace(operators, names=patterns, ops=patterns)
        named_after = output_framework(choice.name, operators, files)
        output = named_output(self.output_file, self.output_format, self.resumption, named_after)
        check_sweeps(selection)
        resolved = settled.resolved(
            RegistrySource(choice.name),
            choice,
            selection,
            output,
            say,
            command,
            # Names are operators, whichever option has them.
            asked=msgspec.structs.replace(settled, operators=both),
            paths=paths,
            files=files,
            quick=self.quick,
            # A table, if only the output file's name says another.
            list_format=self.output_format if self.list_only else "",
            wrapping=self.programs.wrapping(settled.settings.warmup, settled.settings.runs),
            traces=self.replayed.written(paths, output.path, self.overwrite),
            compile_ahead=self.compile_ahead,
        )
        # What a run is resumed with is compared with its file.
        if not resolved.resuming:
            check_files(resolved)
        return resolved


def output_framework(framework: str, operators: Operators, files: Iterable[SourceFile]) -> str:
    """Returns the framework that the default output is named after: that of the first case, if
    files alone are measured."""
    if operators.names or operators.ops:
        return framework
    cases = (case for file in files for case in file.source.cases())
    return next((case.target.framework for case in cases), framework)


def check_chains(files: Sequence[SourceFile]) -> None:
    """Raises `UsageError` if no file has chains of calls."""
    if not files:
        raise UsageError("--chains is for a recording; name one, as `opperf record` writes it")
    for path, source in files:
        program = source.program
        if program is None:
            raise UsageError(
                f"--chains does not apply to {path}, which is no recording of `opperf record`; "
                "omit it"
            )
        if not program.chains:
            raise UsageError(
                f"--chains: {path} has no chains of calls; recordings of PyTorch have them, made "
                "by this version of opperf or a later one: record the program again"
            )


RECORDED = ("batch_factor", "skip_views")
"""Fields of recorded calls."""

NAME_A_LOG = "name a log of operator inputs, a trace or a recording"


def check_files(resolved: ResolvedRun) -> None:
    """Raises `UsageError` for an option that does not apply to the cases of a file."""
    overriding = resolved.overriding
    if not resolved.has_operators:
        check_rule_options(resolved.files[0].path, overriding)
    recorded = [declared(RunRequest)[name].shown for name in RECORDED if name in overriding]
    if recorded and not resolved.files:
        raise UsageError(f"{recorded[0]} is for recorded calls; {NAME_A_LOG}")
    if "chains" in overriding:
        check_chains(resolved.files)
    for path, source in resolved.files:
        check_own_settings(path, source, overriding)
        if recorded and source.completion != "each":
            raise UsageError(
                f"{recorded[0]} does not apply to {path}, which has no recorded calls; {NAME_A_LOG}"
            )
