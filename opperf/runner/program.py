"""The program that a worker process runs: its command and its environment variables."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from opperf.errors import WorkerError
from opperf.frameworks import package_of
from opperf.machine.kernel import THREAD_VARIABLES, USABLE_CPUS
from opperf.machine.pinning import Cpus
from opperf.model import Settings
from opperf.profilers.callgrind.dumps import DUMPS
from opperf.runner import valgrind
from opperf.runner.launch import FALLBACK_PACKAGES, PINNED_CPUS
from opperf.runner.process import child_variables, fallback_packages, module_command

OWN_DISTUTILS = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}
"""Variables that make `import distutils` load Python's own, where there is one: setuptools would
replace it, and takes a fifth of a second to import."""


class WorkerProgram:
    """The program of a worker for a framework and process settings. Under Valgrind if they count
    instructions, whose dumps are then in a temporary folder."""

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
        self._settings = settings
        self.arguments = (framework, msgspec.json.encode(process).decode(), *options)
        """Of the module `worker`: the framework, its settings as JSON, options."""
        self._dumps = (
            tempfile.TemporaryDirectory(prefix="opperf-callgrind-")
            if settings.counts_instructions
            else None
        )
        own = {FALLBACK_PACKAGES: fallback_packages()} if self.is_foreign else OWN_DISTUTILS
        variables = child_variables(os.environ if environment is None else environment)
        self.variables = {**own, **variables}
        """Environment variables."""
        if "threads" in process:
            self.variables.update(dict.fromkeys(THREAD_VARIABLES, str(process["threads"])))
        if settings.counts_instructions:
            self.variables.update(valgrind.STEADY)
            package = package_of(framework)
            if package is not None:
                self.variables = {**package.counting_variables, **self.variables}
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
        fails, and `UsageError` without the Valgrind that it needs."""
        command = module_command("opperf.runner.worker", *self.arguments, python=self.python)
        variables = self.variables
        if self._dumps is not None:
            dumps = Path(self._dumps.name) / "dump"
            command = [*valgrind.installed().command(dumps, self._settings), *command]
            variables = {**variables, **valgrind.heap_variables(variables), DUMPS: str(dumps)}
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

    def remove_dumps(self) -> None:
        """Removes the dumps of an ended process."""
        if self._dumps is not None:
            for path in Path(self._dumps.name).iterdir():
                path.unlink()

    def close(self) -> None:
        """Removes the folder of the dumps."""
        if self._dumps is not None:
            self._dumps.cleanup()
