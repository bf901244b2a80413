"""The account of a recorded program's step: its own time, the sum of its operators' times, and what
is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from opperf.frameworks.calls import BACKWARD
from opperf.model import PASSES, Case, MetricKind, Program, Record, Run
from opperf.reports.hotspots.places import in_order, phase_of, sites_of
from opperf.reports.hotspots.times import (
    MEASURED,
    RECORDED_TIMES,
    add_figures,
    recorded_time,
    time_of,
)
from opperf.results.projection import operator_of
from opperf.results.recordings import machines_of, program_of
from opperf.results.units import Figure

NAMES = {
    "recorded_step": "Step, while it was recorded",
    "recorded_program": "Program, while it was recorded",
    "recorded_calls": "in operators, as recorded",
    "between_recorded": "between operators",
    "step": "Step, without a recorder",
    "measured": "operators: count x measured time",
    "recorded": "operators, as recorded",
    "only_recorded": "operators not measured, as recorded",
    "unexplained": "not explained",
    "beyond_measured": "in operators: recorded beyond measured",
    "between": "between operators",
}
"""Texts of the keys of parts; phases have their own names."""


class Part(NamedTuple):
    """A part of a step."""

    key: str
    time: Figure
    """In a step, in nanoseconds."""
    share: float
    """Of the step that it is part of."""
    depth: int


class Account(NamedTuple):
    """The account of one program."""

    program: Program
    machines: tuple[str, ...]
    """That measured the cases; none if none was measured."""
    calls: int
    """Number of calls of the cases in the file."""
    untimed: int
    """Number of those that have neither a measured nor a recorded time."""
    kinds: tuple[MetricKind, ...]
    """Kinds of the measured times."""
    parts: tuple[Part, ...]
    """Each before those that it consists of."""
    step: Figure | None
    """Time of a step of the program, in nanoseconds; None if it is unknown."""
    operators: dict[tuple[str, str], float]
    """Times of operators in a step, in nanoseconds, by their names with and without the
    overload."""
    is_comparable: bool
    """Whether these times are of the program's machine, as far as that is known."""
    dispatch_ns: float | None
    """Median of the times by the wall clock of the calls that move no data; None without one."""

    @property
    def is_elsewhere(self) -> bool:
        return bool(self.program.machine) and not set(self.machines) <= {self.program.machine}


class _Calls(NamedTuple):
    """The calls of a case."""

    record: Record
    number: int
    measured: Figure | None
    """Time of one, in nanoseconds."""
    recorded: Figure | None

    @property
    def time(self) -> Figure | None:
        return self.recorded if self.measured is None else self.measured

    @property
    def untimed(self) -> int:
        """Number of the calls without a time."""
        if self.time is None:
            return self.number
        sites = self.record.case.sites if self.measured is None else ()
        return sum(site.count for site in sites if site.time_ns is None)

    @property
    def is_recorded(self) -> bool:
        """Whether a recorded time is that of all that was measured."""
        # Of a framework whose engine runs the backward pass, calls are those of the forward pass.
        has_backward = BACKWARD in self.record.summaries
        return self.measured is None or (self.recorded is not None and not has_backward)


def accounts_of(runs: Iterable[Run]) -> list[Account]:
    """Returns the account of each run of a recorded program."""
    return [account_of(run, program) for run in runs if (program := program_of(run)) is not None]


def account_of(run: Run, program: Program) -> Account:
    """Returns the account of a program whose calls are the cases of a run."""
    calls = [
        _Calls(record, record.case.count, time_of(record), _recorded(record.case))
        for record in RECORDED_TIMES.records(run)
    ]
    measured = [call.record for call in calls if call.measured is not None]
    machines = machines_of(run, measured)
    is_same = not program.machine or set(machines) <= {program.machine}
    has_recorded = any(call.recorded is not None for call in calls)
    is_comparable = is_same or has_recorded
    # The times of another machine do not stand for the program's where it has its own.
    chosen = [
        call if is_same or not has_recorded else call._replace(measured=None) for call in calls
    ]
    return Account(
        program=program,
        machines=machines,
        calls=sum(call.number for call in calls),
        untimed=sum(call.untimed for call in chosen),
        kinds=tuple(
            dict.fromkeys(record.time_kind for record in measured if record.time_kind is not None)
        ),
        step=_step_of(program),
        operators=_operators(chosen, program.steps),
        parts=tuple(_parts(program, chosen)) if is_comparable else (),
        is_comparable=is_comparable,
        dispatch_ns=_dispatch(measured),
    )


def _recorded(case: Case) -> Figure | None:
    time = recorded_time(case)
    return None if time is None else Figure(time)


def _step_of(program: Program) -> Figure | None:
    if program.step is not None:
        step = program.step
        return Figure(step.median, step.half_width, step.n == 1)
    return _recorded_step_of(program)


def _recorded_step_of(program: Program) -> Figure | None:
    """Returns the time of a step of what was recorded. The calls are those of all of it, and the
    times of steps are not: they lack the first one, and what follows the last."""
    if program.recorded_ns is not None:
        return Figure(program.recorded_ns / program.steps)
    return None if program.recorded_step is None else Figure(program.recorded_step.mean)


def _operators(calls: Iterable[_Calls], steps: int) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for call in calls:
        if call.time is not None:
            key = (call.record.case.label, operator_of(call.record.case))
            found[key] = found.get(key, 0.0) + call.number * call.time.value / steps
    return found


def _dispatch(measured: Iterable[Record]) -> float | None:
    times = [
        record.summaries["forward"].median
        for record in measured
        if not record.moved_bytes
        and record.time_kind is MetricKind.WALL
        and "forward" in record.summaries
    ]
    return median(times) if times else None


def _parts(program: Program, calls: Sequence[_Calls]) -> Iterator[Part]:
    """Yields the parts of the recorded step, and of the step without a recorder."""
    steps = program.steps
    recorded = _sum((call.number, call.recorded) for call in calls)
    measured = _sum((call.number, call.measured) for call in calls)
    others = _sum((call.number, call.recorded) for call in calls if call.measured is None)
    step = _step_of(program)
    if step is None:
        return
    has_own = program.step is not None
    has_steps = has_own or program.recorded_step is not None
    key = "recorded_step" if has_steps else "recorded_program"
    own = _recorded_step_of(program)
    if own is not None and recorded is not None and (has_own or measured is None):
        yield Part(key, own, 1.0, 0)
        yield from _inner(own, {"recorded_calls": recorded}, steps, "between_recorded")
        if not has_own:
            return
    yield Part("step" if has_own else key, step, 1.0, 0)
    if measured is None and recorded is None:
        return
    if measured is None:
        yield from _inner(step, {"recorded": recorded}, steps, "unexplained")
        return
    *inner, rest = _inner(
        step, {"measured": measured, "only_recorded": others}, steps, "unexplained"
    )
    yield inner[0]
    yield from _phases(calls, step, steps)
    yield from inner[1:]
    yield rest
    if recorded is not None and all(call.is_recorded for call in calls):
        beyond = per_step = _divided(recorded, steps)
        for part in inner:
            beyond = _difference(beyond, part.time)
        yield _part("beyond_measured", beyond, step, 2)
        yield _part("between", _difference(step, per_step), step, 2)


def _sum(counted: Iterable[tuple[int, Figure | None]]) -> Figure | None:
    known = [(count, figure) for count, figure in counted if figure is not None]
    return add_figures(known) if known else None


def _inner(
    step: Figure, sums: Mapping[str, Figure | None], steps: int, rest: str
) -> Iterator[Part]:
    """Yields the parts of a step, of sums over all steps, and what they leave of it."""
    left = step
    for key, total in sums.items():
        if total is not None:
            part = _divided(total, steps)
            yield _part(key, part, step, 1)
            left = _difference(left, part)
    yield _part(rest, left, step, 1)


def _divided(total: Figure, steps: int) -> Figure:
    half_width = None if total.half_width is None else total.half_width / steps
    return Figure(total.value / steps, half_width, total.unreliable)


def _difference(first: Figure, other: Figure) -> Figure:
    widths = [width for width in (first.half_width, other.half_width) if width is not None]
    return Figure(
        first.value - other.value,
        math.hypot(*widths) if widths else None,
        first.unreliable or other.unreliable,
    )


def _phases(calls: Iterable[_Calls], step: Figure, steps: int) -> Iterator[Part]:
    """Yields the parts of the measured times by the phases of the step, if there are several."""
    times: dict[str, float] = {}
    for call in calls:
        for name in PASSES if call.measured is not None else ():
            one = time_of(call.record, (name,))
            for site, time in sites_of(call.record.case, one.value, MEASURED) if one else ():
                phase = BACKWARD if name == BACKWARD else phase_of(site)
                times[phase] = times.get(phase, 0.0) + time / steps
    if len(times) > 1:
        for phase in in_order(times):
            yield _part(phase, Figure(times[phase]), step, 2)


def _part(key: str, time: Figure, step: Figure, depth: int) -> Part:
    return Part(key, time, time.value / step.value if step.value else 0.0, depth)
