"""Installs the environments of a suite, runs what prepares its benches, and finds what a shell in
one needs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from opperf.errors import InstallationError
from opperf.processes.commands import run_command
from opperf.requests.declaring import OUTPUT, Option, Request, Say, argument
from opperf.requests.installing import read_locked
from opperf.requests.places import Locked
from opperf.requests.suites.files import SuiteFiles, find_bench

if TYPE_CHECKING:
    from opperf.environments.specification import Installed
    from opperf.suites.bench import Bench
    from opperf.suites.resolving import Suite

# Help and completion do without the imports of what resolves files and installs.

PREPARE, PREPARE_SCRIPT = "prepare.py", "prepare_script"
"""Name of the script, and the constant of a benchfile with another one."""


class InstalledSuite(NamedTuple):
    """A suite with the environments of its enabled benches."""

    enabled: int
    """Number of these benches."""
    environments: Mapping[str, Installed | str]
    """By the name of each bench whose environment is not opperf's own, or why there is none."""


class InstallSuiteRequest(Request, frozen=True, kw_only=True):
    """Installs the environments of the enabled benches of suite files."""

    suite: SuiteFiles
    locked: Locked = None
    force: Annotated[bool, Option("--force", "Install them again where they are installed.")] = (
        False
    )
    lock: Annotated[
        Path | None,
        Option(
            "--lock",
            "Write every installed version to this file, for --locked.",
            metavar="FILE",
            section=OUTPUT,
        ),
    ] = None

    def run(self, say: Say) -> InstalledSuite:
        """Returns the environments, installed, and writes the lock file. Raises `OpperfError`."""
        from opperf.environments.locks import lock_text
        from opperf.environments.specification import Installed
        from opperf.results.output import replace

        suite = self.suite.resolved()
        enabled = [bench.name for bench in suite.benches if bench.enabled]
        found = _installed(suite, enabled, self.locked, say, self.force)
        if self.lock is not None:
            made = [each.interpreter() for each in found.values() if isinstance(each, Installed)]
            replace(self.lock, lock_text(made))
        return InstalledSuite(len(enabled), found)


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
    locked: Locked = None

    def run(self, say: Say) -> Iterator[Preparation]:
        """Yields each step as it begins; its output is the terminal's. Raises `OpperfError` for
        what does not resolve."""
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
    """Runs a command, and returns why it did not end well; empty if it did."""
    from opperf.suites.placeholders import FOLDERS

    for name in FOLDERS:
        Path(variables[f"MILABENCH_DIR_{name.upper()}"]).mkdir(parents=True, exist_ok=True)
    done = run_command(command, folder, {**os.environ, **variables}, given=None, output=None)
    if not done.started:
        return f"{command[0]} {done.problem}"
    return f"not prepared: its script ended with exit code {done.code}" if done.problem else ""


class BenchShell(NamedTuple):
    """Folder and environment of a shell."""

    folder: Path
    variables: Mapping[str, str]


class BenchShellRequest(Request, frozen=True, kw_only=True):
    """Finds the folder and the environment of a bench, which is installed."""

    suite: SuiteFiles
    name: Annotated[str, argument("NAME")]
    locked: Locked = None
    prints: Annotated[
        bool,
        Option("--print", "Print the commands that set a shell up, for eval.", section=OUTPUT),
    ] = False

    def run(self, say: Say) -> BenchShell:
        """Returns them. Raises `OpperfError`."""
        from opperf.suites.environments import bench_variables, folder_of

        suite = self.suite.resolved()
        bench = find_bench(suite, self.name)
        environment = _installed(suite, [self.name], self.locked, say).get(self.name)
        if isinstance(environment, str):
            raise InstallationError(environment)
        return BenchShell(folder_of(bench), bench_variables(bench, suite, environment))
