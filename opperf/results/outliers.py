"""Shapes that take longer than their size explains.

Cases of one operator's configuration that differ in their shapes are compared with a line: a time
that every call takes, and a time for each byte of the inputs and outputs. The line is fitted to
ratios, as a microsecond matters where a call takes five and not where it takes a thousand, and by a
loss that a few outliers do not draw to themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opperf.metrics import PASSES
from opperf.model import DECLARED, Metric, MetricKind, Pass, Record, Run
from opperf.results.settings import needed, option_words
from opperf.results.text import inputs_text

LEAST_POINTS = 5
"""Shapes that a line is fitted to, at least: with two unknowns and fewer points, one outlier makes
the line."""

LOSS_SCALE = 0.2
"""Logarithm of the ratio beyond which a point counts less and less: some 20 %, as much as two
shapes of one size differ by when nothing is wrong."""

MOVED = Metric(
    "moved_bytes",
    "B",
    MetricKind.DERIVED,
    title="Moved",
    description="bytes of the inputs and of the outputs",
)
"""How the bytes that a case moves are shown; they are its own and none of its figures."""

WORST = 10
"""Outliers that are told of."""


class Line(NamedTuple):
    """A time as a function of bytes."""

    call_ns: float
    """What a call takes, however little it moves."""
    byte_ns: float

    def at(self, moved: float) -> float:
        """Nanoseconds for so many bytes."""
        return self.call_ns + self.byte_ns * moved


class Outlier(NamedTuple):
    """A shape beside the line of its operator."""

    record: Record
    metric: str
    line: Line
    measured_ns: float

    @property
    def expected_ns(self) -> float:
        return self.line.at(self.record.moved_bytes)

    @property
    def ratio(self) -> float:
        """Time measured to the one that the line has for as many bytes."""
        return self.measured_ns / self.expected_ns


def fitted(moved: Sequence[float], times: Sequence[float]) -> Line:
    """The line through points of bytes and nanoseconds, all positive, by robust least squares on
    the logarithm of the time (a soft L1 loss, Huber's with a smooth bend)."""
    import numpy as np
    from scipy.optimize import least_squares

    x, y = np.asarray(moved, dtype=float), np.asarray(times, dtype=float)

    def residuals(logs: Any) -> Any:
        call, byte = np.exp(logs)
        return np.log(call + byte * x) - np.log(y)

    # From below: what the quickest call took, and what the quickest byte did.
    start = np.log([y.min(), (y / x).min()])
    found = least_squares(residuals, start, loss="soft_l1", f_scale=LOSS_SCALE)
    call, byte = np.exp(found.x)
    return Line(float(call), float(byte))


def outliers(records: Iterable[Record]) -> list[Outlier]:
    """Every shape that a line could be fitted for, the one that is furthest above it first."""
    found = [
        Outlier(record, metric, line, record.summaries[metric].median)
        for metric, group, line in _lines(records)
        for record in group
    ]
    return sorted(found, key=lambda outlier: -outlier.ratio)


def _lines(records: Iterable[Record]) -> Iterator[tuple[str, list[Record], Line]]:
    """A metric, the records of one operator's configuration, and their line; configurations of too
    few records each have one together."""
    groups: dict[tuple[str, Pass, tuple[str, ...]], list[Record]] = {}
    for record in records:
        for metric in PASSES:
            if record.moved_bytes and metric in record.summaries:
                key = (record.case.label, metric, record.case.tags)
                groups.setdefault(key, []).append(record)
    pooled: dict[tuple[str, Pass, tuple[str, ...]], list[Record]] = {}
    for (label, metric, tags), group in groups.items():
        pooled.setdefault((label, metric, tags if len(group) >= LEAST_POINTS else ()), []).extend(
            group
        )
    for (_, metric, _), group in pooled.items():
        # A clock that is too coarse gives zeros, which have no logarithm.
        points = [record for record in group if record.summaries[metric].median > 0]
        if len(points) >= LEAST_POINTS:
            moved = [record.moved_bytes for record in points]
            times = [record.summaries[metric].median for record in points]
            yield metric, points, fitted(moved, times)


Column = tuple[str, Callable[[Outlier], str]]

COLUMNS: tuple[Column, ...] = (
    ("Out of line", lambda outlier: outlier.record.case.label),
    ("Pass", lambda outlier: outlier.metric),
    ("Inputs", lambda outlier: inputs_text(outlier.record.case)),
    ("Id", lambda outlier: outlier.record.id),
    ("Moved kB", lambda outlier: f"{outlier.record.moved_bytes / 1e3:.3f}"),
    ("Median ms", lambda outlier: f"{outlier.measured_ns / 1e6:.6f}"),
    ("Line ms", lambda outlier: f"{outlier.expected_ns / 1e6:.6f}"),
    ("Ratio", lambda outlier: f"{outlier.ratio:.2f}"),
)
"""What is told of an outlier: the texts, then the numbers."""

TEXTS = 4
"""How many of the columns are texts."""

EXPLAINED = (
    "The line is fitted to time against bytes moved, for each operator's configuration and pass."
)


def commands_for(run: Run, record: Record) -> dict[str, str]:
    """The commands for one case of a run of random shapes: `run` measures it again, and `show`,
    which has no options for some settings and is then missing, prints its script."""
    case = record.case
    environment = run.environments.get(record.environment)
    settings = {**case.settings.identity(), "seed": case.settings.seed}
    # The interpreters are in the header, with the paths that the labels stand for.
    del settings["python"]
    settings = needed(settings, environment.devices if environment else ())
    selection = run.header.options["selection"]
    fuzz = selection["fuzz"]
    shapes = {
        "--max-configs": selection.get("configurations"),
        "--fuzz-shapes": fuzz["count"],
        "--min-elements": fuzz.get("least"),
        "--max-elements": fuzz.get("most"),
    }
    options = [
        *("--framework", case.target.framework),
        *(word for one in run.header.interpreters for word in ("--python", str(one))),
        *(str(word) for pair in shapes.items() if pair[1] is not None for word in pair),
        *option_words(settings),
        *("--id", record.id),
    ]
    names = ("run", "show") if all(DECLARED[name].common for name in settings) else ("run",)
    return {name: shlex.join(("opperf", name, case.pattern, *options)) for name in names}


def is_fuzzed(run: Run) -> bool:
    """Whether a run was one of random shapes."""
    return bool((run.header.options.get("selection") or {}).get("fuzz"))
