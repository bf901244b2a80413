"""A worker's process: its command and environment variables, and how it ended, in words."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.errors import WorkerError, with_last_output
from opperf.folders import DATA, data_folder
from opperf.frameworks.user_modules import OWN_MODULES, SEARCHED
from opperf.instruments.instrument import Launcher
from opperf.machine.kernel import THREAD_VARIABLES, USABLE_CPUS
from opperf.machine.pinning import Cpus
from opperf.metrics import launcher_of, process_settings
from opperf.model import Settings, Status
from opperf.processes.children import Child, Log, Mark
from opperf.worker.launch import BASE, FALLBACK_PACKAGES, PINNED_CPUS

LAUNCHER = Path(__file__).absolute().with_name("launch.py")


def module_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Returns the command that runs a module, and imports nothing from the working directory."""
    return [python, str(LAUNCHER), module, *arguments]


def fallback_packages() -> str:
    """Returns the value of `launch.FALLBACK_PACKAGES`: this process's version of Python, and the
    folders of the packages that a worker needs."""
    found = (importlib.util.find_spec(name) for name in BASE)
    folders = dict.fromkeys(
        str(Path(spec.origin).parents[1]) for spec in found if spec is not None and spec.origin
    )
    return os.pathsep.join(["{}.{}".format(*sys.version_info), *folders])


def child_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns environment variables for a child. Empty parts of PYTHONPATH, as in
    `$PYTHONPATH:/folder`, are dropped: Python reads them as the working directory."""
    parts = variables.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(filter(None, parts))
    others = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": path} if path else others


OWN_DISTUTILS = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}
"""Variables that make `import distutils` load Python's own, where there is one: setuptools would
replace it, and takes a fifth of a second to import."""


SERVER = "opperf.worker.serve"
"""Module of the process that answers requests."""


class WorkerProgram:
    """The program of a worker, run in another one if an instrument needs that, or by a `launcher`.
    `options` are further arguments of the `module`."""

    def __init__(
        self,
        framework: str,
        settings: Settings,
        environment: Mapping[str, str] | None,
        python: str,
        cpus: Cpus,
        options: Sequence[str],
        module: str = SERVER,
        launcher: Launcher | None = None,
        own_modules: bool = False,
    ) -> None:
        self._module = module
        self.python = python or sys.executable
        process = process_settings(settings)
        self.arguments = (framework, msgspec.json.encode(process).decode(), *options)
        """Of the module: the framework, its settings as JSON, options."""
        self._launcher = launcher or launcher_of(framework, settings) or Launcher()
        # It finds the folder by a package that another environment need not have.
        foreign = {FALLBACK_PACKAGES: fallback_packages(), DATA: str(data_folder())}
        own = foreign if self.is_foreign else OWN_DISTUTILS
        variables = child_variables(os.environ if environment is None else environment)
        self.variables = {**own, **variables}
        if process.threads is not None:
            self.variables.update(dict.fromkeys(THREAD_VARIABLES, str(process.threads)))
        self.variables.update(settings.env)
        self._mark = Mark()
        if own_modules or python or not settings.env.keys().isdisjoint(SEARCHED):
            self.variables[OWN_MODULES] = "1"
        if cpus.pinned:
            for name, cores in ((PINNED_CPUS, cpus.pinned), (USABLE_CPUS, cpus.usable)):
                self.variables[name] = _listed(cores)

    @property
    def is_foreign(self) -> bool:
        return self.python != sys.executable

    def start(
        self,
        log: Log,
        answers: bool = True,
        cpus: frozenset[int] = frozenset(),
        options: Sequence[str] = (),
    ) -> Child:
        """Starts the program, with its standard error to a log, and with its answers to the
        channel, or what it prints to the log too; on `cpus` in place of its own, if there are any,
        and with `options` besides its own. Raises `WorkerError` if that fails, and `UsageError`
        without another program that it needs."""
        command = module_command(self._module, *self.arguments, *options, python=self.python)
        variables = self.variables | ({PINNED_CPUS: _listed(cpus)} if cpus else {})
        try:
            return Child(
                self._launcher.command(command),
                self._launcher.variables(variables),
                stdout=log,
                stderr=log,
                requests="answered" if answers else "none",
                mark=self._mark,
            )
        except OSError as error:
            raise WorkerError(f"cannot start a worker process: {error}") from error

    def process_ended(self) -> None:
        """Removes what its process has left, which has ended."""
        self._launcher.process_ended()

    def close(self) -> None:
        self._launcher.close()


def _listed(cpus: frozenset[int]) -> str:
    return ",".join(map(str, sorted(cpus)))


class WorkerEnded(Exception):
    """The worker ended, or was ended, before it responded."""

    status: Status

    def of(self, work: str) -> str:
        """Returns in words how it ended during this work."""
        return f"the worker ended while {work}: {self}"

    def reason(self, advice: str) -> str:
        """Returns the reason of the case's record; `advice` is for one that took too long."""
        return str(self)


class WorkerDied(WorkerEnded):
    """`returncode` is that of `subprocess`, `memory` what is known of its memory."""

    status = Status.CRASHED

    def __init__(self, returncode: int, log: str, memory: str = "") -> None:
        super().__init__(returncode)
        self.returncode, self.log, self.memory = returncode, log, memory

    def __str__(self) -> str:
        return describe_end(self)


FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""Signals of a fault, which a framework may handle: MXNet 1 then exits with 255."""


UNHANDLED = re.compile(r"unhandled instruction(?: bytes:)? (0x[0-9A-Fa-fx ]+)")
"""Printed by Valgrind for an instruction that it does not know."""


def describe_end(died: WorkerDied) -> str:
    """Returns why a worker ended: signal or exit code, and its last line of output."""
    code, lines = died.returncode, died.log.splitlines()
    # That whose handler, the framework's own, ended the process.
    handled = next((s for s in FATAL if f"{signal.strsignal(s)}: {s.value}" in lines), None)
    unhandled = UNHANDLED.search(died.log)
    # A library may try such an instruction, and go on without.
    if unhandled and signal.SIGILL in (-code, handled):
        return (
            f"Valgrind does not know an instruction of the operator, {unhandled[1].strip()}; use "
            "another profiler"
        )
    if code < 0:
        name = signal.Signals(-code).name
        reason = f"the process was ended by {name}"
        if died.memory:
            reason += f" ({died.memory}; choose a smaller --size)"
    elif handled:
        reason = f"the process was ended by {handled.name}, with exit code {code}"
    else:
        reason = f"the process ended with exit code {code}"
    return with_last_output(reason, died.log.strip().splitlines()[-1:])


class WorkerTimeout(WorkerEnded):
    """`importing` is the user's module that it imported, by name or file; empty if none."""

    status = Status.TIMEOUT

    def __init__(self, timeout_s: float, importing: str = "") -> None:
        super().__init__(timeout_s, importing)
        self.timeout_s, self.importing = timeout_s, importing

    def __str__(self) -> str:
        during = f" by the import of {self.importing}" if self.importing else ""
        return f"not finished{during} after {self.timeout_s:g} s"

    def of(self, work: str) -> str:
        what = f"importing {self.importing}" if self.importing else work
        return f"{what} took over {self.timeout_s:g} s"

    def reason(self, advice: str) -> str:
        return f"{self}; {'raise --timeout' if self.importing else advice}"
