"""The instrument of verification: runs of eager mode, of the mode under test, and in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opperf.errors import UsageError
from opperf.instruments.instrument import Instrument, Needs
from opperf.model import Metric, MetricKind, Settings

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit

MEAN_ERROR, MAX_ERROR = (
    Metric(
        f"verification_{name}_rel_error",
        "share",
        # The same on every run.
        MetricKind.COUNT,
        title=f"{title} relative error",
        description=(
            f"{name} relative error of the results' elements from those of eager mode; of eager "
            "mode from those in float64"
        ),
        usual=False,
        on_request=True,
    )
    for name, title in (("mean", "Mean"), ("max", "Maximum"))
)


REFERENCE = "reference"
"""The setting by which results are compared with those of the canonical operation."""


class Verifier(Instrument):
    """Compares a case's results with those of eager mode, and with a run in float64."""

    name = "verification"
    metrics = (MEAN_ERROR, MAX_ERROR)
    needs = Needs(last=True)

    def measures(self, settings: Settings) -> bool:
        return bool(settings.verify)

    def effort(self, settings: Settings) -> list[str]:
        return ["results verified"]

    def check(self, measured: Sequence[Settings], others: Sequence[Settings]) -> None:
        wrong = next((own for own in others if own.verify), None)
        if wrong is not None:
            raise UsageError(
                f"--verify runs beside times, and --profiler {wrong.profiler} measures none; use "
                "--profiler python, or omit --verify"
            )

    def measure(self, visit: Visit) -> None:
        # It computes with NumPy, which the manager does without.
        if visit.prepared.case.settings.verify == REFERENCE:
            from opperf.instruments.verification.by_reference import verify_by_reference as verify
        else:
            from opperf.instruments.verification.verifying import verify

        visit.verification = found = verify(visit.prepared)
        errors = found.mean_relative_error, found.max_relative_error
        for metric, error in zip(self.metrics, errors, strict=True):
            if error is not None:
                visit.keep_value(metric, error)


VERIFICATION = Verifier()
