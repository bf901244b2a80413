"""A bench of a suite file, resolved: no inheritance, matrix or reference is left in it."""

from __future__ import annotations

from typing import Any, Literal

from opperf.environments.specification import EnvironmentSpec
from opperf.model import Struct

Method = Literal["njobs", "per_gpu", "per_core"]

Workload = Literal[
    "script", "operators", "configuration", "recording", "trace", "snippets", "model"
]
"""The kind of a bench: of `script` it has `definition`, of another one the key of that name."""


class Location(Struct, frozen=True):
    """Where a value of a suite file is from."""

    file: str
    line: int
    """From 1; 0 of the command line and of environment variables."""
    key: str = ""
    """Path of keys in the file, `resnet50.argv.--lr`."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}" if self.key else place


class Plan(Struct, frozen=True):
    """How many processes of a bench run at once on a machine, and on what."""

    method: Method = "njobs"
    n: int = 1
    """Number of processes of `njobs`; the others have one for each GPU or core."""


class Voir(Struct, frozen=True):
    """When a program's steps are counted and when it is stopped."""

    stop: int = 60
    """Observations after the warm-up."""
    interval_s: float = 1.0
    """Seconds between samples of the machine."""
    skip: int = 0
    """Observations that are omitted before the warm-up is looked for."""
    others: dict[str, Any] = {}
    """Further options of voir, as the file has them."""


class Usage(Struct, frozen=True):
    """Least mean use of each GPU, as shares; None for any."""

    load: float | None = None
    memory: float | None = None


class Server(Struct, frozen=True):
    """A program that a bench's script is a client of."""

    command: tuple[str, ...]
    """Words of its command line, before those of `server_argv`."""
    port: int = 0
    """Where it listens; 0 for any that is free."""
    health: str = ""
    """Path that answers once it is ready; empty if it is when it accepts connections."""


class Bench(Struct, frozen=True):
    """A bench."""

    name: str
    workload: Workload
    content: tuple[str, ...] = ()
    """Operators, models, or paths of files; of a script the path of its folder or file."""
    group: str = ""
    tags: tuple[str, ...] = ()
    enabled: bool = True
    weight: float = 1.0
    argv: tuple[str, ...] = ()
    client_argv: tuple[str, ...] = ()
    server_argv: tuple[str, ...] = ()
    """Words of the command line, placeholders replaced."""
    server: Server | None = None
    """The program that is started first; None for a script that starts its server itself."""
    plan: Plan = Plan()
    num_machines: int = 1
    max_duration_s: float | None = None
    requires_capabilities: tuple[str, ...] = ()
    """Expressions on the system, each true where the bench can run."""
    env: EnvironmentSpec = EnvironmentSpec()
    dirs: dict[str, str] = {}
    """Folders that are not the usual ones, by `FOLDERS` of `placeholders`."""
    voir: Voir = Voir()
    usage: Usage = Usage()
    observe: tuple[str, ...] = ()
    """Parts of the program that are observed without voir: `loader:module:NAME`, `optimizer`,
    `function:module:NAME`, `line:PATTERN`."""
    settings: dict[str, tuple[str, ...]] = {}
    """Options of `opperf run` for what is not a script, by setting: `dtype`, `mode` ..."""
    sizes: dict[str, int] = {}
    """Those that `auto_batch` and `auto` gave: `batch_size`, and `cpu`, the number of workers."""
    point: dict[str, Any] = {}
    """Values of the matrix, by key; empty without one."""
    matrix: str = ""
    """Name of the matrix that it is a job of."""
    templates: tuple[str, ...] = ()
    """Names that it inherits from, the nearest first."""
    locations: dict[str, Location] = {}
    """By path of keys within the bench, where the value is from."""
    benchfile: dict[str, Any] = {}
    """Constants of the class in its folder's `benchfile.py`: `main_script`, `prepare_script` ..."""
    others: dict[str, Any] = {}
    """Keys that opperf does not use, as the file has them."""
