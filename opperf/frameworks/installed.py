"""Facts about an installed package, found without importing it, and names that it may lack; and
the versions that opperf was run with, which `tools/check_versions.py` writes to `tested.json`."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from importlib.machinery import PathFinder
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import msgspec

from opperf.errors import UnsupportedError
from opperf.extras import install_command

UNKNOWN = "unknown"
"""Version of a package that is on the path but was not installed, such as one in a build folder."""


class CompilerDump(NamedTuple):
    """A dump of its programs that a compiler writes, if environment variables say so."""

    dump: str
    """Its kind, one of `DUMPS` of `opperf.execution.dumps`."""
    variables: Mapping[str, str]
    """With places for the folder, and for the variable's own value."""
    compiles: Callable[[str], bool] = bool
    """Whether it compiles in a mode."""


HLO = {"XLA_FLAGS": "{own} --xla_dump_to={folder} --xla_dump_hlo_as_text"}
"""Variables with which XLA writes its modules, whichever framework it compiles for."""


class Package(NamedTuple):
    """The package of a framework, declared in the module of its entry point."""

    name: str
    """Its name in `import`."""
    offers: str
    requirement: str
    """The argument of `pip install`, `opperf[EXTRA]` for an extra of opperf itself."""
    install_remark: str = ""
    """Remark on the command that installs it: an addition, and when it applies."""
    parts: tuple[str, ...] = ()
    """Other packages that types of its objects are from."""
    build_files: tuple[str, ...] = ("__init__.py",)
    """Glob patterns, in its folder, of files that differ between builds."""
    tested: tuple[str, str] | None = None
    """The oldest and the newest version that opperf has been tested with; of those that come with
    it, the table in `tested.py` has them."""
    below_python: tuple[int, int] | None = None
    """The first version of Python that it does not support."""
    variables: tuple[str, ...] = ()
    counting_variables: Mapping[str, str] = MappingProxyType({})
    """Environment variables with which calls take the same instructions each time."""
    allocates_in_parallel: bool = False
    """Whether its own threads allocate at the same time and often, as a compiler's do, and would
    wait for each other if all had the same heap."""
    compiles_ahead: bool = False
    """Whether another process can compile cases for that which measures them (`Modes`)."""
    dtype_options: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Options of the framework that a dtype needs, for the process that has it."""
    operator_options: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """The same of an operator, by its name."""
    fork_variables: Mapping[str, str] = MappingProxyType({})
    """Environment variables without which it starts threads as its process is forked: a child with
    a namespace of processes of its own cannot start any, and ends."""
    precise_options: Mapping[str, str] = MappingProxyType({})
    """Options by which it computes as precisely on a GPU as its dtypes are."""
    dumps: tuple[CompilerDump, ...] = ()
    """Graphs, modules and counters of its compilers."""
    successors: Mapping[str, str] = MappingProxyType({})
    """Names that operators have had in earlier versions, each with the operator in its place."""
    objects: Mapping[str, str] = MappingProxyType({})
    """Classes, as `module:name`, that stand for operators of other packages, by the operator."""
    obstacle: Callable[[], str] = str
    """Returns what prevents the import of an installed one, and how to fix it; else empty."""

    def untested(self, version: str) -> str:
        """Returns that a version is outside the tested ones; else empty."""
        if self.tested is None or version == UNKNOWN:
            return ""
        oldest, newest = self.tested
        if not _numbers(oldest) <= _numbers(version)[: len(_numbers(oldest))]:
            side = "older"
        elif not _numbers(version)[: len(_numbers(newest))] <= _numbers(newest):
            side = "newer"
        else:
            return ""
        return f"{version} is {side} than the tested versions, {oldest} to {newest}"

    def install_advice(self) -> str:
        """Returns the command that installs it, with the Python that it needs if need be."""
        command = install_command(self.requirement) + self.install_remark
        if self.below_python is None or sys.version_info < self.below_python:
            return command
        newest = ".".join(map(str, self.below_python))
        return f"{command}, with Python below {newest}"


def renamed(pairs: str) -> dict[str, str]:
    """Returns the successors of operators, written as `former=new`."""
    return dict(pair.split("=") for pair in pairs.split())


def _numbers(version: str) -> tuple[int, ...]:
    """Returns (2, 13, 0) of `2.13.0+cpu`."""
    return tuple(map(int, re.findall(r"\d+", re.match(r"[\d.]*", version)[0])))  # type: ignore[index]


def is_installed(package: str) -> bool:
    """Whether a package can be found on the path."""
    return _init_of(package) is not None


def package_version(package: str) -> str:
    """Returns the version of an installed package, from its distribution's metadata."""
    name = distribution_name(package)
    return metadata.version(name) if name else UNKNOWN


def distribution_name(package: str) -> str:
    """Returns the name of the distribution of an installed package; empty if it has none."""
    try:
        # First, as it takes a millisecond, and the files of all distributions a fifth of a second.
        return str(metadata.metadata(package)["Name"])
    except metadata.PackageNotFoundError:
        # A distribution may have another name than its package: mxnet-cu112.
        return next(iter(metadata.packages_distributions().get(package, ())), "")


def package_identity(package: str, files: Iterable[str] = ("__init__.py",)) -> str:
    """Returns a package's folder, and size and time of its files that match glob patterns and
    differ between builds. Raises `ImportError` if it is not installed."""
    init = _init_of(package)
    if init is None:
        raise ImportError(f"No module named {package!r}", name=package)
    folder = init.parent
    found = sorted(path for pattern in files for path in folder.glob(pattern))
    marks = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in found]
    return "; ".join([str(folder), *marks])


def _init_of(package: str) -> Path | None:
    # Only finders of files and folders: others may act on the package's name.
    finders: list[Any] = [PathFinder]
    finders += [
        finder for finder in sys.meta_path if getattr(finder, "finds_fallback_packages", False)
    ]
    for finder in finders:
        spec = finder.find_spec(package, None)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin)
    return None


class PrivateName:
    """A name that is no public API, or that versions have in different places, looked up when it is
    used. Each framework lists its own in its module `private`. `use` is what needs it, for
    messages; `places` are those of versions, the newest first, as `module:attribute`. A value of
    None counts as absent."""

    def __init__(self, use: str, *places: str) -> None:
        self.use, self.places = use, places

    def find(self) -> Any:
        """Returns the value; None if this version lacks it."""
        return _find(self.places)

    def get(self) -> Any:
        """Returns the value. Raises `UnsupportedError` if this version lacks it."""
        found = self.find()
        if found is None:
            place = self.places[0]
            package = place.partition(":")[0].partition(".")[0]
            raise UnsupportedError(
                f"{package} {package_version(package)} has no {place.replace(':', '.')}, which "
                f"opperf needs for {self.use}"
            )
        return found


@functools.cache
def _find(places: tuple[str, ...]) -> Any:
    for place in places:
        module, _, path = place.partition(":")
        try:
            found = attrgetter(path)(importlib.import_module(module))
        except (ImportError, AttributeError):
            continue
        if found is not None:
            return found
    return None


def names_in(module: ModuleType) -> dict[str, PrivateName]:
    """Returns the private names that a module lists, by its own names of them."""
    return {name: one for name, one in vars(module).items() if isinstance(one, PrivateName)}


def absent_names(module: ModuleType) -> tuple[str, ...]:
    """Returns those that the installed version lacks, each with what needs it."""
    return tuple(
        f"{private_name.places[0].replace(':', '.')} (for {private_name.use})"
        for private_name in names_in(module).values()
        if private_name.find() is None
    )


TABLE = Path(__file__).with_name("tested.json")
"""The rows, a version of a framework each."""


class SweptVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sweep over a framework's registry at the small size."""

    framework: str
    end: str
    """`oldest` or `newest` of the versions that opperf takes."""
    version: str
    python: str
    operators: int
    """Registered operators that `opperf list` has, aliases folded."""
    measured: int
    """Those with a case that was measured."""
    cases: int
    """Cases that were measured."""
    skipped: int
    """Cases that this version does not support on a CPU."""
    failed: int
    """Cases that failed, crashed or took too long."""
    date: str
    """Day of the sweep, as `2026-11-28`."""
    configurations: int | None = None
    """Largest number of cases of each operator in the sweep; None for all."""


@functools.cache
def _rows() -> tuple[SweptVersion, ...]:
    return msgspec.json.decode(TABLE.read_bytes(), type=tuple[SweptVersion, ...])


def tested_versions(framework: str) -> tuple[SweptVersion, ...]:
    """Returns the tested versions of a framework, the oldest first; none of an unknown one."""
    return tuple(row for row in _rows() if row.framework == framework)


def tested_range(framework: str) -> tuple[str, str] | None:
    """Returns the oldest and the newest tested version of a framework, without patch releases,
    which change no registry; None if none was tested."""
    versions = [".".join(row.version.split(".")[:2]) for row in tested_versions(framework)]
    return (versions[0], versions[-1]) if versions else None
