"""Commands that run a bench alone, to be pasted into a shell, and the words of a script's."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from opperf.environments.building import find_environment
from opperf.environments.specification import EnvironmentSpec
from opperf.machine.gpu_use import VISIBLE_DEVICES
from opperf.model import DECLARED, NodeWords, with_address
from opperf.processes.commands import HOST
from opperf.suites.bench import SCRIPT, Bench, folder_of_script
from opperf.suites.system import System


def words_of(bench: Bench) -> NodeWords:
    """Returns the words of a script's command lines, and the variables of its bench. One that has
    arguments of a server and no command of it starts that itself, as milabench's do: it has those
    of the server, `--`, and those of the client."""
    if bench.server is None and bench.server_argv:
        return NodeWords(
            (*bench.argv, *bench.server_argv, "--", *bench.client_argv), (), bench.env.variables
        )
    server = () if bench.server is None else (*bench.server.command, *bench.server_argv)
    return NodeWords((*bench.argv, *bench.client_argv), server, bench.env.variables)


USUAL_PORT = 8000
"""Of a server that may have any, so that the command can be pasted."""

OPTIONS = {
    "framework": "--framework",
    "size": "--size",
    "max_configs": "--max-configs",
    "batch_size": "--batch-size",
}
"""Options of `opperf run` and `opperf experiment` for keys of `settings` that are no setting."""


def commands_of(bench: Bench, system: System, environment: EnvironmentSpec) -> list[str]:
    """Returns what runs a bench in its environment: a process of a script, of several the first;
    for what is no script a command of opperf for each framework."""
    if bench.workload == "script":
        return list(_script(bench, system, environment))
    return list(_opperf(bench, environment))


def _script(bench: Bench, system: System, environment: EnvironmentSpec) -> Iterator[str]:
    path = Path(bench.content[0])
    script = path / SCRIPT if folder_of_script(bench) == path else path
    found = None if environment.is_own else find_environment(environment)
    python = "python" if found is None else str(found.python)
    variables = dict(bench.env.variables)
    if bench.plan.method == "per_gpu" and system.gpu_count:
        variables[VISIBLE_DEVICES] = "0"
    before = f"cd {shlex.quote(str(script.parent))} && {_assigned(variables)}"
    words = words_of(bench)
    if bench.server is None:
        yield f"{before}{shlex.join([python, script.name, *words.argv])}"
        return
    port = bench.server.port or USUAL_PORT
    for line in (words.server, (python, script.name, *words.argv)):
        yield before + shlex.join(with_address(word, HOST, port) for word in line)


def _assigned(variables: dict[str, str]) -> str:
    return "".join(f"{name}={shlex.quote(value)} " for name, value in variables.items())


def _opperf(bench: Bench, environment: EnvironmentSpec) -> Iterator[str]:
    is_model = bench.workload == "model"
    frameworks = bench.settings.get("framework") or ("",)
    settings = {key: ",".join(values) for key, values in bench.settings.items()}
    # `opperf experiment` takes several frameworks, `opperf run` one.
    for framework in (",".join(frameworks),) if is_model else frameworks:
        own = {**settings, "framework": framework}
        options = [
            word
            for key, value in own.items()
            if value
            for word in (OPTIONS.get(key) or _option(key), value)
        ]
        if bench.max_duration_s is not None:
            options += ["--timeout", f"{bench.max_duration_s:g}"]
        if not environment.is_own:
            options += ["--with", environment.text]
        content = map(_near, bench.content)
        words = ["opperf", "experiment" if is_model else "run", *content, *options]
        yield _assigned(bench.env.variables) + shlex.join(words)


def _near(word: str) -> str:
    """Returns a path below this folder relative to it, and any other word as it is."""
    path = Path(word)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else word


def _option(key: str) -> str:
    return DECLARED[key].option if key in DECLARED else f"--{key.replace('_', '-')}"
