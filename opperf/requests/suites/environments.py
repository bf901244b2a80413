"""Finds the benches of suite files and what they lack, installs their environments, runs what
prepares them, and finds what a shell in one needs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from opperf.environments.specification import Installed, lock_text
from opperf.errors import InstallationError, UsageError, suggest
from opperf.processes.commands import run_command
from opperf.requests.declaring import Group, Option, Request, Say, argument, declared
from opperf.requests.operators import names_option
from opperf.requests.outputs import JsonRequest
from opperf.requests.places import LockFile, read_locked
from opperf.results.output import replace

if TYPE_CHECKING:
    from opperf.environments.specification import EnvironmentSpec, Installed
    from opperf.suites.bench import Bench
    from opperf.suites.resolving import Suite
    from opperf.suites.system import Machine


class SuiteFiles(Group, frozen=True, kw_only=True):
    """Suite files, of which later ones are merged over earlier ones, and what is chosen of them."""

    files: Annotated[tuple[Path, ...], argument("FILE.yaml...", Path)]
    select: Annotated[
        tuple[str, ...],
        names_option(
            "Only benches of these names, groups, install groups, tags or folders; globs, commas "
            "separate several.",
            section="Cases",
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        names_option("No benches of these names, groups, tags or folders.", section="Cases"),
    ] = ()
    overrides: Annotated[
        tuple[str, ...],
        Option(
            "Set a value of a bench, a template, all benches (*) or the system: "
            "'*.voir.options.stop=10', system.arch=cpu. Repeat it for several.",
            metavar="NAME.KEY=VALUE",
            spellings="--override",
        ),
    ] = ()
    system: Annotated[
        Path | None,
        Option("File of the system: architecture, nodes, options.  [default: this machine]"),
    ] = None
    capabilities: Annotated[
        tuple[str, ...],
        Option(
            "What requires_capabilities of benches sees in place of what the system has: nodes=2 "
            "is two nodes, gpu.count=8. Repeat it, or separate several with commas.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    base: Annotated[
        Path | None,
        Option(
            "Folder of the benches' data, caches and outputs.  [default: in opperf's cache]",
            metavar="FOLDER",
        ),
    ] = None

    def resolved(self, machine: Machine | None = None) -> Suite:
        """Returns the suite on a machine, by default this one. Raises as `resolve`."""
        from opperf.suites.resolving import resolve, suite_file

        chosen = msgspec.structs.asdict(self)
        paths = [suite_file(str(path)) for path in chosen.pop("files")]
        return resolve(paths, machine, **chosen, variables=dict(os.environ))

    def words(self) -> Iterator[str]:
        """Yields the words of a command for the same benches in any folder."""
        for path in self.files:
            yield str(path.resolve()) if path.exists() else str(path)
        for name, field in declared(SuiteFiles).items():
            value = getattr(self, name)
            whole = value.resolve() if isinstance(value, Path) else value
            for text in field.texts(whole) if field.names and whole is not None else ():
                yield from (field.shown, text)


class CheckSuiteRequest(Request, frozen=True, kw_only=True):
    """Resolves suite files."""

    suite: SuiteFiles

    def run(self, say: Say) -> Suite:
        return self.suite.resolved()


class ListSuiteRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds the benches of suite files."""

    suite: SuiteFiles

    def run(self, say: Say) -> Suite:
        self.check_outputs(self.suite.files)
        return self.suite.resolved()


class ShowBenchRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds a bench of suite files."""

    suite: SuiteFiles
    name: Annotated[str, argument("NAME")]

    def run(self, say: Say) -> tuple[Suite, Bench, EnvironmentSpec, list[str]]:
        """Returns the suite, the bench, its environment and the commands that run it."""
        from opperf.suites.environments import suite_environments
        from opperf.suites.job_script import commands_of

        self.check_outputs(self.suite.files)
        suite = self.suite.resolved()
        bench = find_bench(suite, self.name)
        environment = suite_environments(suite, [self.name])[self.name]
        return suite, bench, environment, commands_of(bench, suite.system, environment)


def find_bench(suite: Suite, name: str) -> Bench:
    """Returns the bench of a name. Raises `UsageError`, with near names, if there is none."""
    for bench in suite.benches:
        if bench.name == name:
            return bench
    if name in suite.templates:
        raise UsageError(f"{name} is a template, from which benches inherit")
    names = [bench.name for bench in suite.benches]
    raise UsageError(f"no bench is called {name}{suggest(name, names)}; suite list has all")


PREPARE, PREPARE_SCRIPT = "prepare.py", "prepare_script"
"""Name of the script, and the constant of a benchfile with another one."""


class InstallSuiteRequest(Request, frozen=True, kw_only=True):
    """Installs the environments of the enabled benches of suite files."""

    suite: SuiteFiles
    locked: LockFile = None
    force: Annotated[bool, Option("Install them again where they are installed.")] = False
    lock: Annotated[
        Path | None,
        Option("Write every installed version to this file, for --locked.", section="Output"),
    ] = None

    def run(self, say: Say) -> tuple[int, Mapping[str, Installed | str]]:
        """Returns the number of enabled benches, and the environment of each whose own is not
        opperf's, or why there is none; writes the lock file."""
        suite = self.suite.resolved()
        enabled = [bench.name for bench in suite.benches if bench.enabled]
        found = _installed(suite, enabled, self.locked, say, self.force)
        if self.lock is not None:
            made = [each.interpreter() for each in found.values() if isinstance(each, Installed)]
            replace(self.lock, lock_text(made))
        return len(enabled), found


def _installed(
    suite: Suite, names: list[str], locked: Path | None, say: Say, again: bool = False
) -> dict[str, Installed | str]:
    from opperf.suites.environments import install_environments, suite_environments

    specs = suite_environments(suite, names)
    return install_environments(specs, say, read_locked(locked), again)


class Preparation(NamedTuple):
    """A step of what prepares benches."""

    bench: str
    text: str
    """The command that is run, or what else there is to say."""
    failed: bool = False


class PrepareSuiteRequest(Request, frozen=True, kw_only=True):
    """Runs what prepares the enabled benches of suite files, each once."""

    suite: SuiteFiles
    locked: LockFile = None

    def run(self, say: Say) -> Iterator[Preparation]:
        """Yields each step as it begins; its output is the terminal's."""
        from opperf.suites.environments import bench_variables

        suite = self.suite.resolved()
        scripts = {
            bench.name: (bench, script)
            for bench in suite.benches
            if bench.enabled and (script := _prepare_script(bench)) is not None
        }
        if not scripts:
            return
        enabled = [bench.name for bench in suite.benches if bench.enabled]
        found = _installed(suite, enabled, self.locked, say)
        done: dict[str, str] = {}
        for name, (bench, script) in scripts.items():
            environment = found.get(name)
            if isinstance(environment, str):
                yield Preparation(name, environment, failed=True)
                continue
            command = _command(script, bench, environment)
            key = f"{shlex.join(command)} {bench.env.variables}"
            if key in done:
                yield Preparation(name, f"prepared with {done[key]}")
                continue
            yield Preparation(name, shlex.join(command))
            done[key] = name
            why = _run(command, script.parent, bench_variables(bench, suite, environment))
            if why:
                yield Preparation(name, why, failed=True)


def _prepare_script(bench: Bench) -> Path | None:
    from opperf.suites.environments import folder_of

    if bench.workload != "script":
        return None
    name = bench.benchfile.get(PREPARE_SCRIPT, PREPARE)
    path = folder_of(bench) / name if isinstance(name, str) and name else None
    return path if path is not None and path.is_file() else None


def _command(script: Path, bench: Bench, environment: Installed | None) -> list[str]:
    if script.suffix != ".py":
        return [str(script), *bench.argv]
    python = sys.executable if environment is None else str(environment.python)
    return [python, str(script), *bench.argv]


def _run(command: list[str], folder: Path, variables: Mapping[str, str]) -> str:
    from opperf.suites.placeholders import FOLDERS

    for name in FOLDERS:
        Path(variables[f"MILABENCH_DIR_{name.upper()}"]).mkdir(parents=True, exist_ok=True)
    done = run_command(command, folder, {**os.environ, **variables}, given=None, output=None)
    if not done.started:
        return f"{command[0]} {done.problem}"
    return f"not prepared: its script ended with exit code {done.code}" if done.problem else ""


class BenchShellRequest(Request, frozen=True, kw_only=True):
    """Finds the folder and the environment of a bench, which is installed."""

    suite: SuiteFiles
    name: Annotated[str, argument("NAME")]
    locked: LockFile = None
    prints: Annotated[
        bool,
        Option(
            "Print the commands that set a shell up, for eval.",
            section="Output",
            spellings="--print",
        ),
    ] = False

    def run(self, say: Say) -> tuple[Path, Mapping[str, str]]:
        """Returns the folder and the variables of a shell."""
        from opperf.suites.environments import bench_variables, folder_of

        suite = self.suite.resolved()
        bench = find_bench(suite, self.name)
        environment = _installed(suite, [self.name], self.locked, say).get(self.name)
        if isinstance(environment, str):
            raise InstallationError(environment)
        return folder_of(bench), bench_variables(bench, suite, environment)
