"""Any other program that runs a command and profiles it, as VTune and rocprof do."""

from __future__ import annotations

import shutil
from pathlib import Path

from opperf.instruments.wrapped.program import ProcessFiles, WrappingProgram
from opperf.model import Wrapper

REPORT = "{report}"
"""Stands in a command for the path of the program's report, without its ending."""


class Other(WrappingProgram):
    """A program of which opperf knows only how the user calls it. What it prints is kept, and what
    it writes where `{report}` stands."""

    name = "command"
    title = "the program"
    # As large as of ncu, as nothing is known.
    slowdown = 100.0

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        return [word.replace(REPORT, str(files.report)) for word in wrapper.words]

    def kept(self, files: ProcessFiles) -> list[Path]:
        return super().kept(files) or [Path(shutil.move(files.log, f"{files.report}.txt"))]
