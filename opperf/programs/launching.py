"""The processes of a program: their names, devices, cores and environment variables, how they
are started and ended, in what environment, and what of them is observed without changing them."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Literal, NamedTuple, get_args

import msgspec

from opperf.errors import UnsupportedError, UsageError, WorkerError, one_line, unknown
from opperf.machine.environment import environment
from opperf.machine.gpus import VISIBLE_DEVICES, visible_gpus
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.machine.pinning import choose_cpus
from opperf.machine.topology import physical_cores
from opperf.matching import BoundedPattern
from opperf.model import (
    PROGRAM,
    Environment,
    NodeWords,
    ScriptTarget,
    Settings,
    Struct,
    with_address,
)
from opperf.plurals import pluralize
from opperf.processes.children import Child, Mark
from opperf.processes.commands import HOST, free_port, run_command

Kind = Literal["loader", "optimizer", "function", "line"]

KINDS: tuple[Kind, ...] = get_args(Kind)

GROUPS = ("rate", "loss", "step")
"""Named groups that a pattern may have."""

FORMS: dict[Kind, str] = {
    "loader": "loader:MODULE:NAME",
    "optimizer": "optimizer",
    "function": "function:MODULE:NAME",
    "line": "line:PATTERN",
}


class Part(NamedTuple):
    """A part of a program that is observed."""

    kind: Kind
    module: str = ""
    """`main` for the script."""
    name: str = ""
    """Name in the module, with attributes: `loader`, `Trainer.step`."""
    pattern: BoundedPattern | None = None
    """Of lines that the program prints."""


def parse_part(text: str) -> Part:
    """Returns the part that a text names. Raises `UsageError`."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise unknown("part of a program", kind, FORMS.values())
    if kind == "line":
        return Part("line", pattern=_parse_pattern(text, rest))
    module, colon, name = rest.partition(":")
    if bool(rest) == (kind == "optimizer"):
        raise UsageError(f"{text!r} is not of the form {FORMS[kind]}")
    if rest and not (colon and _is_dotted(module) and _is_dotted(name)):
        raise UsageError(f"{text!r} is not of the form {FORMS[kind]}, with names of Python")
    return Part(kind, module, name)


def _is_dotted(text: str) -> bool:
    return all(map(str.isidentifier, text.split(".")))


def _parse_pattern(text: str, pattern: str) -> BoundedPattern:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}") from None
    if not pattern:
        raise UsageError(f"{text!r} is not of the form {FORMS['line']}")
    for group in compiled.groupindex:
        if group not in GROUPS:
            raise unknown("group of a pattern", group, GROUPS)
    return BoundedPattern(compiled)


LAUNCHER = Path(__file__).resolve().with_name("child") / "launcher.py"


class Place(NamedTuple):
    """A node among those of a program, and where its processes meet."""

    rank: int = 0
    """Of the node."""
    name: str = ""
    address: str = HOST
    """Of the node of rank 0."""
    port: int = 0
    """0 for any that is free, on a single node."""
    held: bool = False
    """Whether processes that have made their observations go on until `Programs.release`, as those
    of other nodes may wait for them."""


ALONE = Place()
"""That of a single node."""


class ProcessPlan(NamedTuple):
    """A process that is to be started."""

    name: str
    rank: int
    variables: dict[str, str]
    argv: tuple[str, ...] = ()
    """Arguments of the script."""
    cpus: tuple[int, ...] = ()
    """Cores that it is pinned to; empty for those of this process."""
    device: str = ""
    """GPU that it has alone, by index or UUID."""
    gpus: tuple[str, ...] = ()
    """GPUs that it sees."""
    node: str = ""


class ServerPlan(NamedTuple):
    """The server that the processes of a program are clients of."""

    words: tuple[str, ...]
    variables: dict[str, str]
    folder: str
    host: str
    port: int
    health: str = ""
    starts: bool = True
    """Whether it is started on this node, the first one of several."""

    def fill(self, word: str) -> str:
        """Returns a word with the server's address."""
        return with_address(word, self.host, self.port)


def plan_server(
    target: ScriptTarget, settings: Settings, place: Place, python: str
) -> ServerPlan | None:
    """Returns the server of a program, whose interpreter is `python`; None without one."""
    server = target.server
    if server is None:
        return None
    there = target.at_nodes.get(place.name) or NodeWords((), server.command)
    variables = {**_variables(settings), **target.variables, **settings.env, **there.variables}
    # Programs of its environment are found by their names.
    folders = (str(Path(python or sys.executable).parent), variables.get("PATH", os.defpath))
    plan = ServerPlan(
        there.server,
        {**variables, "PATH": os.pathsep.join(folders)},
        str(Path(target.script).resolve().parent),
        place.address,
        server.port or free_port(place.address),
        server.health,
        starts=place.rank == 0,
    )
    return plan._replace(words=tuple(map(plan.fill, plan.words)))


def process_count(method: str, number: int, gpus: Sequence[str], cpus: frozenset[int]) -> int:
    """Returns the number of processes of a program on a node of which it has these GPUs and cores:
    `number`, or one for each GPU, one without any, or for each physical core."""
    if method == "per_gpu":
        return max(1, len(gpus))
    if method == "per_core":
        return len(physical_cores(cpus))
    return number


def plan_processes(
    target: ScriptTarget,
    settings: Settings,
    place: Place,
    cpus: frozenset[int],
    server: ServerPlan | None = None,
) -> list[ProcessPlan]:
    """Returns the processes of a program on this node, clients of a server. Raises
    `UnsupportedError` if the node lacks GPUs or cores for them, or is one of several without an
    address."""
    if target.nodes > 1 and not place.port:
        raise UnsupportedError(
            f"needs {pluralize(target.nodes, 'node')}, and this is one; run it with --executor ray "
            "on a cluster"
        )
    words = target.at_nodes.get(place.name) or NodeWords(target.argv)
    shared = {**_variables(settings), **target.variables, **settings.env, **words.variables}
    gpus = visible_gpus(shared)
    count = target.processes
    # A single process can do without, on the CPU.
    if target.method == "per_gpu" and len(gpus) < count and count > 1:
        raise UnsupportedError(f"needs {pluralize(count, 'GPU')}, and there are {len(gpus)}")
    if target.method == "per_core" and len(cpus) < count:
        raise UnsupportedError(f"needs {pluralize(count, 'core')}, and there are {len(cpus)}")
    cores = sorted(choose_cpus(count, cpus) if target.method == "per_core" else (), reverse=True)
    port = place.port or free_port()
    # Streams of all nodes are in one folder.
    node = f"{place.rank}." if target.nodes > 1 else ""
    plans = []
    for local in range(count):
        variables = {**shared, **_ranks(target, place, port, local)}
        plan = ProcessPlan(
            f"{node}{local}",
            place.rank * count + local,
            variables,
            words.argv if server is None else tuple(map(server.fill, words.argv)),
            tuple(sorted(cpus)),
            gpus=gpus,
            node=place.name if target.nodes > 1 else "",
        )
        if target.method == "per_gpu" and gpus:
            own = gpus[local]
            variables[VISIBLE_DEVICES] = own
            if "LOCAL_RANK" in variables:
                # The index of its GPU among those that it sees.
                variables["LOCAL_RANK"] = "0"
            plan = plan._replace(name=f"{node}D{own}", device=own, gpus=(own,))
        elif target.method == "per_core":
            plan = plan._replace(name=f"{node}C{cores[local]}", cpus=(cores[local],))
        plans.append(plan)
    return plans


def _variables(settings: Settings) -> dict[str, str]:
    variables = dict(os.environ)
    if settings.threads is not None:
        variables.update(dict.fromkeys(THREAD_VARIABLES, str(settings.threads)))
    # A line that waits in a buffer is seen too late, or never.
    return {**variables, "PYTHONUNBUFFERED": "1"}


def _ranks(target: ScriptTarget, place: Place, port: int, local: int) -> dict[str, str]:
    """Returns the variables of a process among several, as torchrun has them; none of one that is
    alone, which would otherwise wait for others."""
    world = target.nodes * target.processes
    if world == 1:
        return {}
    return {
        "RANK": str(place.rank * target.processes + local),
        "LOCAL_RANK": str(local),
        "GROUP_RANK": str(place.rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(target.processes),
        "MASTER_ADDR": place.address,
        "MASTER_PORT": str(port),
    }


class HookOptions(Struct, frozen=True):
    """The options of a process's own observing, for `child/launcher.py`."""

    observe: tuple[tuple[str, str, str], ...]
    """Kind, module and name of each part."""
    voir: str = ""
    """Path of a file with voir's options; empty without voir."""
    voirfiles: tuple[str, ...] = ()
    control: int = -1
    """Descriptor on which a byte stops the program."""
    cpus: tuple[int, ...] = ()


def start_process(
    plan: ProcessPlan, target: ScriptTarget, python: str, options: HookOptions, mark: Mark
) -> tuple[Child, int, int]:
    """Starts a process, and returns it with the descriptors of its data and of its control, on
    which a byte stops the program. Raises `OSError`."""
    data, child_data = os.pipe()
    child_control, control = os.pipe()
    script = Path(target.script).resolve()
    files = filter(None, target.voirfile.split(os.pathsep))
    told = msgspec.structs.replace(
        options,
        control=child_control,
        cpus=plan.cpus,
        voirfiles=tuple(str(Path(file).resolve()) for file in files),
    )
    words = (msgspec.json.encode(told).decode(), str(script), *plan.argv)
    command = [python or sys.executable, str(LAUNCHER), *words]
    variables = mark.variables({**plan.variables, "DATA_FD": str(child_data)})
    ends = (child_data, child_control)
    try:
        process = Child(
            command, variables, stdout=PIPE, stderr=PIPE, cwd=script.parent, pass_fds=ends
        )
    except OSError:
        os.close(data)
        os.close(control)
        raise
    finally:
        os.close(child_data)
        os.close(child_control)
    return process, data, control


TIMEOUT_S = 60.0
"""Limit on the start of an interpreter: it may be on a cold network disk."""


@functools.cache
def read_versions(python: str) -> dict[str, str]:
    """Returns the versions of an interpreter and its packages. Raises `WorkerError`."""
    done = run_command([python, str(LAUNCHER), "--versions"], timeout_s=TIMEOUT_S)
    try:
        versions: dict[str, str] = {} if done.problem else json.loads(done.output)
    except ValueError as error:
        done = done._replace(problem=f"printed no versions: {error}")
    if done.problem:
        said = one_line(done.errors or f"it {done.problem}")
        raise WorkerError(
            f"{python} cannot run programs: {said}; check that it is a Python interpreter"
        )
    return versions


def program_environment(python: str = "") -> Environment:
    """Returns the environment of programs that an interpreter runs, opperf's own if it is empty.
    Raises `WorkerError` if it cannot be run."""
    versions = read_versions(python or sys.executable)
    # In place of a framework's.
    build = SimpleNamespace(versions=lambda: versions, features=dict, commit=str)
    processes = SimpleNamespace(variables=(VISIBLE_DEVICES,), threads=lambda: None)
    facts = SimpleNamespace(name=PROGRAM, build=build, processes=processes, devices=tuple)
    found = environment(facts)
    return msgspec.structs.replace(found, python=versions["python"])
