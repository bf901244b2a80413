"""The command `plot`, from its options to the exit code."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opperf.errors import OutputError, RunFileError, UsageError
from opperf.extras import check_extras
from opperf.model import DECLARED, Record, Run
from opperf.plurals import pluralize
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import check_output, replace
from opperf.results.plots.bar_images import bar_picture, legend_lines
from opperf.results.plots.bars import MOST_ROWS, BarPlot, make_bars
from opperf.results.plots.data import Plot, has_sizes, make_plot
from opperf.results.plots.dimensions import measured
from opperf.results.plots.images import INTERVALS, WRITERS, image
from opperf.results.plots.text import bar_text, plot_text
from opperf.results.projection import OPERATOR, Source
from opperf.results.runfile import is_run_file, read_run
from opperf.results.sweeps import swept_inputs, swept_labels
from opperf.results.text import terminal_width, truncate

TEXT_WIDTH = 80
"""Columns of a chart that is printed to a file or a pipe."""

TITLE_WIDTH = 100
"""Most characters of a line above an image, the width of two panels."""

SHOWN_INPUTS = 6
"""Most operators whose inputs are above an image."""


@dataclass(frozen=True)
class Request:
    """The request of `plot`: its parameters."""

    files: tuple[Path, ...]
    metrics: tuple[str, ...]
    x: str | None
    by: tuple[str, ...]
    top: int | None
    output_file: Path | None
    overwrite: bool


def plot_command(request: Request) -> int:
    """Draws run files, and returns the exit code. Raises `OpperfError` if it cannot."""
    files, output = request.files, request.output_file
    suffix = check_image(output, files, request.overwrite)
    runs = [_read(path) for path in files]
    names = _names(files)
    sources = [
        Source(name, run.records, run.header.labels) for name, run in zip(names, runs, strict=True)
    ]
    x, by = request.x, request.by
    plot: Plot | BarPlot
    if x == OPERATOR or (x is None and not has_sizes(sources)):
        plot = make_bars(sources, _lower(request.metrics), by, request.top or MOST_ROWS)
    elif request.top is not None:
        raise UsageError("--top limits the rows of bars, and these are lines; use --x operator")
    else:
        plot = make_plot(sources, _lower(request.metrics), x, by)
    for note in plot.notes:
        tell(note)
    if output is None:
        _print(plot)
        return 0
    check_extras("a plot", "altair", "vl_convert")
    records = [entry.record for entry in measured(sources)]
    replace(output, WRITERS[suffix](_chart(plot, runs, records)))
    tell(f"written to {output}")
    return 0


def _print(plot: Plot | BarPlot) -> None:
    width = terminal_width() or TEXT_WIDTH
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if isinstance(plot, BarPlot):
        print(bar_text(plot, width, color))
        return
    check_extras("a plot", "plotext")
    print(plot_text(plot, width, color))


def _chart(plot: Plot | BarPlot, runs: Sequence[Run], records: Sequence[Record]) -> Any:
    title, subtitle = _title(records), _subtitle(runs, records)
    if isinstance(plot, BarPlot):
        return bar_picture(plot, title, [*subtitle, *legend_lines(plot), *plot.notes])
    marks = [INTERVALS] if plot.has_intervals else []
    return image(plot, title, [*subtitle, *marks, *plot.notes])


def _lower(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


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


def _read(path: Path) -> Run:
    """Returns the run of a file, and prints warnings. Raises `RunFileError` for any other."""
    if path.is_file() and not is_run_file(path):
        raise RunFileError(
            f"{path} is not a run file, which has the intervals; write one with opperf run -f "
            "jsonl -o FILE.jsonl; `opperf runs` lists those that are kept"
        )
    run, warnings = read_run(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to plot")
    return run


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
