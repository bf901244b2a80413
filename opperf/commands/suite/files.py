"""The commands on suite files and on the environments of their benches."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from opperf.commands.options import command, write
from opperf.errors import FOUND
from opperf.plurals import pluralize
from opperf.requests.suites.environments import (
    PREPARE,
    BenchShellRequest,
    CheckSuiteRequest,
    InstallSuiteRequest,
    ListSuiteRequest,
    PrepareSuiteRequest,
    ShowBenchRequest,
)
from opperf.requests.suites.jobs import ClusterRequest, SlurmRequest
from opperf.results.messages import tell


@command(CheckSuiteRequest)
def check(request: CheckSuiteRequest) -> int:
    """Check suite files: that all in them resolves, and what is not there on this machine.

    Later files are merged over earlier ones. Exit codes: 0 all is there, 1 a bench lacks a script
    or a file, 2 a file that does not resolve, with file, line and keys of what is wrong."""
    from opperf.reports.benches import enabled_text, lacking_of, notes_of

    suite = request.run(tell)
    for path in suite.files:
        print(path)
    print(f"{enabled_text(suite)}, {pluralize(len(suite.templates), 'template')}")
    lacking = lacking_of(suite)
    for kind, texts in (("note", notes_of(suite)), ("problem", lacking)):
        for text in texts:
            tell(f"{kind}: {text}", sys.stdout)
    return FOUND if lacking else 0


@command(ListSuiteRequest, name="list")
def list_benches(request: ListSuiteRequest) -> int:
    """List the benches of suite files, those of no template: whether each is enabled, its weight,
    group, tags, processes and the values of its matrix."""
    from opperf.reports.benches import report_of

    return write(report_of(request.run(tell)), request)


@command(ShowBenchRequest)
def show(request: ShowBenchRequest) -> int:
    """Show a bench: what it runs, as a command to paste, its values, and where each is from."""
    from opperf.reports.benches import bench_report

    return write(bench_report(*request.run(tell)), request)


@command(InstallSuiteRequest)
def install(request: InstallSuiteRequest) -> int:
    """Install the environments of the enabled benches, by uv or pip, as `suite run` does first.

    Benches of an install_group share one, which has what all enabled ones in the files ask for.
    Exit codes: 0 all are installed, 1 one cannot be, with the reason, 2 a file that does not
    resolve."""
    enabled, found = request.run(tell)
    by_folder: dict[str, list[str]] = {}
    for name, made in found.items():
        if isinstance(made, str):
            tell(f"{name}: {made}")
        else:
            by_folder.setdefault(made.folder, []).append(name)
    for folder, names in by_folder.items():
        print(f"{folder}: {', '.join(names)}")
    if not enabled:
        print("no bench that is selected is enabled")
    if enabled > len(found):
        print(f"opperf's own environment: {pluralize(enabled - len(found), 'bench')}")
    if request.lock is not None:
        print(f"every version is in {request.lock}")
    return FOUND if any(isinstance(made, str) for made in found.values()) else 0


@command(PrepareSuiteRequest)
def prepare(request: PrepareSuiteRequest) -> int:
    """Run the prepare.py of each enabled bench that has one, which fetches its data: in its
    environment, with the arguments of the bench.

    Exit codes: 0 all are prepared, 1 one failed, 2 a file that does not resolve."""
    steps = []
    for step in request.run(tell):
        text = f"{step.bench}: {step.text}"
        if step.failed:
            tell(text)
        else:
            print(text, flush=True)
        steps.append(step)
    if not steps:
        print(f"no bench that is enabled has a {PREPARE}")
    return FOUND if any(step.failed for step in steps) else 0


@command(BenchShellRequest)
def shell(request: BenchShellRequest) -> int:
    """Start a shell in the folder of a bench, with its environment and variables."""
    folder, variables = request.run(tell)
    if not request.prints:
        _become_shell(folder, variables)
    for variable, value in variables.items():
        print(f"export {variable}={shlex.quote(value)}")
    print(f"cd {shlex.quote(str(folder))}")
    return 0


def _become_shell(folder: Path, variables: Mapping[str, str]) -> NoReturn:
    program = os.environ.get("SHELL") or "/bin/sh"
    tell(f"a shell in {folder}; exit ends it")
    os.chdir(folder)
    words = [program]
    if Path(program).name == "bash" and sys.stdin.isatty():
        words += ["--rcfile", startup_file(variables)]
    os.execvpe(program, words, {**os.environ, **variables})


def startup_file(variables: Mapping[str, str]) -> str:
    """Returns the path of a file that an interactive bash reads in place of the user's: it does
    what that does, which may put other programs first on the path, and then sets the variables."""
    with tempfile.NamedTemporaryFile("w", prefix="opperf-", suffix=".bash", delete=False) as file:
        exports = (f"export {name}={shlex.quote(value)}" for name, value in variables.items())
        user = "[ ! -f ~/.bashrc ] || . ~/.bashrc"
        file.write("\n".join([f"rm -f {shlex.quote(file.name)}", user, *exports]) + "\n")
    return file.name


@command(
    SlurmRequest,
    examples={
        "Four nodes, each of which runs a part": (
            "opperf suite slurm standard --parts 4 -o standard.sh && sbatch standard.sh"
        )
    },
)
def slurm(request: SlurmRequest) -> int:
    """Write the script of a Slurm array job, each job of which runs a part of the cases of suite
    files; a last one, which depends on them, joins their run files by `opperf merge`.

    The nodes need the files, opperf and the benches' environments (`opperf suite install`) by the
    same paths."""
    job, benches, id = request.run(tell)
    what = f"{pluralize(job.parts, 'part')} of {pluralize(benches, 'bench')}"
    nodes = pluralize(job.nodes, "node")
    print(f"{request.output}: {what}, {nodes} each; results in {job.result}")
    print(f"submitted as {id}" if request.submit else f"Submit it with: sbatch {request.output}")
    return 0


@command(
    ClusterRequest,
    examples={
        "The nodes of a system as a cluster": (
            "opperf suite cluster system.yaml -o cluster.yaml && ray up cluster.yaml"
        )
    },
)
def cluster(request: ClusterRequest) -> int:
    """Write the configuration of Ray's launcher for the nodes of a system, milabench's
    system.yaml: `ray up` then starts a cluster over SSH, for --executor ray.

    Exit codes: 0 it is written, 1 a node does not answer, which is named, and nothing is written,
    2 a file that is wrong."""
    system, by_hand, unreachable = request.run(tell)
    for line in unreachable:
        tell(line)
    if unreachable:
        return FOUND
    output, nodes = request.output, pluralize(len(system.nodes), "node")
    print(f"{output}: {nodes}; start them with: ray up {output}")
    for line in by_hand:
        print(f"and this one of another user by: {line}")
    return 0
