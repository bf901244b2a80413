"""The table of programs that a run's cases are profiled under."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from opperf.errors import UsageError
from opperf.instruments.wrapped.ncu import Ncu
from opperf.instruments.wrapped.nsys import Nsys
from opperf.instruments.wrapped.other import Other
from opperf.instruments.wrapped.perf import PerfRecord, PerfStat
from opperf.instruments.wrapped.program import WrappingProgram
from opperf.model import Metric, Wrapper

NCU, NSYS, OTHER = Ncu(), Nsys(), Other()

PROGRAMS: tuple[WrappingProgram, ...] = (NCU, NSYS, PerfStat(), PerfRecord())
"""Those that opperf knows, by their names; perf's by the command too."""

BY_NAME = {program.name: program for program in PROGRAMS}

METRICS: tuple[Metric, ...] = tuple(metric for program in PROGRAMS for metric in program.metrics)

ADVICE = {
    "ncu": "install NVIDIA Nsight Compute, or name it: --ncu-bin PATH",
    "nsys": "install NVIDIA Nsight Systems, or name it: --nsys-bin PATH",
    "perf": "install it: apt-get install linux-perf, or linux-tools-generic on Ubuntu",
}
"""How to get a program that is missing, by its name."""


def name_of(words: tuple[str, ...]) -> str:
    """Returns the name under which results have a user's command: that of the table, or the
    program's own."""
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
