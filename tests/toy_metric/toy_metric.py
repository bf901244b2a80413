"""A metric of another package, of which higher is better, and what produces its values."""

from opperf.model import Metric, MetricKind

BANDWIDTH = Metric(
    "bandwidth",
    "GB/s",
    MetricKind.DERIVED,
    title="Bandwidth",
    description="bytes moved in a second of the forward pass",
    lower_is_better=False,
)


def bandwidth(prepared, record):
    """Returns a value for each sample of the forward pass: bytes in a ns are GB/s."""
    if record.case.settings.seed == 13:
        raise ZeroDivisionError("no luck")
    return [record.moved_bytes / ns for ns in record.samples["forward"]]


NO_METRIC = "bandwidth"

TAKEN = Metric("forward", "GB/s", MetricKind.DERIVED, title="Forward")
