"""NVIDIA Nsight Systems: a timeline of all calls of a process, in a report for its own tools."""

from __future__ import annotations

from opperf.instruments.wrapped.program import ProcessFiles, WrappingProgram, is_given
from opperf.model import Wrapper

TRACED = "cuda,nvtx"
"""Traced unless the user says otherwise: the GPU's work, and the ranges of the calls."""


class Nsys(WrappingProgram):
    """NVIDIA Nsight Systems' `nsys profile`."""

    name = "nsys"
    title = "Nsight Systems"
    # A trace costs microseconds a call, and its report some seconds a process.
    slowdown = 10.0

    def command(self, wrapper: Wrapper, files: ProcessFiles) -> list[str]:
        program, *own = wrapper.words
        # It takes the values of long options behind an equals sign only.
        traced = [f"--trace={TRACED}"] if not is_given(own, "-t", "--trace") else []
        output = f"--output={files.report}"
        return [program, "profile", "--force-overwrite=true", output, *traced, *own]
