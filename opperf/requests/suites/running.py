"""Runs the benches of suite files, once or for each matrix of a system."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from opperf.environments.specification import EnvironmentSpec, Installed
from opperf.errors import UsageError
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.model import Interpreter, Settings
from opperf.reports.formats import RUN
from opperf.requests.declaring import Option, Say, build, declared, value_of
from opperf.requests.measuring import MeasuringRequest, ResolvedRun
from opperf.requests.outputs import file_option, format_option, named_output
from opperf.requests.places import read_locked
from opperf.requests.run import RunRequest
from opperf.requests.settings import SettingFields
from opperf.requests.suites.environments import SuiteFiles
from opperf.results.kept import display
from opperf.results.output import check_output, unwritable
from opperf.sources.selecting import Selection
from opperf.suites.bench import Bench
from opperf.suites.environments import (
    bench_variables,
    install_environments,
    suite_environments,
    with_requirements,
)
from opperf.suites.matrices import read_multirun
from opperf.suites.resolving import Suite, is_suite_file
from opperf.suites.system import Machine, System, SystemNode, obstacles

if TYPE_CHECKING:
    from opperf.execution.benches import BenchEnvironment, Environments
    from opperf.execution.fleet.connecting import NodeCounts
    from opperf.suites.results.run import SuiteRun

# What reads and validates results loads NumPy: help and completion do without it.

STEM = "suite"
"""Of the default output."""

DISABLED = "it is not enabled; --select NAME runs it"


class SuiteRunRequest(MeasuringRequest, frozen=True, kw_only=True):
    """Measures the benches of suite files, each in its environment, which is installed."""

    omitted: ClassVar[tuple[str, ...]] = ("columns", "interpreters", "shuffle")
    suite: SuiteFiles
    own_environment: Annotated[
        bool,
        Option(
            "Run all benches in opperf's own environment, and install none.",
            spellings="--use-current-env",
        ),
    ] = False
    rounds: Annotated[
        int,
        Option(
            "Runs of each bench, in rounds.",
            low=1,
            section="Time and precision",
            spellings="--repeat",
        ),
    ] = 1
    axes: Annotated[dict[str, tuple[Any, ...]], SettingFields(("node",), are_axes=True)] = {}
    settings: Annotated[Settings, SettingFields(("warmup", "seed"))] = Settings()
    output_format: Annotated[
        str,
        format_option(
            RUN,
            "jsonl, the run file with every sample; milabench, a folder in its layout; json; md; "
            "csv; or another package's.",
            "jsonl",
            "-f --output-format",
        ),
    ] = ""
    output_file: Annotated[
        Path | None,
        file_option(
            "Output file; - prints the output, and messages go to standard error.  "
            "[default: ./suite.<format>]"
        ),
    ] = None
    executor: Annotated[
        str,
        Option(
            "What measures the benches: local, isolated, ray, or another package's.",
            metavar="NAME",
            section="Settings",
            may_differ=True,
        ),
    ] = "local"
    list_only: Annotated[
        bool,
        Option(
            "Print the cases, and measure nothing.",
            section="Plan, resumption and exit code",
            spellings="--list",
        ),
    ] = False

    def installed(self, say: Say) -> tuple[Interpreter, ...]:
        # Each bench has its own.
        return ()

    def resolve(self, say: Say, command: str) -> ResolvedRun:
        from opperf.execution.benches import Benches
        from opperf.execution.executor import RAY
        from opperf.execution.fleet.connecting import count_nodes
        from opperf.suites.results.saving_sizes import check_table

        suite = self.suite.resolved()
        table = suite.system.options["sizer.save"]
        if table:
            check_table(Path(table))
        output = named_output(
            self.output_file, self.output_format, self.resumption, "", "jsonl", STEM
        )
        cluster = self.cluster.options(self.executor, self.given)
        nodes = count_nodes(cluster) if self.executor == RAY else ()
        there: Mapping[str, Mapping[str, Bench]] = {}
        if nodes:
            suite = self.suite.resolved(fewest_of(nodes))
            suite = suite._replace(system=_on_cluster(suite.system, nodes))
            there = benches_at(nodes, self.suite)
        obstructed = {bench.name: self._obstacle(bench, suite.system) for bench in suite.benches}
        usable = [bench for bench in suite.benches if not obstructed[bench.name]]
        source = Benches(
            suite.benches,
            self._environments(suite, usable, say),
            {name: reason for name, reason in obstructed.items() if reason},
            nodes,
            there,
            table,
        )
        selection = Selection(
            ids=self.ids, rounds=self.rounds, partition=self.partition.part, settings=self.settings
        )
        choice = FrameworkChoice("", False, False, None)
        paths = tuple(map(Path, suite.files))
        return self.resolved(source, choice, selection, output, say, command, paths=paths)

    def ended(self, run_file: Path, resolved: ResolvedRun) -> tuple[SuiteRun, str]:
        """Returns the results of a run that has ended, and a line on the table of sizes, to which
        is added what was sized; empty if none is written. Raises `OpperfError`."""
        from opperf.execution.benches import Benches
        from opperf.suites.results.run import load
        from opperf.suites.results.saving_sizes import save_sizes

        run = dataclasses.replace(load((run_file,)), name=display(resolved.output))
        table = resolved.source.table if isinstance(resolved.source, Benches) else ""
        return run, save_sizes(Path(table), run) if table else ""

    def _obstacle(self, bench: Bench, system: System) -> str:
        if not bench.enabled and bench.name not in self.suite.select:
            return DISABLED
        return "; ".join(obstacles(bench, system))

    def _environments(self, suite: Suite, benches: Sequence[Bench], say: Say) -> Environments:
        from opperf.execution.benches import BenchEnvironment

        asked = self.environments.requirements
        if self.own_environment:
            if asked:
                raise UsageError(
                    "--use-current-env installs nothing, and --with does; use one of them"
                )
            return {
                bench.name: (BenchEnvironment(None, _variables(bench, suite, None)),)
                for bench in benches
            }
        own = suite_environments(suite, [bench.name for bench in benches])
        locked = read_locked(self.environments.locked)
        arms = [
            {name: with_requirements(spec, each) for name, spec in own.items()} for each in asked
        ] or [own]
        installed = [install_environments(arm, say, locked) for arm in arms]
        labels = [each.text for each in asked] or [""]
        return {
            bench.name: _of_bench(
                bench,
                suite,
                own[bench.name],
                {
                    label: found.get(bench.name)
                    for label, found in zip(labels, installed, strict=True)
                },
            )
            for bench in benches
        }


class MultirunRequest(SuiteRunRequest, frozen=True, kw_only=True):
    """Runs suite files once for each run of a system's file, with the options of that."""

    omitted = (
        *SuiteRunRequest.omitted,
        *("output_file", "output_format", "resume", "retry", "strict", "ids"),
        *("total_partitions", "partition_id"),
    )
    folder: Annotated[
        Path,
        Option(
            "Folder of the run files, NAME.jsonl.",
            metavar="FOLDER",
            section="Output",
            spellings="-o --output-folder",
        ),
    ]
    resumes: Annotated[
        bool,
        Option(
            "Finish the runs whose file is there. Their names have no {time}.",
            section="Plan, resumption and exit code",
            spellings="--resume",
        ),
    ] = False

    def runs(self) -> dict[str, SuiteRunRequest]:
        """Returns the request of each run by its name, and makes the folder. Raises `OpperfError`
        for what does not resolve in any of them."""
        file = self.suite.system
        if file is None:
            raise UsageError("name the file whose multirun has the runs: --system FILE")
        if self.resumes and self.overwrite:
            raise UsageError(
                "--resume finishes runs and --overwrite replaces them; use one of them"
            )
        now = int(time.time())
        listed, later = (read_multirun(file, str(moment)) for moment in (now, now + 1))
        if self.resumes and listed != later:
            raise UsageError(f"{file}: with {{time}} in a name, no run is resumed; omit --resume")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        found: dict[str, SuiteRunRequest] = {}
        written: set[str] = set()
        replace = msgspec.structs.replace
        for run in listed:
            path = self.folder / f"{run.name}.jsonl"
            overrides = (*self.suite.overrides, *run.overrides)
            resume = "" if self.resumes and path.exists() else None
            changed = {
                "suite": replace(self.suite, overrides=overrides),
                "labels": {**self.labels, **{key: str(own) for key, own in run.options.items()}},
                "output_file": path,
                "output_format": "jsonl",
                "resumption": replace(self.resumption, resume=resume),
            }
            own = {name: getattr(self, name) for name in SuiteRunRequest.__struct_fields__}
            found[run.name] = one = SuiteRunRequest(**{**own, **changed})
            # A table that an earlier run writes need not be there yet.
            if run.options.get("sizer.config") not in written:
                one.suite.resolved()
            written.update(filter(None, [run.options.get("sizer.save")]))
            if resume is None:
                check_output(path, self.overwrite, self.suite.files)
        return found


def suite_run_of(request: RunRequest) -> SuiteRunRequest | None:
    """Returns the request to run suite files of one to measure operators; None if it names no such
    file. Raises `UsageError` for what does not go with one."""
    words = request.operators.names
    files = [name for name in words if is_suite_file(Path(name))]
    if not files:
        return None
    for name in words:
        if name not in files:
            raise UsageError(f"{files[0]} is a suite, which is run alone; omit {name}")
    taken = declared(SuiteRunRequest).keys() - declared(SuiteFiles).keys()
    options = request.given - {"names"}
    for name in options:
        if name not in taken:
            raise UsageError(
                f"{declared(RunRequest)[name].shown} does not apply to {files[0]}, whose benches "
                "have settings of their own; omit it"
            )
    values = {name: value_of(request, name) for name in options}
    return build(SuiteRunRequest, {**values, "files": tuple(map(Path, files))})


def fewest_of(nodes: Sequence[NodeCounts]) -> Machine:
    """Returns a machine with what each node has at least."""
    return Machine(
        min(node.cpus for node in nodes),
        min(node.gpus for node in nodes),
        min(node.gpu_bytes for node in nodes),
    )


def benches_at(nodes: Sequence[NodeCounts], suite: SuiteFiles) -> dict[str, Mapping[str, Bench]]:
    """Returns the benches of each node, by its name and theirs: placeholders are what it has."""
    found: dict[Machine, Mapping[str, Bench]] = {}
    for node in nodes:
        machine = fewest_of([node])
        if machine not in found:
            found[machine] = {bench.name: bench for bench in suite.resolved(machine).benches}
    return {node.name: found[fewest_of([node])] for node in nodes}


def _on_cluster(system: System, nodes: Sequence[NodeCounts]) -> System:
    if system.nodes != System().nodes:
        return system
    return msgspec.structs.replace(system, nodes=tuple(SystemNode(node.name) for node in nodes))


def _of_bench(
    bench: Bench, suite: Suite, own: EnvironmentSpec, made: Mapping[str, Installed | str | None]
) -> Sequence[BenchEnvironment] | str:
    from opperf.execution.benches import BenchEnvironment
    from opperf.suites.results.run import WITH

    found = []
    for added, environment in made.items():
        if isinstance(environment, str):
            return environment
        names = [] if own.is_own else [own.name or own.text]
        label = WITH.join([*names, *([added] if added else [])])
        interpreter = None if environment is None else environment.interpreter(label)
        found.append(BenchEnvironment(interpreter, _variables(bench, suite, environment)))
    return found


def _variables(bench: Bench, suite: Suite, environment: Installed | None) -> dict[str, str]:
    return bench_variables(bench, suite, environment) if bench.workload == "script" else {}
