"""The command `plot`."""

from __future__ import annotations

from opperf.commands.options import command
from opperf.requests.plot import PlotRequest
from opperf.results.messages import tell


@command(PlotRequest)
def plot(request: PlotRequest) -> int:
    """Draw the results of run files (-f jsonl, or @last and others of `opperf runs`), as text in
    the terminal or as an image: lines against a swept size; without a sweep a row of bars for each
    operator and its inputs, with a bar for each mode, dtype, or whatever else differs. Axes are
    logarithmic where sizes grow by factors, and where bars differ much; bands and the lines on bars
    are 95 % intervals."""
    from opperf.results.plots.drawing import print_plot

    chart = request.run(tell)
    if request.output_file is None:
        print_plot(chart)
    else:
        tell(f"written to {request.output_file}")
    return 0
