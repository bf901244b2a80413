"""The system that a suite runs on: architecture, nodes, GPUs, folders, and milabench's options,
by a file, the environment and the command line; and its capabilities, which
`requires_capabilities` of benches ask for."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import UsageError, suggest, unknown
from opperf.folders import cache_folder
from opperf.model import Struct
from opperf.suites.bench import Bench
from opperf.suites.expressions import FUNCTIONS, check, evaluate
from opperf.suites.reading import Node, kind_of, parse, read_text
from opperf.suites.references import References

SYSTEM = "system"

PREFIX = "MILABENCH_"
"""Begin of environment variables that set options: `MILABENCH_CPU_MAX` sets `cpu.max`."""


class Option(NamedTuple):
    """An option of the system."""

    kind: type
    default: Any = None


OPTIONS: dict[str, Option] = {
    "arch": Option(str),
    "base": Option(str),
    "sshkey": Option(str),
    "gpu.count": Option(int),
    "gpu.capacity": Option(str),
    "cpu.enabled": Option(bool, False),
    "cpu.total_count": Option(int),
    "cpu.max": Option(int, 16),
    "cpu.min": Option(int, 2),
    "cpu.reserved_cores": Option(int, 0),
    "cpu.n_workers": Option(int),
    "sizer.auto": Option(bool, False),
    "sizer.optimized": Option(bool, False),
    "sizer.batch_size": Option(int),
    "sizer.mult": Option(float),
    "sizer.add": Option(int),
    "sizer.multiple": Option(int),
    "sizer.power": Option(int),
    "sizer.capacity": Option(str),
    "sizer.config": Option(str),
    "sizer.save": Option(str),
    "torchrun.port": Option(int, 29400),
    "torchrun.backend": Option(str, "c10d"),
}
"""Options that opperf uses, by their paths, and milabench's defaults."""

SPELLINGS = {**{path: path for path in OPTIONS}, "cpu.auto": "cpu.enabled"}
"""Paths of options as files and variables have them, those of older files too, and as `OPTIONS`
has them."""

DEVICES = {"cuda": "cuda", "rocm": "cuda", "xpu": "xpu", "hpu": "hpu"}
"""PyTorch's name of an architecture's devices; of others the processor's."""

COLLECTIVES = {"cuda": "nccl", "rocm": "rccl", "xpu": "ccl", "hpu": "hccl"}
"""Library of collective operations by architecture; of others gloo."""


class SystemNode(Struct, frozen=True):
    """A machine of the system."""

    name: str
    ip: str = ""
    user: str = ""
    port: int | None = None
    main: bool = False


class System(Struct, frozen=True):
    """The system that benches run on."""

    arch: str = "cpu"
    cpu_count: int = 1
    gpu_count: int = 0
    gpu_capacity: str = ""
    nodes: tuple[SystemNode, ...] = (SystemNode("local"),)
    sshkey: str = ""
    base: str = ""
    """Folder that the folders of data, caches and outputs are in."""
    options: dict[str, Any] = {}
    """Values of `OPTIONS` by their paths, defaults too."""
    others: dict[str, Any] = {}
    """Keys of the file that opperf does not use here."""
    capabilities: dict[str, Any] = {}
    """Values that the command line sets, by names that expressions know."""

    def names(self) -> dict[str, Any]:
        """Returns what expressions of `requires_capabilities` know."""
        return {
            **self.others,
            "arch": self.arch,
            "nodes": list(map(msgspec.structs.asdict, self.nodes)),
            "gpu": {"count": self.gpu_count, "capacity": self.gpu_capacity},
            "cpu": {"count": self.cpu_count},
        }


class Machine(NamedTuple):
    """The machine of this process, read once; a value of a test's own stands for another."""

    cpu_count: int
    gpu_count: int
    gpu_bytes: int = 0
    """Memory of the smallest GPU."""


@functools.cache
def this_machine() -> Machine:
    """Returns the machine of this process: usable cores, and NVIDIA's GPUs that it sees."""
    from opperf.machine.gpus import gpu_facts, visible_gpus
    from opperf.machine.kernel import usable_cpus

    gpus = gpu_facts()
    sizes = [int(facts["memory_bytes"]) for facts in gpus if "memory_bytes" in facts]
    # A variable may list more than there are.
    count = min(len(gpus), len(visible_gpus(os.environ)))
    return Machine(len(usable_cpus()), count, min(sizes, default=0) if count else 0)


def read_system(
    file: Path | None,
    variables: Mapping[str, str],
    overrides: Mapping[str, Node],
    base: Path | None = None,
    machine: Machine | None = None,
) -> System:
    """Returns the system by its file, over that by the environment, over that by the command line
    (`overrides`, by paths below `system`). Raises `UsageError` for values of another type."""
    content = {} if file is None else _read(file, variables)
    found = machine or this_machine()
    values = {path: option.default for path, option in OPTIONS.items()}
    values["arch"] = "cuda" if found.gpu_count else "cpu"
    values["gpu.count"] = found.gpu_count
    values["gpu.capacity"] = f"{found.gpu_bytes / 2**20:.0f} MiB" if found.gpu_bytes else None
    values["base"] = str(cache_folder() / "suites")
    values.update(_by_path(content))
    values.update(_of_environment(variables))
    for path, node in overrides.items():
        short = option_named(path.removeprefix("options."), str(node.at))
        values[short] = typed(short, node.content, str(node.at))
    if base is not None:
        values["base"] = str(base)
    nodes = tuple(_nodes(content["nodes"])) if "nodes" in content else ()
    own = {"nodes", "options", *(path.partition(".")[0] for path in OPTIONS)}
    return System(
        arch=values["arch"],
        cpu_count=max(
            1, (values["cpu.total_count"] or found.cpu_count) - values["cpu.reserved_cores"]
        ),
        gpu_count=values["gpu.count"],
        gpu_capacity=values["gpu.capacity"] or "",
        nodes=nodes or (SystemNode("local"),),
        sshkey=values["sshkey"] or "",
        base=os.path.abspath(os.path.expanduser(values["base"])),  # noqa: PTH100, PTH111
        options=values,
        others={key: node.plain() for key, node in content.items() if key not in own},
    )


def option_named(path: str, at: str) -> str:
    """Returns an option as `OPTIONS` has it. Raises `UsageError` for a path of none."""
    if path not in SPELLINGS:
        raise UsageError(f"{at}: unknown option {path}{suggest(path, SPELLINGS)}")
    return SPELLINGS[path]


def _read(file: Path, variables: Mapping[str, str]) -> dict[str, Node]:
    root = parse(read_text(str(file)), str(file))
    if not isinstance(root.content, dict):
        raise UsageError(f"{file}: a system is a mapping, and this is {kind_of(root)}")
    tops = root.entries() if SYSTEM in root.entries() else {SYSTEM: root}
    references = References(tops.get, lambda: list(tops), variables)
    node = references.resolve(SYSTEM, tops[SYSTEM])
    if not isinstance(node.content, dict):
        raise UsageError(f"{node.at}: a system is a mapping, and this is {kind_of(node)}")
    return node.entries()


def _by_path(content: Mapping[str, Node]) -> Iterator[tuple[str, Any]]:
    """Yields the options of a file: in `options`, or beside it."""
    options = content.get("options")
    nested = [content] if options is None else [content, options.entries()]
    for spelt, path in SPELLINGS.items():
        for entries in nested:
            first, _, second = spelt.partition(".")
            node = entries.get(first)
            if node is not None and second:
                node = node.entries().get(second)
            if node is not None and node.content is not None:
                yield path, typed(path, node.content, str(node.at))


def _of_environment(variables: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for spelt, path in SPELLINGS.items():
        name = PREFIX + spelt.replace(".", "_").upper()
        if variables.get(name):
            yield path, typed(path, parse(variables[name], name).plain(), name)


def typed(path: str, value: Any, at: str) -> Any:
    """Returns the value of an option as its type. Raises `UsageError` for one of another."""
    kind = OPTIONS[path].kind
    is_flag = isinstance(value, bool)
    if kind is bool and (is_flag or value in (0, 1)):
        return bool(value)
    if kind is str and not isinstance(value, (dict, list)) and value is not None:
        return str(value)
    if kind in (int, float) and not is_flag and isinstance(value, (int, float)):
        number = kind(value)
        if number == value and (number >= 0 or path == "sizer.add"):
            return number
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
    raise UsageError(f"{at}: {path} is {names[kind]}, and {value!r} is not")


def _nodes(node: Node) -> Iterator[SystemNode]:
    if not isinstance(node.content, list):
        raise UsageError(f"{node.at}: nodes are a list, and this is {kind_of(node)}")
    names: set[str] = set()
    for element in node.elements():
        entries = {key: value.content for key, value in element.entries().items()}
        missing = [key for key in ("name", "ip", "user") if not isinstance(entries.get(key), str)]
        if missing:
            raise UsageError(
                f"{element.at}: a node has name, ip and user; missing: {', '.join(missing)}"
            )
        port = entries.get("port")
        if port is not None and (not isinstance(port, int) or not 0 < port < 65536):
            raise UsageError(f"{element.at}: port is a number from 1 to 65535, and {port!r} is not")
        if entries["name"] in names:
            raise UsageError(f"{element.at}: two nodes are called {entries['name']}")
        names.add(entries["name"])
        main = bool(entries.get("main"))
        yield SystemNode(entries["name"], entries["ip"], entries["user"], port, main)


OPTION = "--capabilities"


def read_capabilities(texts: Iterable[str]) -> dict[str, Any]:
    """Returns the values of a command line's `NAME=VALUE,...`, which are YAML, by their names.
    Raises `UsageError` for what is no assignment."""
    found: dict[str, Any] = {}
    for text in texts:
        for assignment in text.split(","):
            name, equals, value = (part.strip() for part in assignment.partition("="))
            words = name.split(".")
            if not equals or not value or not all(map(str.isidentifier, words)):
                raise UsageError(f"{OPTION} {text}: write NAME=VALUE, such as nodes=2")
            found[name] = parse(value, f"{OPTION} {assignment}").plain()
    return found


def capabilities_of(system: System) -> dict[str, Any]:
    """Returns what expressions know of a system, by name. A number that is given for a list, as
    that of nodes, is its length."""
    found = system.names()
    for path, value in system.capabilities.items():
        *outer, last = path.split(".")
        inside = found
        for word in outer:
            own = inside.get(word)
            inside[word] = dict(own) if isinstance(own, dict) else {}
            inside = inside[word]
        listed = inside.get(last)
        if isinstance(listed, list) and isinstance(value, int) and not isinstance(value, bool):
            value = [*listed[:value], *({} for _ in range(value - len(listed)))]
        inside[last] = value
    return found


def check_capabilities(system: System, benches: Iterable[Bench]) -> None:
    """Raises `UsageError` for a capability that neither the system nor an expression has."""
    known = {*system.names()}
    for bench in benches:
        for expression in bench.requires_capabilities:
            words = {node.id for node in ast.walk(check(expression)) if isinstance(node, ast.Name)}
            known |= words - FUNCTIONS.keys()
    for path in system.capabilities:
        name = path.partition(".")[0]
        if name not in known:
            raise unknown("capability", name, sorted(known))


def obstacles(bench: Bench, system: System) -> list[str]:
    """Returns why a bench cannot run on a system, by its `requires_capabilities`. Raises
    `UsageError`, with the place, for an expression that fails."""
    names = capabilities_of(system)
    found = []
    for expression in bench.requires_capabilities:
        try:
            holds = evaluate(expression, names)
        except UsageError as error:
            at = bench.locations.get("requires_capabilities", bench.name)
            raise UsageError(f"{at}: {error}") from error
        if not holds:
            found.append(f"{expression} does not hold on this system")
    return found
