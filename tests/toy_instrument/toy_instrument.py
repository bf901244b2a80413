"""An instrument of another package, with a metric of which higher is better."""

from opperf.instruments.instrument import Instrument
from opperf.model import Metric, MetricKind

RATE = Metric(
    "bandwidth",
    "GB/s",
    MetricKind.DERIVED,
    title="Bandwidth",
    description="bytes moved in a second of the forward pass",
    lower_is_better=False,
)


class Bandwidth(Instrument):
    """Keeps a value for each sample of the forward pass: bytes in a ns are GB/s."""

    name = "bandwidth"
    metrics = (RATE,)

    def measure(self, visit):
        if visit.case.settings.seed == 13:
            raise ZeroDivisionError("no luck")
        visit.keep(RATE, [visit.moved_bytes / ns for ns in visit.samples["forward"]])


class Taken(Instrument):
    metrics = (Metric("forward", "GB/s", MetricKind.DERIVED, title="Forward"),)


class Wordy(Instrument):
    metrics = ("bandwidth",)


BANDWIDTH, TAKEN, WORDY, NO_INSTRUMENT = Bandwidth(), Taken(), Wordy(), RATE
