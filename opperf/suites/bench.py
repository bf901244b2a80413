"""A bench of a suite file, resolved: no inheritance, matrix or reference is left in it.

Folders that define a bench: the script, what is installed for it, and the settings of its
`benchfile.py`, which is read and never run.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, Literal, NamedTuple

from opperf.environments.specification import EnvironmentSpec
from opperf.model import Struct
from opperf.reading import read_text

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


SCRIPT, BENCHFILE, SUFFIX = "main.py", "benchfile.py", ".py"

MAIN = "main_script"
"""Setting of a benchfile with another name of the script."""


class Definition(NamedTuple):
    """A definition on this machine."""

    path: str
    """The folder, or the script where it is one or has another name than `main.py`."""
    folder: str
    benchfile: dict[str, Any]
    """Constants of the class in the benchfile, by name."""
    problem: str = ""
    """Why it cannot be run; empty if it can."""


def read_definition(path: Path) -> Definition:
    """Returns the definition at a path: a folder, or a script."""
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        return Definition(str(path), str(path), {}, f"{path}: no such file or folder")
    if path.is_file():
        return Definition(str(path), str(folder), {})
    settings = _settings(folder / BENCHFILE)
    named = settings.get(MAIN)
    script = folder / (named if isinstance(named, str) and named else SCRIPT)
    is_usual = script.name == SCRIPT and script.parent == folder
    problem = "" if script.is_file() else f"{script}: no such script"
    return Definition(str(folder if is_usual else script), str(folder), settings, problem)


def folder_of_script(bench: Bench) -> Path:
    """Returns the folder of the definition of a script."""
    path = Path(bench.content[0])
    # What is not there is taken for a folder, unless it is named like a script.
    if not (path.is_file() or path.suffix == SUFFIX):
        return path
    named = bench.benchfile.get(MAIN)
    # The script may be in a folder below.
    depth = len(Path(named).parts) if isinstance(named, str) and named else 1
    return path.parents[depth - 1]


def _settings(file: Path) -> dict[str, Any]:
    """Returns the constants of the classes in a benchfile; none of what is no Python."""
    try:
        tree = ast.parse(read_text(file))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        # Without it, a folder is what its files' names say.
        return {}
    found: dict[str, Any] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.ClassDef):
            continue
        for inner in statement.body:
            if isinstance(inner, ast.Assign):
                target, value = inner.targets[0], inner.value
            elif isinstance(inner, ast.AnnAssign) and inner.value:
                target, value = inner.target, inner.value
            else:
                continue
            if not isinstance(target, ast.Name):
                continue
            try:
                found[target.id] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                # A value that the code computes is none that a file says.
                continue
    return found
