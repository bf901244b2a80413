"""The instrument of models: a training step, its update apart, and its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opperf.frameworks.models import RunnableModel
from opperf.instruments.compilation import keep_flops
from opperf.instruments.instrument import Instrument, Needs
from opperf.instruments.times import BACKWARD
from opperf.model import Case, Metric, MetricKind, ModelTarget

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

STEP = Metric(
    "step",
    "ns",
    MetricKind.WALL,
    title="Step",
    description="time of a training step: forward pass, loss, backward pass and update",
    # Of models alone: results of operators have no column of it.
    on_request=True,
)

OPTIMIZER = Metric(
    "optimizer",
    "ns",
    MetricKind.WALL,
    title="Optimizer",
    description="time of the update of a training step's parameters",
    on_request=True,
)


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
            keep_flops(visit, flops)
        if BACKWARD.name not in visit.case.passes:
            return
        from opperf.instruments.sampled_passes import SampledPasses

        passes = SampledPasses(visit)
        model.reset()
        passes.measure_phases(STEP, [model.step])
        passes.measure_phases(OPTIMIZER, [model.begin_update, model.update])
        model.reset()


STEPS = Steps()
