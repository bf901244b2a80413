"""Environments in opperf's cache folder: found by what is asked for, else installed, each once for
all processes that ask for it at the same time.

Environments of an earlier run, or of another machine's, installed here.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from opperf.decoding import read_as
from opperf.environments.builders import (
    FEWER_RETRIES,
    Builder,
    Words,
    find_builder,
    has_no_network,
    uv_reason,
)
from opperf.environments.specification import EnvironmentSpec, Installed, read_requirements
from opperf.errors import InstallationError
from opperf.folders import cache_folder
from opperf.model import Interpreter
from opperf.model.declaring import ID_LENGTH, digest
from opperf.plurals import pluralize
from opperf.processes.commands import find_program, run_command
from opperf.reading import read_text

Say = Callable[[str], None]
"""Prints a line of progress."""

ASKED = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_PRE"),
    *("PIP_CONSTRAINT", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
    *("UV_FIND_LINKS", "UV_PRERELEASE", "UV_RESOLUTION", "UV_CONSTRAINT", "UV_TORCH_BACKEND"),
)
"""Inherited variables that decide what is installed for the same requirements."""

NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER")
"""Variables by which pip would look, or install, elsewhere."""

WORKER_PACKAGES = ("msgspec", "numpy", "psutil", "scipy")
"""Packages that a worker takes from opperf's own environment where the version of Python is the
same, and needs in its own otherwise: `opperf.worker.program.BASE`."""

INSTALLED = "environment.json"
"""File that is written last: without it, the folder is one that was not finished."""


def environments_folder() -> Path:
    """Returns the folder of all environments."""
    return cache_folder() / "environments"


def find_environment(spec: EnvironmentSpec, packages: Sequence[str] = ()) -> Installed | None:
    """Returns the installed environment, or None. With `packages`, those of a lock, it is one with
    exactly these."""
    found = _read(_folder(spec, packages), spec)
    if found is None and packages:
        unlocked = _read(_folder(spec, ()), spec)
        if unlocked is not None and sorted(unlocked.packages) == sorted(packages):
            return unlocked
    return found


def installed(spec: EnvironmentSpec, packages: Sequence[str] = ()) -> bool:
    """Returns whether the environment need not be installed."""
    return spec.is_own or find_environment(spec, packages) is not None


def build_environment(
    spec: EnvironmentSpec, say: Say, packages: Sequence[str] = (), again: bool = False
) -> Installed:
    """Returns the environment, which is installed unless it is there, or if `again`. `packages` are
    those of a lock, installed in place of the requirements. Raises `InstallationError`."""
    found = None if again else find_environment(spec, packages)
    if found is not None:
        return found
    folder = _folder(spec, packages)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with one_builder(folder, "installs", say):
            # Another process may have installed it in the meantime.
            found = None if again else _read(folder, spec)
            return found or _install(spec, packages, folder, say)
    except OSError as error:
        raise InstallationError(f"{spec.text}: {folder} cannot be written: {error}") from error


def _read(folder: Path, spec: EnvironmentSpec) -> Installed | None:
    """As it is asked for: it may have another name than when it was installed."""
    try:
        found = read_as(folder / INSTALLED, Installed)
    except (OSError, msgspec.DecodeError):
        return None
    # The interpreter is a link, whose target an upgrade may have removed.
    return msgspec.structs.replace(found, spec=spec) if found.python.exists() else None


def _folder(spec: EnvironmentSpec, packages: Sequence[str]) -> Path:
    files = [word.removeprefix("-r ") for word in spec.requirements if word.startswith("-r ")]
    asked = {
        "requirements": sorted(packages or spec.requirements),
        "files": [_content(path) for path in files],
        "python": spec.python or own_version(),
        "implementation": sys.implementation.name,
        "index_urls": spec.index_urls,
        "variables": spec.variables,
        "platform": sysconfig.get_platform(),
        "inherited": {name: os.environ[name] for name in ASKED if name in os.environ},
    }
    # For people; of files that are required, the name is enough.
    words = [word.rpartition("/")[2] for word in sorted(spec.requirements)] or ["python"]
    shown = re.sub(r"[^\w.]+", "-", "-".join(words)).strip("-")[:LONGEST_NAME]
    return environments_folder() / f"{shown}-{digest(asked)[:ID_LENGTH]}"


LONGEST_NAME = 40
"""Most characters of a folder's name before the hash: scripts begin with their interpreter's path,
which Linux limits to 127 before 5.0, and 255 since."""


def _content(path: str) -> str:
    try:
        return read_text(path, errors="replace")
    except OSError as error:
        raise InstallationError(f"-r {path} cannot be read: {error.strerror}") from error


@contextmanager
def one_builder(folder: Path, work: str, say: Say) -> Iterator[None]:
    """Keeps other processes from making the same folder; waits for one that does. `work` is what it
    does with it, for `say`: `builds`."""
    with folder.with_name(f"{folder.name}.flock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that {work} {folder.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(spec: EnvironmentSpec, packages: Sequence[str], folder: Path, say: Say) -> Installed:
    """Installs an environment in its folder. Not in another one that is renamed: scripts such as
    `torchrun` begin with the path of their interpreter."""
    started = time.monotonic()
    _remove(folder)
    builder = find_builder()
    build = _Build(spec, builder, folder)
    own = find_python(spec.python, builder.interpreters)
    version = own_version() if own == sys.executable else version_of(own)
    what = f"{len(packages)} locked packages of {spec.text}" if packages else spec.text
    say(f"installing {what} (Python {version}) by {builder.name}")
    try:
        build.run(builder.create(own, folder))
        python = folder / "bin" / "python"
        words = [word for text in spec.requirements for word in _words(text)]
        if packages:
            build.run(builder.install(python, ["--no-deps", *packages], spec.index_urls))
        elif words:
            build.run(builder.install(python, words, spec.index_urls))
        if version.split(".")[:2] != own_version().split(".")[:2]:
            build.add_worker_packages(python)
        frozen = build.freeze(python)
        made = Installed(
            folder=str(folder),
            spec=spec,
            packages=frozen,
            python_version=version_of(python),
            platform=sysconfig.get_platform(),
            builder=builder.name,
        )
        _write(folder / INSTALLED, msgspec.json.format(msgspec.json.encode(made)))
    except BaseException:
        _remove(folder)
        raise
    seconds = time.monotonic() - started
    say(f"installed {pluralize(len(frozen), 'package')} in {seconds:.0f} s: {folder}")
    return made


def _words(requirement: str) -> list[str]:
    """Returns the words of a requirement: an option and its value are two."""
    return requirement.split(maxsplit=1) if requirement.startswith("-") else [requirement]


def _remove(folder: Path) -> None:
    # The file that says that it is finished goes first.
    (folder / INSTALLED).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def _write(path: Path, data: bytes) -> None:
    """In one step: it is there whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


class _Build:
    """Runs the commands of one installation; their output is kept in a file."""

    def __init__(self, spec: EnvironmentSpec, builder: Builder, folder: Path) -> None:
        self._spec, self._builder = spec, builder
        self._log = folder.with_name(f"{folder.name}.log")
        self._log.unlink(missing_ok=True)
        inherited = {k: v for k, v in os.environ.items() if k not in NOT_INHERITED}
        self._variables = {**FEWER_RETRIES, **inherited, **spec.variables}

    def run(self, words: Words) -> str:
        """Returns what a command prints to standard output. Raises `InstallationError`."""
        # Neither a project's settings of uv nor its files count.
        done = run_command(words, self._log.parent, self._variables)
        said = done.output + done.errors if done.started else done.problem
        with self._log.open("a") as log:
            log.write(f"$ {' '.join(words)}\n{said}\n")
        if done.problem:
            raise InstallationError(self._failure(said))
        return done.output

    def _failure(self, output: str) -> str:
        builder = self._builder
        unreached = f" {builder.name} reaches no package index:" if has_no_network(output) else ""
        return (
            f"{self._spec.text} is not installed here, and cannot be:{unreached} "
            f"{builder.reason(output)} (all that {builder.name} printed: {self._log})"
        )

    def freeze(self, python: Path) -> tuple[str, ...]:
        """Returns every installed package with its version."""
        lines = self.run(self._builder.freeze(python)).splitlines()
        # Comments are on what pip could not find out.
        return tuple(sorted(line for line in lines if line and not line.startswith("#")))

    def add_worker_packages(self, python: Path) -> None:
        """Installs what a worker needs, without a change to what is installed."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
            constraints.write("\n".join(self.freeze(python)))
            constraints.flush()
            words = ["-c", constraints.name, *WORKER_PACKAGES]
            self.run(self._builder.install(python, words))


def own_version() -> str:
    """Returns the version of Python that runs opperf."""
    return platform.python_version()


def find_python(asked: str, downloader: Sequence[str] = ()) -> str:
    """Returns the path of the interpreter that is asked for by version, `3.12` or `3.12.4`, or by
    path; of nothing, opperf's own. `downloader` begins the commands of uv that install and find
    one. Raises `InstallationError` if there is none."""
    if not asked or is_version_of(asked, own_version()):
        return sys.executable
    if os.sep in asked or not asked[0].isdigit():
        found = find_program(asked)
        if found is None:
            raise InstallationError(f"Python {asked}: no such program")
        return found
    minor = ".".join(asked.split(".")[:2])
    here = shutil.which(f"python{minor}")
    if here is not None and is_version_of(asked, version_of(here)):
        return here
    if not downloader:
        raise InstallationError(
            f"Python {asked} is not on this machine; install it, or uv, which downloads it: "
            "pip install uv"
        )
    # What is there is found, and not downloaded.
    for word in ("install", "find"):
        done = run_command([*downloader, word, asked])
        if done.problem:
            reason = uv_reason(done.errors) if done.started else done.problem
            raise InstallationError(f"Python {asked} is not on this machine: uv: {reason}")
    return done.output.strip()


def is_version_of(asked: str, version: str) -> bool:
    """Returns whether a version is the one asked for, `3.12` or `3.12.4`."""
    return version == asked or version.startswith(f"{asked}.")


def version_of(python: str | Path) -> str:
    """Returns the version of an interpreter; empty if it does not run."""
    code = "import platform; print(platform.python_version())"
    # Isolated: neither the user's variables nor the working directory count.
    return run_command([str(python), "-I", "-c", code]).output.strip()


def restore(interpreters: Iterable[Interpreter], say: Say) -> tuple[Interpreter, ...]:
    """Returns the interpreters, of which an environment that opperf installed, and that is not here
    now, is installed again with the same versions. Raises `InstallationError`."""
    return tuple(_restored(interpreter, say) for interpreter in interpreters)


def _restored(interpreter: Interpreter, say: Say) -> Interpreter:
    if not interpreter.requirements or Path(interpreter.path).exists():
        return interpreter
    try:
        spec = read_requirements(interpreter.requirements)
    except ValueError as error:
        raise InstallationError(
            f"{interpreter.path}, an environment of {interpreter.requirements}, is not here; "
            "install the environments of its suite again: opperf suite install FILE.yaml"
        ) from error
    built = build_environment(spec, say, interpreter.packages)
    return msgspec.structs.replace(interpreter, path=str(built.python))
