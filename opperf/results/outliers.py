"""Outliers among random shapes: shapes that take longer than their size explains.

The times of an operator's configuration at several shapes are fit by a line: a time for each call,
and a time for each byte of inputs and outputs. The fit is of ratios, as a microsecond matters where
a call takes five and not where it takes a thousand, and with a robust loss.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opperf.model import DECLARED, PASSES, Record, Run, identity_of
from opperf.results.figures import CaseFigures, Measurement
from opperf.results.projection import group
from opperf.results.settings import needed_settings, option_words

MIN_POINTS = 5
"""Fewest shapes for a line: with two unknowns and fewer points, one outlier determines the line."""

LOSS_SCALE = 0.2
"""Log ratio beyond which a point's weight falls: shapes of a size may differ by 20 %."""

SHOWN_OUTLIERS = 10
"""Most outliers in a report."""


class Line(NamedTuple):
    """A time as a function of bytes."""

    call_ns: float
    byte_ns: float

    def at(self, moved: float) -> float:
        return self.call_ns + self.byte_ns * moved


class Outlier(NamedTuple):
    """A shape, and the line of its operator."""

    record: Record
    line: Line
    time: Measurement

    @property
    def expected_ns(self) -> float:
        return self.line.at(self.record.moved_bytes)

    @property
    def ratio(self) -> float:
        return self.time.median / self.expected_ns


def fit_line(moved: Sequence[float], times: Sequence[float]) -> Line:
    """Fits a line to positive bytes and nanoseconds, with a soft L1 loss of logarithms."""
    import numpy as np
    from scipy.optimize import least_squares

    x, y = np.asarray(moved, dtype=float), np.asarray(times, dtype=float)

    def residuals(logs: Any) -> Any:
        call, byte = np.exp(logs)
        return np.log(call + byte * x) - np.log(y)

    # A start below the points: the shortest time of a call, and of a byte.
    start = np.log([y.min(), (y / x).min()])
    found = least_squares(residuals, start, loss="soft_l1", f_scale=LOSS_SCALE)
    call, byte = np.exp(found.x)
    return Line(float(call), float(byte))


def outliers(records: Iterable[Record]) -> list[Outlier]:
    """Every shape that has a line, the one furthest above it first."""
    found = [
        Outlier(record, line, time) for group, line in _lines(records) for record, time in group
    ]
    return sorted(found, key=lambda outlier: -outlier.ratio)


Timed = tuple[Record, Measurement]


def _lines(records: Iterable[Record]) -> Iterator[tuple[list[Timed], Line]]:
    """Yields times and line of each configuration; small ones share a line."""
    timed = [
        (record, time)
        for record in records
        for metric in PASSES
        if (time := CaseFigures(record).of(metric)) is not None
        # A launch takes as long for any number of bytes, and would bend the line.
        if record.moved_bytes and time.is_ranked
    ]
    keys = [(record.case.label, time.metric.name, record.case.tags) for record, time in timed]
    counts = Counter(keys)
    pooled = group(timed, ((*k[:2], k[2] if counts[k] >= MIN_POINTS else ()) for k in keys))
    for own in pooled.values():
        # A coarse clock gives zeros, which have no logarithm.
        points = [(record, time) for record, time in own if time.median > 0]
        if len(points) >= MIN_POINTS:
            moved = [record.moved_bytes for record, _ in points]
            yield points, fit_line(moved, [time.median for _, time in points])


EXPLANATION = (
    "The line is fit to time against bytes moved, for each operator's configuration and pass."
)


AGAIN = {"run": "Measure the first again", "show": "Its script"}
"""Labels of the commands for the first outlier."""


DETERMINING = ("imports", "input_function", "seed")
"""Settings that an id does not have, without which there is no such case, or one with other
contents."""


def commands_for(run: Run, record: Record) -> dict[str, str]:
    """Returns the commands that measure a case again, and print its script where they can."""
    case = record.case
    environment = run.environments.get(record.environment)
    others = {name: getattr(case.settings, name) for name in DETERMINING}
    settings = {**identity_of(case.settings), **others}
    # The interpreters are in the header, with the paths that the labels stand for.
    del settings["python"]
    settings = needed_settings(settings, environment.devices if environment else ())
    selection = run.header.options["selection"]
    fuzz = selection.get("fuzz") or {}
    sizes = {
        # With a function of inputs there are no sizes.
        "--size": None if fuzz or settings.get("input_function") else selection.get("size"),
        "--max-configs": selection.get("configurations"),
        "--fuzz-shapes": fuzz.get("count"),
        "--min-elements": fuzz.get("least"),
        "--max-elements": fuzz.get("most"),
    }
    options = [
        *("--framework", case.target.framework),
        *(word for python in run.header.interpreters for word in python.words),
        *(str(word) for pair in sizes.items() if pair[1] is not None for word in pair),
        *(
            word
            for name, shape in selection.get("shapes", {}).items()
            for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")
        ),
        *option_words(settings),
        *("--id", record.id),
    ]
    names = ("run", "show") if all(DECLARED[name].common for name in settings) else ("run",)
    return {name: shlex.join(("opperf", name, case.pattern, *options)) for name in names}


def is_fuzzed(run: Run) -> bool:
    """Whether a run was one of random shapes."""
    return bool((run.header.options.get("selection") or {}).get("fuzz"))
