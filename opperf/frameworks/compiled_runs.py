"""The runs of compiled programs in a program that is recorded: how often, and for how long."""

from __future__ import annotations

from pathlib import Path

from opperf.model import CompiledProgram

UNNAMED = "compiled program"


def program_name(name: str, file: str, line: int) -> str:
    """Returns the name of a compiled program: that of what it was made of, with its place."""
    return f"{name or UNNAMED} ({Path(file).name}:{line})" if file else name or UNNAMED


NO_RUNS: tuple[int, int | None] = (0, 0)


class CompiledRuns:
    """The runs of the compiled programs of a recorded one."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, int | None]] = {}
        """The number of runs of each program by name, and their time in nanoseconds."""
        self._kernels: dict[str, dict[str, float]] = {}

    def add(self, name: str, elapsed_ns: int | None) -> None:
        """Adds a run; the time is None if it was not waited for."""
        number, time_ns = self._runs.get(name, NO_RUNS)
        if time_ns is not None and elapsed_ns is not None:
            self._runs[name] = number + 1, time_ns + elapsed_ns
        else:
            self._runs[name] = number + 1, None

    def add_kernel(self, name: str, kernel: str, elapsed_ns: float) -> None:
        """Adds the time of a kernel of the program of a name."""
        kernels = self._kernels.setdefault(name, {})
        kernels[kernel] = kernels.get(kernel, 0.0) + elapsed_ns

    def forget(self) -> None:
        """Forgets the runs that were added."""
        self._runs.clear()
        self._kernels.clear()

    def recorded(self) -> tuple[CompiledProgram, ...]:
        """Returns the programs that ran."""
        return tuple(
            CompiledProgram(
                name,
                number,
                None if time_ns is None else float(time_ns),
                self._kernels.get(name, {}),
            )
            for name, (number, time_ns) in self._runs.items()
        )
