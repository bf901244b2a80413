"""Installs the environments of a suite, runs what prepares its benches, and opens shells in
them."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from opperf.commands.suite.listing import resolved
from opperf.commands.suite.showing import find_bench
from opperf.environments.locks import lock_text
from opperf.environments.specification import Installed
from opperf.errors import FOUND, InstallationError
from opperf.plurals import pluralize
from opperf.processes.commands import run_command
from opperf.requests.installing import read_locked
from opperf.results.messages import tell
from opperf.results.output import replace
from opperf.suites.bench import Bench
from opperf.suites.definitions import folder_of_script
from opperf.suites.environments import install_environments, suite_environments
from opperf.suites.placeholders import FOLDERS, bench_values
from opperf.suites.resolving import Suite

PREPARE, PREPARE_SCRIPT = "prepare.py", "prepare_script"
"""Name of the script, and the constant of a benchfile with another one."""


def install_command(options: Mapping[str, Any]) -> int:
    """Installs the environments of a suite's enabled benches; the exit code."""
    suite = resolved(options)
    found = _installed(suite, options, again=options["force"])
    by_folder: dict[str, list[str]] = {}
    for name, made in found.items():
        if isinstance(made, Installed):
            by_folder.setdefault(made.folder, []).append(name)
        else:
            tell(f"{name}: {made}")
    for folder, names in by_folder.items():
        print(f"{folder}: {', '.join(names)}")
    enabled = sum(bench.enabled for bench in suite.benches)
    own = enabled - len(found)
    if not enabled:
        print("no bench that is selected is enabled")
    if own:
        print(f"opperf's own environment: {pluralize(own, 'bench')}")
    if options["lock"] is not None:
        interpreters = [
            made.interpreter() for made in found.values() if isinstance(made, Installed)
        ]
        replace(options["lock"], lock_text(interpreters))
        print(f"every version is in {options['lock']}")
    return FOUND if any(isinstance(made, str) for made in found.values()) else 0


def _installed(
    suite: Suite, options: Mapping[str, Any], again: bool = False
) -> dict[str, Installed | str]:
    enabled = [bench.name for bench in suite.benches if bench.enabled]
    specs = suite_environments(suite, enabled)
    return install_environments(specs, tell, read_locked(options["locked"]), again)


def prepare_command(options: Mapping[str, Any]) -> int:
    """Runs what prepares the benches of a suite, each once; the exit code."""
    suite = resolved(options)
    scripts = {
        bench.name: script
        for bench in suite.benches
        if bench.enabled and (script := _prepare_script(bench)) is not None
    }
    if not scripts:
        print(f"no bench that is enabled has a {PREPARE}")
        return 0
    found = _installed(suite, options)
    done: dict[str, str] = {}
    failed = False
    for bench in suite.benches:
        if bench.name not in scripts:
            continue
        environment = found.get(bench.name)
        if isinstance(environment, str):
            tell(f"{bench.name}: {environment}")
            failed = True
            continue
        script = scripts[bench.name]
        command = _words(script, bench, environment)
        key = f"{shlex.join(command)} {bench.env.variables}"
        if key in done:
            print(f"{bench.name}: prepared with {done[key]}")
            continue
        print(f"{bench.name}: {shlex.join(command)}", flush=True)
        done[key] = bench.name
        failed |= not _run(
            bench, command, script.parent, bench_variables(bench, suite, environment)
        )
    return FOUND if failed else 0


def _prepare_script(bench: Bench) -> Path | None:
    if bench.workload != "script":
        return None
    name = bench.benchfile.get(PREPARE_SCRIPT, PREPARE)
    path = _folder(bench) / name if isinstance(name, str) and name else None
    return path if path is not None and path.is_file() else None


def _folder(bench: Bench) -> Path:
    return (folder_of_script(bench) if bench.workload == "script" else Path()).resolve()


def _words(script: Path, bench: Bench, environment: Installed | None) -> list[str]:
    if script.suffix != ".py":
        return [str(script), *bench.argv]
    python = sys.executable if environment is None else str(environment.python)
    return [python, str(script), *bench.argv]


def _run(bench: Bench, command: list[str], folder: Path, variables: dict[str, str]) -> bool:
    """Returns whether a command ended well; its output is the terminal's."""
    for name in FOLDERS:
        Path(variables[f"MILABENCH_DIR_{name.upper()}"]).mkdir(parents=True, exist_ok=True)
    done = run_command(command, folder, {**os.environ, **variables}, given=None, output=None)
    if not done.started:
        tell(f"{bench.name}: {command[0]} {done.problem}")
    elif done.problem:
        tell(f"{bench.name}: not prepared: its script ended with exit code {done.code}")
    return not done.problem


def bench_variables(bench: Bench, suite: Suite, environment: Installed | None) -> dict[str, str]:
    """Returns the environment variables of a bench's scripts, milabench's too."""
    code = str(_folder(bench))
    values = bench_values(suite.system, bench.name, code, bench.env.name, bench.group, bench.dirs)
    folders = {f"MILABENCH_DIR_{name.upper()}": values[f"milabench_{name}"] for name in FOLDERS}
    own = {}
    if environment is not None:
        own = {"MILABENCH_DIR_VENV": environment.folder, **environment.variables}
    # What programs fetch is kept beside the data.
    cache = {"XDG_CACHE_HOME": values["milabench_cache"], "MILABENCH_DIR_CODE": code}
    return {**folders, **cache, **own, **bench.env.variables}


def shell_command(options: Mapping[str, Any], name: str, prints: bool) -> int:
    """Replaces this process by a shell, or prints what sets one up; the exit code."""
    suite = resolved(options)
    bench = find_bench(suite, name)
    specs = suite_environments(suite, [name])
    found = install_environments(specs, tell, read_locked(options["locked"])).get(name)
    if isinstance(found, str):
        raise InstallationError(found)
    variables = bench_variables(bench, suite, found)
    if not prints:
        _become_shell(_folder(bench), variables)
    for variable, value in variables.items():
        print(f"export {variable}={shlex.quote(value)}")
    print(f"cd {shlex.quote(str(_folder(bench)))}")
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
