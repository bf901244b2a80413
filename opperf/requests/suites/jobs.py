"""Writes what other schedulers run suite files by: the script of a Slurm array job, and the
configuration of Ray's launcher."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from opperf.errors import UsageError
from opperf.requests.declaring import Option, Request, Say, argument
from opperf.requests.outputs import Overwrite, file_option
from opperf.requests.suites.environments import SuiteFiles
from opperf.results.output import check_output, replace, unwritable

if TYPE_CHECKING:
    from opperf.suites.job_script import Job
    from opperf.suites.system import System


class SlurmRequest(Request, frozen=True, kw_only=True):
    """Writes the script of a Slurm array job that runs suite files, and submits it if asked."""

    section: ClassVar[str] = "Cluster"

    suite: SuiteFiles
    parts: Annotated[int, Option("Jobs of the array.", low=1)] = 1
    gpus: Annotated[
        int | None,
        Option(
            "GPUs of each node.  [default: those of the system, if a bench has a process for each]",
            low=0,
        ),
    ] = None
    nodes: Annotated[
        int | None, Option("Nodes of each job.  [default: the most that a bench needs]", low=1)
    ] = None
    minutes: Annotated[
        int | None,
        Option(
            "Time limit of each job.  [default: that of all benches one after the other]", low=1
        ),
    ] = None
    sbatch: Annotated[
        tuple[str, ...],
        Option(
            "A further option of sbatch: --sbatch=--account=mine. Repeat it for several.",
            metavar="OPTION",
        ),
    ] = ()
    setup: Annotated[
        tuple[str, ...],
        Option(
            "A line of shell before the suite: --setup 'module load cuda'. Repeat it for several.",
            metavar="LINE",
        ),
    ] = ()
    output: Annotated[
        Path,
        file_option(
            "The script. Run files and logs are in the folder of its name without the extension."
        ),
    ]
    overwrite: Overwrite = False
    submit: Annotated[bool, Option("Submit it too, by submitit.", section="Other options")] = False

    def run(self, say: Say) -> tuple[Job, int, str]:
        """Returns the job, the number of its benches, and its id if it was submitted."""
        from opperf.suites.job_script import (
            Job,
            job_script,
            minutes_of,
            needs_gpus,
            nodes_of,
            submit,
        )

        suite = self.suite.resolved()
        benches = [bench for bench in suite.benches if bench.enabled]
        if not benches:
            raise UsageError("no bench that is selected is enabled; `opperf suite list` has all")
        check_output(self.output, self.overwrite, self.suite.files)
        # Slurm starts jobs in the folder of `sbatch`, which need not be this one.
        folder = self.output.resolve().with_suffix("")
        if folder == self.output.resolve():
            raise UsageError(
                f"{self.output}: name the script with an extension, as {self.output}.sh"
            )
        gpus = self.gpus
        if gpus is None:
            gpus = suite.system.gpu_count if needs_gpus(benches) else 0
        job = Job(
            name=folder.name,
            command=("opperf", "suite", "run", *self.suite.words()),
            parts=self.parts,
            folder=str(folder),
            nodes=self.nodes or nodes_of(benches),
            gpus=gpus,
            minutes=self.minutes or minutes_of(benches),
            options=self.sbatch,
            setup=self.setup,
        )
        try:
            # Slurm drops the output of jobs whose folder is not there.
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        replace(self.output, job_script(job).encode())
        id = submit(job, self.output) if self.submit else ""
        return job, len(benches), id


class ClusterRequest(Request, frozen=True, kw_only=True):
    """Writes the configuration of Ray's launcher for the nodes of a system."""

    file: Annotated[Path, argument("SYSTEM.yaml", Path)]
    setup: Annotated[
        tuple[str, ...],
        Option(
            "A line of shell that each node runs before it starts: --setup 'source "
            "env/bin/activate'. Repeat it for several.",
            metavar="LINE",
        ),
    ] = ()
    no_check: Annotated[bool, Option("Do not look whether nodes answer here.")] = False
    output: Annotated[Path, file_option("The configuration, for `ray up FILE`.")]
    overwrite: Overwrite = False

    def run(self, say: Say) -> tuple[System, tuple[str, ...], tuple[str, ...]]:
        """Returns the system, the commands that start nodes which Ray's launcher does not, and a
        line for each node that does not answer: with any, nothing is written."""
        from opperf.suites.job_script import find_unreachable, make_cluster
        from opperf.suites.system import read_system

        check_output(self.output, self.overwrite, [self.file])
        system = read_system(self.file, dict(os.environ), {})
        made = make_cluster(system, self.file, self.setup)
        unreachable = () if self.no_check else find_unreachable(system.nodes)
        if not unreachable:
            # JSON is YAML.
            text = msgspec.json.format(msgspec.json.encode(made.config), indent=2)
            replace(self.output, text + b"\n")
        return system, made.by_hand, unreachable
