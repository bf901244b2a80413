"""A metric of another package, of which higher is better."""

from opperf.model import Metric, MetricKind

BANDWIDTH = Metric(
    "bandwidth",
    "GB/s",
    MetricKind.DERIVED,
    title="Bandwidth",
    description="bytes moved in a second of the forward pass",
    lower_is_better=False,
)

NO_METRIC = "bandwidth"

TAKEN = Metric("forward", "GB/s", MetricKind.DERIVED, title="Forward")
