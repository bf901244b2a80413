"""The instrument of instructions: those that a call runs, counted by callgrind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opperf.errors import UsageError
from opperf.instruments.instrument import Instrument, Launcher, Needs, backward_of
from opperf.model import Case, Metric, MetricKind, Settings

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

INSTRUCTIONS = Metric(
    "instructions",
    "instructions",
    MetricKind.COUNT,
    description="instructions of the forward pass",
    relative_tolerance=0.005,
    absolute_tolerance=50.0,
)
"""Tolerances: an address may change the steps of a search in a dictionary. Between two runs of 219
of PyTorch's operators in different orders, calls of up to 10,000 instructions differed by up to 26
of them, longer ones by less than 0.1 %, but for the backward pass of a GRU (0.3 %)."""

INSTRUCTIONS_BACKWARD = backward_of(INSTRUCTIONS)

INSTRUCTIONS_EMPTY = Metric(
    "instructions_empty",
    "instructions",
    MetricKind.COUNT,
    description="instructions of an empty call, which the others are without",
    usual=False,
)


SIMULATED_SHARE, SIMULATED_EVENTS = 0.02, 100.0
"""Tolerances of simulated events: where a tensor lies decides which lines it evicts."""


def _simulated(name: str, description: str) -> tuple[Metric, Metric]:
    forward = Metric(
        name,
        name.rpartition("_")[2],
        MetricKind.COUNT,
        description=f"{description} in the forward pass, simulated",
        relative_tolerance=SIMULATED_SHARE,
        absolute_tolerance=SIMULATED_EVENTS,
    )
    return forward, backward_of(forward)


SIMULATED = (
    *_simulated("l1_misses", "accesses that miss the first-level caches"),
    *_simulated("last_level_misses", "accesses that miss the last-level cache"),
    *_simulated("branches", "conditional and indirect branches"),
    *_simulated("branch_misses", "branches that are mispredicted"),
)
"""Simulated by callgrind, with --callgrind-cache."""


class Instructions(Instrument):
    """Counts instructions, in place of a time."""

    name = "instructions"
    metrics = (INSTRUCTIONS, INSTRUCTIONS_BACKWARD, INSTRUCTIONS_EMPTY, *SIMULATED)
    profiler = "instructions"
    # More threads would wait for each other, in loops of which each run has another number.
    needs = Needs(fork_for_each_case=True, quiet_machine=False, threads=1)

    def expected(self, case: Case) -> tuple[str, ...]:
        found = {"forward": INSTRUCTIONS.name, "backward": INSTRUCTIONS_BACKWARD.name}
        return tuple(found[name] for name in case.passes)

    def check(self, measured: Sequence[Settings], others: Sequence[Settings]) -> None:
        if measured:
            from opperf.instruments.callgrind.valgrind import installed

            installed()
        elif any(process.callgrind_cache for process in others):
            raise UsageError(f"--callgrind-cache is for --profiler {self.profiler}")

    def launcher(self, framework: str, settings: Settings) -> Launcher:
        from opperf.instruments.callgrind.valgrind import CallgrindLauncher

        return CallgrindLauncher(framework, settings)

    def prepare(self, framework: Any) -> None:
        from opperf.instruments.counted_passes import prepare

        prepare(framework)

    def fork_ended(self, process: int) -> None:
        from opperf.instruments.callgrind.counter import Dumps

        Dumps.remove_last(process)

    def measure(self, visit: Visit) -> None:
        from opperf.instruments.counted_passes import CountedPasses

        CountedPasses(visit, self.metrics).measure()


CALLGRIND = Instructions()
