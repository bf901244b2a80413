"""The program that a worker process runs: its command and its environment variables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

from opperf.errors import WorkerError
from opperf.machine.kernel import THREAD_VARIABLES, USABLE_CPUS
from opperf.machine.pinning import Cpus
from opperf.metrics import launcher_of
from opperf.model import Settings
from opperf.runner.launch import FALLBACK_PACKAGES, PINNED_CPUS
from opperf.runner.process import child_variables, fallback_packages, module_command

OWN_DISTUTILS = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}
"""Variables that make `import distutils` load Python's own, where there is one: setuptools would
replace it, and takes a fifth of a second to import."""


class WorkerProgram:
    """The program of a worker for a framework and process settings, run in another one if an
    instrument needs that."""

    def __init__(
        self,
        framework: str,
        settings: Settings,
        environment: Mapping[str, str] | None,
        python: str,
        cpus: Cpus,
        options: Sequence[str],
    ) -> None:
        self.python = python or sys.executable
        process = settings.process()
        self.arguments = (framework, msgspec.json.encode(process).decode(), *options)
        """Of the module `worker`: the framework, its settings as JSON, options."""
        self._launcher = launcher_of(framework, settings)
        own = {FALLBACK_PACKAGES: fallback_packages()} if self.is_foreign else OWN_DISTUTILS
        variables = child_variables(os.environ if environment is None else environment)
        self.variables = {**own, **variables}
        """Environment variables."""
        if "threads" in process:
            self.variables.update(dict.fromkeys(THREAD_VARIABLES, str(process["threads"])))
        self.variables.update(settings.env)
        if cpus.pinned:
            for name, cores in ((PINNED_CPUS, cpus.pinned), (USABLE_CPUS, cpus.usable)):
                self.variables[name] = ",".join(map(str, sorted(cores)))

    @property
    def is_foreign(self) -> bool:
        """Whether its interpreter is another than this process's, with other packages."""
        return self.python != sys.executable

    def start(self, output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts the program, with its standard error to a file. Raises `WorkerError` if that
        fails, and `UsageError` without another program that it needs."""
        command = module_command("opperf.runner.worker", *self.arguments, python=self.python)
        variables = self.variables
        if self._launcher is not None:
            command = self._launcher.command(command)
            variables = self._launcher.variables(variables)
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=variables,
                bufsize=0,
                # Ctrl-C on the terminal reaches the manager alone.
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerError(f"cannot start a worker process: {error}") from error

    def process_ended(self) -> None:
        """Removes what an ended process has left."""
        if self._launcher is not None:
            self._launcher.process_ended()

    def close(self) -> None:
        """Removes what is left of all processes."""
        if self._launcher is not None:
            self._launcher.close()
