"""The commands on results of models."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.plurals import pluralize
from opperf.requests.models import AnalyzeRequest
from opperf.results.messages import tell


@command(AnalyzeRequest)
def analyze(request: AnalyzeRequest) -> int:
    """Tabulate the results of models in DIR, ./output by default: the minimum, median, maximum,
    mean and standard deviation of each metric of each record in its files *.jsonl, which
    PyTorch/XLA's benchmarks write. The report is written to DIR, in place of the last one."""
    made = request.run(tell)
    tell(f"{pluralize(made.count, 'record')} written to {' and '.join(map(str, made.paths))}")
    return 0
