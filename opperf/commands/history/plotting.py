"""The command `history plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.choosing import choose, chosen_series
from opperf.commands.history.options import branch, project, store
from opperf.parameters import debug, output_options

MOST_PANELS = 60
"""Most series of a chart: a page of them can still be looked through."""


@command(
    examples={
        "An operator over months, with what changed": (
            "opperf history plot softmax --metric forward --branch main -o softmax.html"
        )
    }
)
@chosen_series
@output_options("Image or page to write: .png, .svg or .html.  [default: a chart in the terminal]")
@store
@project
@branch
@debug
@click.pass_context
def plot(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Draw series over the commits, with their intervals and the changes that were detected: a
    panel for each case and metric, a line for each environment."""
    ctx.exit(_plot(**options))


def _plot(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    environment: str,
    output_file: Path | None,
    overwrite: bool,
    store: str | None,
    project: str,
    branch: str,
) -> int:
    # Help and completion do without the imports.
    import os
    import sys

    from opperf.errors import UsageError
    from opperf.extras import check_extras
    from opperf.history.store.opening import Store, default_store
    from opperf.plurals import pluralize
    from opperf.results.messages import tell
    from opperf.results.output import replace
    from opperf.results.plots.drawing import TEXT_WIDTH, check_image
    from opperf.results.plots.images import WRITERS
    from opperf.results.plots.text import plot_text
    from opperf.results.text import terminal_width

    suffix = check_image(output_file, (), overwrite)
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.plots import chart, panels_of, text_plot
        from opperf.history.store import reading
        from opperf.history.store.events import read_events
        from opperf.history.timelines import read_history

        of = reading.find_project(opened, project)
        series = choose(reading.read_series(opened, of), names, metrics, environment)
        history = read_history(opened, of, {stored.id for stored in series}, branch)
        events = read_events(opened, of, branch)
        labels = reading.machine_names(reading.read_environments(opened))
    panels = len(panels_of(history))
    if not panels:
        raise UsageError("these series have no figure" + (f" of {branch}" if branch else ""))
    if panels > MOST_PANELS:
        raise UsageError(
            f"{pluralize(panels, 'panel')} are more than a page is for ({MOST_PANELS}); name "
            "operators, or --metric"
        )
    if output_file is None:
        check_extras("a plot", "plotext")
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(plot_text(text_plot(history, labels), terminal_width() or TEXT_WIDTH, color))
        return 0
    check_extras("a plot", "altair", "vl_convert")
    title = f"{of.name}{', ' + branch if branch else ''}: {pluralize(len(history.runs), 'run')}"
    replace(output_file, WRITERS[suffix](chart(history, events, labels, title)))
    tell(f"written to {output_file}")
    return 0
