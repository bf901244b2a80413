"""Charts of run files as they are printed and written: their files, titles and formats."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from opperf.errors import OutputError, RunFileError, UsageError
from opperf.extras import check_extras
from opperf.model import DECLARED, Record, Run
from opperf.plurals import pluralize
from opperf.results.kept import display
from opperf.results.output import check_output
from opperf.results.plots.bar_images import bar_picture, legend_lines
from opperf.results.plots.bars import BarPlot
from opperf.results.plots.data import Plot
from opperf.results.plots.dimensions import measured
from opperf.results.plots.images import INTERVALS, WRITERS, image
from opperf.results.plots.text import bar_text, plot_text
from opperf.results.projection import Source
from opperf.results.runfile import is_run_file, read_run
from opperf.results.sweeps import swept_inputs, swept_labels
from opperf.results.text import terminal_width, truncate

TEXT_WIDTH = 80
"""Columns of a chart that is printed to a file or a pipe."""

TITLE_WIDTH = 100
"""Most characters of a line above an image, the width of two panels."""

SHOWN_INPUTS = 6
"""Most operators whose inputs are above an image."""


def print_plot(plot: Plot | BarPlot) -> None:
    """Prints a chart for the terminal. Raises `UsageError` if what draws it is not installed."""
    width = terminal_width() or TEXT_WIDTH
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if isinstance(plot, BarPlot):
        print(bar_text(plot, width, color))
        return
    check_extras("a plot", "plotext")
    print(plot_text(plot, width, color))


def draw(
    plot: Plot | BarPlot, runs: Sequence[Run], sources: Sequence[Source], suffix: str
) -> bytes:
    """Returns the file of a chart; `suffix` is an image's or a page's."""
    records = [entry.record for entry in measured(sources)]
    title, subtitle = _title(records), _subtitle(runs, records)
    if isinstance(plot, BarPlot):
        chart = bar_picture(plot, title, [*subtitle, *legend_lines(plot), *plot.notes])
    else:
        marks = [INTERVALS] if plot.has_intervals else []
        chart = image(plot, title, [*subtitle, *marks, *plot.notes])
    return WRITERS[suffix](chart)


def check_image(output: Path | None, files: Sequence[Path], overwrite: bool) -> str:
    """Returns the image's extension. Raises `UsageError` or `OutputError` for a bad output."""
    if output is None:
        return ""
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        raise UsageError(
            f"{output}: the name of an image ends in {', '.join(WRITERS)}; without -o the chart "
            "is printed in the terminal"
        )
    if output in files:
        raise OutputError(f"{output} is a run file itself; choose another output")
    check_output(output, overwrite)
    return suffix


def read_drawn(path: Path, say: Callable[[str], None]) -> Run:
    """Returns the run of a file. Raises `RunFileError` for any other, and for one without a
    record."""
    if path.is_file() and not is_run_file(path):
        raise RunFileError(
            f"{path} is not a run file, which has the intervals; write one with opperf run -f "
            "jsonl -o FILE.jsonl; `opperf runs` lists those that are kept"
        )
    run, warnings = read_run(path)
    for warning in warnings:
        say(f"warning: {warning}")
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to plot")
    return run


def sources_of(files: Sequence[Path], runs: Sequence[Run]) -> list[Source]:
    """Returns the records of runs, under the shortest names that tell their files apart."""
    return [
        Source(name, run.records, run.header.labels)
        for name, run in zip(_names(files), runs, strict=True)
    ]


def _names(files: Sequence[Path]) -> list[str]:
    names = [display(path) for path in files]
    stems = Counter(Path(name).stem for name in names)
    return [Path(name).stem if stems[Path(name).stem] == 1 else name for name in names]


def _title(records: Sequence[Record]) -> str:
    operators = dict.fromkeys(swept_labels([record.case for record in records]))
    names = ", ".join(operators)
    if len(names) > TITLE_WIDTH:
        names = f"{pluralize(len(operators), 'operator')}: {names}"
    return truncate(names, TITLE_WIDTH)


def _subtitle(runs: Sequence[Run], records: Sequence[Record]) -> list[str]:
    swept: dict[str, list[Record]] = {}
    labels = swept_labels([record.case for record in records])
    for record, label in zip(records, labels, strict=True):
        if record.case.point:
            swept.setdefault(label, []).append(record)
    lines = [
        f"{label}: {swept_inputs([record.case for record in own])}"
        for label, own in list(swept.items())[:SHOWN_INPUTS]
    ]
    if len(swept) > SHOWN_INPUTS:
        lines.append(f"and {pluralize(len(swept) - SHOWN_INPUTS, 'other operator')}")
    facts: dict[str, None] = {}
    for run in runs:
        for environment in run.environments.values():
            version = environment.versions.get(environment.framework, "")
            facts |= {f"{environment.framework} {version}".strip(): None, environment.cpu: None}
    for name in ("device", "dtype", "profiler", "threads"):
        values = {getattr(record.case.settings, name) for record in records}
        if len(values) == 1:
            (value,) = values
            text = DECLARED[name].text(value)
            facts[text if name in ("device", "dtype") else f"{name} {text}"] = None
    lines.append(", ".join(filter(None, facts)))
    return [truncate(line, TITLE_WIDTH) for line in lines]
