"""Prints what the checks of a simulated year found, when, and what they closed.

    python -m benchmarks.history.year [--seed N] [--days N] [--series N] [--noise SHARE ...]
    python -m benchmarks.history.year --years 48

Each noise has a year of 350 runs of 60 series, one a day, in which steps, a fix, two drifts and a
bad day happen, and one in which a machine is replaced. History is checked after each run, and its
events are kept between, as `opperf history check` does. A figure stands beside its target.
Ends with 1 if a target is missed.

With --years the first kind of year is made as often, and its history read once, at the end, which
says at which run a change was found: shares, beside those of a CUSUM that knows level, noise and
size of the step, and has one false alarm a year.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.history.simulated_year import DAY, Day, Step, Year, check_days, figures
from benchmarks.verdicts.simulation_report import Report
from opperf.history.checking import Noted
from opperf.history.detection.detecting import detect
from opperf.history.detection.findings import ChangeState, NoteKind
from opperf.history.detection.series import series_of
from opperf.history.events import Event, State
from opperf.model import Metric, MetricKind

NOISES = (0.02, 0.03, 0.05)

WITHIN = {1.5: (4, 1.0), 1.1: (8, 1.0), 1.05: (20, 0.02), 1.03: (60, 0.02)}
"""Runs within which a step is found, and the largest noise at which that is a target."""

NEAR_MACHINE = 10
"""Runs on the new machine within which a loss near its first one is found."""

NEAR = 20
"""Runs by which the event of a step may be placed beside it."""

MOST_FALSE = 1

LEAST_LOSS = 1.001
"""Factor above which a level is another one: those of a step and its fix differ by rounding."""


def _scaled(year: Year, day: int) -> int:
    """A day of a year of 350, in one of other length."""
    return day * year.days // 350


STEPS = (
    *((0, 60, 1.5), (1, 80, 1.1), (1, 180, 1 / 1.1), (2, 120, 1.1), (3, 100, 1.05)),
    *((4, 140, 1.03), (5, 150, 1.1), (5, 200, 1.1), (6, 90, 0.8), (6, 210, 1.25)),
    (9, 300, 1.5),
)

NEAR_STEPS = ((0, 60, 1.3), (1, -5, 1.2), (2, 0, 1.2), (3, 3, 1.2))
"""The first one long before the replacement; days of the others are counted from it."""


def _found(days: Sequence[Day], step: Step, environment: str = "") -> tuple[int | None, set[int]]:
    """Returns the day of the first event of a step, and the events that it has."""
    first: int | None = None
    numbers: set[int] = set()
    for day in days:
        for number, event in day.events.items():
            if event.series is None or day.rows[event.series] != step.row:
                continue
            is_of = abs(int(event.first_bad, 16) - step.day) <= NEAR and day.day >= step.day
            is_of = is_of and event.is_rise == (step.factor > 1)
            if is_of and environment in ("", event.environment):
                numbers.add(number)
                first = day.day if first is None else first
    return first, numbers


def _false_losses(last: Day, known: set[int]) -> list[Event]:
    return [
        event
        for number, event in last.events.items()
        if number not in known and event.series is not None and event.is_loss(True)
    ]


def show_year(report: Report, noise: float, seed: int, days: int, series: int) -> None:
    year = Year(series=series, days=days, sd=noise, drifts={7: 0.1, 8: 0.2})
    year.steps = tuple(Step(row, _scaled(year, day), factor) for row, day, factor in STEPS)
    year.bad_days = (_scaled(year, 240),)
    checked = list(check_days(year, seed))
    last = checked[-1]
    rows: list[list[object]] = []
    known: set[int] = set()
    for step in year.steps:
        first, numbers = _found(checked, step)
        known |= numbers
        runs = None if first is None else first - step.day + 1
        within, largest = WITHIN.get(step.factor, (0, 0.0))
        is_target = noise <= largest
        states = ", ".join(sorted({last.events[number].state.value for number in numbers}))
        row = [f"{step.factor - 1:+.0%}", step.day, runs or "never", within if is_target else ""]
        rows.append([*row, states])
        if is_target:
            report.check(
                runs is not None and runs <= within, f"{step.factor - 1:+.0%} at {noise:.0%}"
            )
    report.table(
        f"Steps in a year of {series} series, noise {noise:.0%}",
        ["step", "day", "found after runs", "target", "state at the end"],
        rows,
    )
    false = _false_losses(last, known)
    noted = {last.rows[one.series] for one in last.checked.notes if _is_drift(one)}
    rows_of_steps = {step.row for step in year.steps}
    wrong = sum(
        row in rows_of_steps and not _has_loss(year, row, day.day)
        for day in checked
        for row in day.open_rows()
    )
    machines = [event for event in last.events.values() if event.series is None and event.is_open]
    of_loss = [number for number in known if last.events[number].state is State.NOISE]
    report.table(
        f"The rest of it, noise {noise:.0%}",
        ["", "figure", "target"],
        [
            ["false losses in the year", len(false), f"at most {MOST_FALSE}"],
            ["drifts named, of 2", len(noted & {7, 8}), 2],
            ["events of the bad day that are open", len(machines), 0],
            ["events called noise while the change stood", len(of_loss), 0],
            ["days with an open loss in a series without one", wrong, 0],
        ],
    )
    report.check(len(false) <= MOST_FALSE, f"false losses at {noise:.0%}")
    report.check(noted >= {7, 8}, f"drifts at {noise:.0%}")
    report.check(not machines, f"the bad day is closed at {noise:.0%}")
    report.check(not of_loss, f"no change closed while it stands at {noise:.0%}")
    report.check(wrong == 0, f"exit 0 without a loss at {noise:.0%}")


def _is_drift(noted: Noted) -> bool:
    return noted.note.kind is NoteKind.DRIFT and noted.series is not None


def _has_loss(year: Year, row: int, day: int) -> bool:
    """Whether a series is slower than before one of its steps, or was until a few runs ago, as a
    fix has to be found too."""
    steps = [step for step in year.steps if step.row == row]

    def level(upto: int) -> float:
        return math.prod(step.factor for step in steps if step.day <= upto)

    return any(
        level(now) > level(step.day - 1) * LEAST_LOSS
        for step in steps
        for now in range(max(step.day, day - NEAR), day + 1)
    )


def show_replacement(report: Report, noise: float, seed: int, days: int, series: int) -> None:
    at = days // 2
    steps = tuple(
        Step(row, _scaled(Year(days=days), day) if row == 0 else at + day, factor)
        for row, day, factor in NEAR_STEPS
    )
    year = Year(series=series, days=days, sd=noise, steps=steps, replaced=at)
    checked = list(check_days(year, seed, upto=at + 3 * NEAR_MACHINE))
    rows: list[list[object]] = []
    for step in steps[1:]:
        first, _ = _found(checked, step, "second")
        runs = None if first is None else first - max(at, step.day) + 1
        rows.append(
            [f"{step.factor - 1:+.0%} at {step.day - at:+d}", runs or "never", NEAR_MACHINE]
        )
        report.check(runs is not None and runs <= NEAR_MACHINE, f"near a machine's at {noise:.0%}")
    left = sum(
        event.is_open and event.environment == "first" for event in checked[-1].events.values()
    )
    rows.append(["open events of the machine that is gone", left, 0])
    report.check(left == 0, "nothing of a machine that is gone is open")
    report.table(f"A machine is replaced, noise {noise:.0%}", ["", "figure", "target"], rows)


def show_shares(report: Report, noise: float, seed: int, years: int, series: int) -> None:
    """Prints in which share of the years a step was found in time."""
    year = Year(series=series, sd=noise, drifts={7: 0.1, 8: 0.2}, bad_days=(240,))
    year.steps = tuple(Step(*step) for step in STEPS)
    metric = Metric("time", "ns", MetricKind.WALL, "time")
    days = np.arange(year.days)
    found: dict[float, list[bool]] = {factor: [] for factor in WITHIN}
    named: list[bool] = []
    false = []
    for number in range(seed, seed + years):
        findings = detect(
            [
                series_of(str(row), metric, days, np.exp(logs), times=DAY * days)
                for row, logs in enumerate(figures(year, number))
            ]
        )
        of_steps = 0
        for step in year.steps:
            own = [
                change
                for change in findings.changes[step.row]
                if abs(change.first_bad - step.day) <= NEAR
                and change.state is not ChangeState.PENDING
                and change.is_worse == (step.factor > 1)
            ]
            of_steps += len(own)
            if step.factor in WITHIN:
                latest = step.day + WITHIN[step.factor][0]
                found[step.factor].append(any(change.seen_at < latest for change in own))
        shown = [
            change
            for changes in findings.changes
            for change in changes
            if change.state is not ChangeState.PENDING and not change.of_machine
        ]
        false.append(len(shown) - of_steps)
        drifts = {note.key for note in findings.notes if note.kind is NoteKind.DRIFT}
        named += [str(row) in drifts for row in year.drifts]
    rows: list[list[object]] = [
        [
            f"{factor - 1:+.0%} within {WITHIN[factor][0]}",
            f"{np.mean(shares):.2f}",
            f"{cusum_share(np.log(factor) / noise, WITHIN[factor][0], series, year.days):.2f}",
        ]
        for factor, shares in found.items()
    ]
    rows += [
        ["drifts named", f"{np.mean(named):.2f}", ""],
        ["false changes a year", f"{np.mean(false):.2f}", "1"],
        ["most of them in a year", max(false), ""],
    ]
    report.table(f"{years} years, noise {noise:.0%}", ["", "opperf", "CUSUM"], rows)


CUSUM_YEARS = 40
"""Simulated to find the threshold: 40 false alarms, of which the square root is 16 %."""


def cusum_share(step: float, within: int, series: int, days: int) -> float:
    """Returns the share of steps, in standard deviations, that Page's cumulative sum finds."""
    rng = np.random.default_rng(1)
    total = np.zeros(series * CUSUM_YEARS)
    largest = np.zeros_like(total)

    def add(level: float) -> None:
        gain = step * (rng.standard_normal(total.size) + level) - step**2 / 2
        np.maximum(0, total + gain, out=total)
        np.maximum(largest, total, out=largest)

    for _ in range(days):
        add(0.0)
    threshold = np.quantile(largest, 1 - 1 / series)
    largest[:] = total
    for _ in range(within):
        add(step)
    return float(np.mean(largest > threshold))


def main() -> int:
    """Prints the tables; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=int, default=350)
    parser.add_argument("--series", type=int, default=60)
    parser.add_argument("--noise", type=float, nargs="+", default=NOISES)
    parser.add_argument("--years", type=int)
    options = parser.parse_args()
    report = Report()
    for noise in options.noise if options.years else ():
        show_shares(report, noise, options.seed, options.years, options.series)
    if options.years:
        return 0
    for noise in options.noise:
        show_year(report, noise, options.seed, options.days, options.series)
        show_replacement(report, noise, options.seed, options.days, options.series)
    for target in dict.fromkeys(report.missed):
        print(f"MISSED: {target}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
