"""The account of a recorded program's step: its own time, the sum of its operators' times, that of
its compiled programs, and what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from opperf.frameworks.calls import BACKWARD
from opperf.model import PASSES, Case, CompiledProgram, MetricKind, Program, Record, Run
from opperf.reports.hotspots.places import in_order, phase_of, sites_of
from opperf.reports.hotspots.times import (
    MEASURED,
    RECORDED_TIMES,
    add_figures,
    time_of,
    totals,
    without_chains,
)
from opperf.results.figures import CaseFigures
from opperf.results.projection import operator_of
from opperf.results.recordings import machines_of, program_of
from opperf.results.units import Figure

NAMES = {
    "recorded_step": "Step, while it was recorded",
    "recorded_program": "Program, while it was recorded",
    "recorded_calls": "in operators, as recorded",
    "recorded_compiled": "in compiled programs",
    "between_recorded": "between operators",
    "step": "Step, without a recorder",
    "measured": "operators: count x measured time",
    "recorded": "operators, as recorded",
    "only_recorded": "operators not measured, as recorded",
    "compiled": "compiled programs, as recorded",
    "unexplained": "not explained",
    "beyond_measured": "in operators: recorded beyond measured",
    "between": "between operators",
}
"""Texts of the keys of parts; phases, compiled programs and their kernels have their own names."""


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
    """Number of those that have neither a measured nor a recorded time, and are in no compiled
    program that has one."""
    compiled: tuple[_OwnTime, ...]
    """Compiled programs whose time is known."""
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
    fused: Mapping[str, int]
    """Number of those that are in the times of compiled programs, by their names."""

    @property
    def alone(self) -> int:
        """Number of the others."""
        return self.number - sum(self.fused.values())

    @property
    def time(self) -> Figure | None:
        return self.recorded if self.measured is None else self.measured

    @property
    def untimed(self) -> int:
        """Number of the calls without a time."""
        if self.time is None:
            return self.alone
        if self.measured is not None:
            return 0
        lacking = sum(site.count for site in self.record.case.sites if site.time_ns is None)
        return lacking - (self.number - self.alone)

    @property
    def is_recorded(self) -> bool:
        """Whether a recorded time is that of all that was measured."""
        # Of a framework whose engine runs the backward pass, calls are those of the forward pass.
        has_backward = BACKWARD in self.record.summaries
        is_known = self.recorded is not None or not self.alone
        return self.measured is None or (is_known and not has_backward)


def accounts_of(runs: Iterable[Run]) -> list[Account]:
    """Returns the account of each run of a recorded program."""
    others = map(without_chains, runs)
    return [_account_of(run, program) for run in others if (program := program_of(run)) is not None]


def _account_of(run: Run, program: Program) -> Account:
    calls = [
        _Calls(
            record,
            record.case.count,
            time_of(record),
            RECORDED_TIMES.figure(record, ()),
            _fused_calls(record.case, program),
        )
        for record in RECORDED_TIMES.records(run)
    ]
    measured = [call.record for call in calls if call.measured is not None]
    machines = machines_of(run, measured)
    is_same = not program.machine or set(machines) <= {program.machine}
    has_recorded = any(call.recorded is not None or call.fused for call in calls)
    is_comparable = is_same or has_recorded
    # The times of another machine do not stand for the program's where it has its own.
    chosen = [
        call if is_same or not has_recorded else call._replace(measured=None) for call in calls
    ]
    compiled = _own_times(
        program,
        (call.record.case for call in calls),
        ((call.fused, call.measured.value) for call in chosen if call.measured is not None),
    )
    return Account(
        program=program,
        machines=machines,
        calls=sum(call.number for call in calls),
        untimed=sum(call.untimed for call in chosen),
        compiled=compiled,
        kinds=tuple(
            dict.fromkeys(record.time_kind for record in measured if record.time_kind is not None)
        ),
        step=_step_of(program),
        operators=_operators(chosen, program.steps, compiled),
        parts=tuple(_parts(program, chosen, compiled)) if is_comparable else (),
        is_comparable=is_comparable,
        dispatch_ns=_dispatch(measured),
    )


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


def _operators(
    calls: Iterable[_Calls], steps: int, compiled: Iterable[_OwnTime]
) -> dict[tuple[str, str], float]:
    ratios = {own.program.name: own.ratio for own in compiled}

    def number(call: _Calls) -> float:
        if call.measured is None:
            return float(call.number)
        return call.alone + sum(ratios[name] * own for name, own in call.fused.items())

    return totals(
        (
            (call.record.case.label, operator_of(call.record.case)),
            number(call) * call.time.value / steps,
        )
        for call in calls
        if call.time is not None
    )


def _dispatch(measured: Iterable[Record]) -> float | None:
    times = [
        time.median
        for record in measured
        if not record.moved_bytes
        and record.time_kind is MetricKind.WALL
        and (time := CaseFigures(record).of("forward")) is not None
    ]
    return median(times) if times else None


def _parts(
    program: Program, calls: Sequence[_Calls], compiled: Sequence[_OwnTime]
) -> Iterator[Part]:
    """Yields the parts of the recorded step, and of the step without a recorder."""
    steps = program.steps
    recorded = _sum((call.number, call.recorded) for call in calls)
    measured = _sum((call.alone, call.measured) for call in calls)
    others = _sum((call.number, call.recorded) for call in calls if call.measured is None)
    in_compiled = Figure(math.fsum(own.time_ns for own in compiled)) if compiled else None
    step = _step_of(program)
    if step is None:
        return
    has_own = program.step is not None
    has_steps = has_own or program.recorded_step is not None
    key = "recorded_step" if has_steps else "recorded_program"
    own = _recorded_step_of(program)
    timed = {"recorded_calls": recorded, "recorded_compiled": in_compiled}
    if own is not None and any(timed.values()) and (has_own or measured is None):
        rest = "unexplained" if any(call.untimed for call in calls) else "between_recorded"
        yield Part(key, own, 1.0, 0)
        for part in _inner(own, timed, steps, rest):
            yield part
            if part.key == "recorded_compiled" and not has_own:
                yield from _programs(compiled, own, steps)
        if not has_own:
            return
    yield Part("step" if has_own else key, step, 1.0, 0)
    sums = {"measured": measured, "only_recorded": others}
    if measured is None:
        sums = {"recorded": recorded}
    if not any((*sums.values(), in_compiled)):
        return
    for part in _inner(step, {**sums, "compiled": in_compiled}, steps, "unexplained"):
        yield part
        if part.key == "measured":
            yield from _phases(calls, step, steps)
        if part.key == "compiled":
            yield from _programs(compiled, step, steps)
    if measured is not None and recorded and all(call.is_recorded for call in calls):
        per_step = _divided(recorded, steps)
        beyond, between = per_step, difference(step, per_step)
        for total in filter(None, sums.values()):
            beyond = difference(beyond, _divided(total, steps))
        if in_compiled is not None:
            between = difference(between, _divided(in_compiled, steps))
        yield _part("beyond_measured", beyond, step, 2)
        yield _part("between", between, step, 2)


def _programs(compiled: Iterable[_OwnTime], step: Figure, steps: int) -> Iterator[Part]:
    """Yields the parts of compiled programs, each before its kernels."""
    for own in compiled:
        yield _part(own.program.name, Figure(own.time_ns / steps), step, 2)
        kernels = own.program.kernels
        for name in sorted(kernels, key=lambda name: -kernels[name]):
            yield _part(name, Figure(kernels[name] / steps), step, 3)


def _sum(counted: Iterable[tuple[int, Figure | None]]) -> Figure | None:
    known = [(count, figure) for count, figure in counted if count and figure is not None]
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
            left = difference(left, part)
    yield _part(rest, left, step, 1)


def _divided(total: Figure, steps: int) -> Figure:
    half_width = None if total.half_width is None else total.half_width / steps
    return Figure(total.value / steps, half_width, total.unreliable)


def difference(first: Figure, other: Figure) -> Figure:
    """Returns what a figure is more than another, whose errors are independent."""
    # Where the first has none, the other's alone would say that the difference is certain.
    widths = [width for width in (first.half_width, other.half_width) if width is not None]
    return Figure(
        first.value - other.value,
        None if first.half_width is None else math.hypot(*widths),
        first.unreliable or other.unreliable,
    )


def _phases(calls: Iterable[_Calls], step: Figure, steps: int) -> Iterator[Part]:
    """Yields the parts of the measured times by the phases of the step, if there are several."""
    times: dict[str, float] = {}
    for call in calls:
        for name in PASSES if call.measured is not None else ():
            one = time_of(call.record, (name,))
            for site, time in sites_of(call.record.case, one.value, MEASURED) if one else ():
                if site.program in call.fused and site.time_ns is None:
                    continue
                phase = BACKWARD if name == BACKWARD else phase_of(site.phase)
                times[phase] = times.get(phase, 0.0) + time / steps
    if len(times) > 1:
        for phase in in_order(times):
            yield _part(phase, Figure(times[phase]), step, 2)


def _part(key: str, time: Figure, step: Figure, depth: int) -> Part:
    return Part(key, time, time.value / step.value if step.value else 0.0, depth)


class _OwnTime(NamedTuple):
    """A compiled program, with the time of all of its runs."""

    program: CompiledProgram
    time_ns: float
    """Without that of operators that it calls."""
    alone_ns: float
    """Of the calls that it fuses, as they were measured one by one; 0 if none was."""

    @property
    def ratio(self) -> float:
        """Share of the measured times of the calls that it fuses that they take there at most."""
        return min(1.0, self.time_ns / self.alone_ns) if self.alone_ns else 1.0


def _fused_calls(case: Case, program: Program) -> dict[str, int]:
    """Returns the number of a case's calls that are in the times of compiled programs, by name."""
    timed = {made.name for made in program.compiled if made.time_ns is not None}
    found: dict[str, int] = {}
    for site in case.sites:
        if site.program in timed and site.time_ns is None:
            found[site.program] = found.get(site.program, 0) + site.count
    return found


def _own_times(
    program: Program, cases: Iterable[Case], measured: Iterable[tuple[Mapping[str, int], float]]
) -> tuple[_OwnTime, ...]:
    """Returns the compiled programs whose time is known, those that take most first. `measured` has
    the fused calls of each measured case, with the time of one in nanoseconds."""
    called = totals((site.program, site.time_ns or 0.0) for case in cases for site in case.sites)
    alone = totals(
        (name, number * time) for fused, time in measured for name, number in fused.items()
    )
    found = [
        # The clock of a call is in that of the program.
        _OwnTime(
            made, max(0.0, made.time_ns - called.get(made.name, 0.0)), alone.get(made.name, 0.0)
        )
        for made in program.compiled
        if made.time_ns is not None
    ]
    return tuple(sorted(found, key=lambda own: (-own.time_ns, own.program.name)))
