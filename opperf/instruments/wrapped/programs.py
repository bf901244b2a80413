"""The table of programs that a run's cases are profiled under: Nsight Compute and perf, which have
modules of their own, Nsight Systems, whose report is for its own tools, and any other."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from opperf.errors import UsageError
from opperf.instruments.wrapped import ncu, perf
from opperf.instruments.wrapped.ncu import Ncu
from opperf.instruments.wrapped.perf import PerfRecord, PerfStat
from opperf.instruments.wrapped.program import ProcessFiles, WrappingProgram, is_given
from opperf.model import Metric, Wrapper

TRACED = "cuda,nvtx"
"""Traced unless the user says otherwise: the GPU's work, and the ranges of the calls."""


class Nsys(WrappingProgram):
    """NVIDIA Nsight Systems' `nsys profile`."""

    name = "nsys"
    # A trace costs microseconds a call, and its report some seconds a process.
    slowdown = 10.0

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        program, *own = wrapper.words
        # It takes the values of long options behind an equals sign only.
        traced = [f"--trace={TRACED}"] if not is_given(own, "-t", "--trace") else []
        output = f"--output={files.report}"
        return [program, "profile", "--force-overwrite=true", output, *traced, *own]


REPORT = "{report}"
"""Stands in a command for the path of the program's report, without its ending."""


class Other(WrappingProgram):
    """A program of which opperf knows only how the user calls it. What it prints is kept, and what
    it writes where `{report}` stands."""

    name = "command"
    # As large as of ncu, as nothing is known.
    slowdown = 100.0

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        return [word.replace(REPORT, str(files.report)) for word in wrapper.words]

    def kept(self, files: ProcessFiles) -> list[Path]:
        return super().kept(files) or [Path(shutil.move(files.log, f"{files.report}.txt"))]


NCU, NSYS, OTHER = Ncu(), Nsys(), Other()

PROGRAMS: tuple[WrappingProgram, ...] = (NCU, NSYS, PerfStat(), PerfRecord())
"""Those that opperf knows, by their names; perf's by the command too."""

BY_NAME = {program.name: program for program in PROGRAMS}

OWN_NAMES = (ncu.OWN, perf.OWN)
"""Beginnings of the names of metrics that opperf does not declare: there may be hundreds."""

METRICS: tuple[Metric, ...] = tuple(metric for program in PROGRAMS for metric in program.metrics)

ADVICE = {
    "ncu": "install NVIDIA Nsight Compute, or name it: --ncu-bin PATH",
    "nsys": "install NVIDIA Nsight Systems, or name it: --nsys-bin PATH",
    "perf": "install it: apt-get install linux-perf, or linux-tools-generic on Ubuntu",
}
"""How to get a program that is missing, by its name."""


def name_of(words: tuple[str, ...]) -> str:
    """Returns the name of a user's command in results: that of the table, or the program's."""
    program = Path(words[0]).name
    known = " ".join((program, *words[1:2]))
    return known if known in BY_NAME else program


def program_of(wrapper: Wrapper) -> WrappingProgram:
    """Returns the program of a wrapper."""
    return BY_NAME.get(wrapper.name, OTHER)


def check_program(wrapper: Wrapper, devices: Iterable[str]) -> None:
    """Raises `UsageError` if a program is not installed, or cannot profile here."""
    program = wrapper.words[0]
    if shutil.which(program) is None:
        name = wrapper.name.partition(" ")[0]
        advice = ADVICE.get(name, "install it, or name it by its path")
        raise UsageError(f"there is no program {program}: {advice}")
    program_of(wrapper).check(wrapper, devices)
