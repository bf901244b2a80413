"""The commands on results of models."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.plurals import pluralize
from opperf.requests.models import AggregateRequest, AnalyzeRequest
from opperf.results.messages import tell
from opperf.results.output import write_content


@command(AnalyzeRequest)
def analyze(request: AnalyzeRequest) -> int:
    """Tabulate the results of models in DIR, ./output by default: the minimum, median, maximum,
    mean and standard deviation of each metric of each record in its files *.jsonl, which
    PyTorch/XLA's benchmarks write. The report is written to DIR, in place of the last one."""
    number, paths = request.run(tell)
    tell(f"{pluralize(number, 'record')} written to {' and '.join(map(str, paths))}")
    return 0


@command(
    AggregateRequest,
    examples={
        "Speed-ups over time, as CSV": "opperf aggregate results/*.jsonl",
        "The newest speed-ups of three backends, as an image": (
            "opperf aggregate results/*.jsonl --report latest_grouped -o latest.svg --backends "
            "eager inductor openxla+dynamo"
        ),
        "What fails since when, as a page": (
            "opperf aggregate results/*.jsonl --report failures -o failures.html"
        ),
    },
)
def aggregate(request: AggregateRequest) -> int:
    """Compare the results of models over backends and over time: files of the JSON lines that
    PyTorch/XLA's benchmarks write, or tables (CSV) of PyTorch's own runner."""
    content = request.run(tell)
    if content:
        write_content(request.output_file, content)
    return 0
