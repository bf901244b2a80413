"""Metrics of programs, which are observed in processes of their own; and the instrument of models:
a training step, its update apart, and its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.frameworks.models import RunnableModel
from opperf.instruments.instrument import Instrument, Needs
from opperf.instruments.times import BACKWARD, time_metric
from opperf.instruments.work import FLOPS, keep_flops
from opperf.model import Case, Metric, MetricKind, ModelTarget

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit


PROGRAM_METRICS: list[Metric] = []
"""In the order of tables, which is that in which they are declared."""


ACRONYMS = {"Cpu": "CPU", "Gpu": "GPU", "Net": "Network"}


def _metric(
    name: str, unit: str, description: str, lower_is_better: bool = True, usual: bool = False
) -> Metric:
    first, *others = name.split("_")
    first = first.capitalize()
    metric = Metric(
        name,
        unit,
        # None of them is the same on every run, memory neither.
        MetricKind.DERIVED,
        title=" ".join([ACRONYMS.get(first, first), *others]),
        description=description,
        lower_is_better=lower_is_better,
        usual=usual,
        # Of programs alone: results of operators have no columns of them.
        on_request=True,
    )
    PROGRAM_METRICS.append(metric)
    return metric


RATE = _metric(
    "rate",
    "items/s",
    "items that all processes of a program handle in a second, after the warm-up",
    lower_is_better=False,
    usual=True,
)
FIRST_STEP = _metric(
    "first_step", "ns", "time from the start of a program to the end of its first step", usual=True
)
LOSS = _metric("loss", "", "losses of a program's steps, in their order")
PROGRESS = _metric(
    "progress",
    "",
    "share of the wanted observations that a program has made",
    lower_is_better=False,
)
CPU_LOAD = _metric("cpu_load", "%", "share of all cores that a program's processes use")
PROGRAM_MEMORY = _metric(
    "program_memory",
    "B",
    "peak of the memory of a program's processes, with those that they started",
    usual=True,
)
DISK_READ = _metric("disk_read", "B/s", "bytes that a program's processes read")
DISK_WRITE = _metric("disk_write", "B/s", "bytes that a program's processes write")
NET_SENT = _metric("net_sent", "B/s", "bytes that the machine sends meanwhile")
NET_RECEIVED = _metric("net_received", "B/s", "bytes that the machine receives meanwhile")
GPU_LOAD = _metric(
    "gpu_load",
    "%",
    "share of the time in which a kernel runs, the mean of a program's GPUs",
    lower_is_better=False,
)
GPU_MEMORY = _metric(
    "gpu_memory", "B", "peak of the memory that is used on a program's GPUs together", usual=True
)
GPU_TEMPERATURE = _metric("gpu_temperature", "°C", "that of the hottest GPU")
GPU_POWER = _metric("gpu_power", "W", "power of a program's GPUs together")
GPU_CLOCK = _metric(
    "gpu_clock",
    "MHz",
    "clock of the processors (SM) of the slowest GPU of a program",
    lower_is_better=False,
)
ENERGY = _metric("energy", "J", "energy of a program's GPUs from its start to its end")
ENERGY_PER_ITEM = _metric(
    "energy_per_item", "J", "energy of a program's GPUs for an item after the warm-up", usual=True
)

EXPECTED = (RATE.name,)
"""Metrics that a record of a program has, or a reason."""


# Of models alone: results of operators have no columns of them.
STEP = time_metric(
    "step", "a training step: forward pass, loss, backward pass and update", on_request=True
)
OPTIMIZER = time_metric("optimizer", "the update of a training step's parameters", on_request=True)


class Steps(Instrument):
    """Times a model's training steps, and counts the operations of one, or of a forward pass."""

    name = "steps"
    metrics = (STEP, OPTIMIZER)
    needs = Needs(steady_clocks=True)

    def expected(self, case: Case) -> tuple[str, ...]:
        trained = isinstance(case.target, ModelTarget) and BACKWARD.name in case.passes
        return (STEP.name, OPTIMIZER.name) if trained else ()

    def measure(self, visit: Visit) -> None:
        model = visit.prepared.called
        if not isinstance(model, RunnableModel):
            return
        flops = model.flops(of_step=BACKWARD.name in visit.summaries)
        if flops is not None:
            keep_flops(visit, FLOPS, flops)
        if BACKWARD.name not in visit.case.passes:
            return
        from opperf.instruments.sampled_passes import SampledPasses

        passes = SampledPasses(visit)
        model.reset()
        passes.measure_phases(STEP, [model.step])
        passes.measure_phases(OPTIMIZER, [model.begin_update, model.update])
        model.reset()


STEPS = Steps()
