"""The facts of an environment: how each is read, shown and compared. An `Environment` has a field
of the same name for each."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from itertools import filterfalse
from typing import Any, NamedTuple, Protocol

import msgspec
import psutil

import opperf
from opperf.machine.gpus import gpu_facts
from opperf.machine.health import examine, processor
from opperf.machine.kept_peaks import kept
from opperf.machine.kernel import (
    Machine,
    Unreadable,
    format_cpus,
    named_cpus,
    parse_cpus,
    read_text,
    this_machine,
)
from opperf.machine.topology import caches, cpu_model
from opperf.model import Environment
from opperf.model.declaring import ID_LENGTH, digest
from opperf.plurals import pluralize

ABSENT = "absent"

GIB = 2**30


class MeasuredBuild(Protocol):
    """The facts of a framework's build that an environment has."""

    def versions(self) -> dict[str, str]: ...  # noqa: D102

    def features(self) -> dict[str, bool]: ...  # noqa: D102

    def commit(self) -> str: ...  # noqa: D102


class MeasuredProcesses(Protocol):
    """The facts of a framework's processes that an environment has."""

    variables: tuple[str, ...]

    def threads(self) -> int | None: ...  # noqa: D102


class MeasuredFramework(Protocol):
    """The facts of a framework that an environment has."""

    name: str

    @property
    def build(self) -> MeasuredBuild: ...  # noqa: D102

    @property
    def processes(self) -> MeasuredProcesses: ...  # noqa: D102

    def devices(self) -> tuple[str, ...]: ...  # noqa: D102


class Process(NamedTuple):
    """A process that measures, on its machine."""

    framework: MeasuredFramework
    machine: Machine
    """With all cores that opperf may use, not only those that the process is pinned to."""
    cpus: str
    """Those that the process may run on, as a list; empty if it may use all."""
    allocator: str


class Fact(NamedTuple):
    """A fact of an environment."""

    name: str
    read: Callable[[Process], Any]
    title: str = ""
    """Its label in reports; empty if another fact's text has it."""
    text: Callable[[Environment], str] | None = None
    """Its text in reports; without it, the value is the text."""
    is_transient: bool = False
    """Whether a difference means nothing: it changes from moment to moment, or lists what is
    available and not what is used."""
    key: Callable[[Environment], Any] | None = None
    """Returns its part of the comparability key; None if it has none."""
    tolerance: float = 0.0
    of_build: bool = False
    """Whether it differs from one build of the framework to the next."""
    is_compared: bool = True
    """Whether a difference is one of environments: not of what was measured of the same machine."""


def _read_threads(process: Process) -> dict[str, str]:
    settings = process.machine.settings.items()
    threads = {name: value for name, value in settings if value is not None}
    count = process.framework.processes.threads()
    return threads if count is None else {**threads, "compute threads": str(count)}


def _read_governor(process: Process) -> str:
    reading = examine.take_reading(processor.governor, process.machine)
    return "unknown" if reading.level == "unknown" else reading.state


def _list_text(values: Mapping[str, str | int], form: str) -> str:
    return ", ".join(form.format(name, value) for name, value in values.items())


def count_cpus(environment: Environment) -> int:
    """Returns the number of cores that a process may run on."""
    return len(parse_cpus(environment.cpus)) or environment.cores


FACTS = (
    Fact(
        "framework",
        lambda process: process.framework.name,
        "Framework",
        key=lambda of: of.framework,
    ),
    Fact(
        "versions",
        lambda process: process.framework.build.versions(),
        "Versions",
        lambda of: _list_text(of.versions, "{} {}"),
        key=lambda of: of.versions.get(of.framework, ""),
        of_build=True,
    ),
    Fact(
        "commit",
        lambda process: process.framework.build.commit(),
        "Commit",
        key=lambda of: of.commit,
        of_build=True,
    ),
    Fact(
        "features",
        lambda process: process.framework.build.features(),
        key=lambda of: of.features,
        of_build=True,
    ),
    Fact(
        "devices",
        lambda process: process.framework.devices(),
        "Devices",
        lambda of: ", ".join(of.devices),
        is_transient=True,
    ),
    Fact(
        "gpus",
        lambda process: gpu_facts(),
        "GPUs",
        lambda of: "; ".join(" ".join(gpu.values()) for gpu in of.gpus),
        key=lambda of: [(gpu.get("model"), gpu.get("driver")) for gpu in of.gpus],
    ),
    Fact(
        "cpu",
        lambda process: cpu_model(),
        "CPU",
        lambda of: f"{of.cpu}, {pluralize(of.cores, 'core')}",
        key=lambda of: of.cpu,
    ),
    Fact(
        "caches",
        lambda process: {cache.name: cache.size for cache in caches()},
        "Caches",
        lambda of: _list_text(of.caches, "{} {}"),
    ),
    Fact("cores", lambda process: len(process.machine.cpus)),
    Fact("cpus", lambda process: process.cpus, "Pinned to cores", key=count_cpus),
    Fact("hostname", lambda process: socket.gethostname()),
    Fact(
        "threads",
        _read_threads,
        "Thread settings",
        lambda of: _list_text(of.threads, "{}={}"),
        key=lambda of: of.threads,
    ),
    Fact("governor", _read_governor, "Governor", key=lambda of: of.governor),
    Fact(
        "health",
        lambda process: examine.short_form(process.machine),
        "Health",
        lambda of: ", ".join(f"{k.replace('_', ' ')}: {v}" for k, v in of.health.items()),
    ),
    Fact(
        "load_1min",
        lambda process: round(psutil.getloadavg()[0], 2),
        "Load at the start",
        lambda of: f"{of.load_1min:.2f}",
        is_transient=True,
        # It is never the same twice.
        tolerance=0.5,
    ),
    Fact("allocator", lambda process: process.allocator, "Allocator"),
    Fact(
        "memory_bytes",
        lambda process: psutil.virtual_memory().total,
        "Memory",
        lambda of: f"{of.memory_bytes / GIB:.1f} GiB",
    ),
    Fact("peaks", lambda process: kept(process.machine.cpus).peaks, is_compared=False),
    Fact("python", lambda process: platform.python_version(), "Python"),
    Fact("platform", lambda process: platform.platform(), "Platform"),
    Fact("opperf", lambda process: opperf.__version__, "opperf"),
)
"""In the order of comparisons: the build, the machine, the quality of the measurement."""

BY_NAME = {fact.name: fact for fact in FACTS}

SHOWN = (
    *("opperf", "framework", "versions", "python", "platform", "commit", "cpu", "cpus", "caches"),
    *("gpus", "memory_bytes", "threads", "governor", "load_1min", "health", "allocator"),
    "devices",
)
"""Facts in the order of reports of a run."""


def list_cpus(machine: Machine) -> str:
    """Returns the cores that this process may run on, as a list; empty if it may use all."""
    try:
        online = parse_cpus(read_text(machine.cpu_folder / "online"))
    except (Unreadable, ValueError):
        online = machine.cpus
    return "" if machine.cpus >= online else format_cpus(machine.cpus)


def environment(framework: MeasuredFramework, allocator: str = "") -> Environment:
    """Returns the environment of this process. `allocator` are the settings of its heap."""
    machine = this_machine(framework.processes.variables)
    usable = named_cpus() or machine.cpus
    process = Process(framework, machine._replace(cpus=usable), list_cpus(machine), allocator)
    return Environment(**{fact.name: fact.read(process) for fact in FACTS})


def environment_texts(environment: Environment) -> list[tuple[str, str]]:
    """Returns the label and the text of each fact that reports show."""
    facts = (BY_NAME[name] for name in SHOWN)
    return [
        (fact.title, fact.text(environment) if fact.text else getattr(environment, fact.name))
        for fact in facts
    ]


def machine_text(environment: Environment) -> str:
    """Returns a machine in some words: its name, processor, cores and GPUs."""
    cpu = f"{environment.cpu}, {pluralize(environment.cores, 'core')}"
    return ", ".join(filter(None, [environment.hostname, cpu, gpus_text(environment.gpus)]))


def gpus_text(gpus: Sequence[Mapping[str, str]]) -> str:
    """Returns the models of GPUs, each with its number."""
    models = [gpu.get("model", "GPU") for gpu in gpus]
    return ", ".join(f"{models.count(name)} {name}" for name in dict.fromkeys(models))


def _comparable_facts(environment: Environment) -> dict[str, Any]:
    return {fact.name: fact.key(environment) for fact in FACTS if fact.key is not None}


def comparability(environment: Environment, any_build: bool = False) -> str:
    """Returns a key that is the same for environments whose times may be joined; with `any_build`
    also for builds of a framework, where these are what is compared."""
    facts = _comparable_facts(environment)
    kept = {name: facts[name] for name in facts if not (any_build and BY_NAME[name].of_build)}
    return digest(kept)[:ID_LENGTH]


def incomparable_facts(one: Environment, other: Environment) -> tuple[str, ...]:
    """Returns the facts by which the comparability keys differ."""
    theirs = _comparable_facts(other)
    return tuple(name for name, part in _comparable_facts(one).items() if part != theirs[name])


class Difference(NamedTuple):
    """A fact in which two environments differ."""

    name: str
    """A key of a mapping is separate: `field.key`."""
    before: Any
    after: Any


def differences(one: Environment, other: Environment) -> list[Difference]:
    """Returns the facts that differ; of the health, checks that both have: versions differ."""
    return [
        difference
        for difference in _compare(msgspec.structs.asdict(one), msgspec.structs.asdict(other))
        if _fact(difference.name).is_compared
        and not (difference.name.startswith("health.") and ABSENT in difference[1:])
    ]


def incomparable(one: Environment, other: Environment) -> list[Difference]:
    """Returns the facts by which the comparability keys differ, as their parts of these."""
    return _compare(_comparable_facts(one), _comparable_facts(other))


def _compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    found = []
    for name, before in one.items():
        after = other[name]
        if isinstance(before, dict):
            found += [
                Difference(f"{name}.{key}", before.get(key, ABSENT), after.get(key, ABSENT))
                for key in dict.fromkeys([*before, *after])
            ]
        else:
            found.append(Difference(name, before, after))
    return [difference for difference in found if difference.before != difference.after]


def lasting_differences(one: Environment, other: Environment) -> list[Difference]:
    """Returns the differences that are not transient."""
    same_count = count_cpus(one) == count_cpus(other)
    return [
        difference
        for difference in differences(one, other)
        if not _fact(difference.name).is_transient
        and not _is_of_moment(difference)
        # Other cores of the same machine are no other environment; another number of them is.
        and not (difference.name == "cpus" and same_count)
    ]


def notable_differences(one: Environment, other: Environment) -> list[Difference]:
    """Returns the differences that are more than a fluctuation, the most important first."""
    found = filterfalse(_is_fluctuation, differences(one, other))
    return sorted(found, key=lambda difference: position(difference.name))


def _is_fluctuation(difference: Difference) -> bool:
    tolerance = _fact(difference.name).tolerance
    if tolerance:
        return bool(abs(difference.before - difference.after) < tolerance)
    quiet = "ok" in (difference.before, difference.after)
    return _is_of_moment(difference) and not quiet


def _is_of_moment(difference: Difference) -> bool:
    name, _, key = difference.name.partition(".")
    return name == "health" and key in examine.TRANSIENT


def position(name: str) -> int:
    """Returns the position of a difference's fact among all."""
    return FACTS.index(_fact(name))


def _fact(name: str) -> Fact:
    return BY_NAME[name.partition(".")[0]]
