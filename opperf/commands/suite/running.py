"""Runs a suite: its environments are installed, its benches run, and what they did validated."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from opperf.commands.common_options import read_output
from opperf.commands.options import take
from opperf.commands.running import run_command
from opperf.environments.specification import EnvironmentSpec, Installed
from opperf.errors import FOUND, UsageError
from opperf.execution.executor import RAY
from opperf.execution.fleet.counting import NodeCounts, count_nodes
from opperf.experiments.benches import BenchEnvironment, Benches, Environments
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.model import Settings, Status
from opperf.reports.writing import write_reports
from opperf.requests.declaring import declared, value_of
from opperf.requests.installing import read_locked
from opperf.requests.operators import Partition
from opperf.requests.places import Cluster
from opperf.requests.resolved_run import ResolvedRun
from opperf.requests.run import RunRequest
from opperf.requests.suites.files import SuiteFiles
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import STDOUT, Output
from opperf.sources.selecting import Selection
from opperf.suite_results import score_report
from opperf.suite_results.saving_sizes import check_table, save_sizes
from opperf.suite_results.scores import scores_of
from opperf.suite_results.suite_run import WITH, load
from opperf.suite_results.suite_run import SuiteRun as LoadedRun
from opperf.suite_results.validation import report as validation_report
from opperf.suite_results.validation.layers import choose_layers, validate
from opperf.suites.bench import Bench
from opperf.suites.environments import (
    bench_variables,
    install_environments,
    suite_environments,
    with_requirements,
)
from opperf.suites.resolving import Suite, is_suite_file
from opperf.suites.system import Machine, System, SystemNode, obstacles

STEM = "suite"
"""Of the default output."""

DISABLED = "it is not enabled; --select NAME runs it"

COPIED = (
    *("labels", "overwrite", "list_only", "dry_run", "strict", "quiet", "cpus", "executor"),
    "every_node",
)
"""Options that the request has as they are."""


def run_suite(options: Mapping[str, Any], set_here: Mapping[str, Any]) -> int:
    """Runs a suite; the exit code. Raises `OpperfError` if it cannot start."""
    suite = take(SuiteFiles, options).resolved()
    table = suite.system.options["sizer.save"]
    if table:
        check_table(Path(table))
    request = read_request(suite, options, set_here)

    def finished(path: Path) -> int:
        run = replace(load((path,)), name=display(request.output))
        if table:
            tell(save_sizes(Path(table), run))
        return report_run(run, request.quiet or request.output == STDOUT)

    return run_command(request, finished)


RUNS_OPTIONS = (
    *("names", "ids", "warmup", "seed", "labels", "cpus", "executor", "rounds"),
    *("requirements", "locked"),
    *("output_file", "output_format", "overwrite", "resume", "retry", "strict", "quiet"),
    *("list_only", "dry_run", "total_partitions", "partition_id", "debug"),
    *("node", "address", "nodes", "every_node", "worker_cpus", "worker_gpus", "workers_per_node"),
)
"""Options of `opperf run` that a suite file has a use for."""


def options_of_run(request: RunRequest) -> dict[str, Any] | None:
    """Returns the options of `suite run` for those of `opperf run` on suite files; None if it is of
    no such file. Raises `UsageError` for what does not go with one."""
    words = request.operators.names
    files = [name for name in words if is_suite_file(Path(name))]
    if not files:
        return None
    for name in words:
        if name not in files:
            raise UsageError(f"{files[0]} is a suite, which is run alone; omit {name}")
    fields = declared(RunRequest)
    for name in request.given:
        if name not in RUNS_OPTIONS:
            raise UsageError(
                f"{fields[name].shown} does not apply to {files[0]}, whose benches have settings "
                "of their own; omit it"
            )
    own = {name: value_of(request, name) for name in RUNS_OPTIONS if name in fields}
    return {
        **own,
        "files": tuple(map(Path, files)),
        "repeat": request.rounds,
        "use_current_env": False,
    }


def report_run(run: LoadedRun, quiet: bool) -> int:
    """Prints the scores of a run and what its validation found; the exit code."""
    found = validate(run, choose_layers((), False))
    if not quiet:
        for report in (score_report.report_of(scores_of(run)), validation_report.report_of(found)):
            print()
            write_reports(report, [Output(STDOUT, "text")])
    return FOUND if found.failures else 0


def read_request(
    suite: Suite, options: Mapping[str, Any], set_here: Mapping[str, Any]
) -> ResolvedRun:
    """Returns the request to run a suite under the options, of which the user set those of
    `set_here`. Raises `UsageError` for contradictory ones."""
    resume, output = read_output(options, set_here, "", STEM)
    cluster = take(Cluster, options).options(options["executor"], frozenset(set_here))
    nodes = count_nodes(cluster) if options["executor"] == RAY else ()
    there: Mapping[str, Mapping[str, Bench]] = {}
    if nodes:
        suite = take(SuiteFiles, options).resolved(fewest_of(nodes))
        suite = suite._replace(system=on_cluster(suite.system, nodes))
        there = benches_at(nodes, options)
    obstructed = {bench.name: _obstacle(bench, suite, options) for bench in suite.benches}
    usable = [bench for bench in suite.benches if not obstructed[bench.name]]
    asked = Benches(
        suite.benches,
        _environments(suite, usable, options),
        {name: reason for name, reason in obstructed.items() if reason},
        nodes,
        there,
    )
    return ResolvedRun(
        source=asked,
        framework=FrameworkChoice("", False, False, None),
        selection=Selection(
            ids=options["ids"],
            rounds=options["repeat"],
            partition=take(Partition, options).part,
            settings=Settings(warmup=options["warmup"], seed=options["seed"]),
        ),
        axes={"node": options["node"]} if options["node"] else {},
        files=(),
        paths=tuple(map(Path, suite.files)),
        interpreters=(),
        explicit=frozenset(set_here),
        output=output.path,
        output_format=output.format,
        is_default_output=output.is_default,
        resume=Path(resume) if resume else None,
        resuming=resume is not None,
        retry=frozenset(map(Status, options["retry"])),
        cluster=cluster,
        command=shlex.join(["opperf", *sys.argv[1:]]),
        **{name: options[name] for name in COPIED},
    )


def fewest_of(nodes: Sequence[NodeCounts]) -> Machine:
    """Returns a machine with what each node has at least."""
    return Machine(
        min(node.cpus for node in nodes),
        min(node.gpus for node in nodes),
        min(node.gpu_bytes for node in nodes),
    )


def benches_at(
    nodes: Sequence[NodeCounts], options: Mapping[str, Any]
) -> dict[str, Mapping[str, Bench]]:
    """Returns the benches of each node, by its name and theirs: placeholders are what it has."""
    found: dict[Machine, Mapping[str, Bench]] = {}
    for node in nodes:
        machine = fewest_of([node])
        if machine not in found:
            there = take(SuiteFiles, options).resolved(machine).benches
            found[machine] = {bench.name: bench for bench in there}
    return {node.name: found[fewest_of([node])] for node in nodes}


def on_cluster(system: System, nodes: Sequence[NodeCounts]) -> System:
    """Returns a system with the nodes of a cluster; one whose file lists nodes stays as it is."""
    if system.nodes != System().nodes:
        return system
    return msgspec.structs.replace(system, nodes=tuple(SystemNode(node.name) for node in nodes))


def _obstacle(bench: Bench, suite: Suite, options: Mapping[str, Any]) -> str:
    """Returns why a bench is not run; empty if it is. One that is named is run in any case."""
    if not bench.enabled and bench.name not in (options.get("select") or ()):
        return DISABLED
    return "; ".join(obstacles(bench, suite.system))


def _environments(
    suite: Suite, benches: Sequence[Bench], options: Mapping[str, Any]
) -> Environments:
    """Returns the environments of benches, installed: the own one of each, or one for each of
    `--with`, which has what the own one has besides."""
    asked: Sequence[EnvironmentSpec] = options["requirements"]
    if options["use_current_env"]:
        if asked:
            raise UsageError("--use-current-env installs nothing, and --with does; use one of them")
        return {
            bench.name: (BenchEnvironment(None, _variables(bench, suite, None)),)
            for bench in benches
        }
    say = (lambda text: None) if options["quiet"] else tell
    own = suite_environments(suite, [bench.name for bench in benches])
    locked = read_locked(options["locked"])
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
            {label: found.get(bench.name) for label, found in zip(labels, installed, strict=True)},
        )
        for bench in benches
    }


def _of_bench(
    bench: Bench, suite: Suite, own: EnvironmentSpec, made: Mapping[str, Installed | str | None]
) -> Sequence[BenchEnvironment] | str:
    """Returns the environments of a bench by what `--with` adds to its own one, or why one of them
    cannot be installed."""
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
    """Returns the environment variables of a script; none of another bench."""
    return bench_variables(bench, suite, environment) if bench.workload == "script" else {}
