"""The performance of a bench: items per second of all its processes together after the warm-up, and
of what is no program calls per second. More is better.

A bench's attempts are independent; its observations within one are not, as a program's speed
differs from one start to the next by more than its steps do. So the error of a bench with several
attempts is that of their scatter, and of one with a single attempt is that within it, which is no
bound of the former: in `ratios`, an assumed scatter stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from statistics import fmean, stdev, variance
from typing import Any, NamedTuple

import numpy as np

from opperf.instruments.program_metrics import RATE
from opperf.model import Case, Record, ScriptTarget, Summary, identity_of
from opperf.results.figures import NORMAL_95, CaseFigures, Measurement
from opperf.statistics.distributions import t_exceeded
from opperf.statistics.weights import mean_of_logs
from opperf.suites.results.run import Attempt, BenchResults

NS_PER_S = 1e9

TAIL = 0.025
"""Of either side of a 95 % interval."""

TIMES = (("step",), ("total",), ("forward", "backward"), ("kernel",))
"""Metrics of what is no program whose sum is the time of a call: the first of which it has one."""

COLD = (("first_call",), *TIMES)
"""Likewise of a case whose compiler's cache is cold: what is wanted is how long compiling takes."""

CALLS_UNIT = "calls/s"


class Sample(NamedTuple):
    """The performance of one attempt at a case."""

    value: float
    unit: str
    error: float | None
    """Standard error within the attempt, as a share; None of a single observation."""


def sample_of(attempt: Attempt) -> Sample | None:
    """Returns the performance of an attempt; None if it failed, or has no figure."""
    if not attempt.worked:
        return None
    return _of_program(attempt) if attempt.is_program else _of_times(attempt.record)


def _of_program(attempt: Attempt) -> Sample | None:
    rates: list[Summary | Measurement] = [
        process.result.rate for process in attempt.processes if process.result.rate is not None
    ]
    whole = CaseFigures(attempt.record).of(RATE.name)
    if whole is not None:
        rates = rates or [whole]
    total = math.fsum(rate.median for rate in rates)
    if not (math.isfinite(total) and total > 0):
        return None
    return Sample(total, rates[0].unit, _error(rates, total))


def _times_of(record: Record) -> list[Measurement]:
    """Returns the times of which a call consists; none where there is none."""
    measured = CaseFigures(record).measured
    for names in COLD if record.case.settings.compile_cache == "cold" else TIMES:
        found = [measured[name] for name in names if name in measured]
        total = math.fsum(time.median for time in found)
        if math.isfinite(total) and total > 0:
            return found
    return []


def _of_times(record: Record) -> Sample | None:
    found = _times_of(record)
    if not found:
        return None
    total = math.fsum(time.median for time in found)
    return Sample(NS_PER_S / total, CALLS_UNIT, _error(found, total))


def _error(figures: Sequence[Summary | Measurement], total: float) -> float | None:
    known = [found.half_width for found in figures if found.half_width is not None]
    return math.hypot(*known) / NORMAL_95 / total if len(known) == len(figures) else None


class Performance(NamedTuple):
    """The performance of a bench, of all attempts that worked."""

    value: float
    """Geometric mean over cases, and over the attempts at each."""
    unit: str
    cases: Mapping[str, Sequence[Sample]]
    spread: float | None
    """Standard deviation of single observations around the mean of their process, as a share; None
    where they are not known."""

    @property
    def attempts(self) -> int:
        """Number of attempts at the case that has the most."""
        return max(map(len, self.cases.values()))

    @property
    def half_width(self) -> float | None:
        """Half-width of the 95 % interval of the value, in its unit; None without an error."""
        if self.error is None:
            return None
        freedom = sum(len(found) - 1 for found in self.cases.values())
        reach = float(t_exceeded(TAIL, np.array([freedom]))[0]) if freedom else NORMAL_95
        return self.value * reach * self.error

    @property
    def error(self) -> float | None:
        """Standard error of the value, as a share: of the scatter of attempts, if there are
        several, else within the one; None where a case has a single observation in all."""
        parts = [_mean_error(found) for found in self.cases.values()]
        known = [part for part in parts if part is not None]
        return math.hypot(*known) / len(parts) if len(known) == len(parts) else None


def _mean_error(found: Sequence[Sample]) -> float | None:
    if len(found) < 2:
        return found[0].error
    # The scatter of attempts has what is not known within them.
    within = math.hypot(*(sample.error or 0.0 for sample in found)) / len(found)
    return max(within, math.sqrt(variance(math.log(sample.value) for sample in found) / len(found)))


def performance_of(bench: BenchResults) -> Performance | None:
    """Returns the performance of a bench; None if nothing of it worked. Cases of other units than
    the first one's are in none."""
    cases: dict[str, list[Sample]] = {}
    unit = ""
    for id, attempts in bench.attempts.items():
        found = [sample for attempt in attempts if (sample := sample_of(attempt)) is not None]
        unit = unit or next((sample.unit for sample in found), "")
        same = [sample for sample in found if sample.unit == unit]
        if same:
            cases[id] = same
    if not cases:
        return None
    logs = [fmean(math.log(sample.value) for sample in found) for found in cases.values()]
    return Performance(mean_of_logs(logs), unit, cases, _spread(bench))


NORMAL_MAD = 1.4826
"""Standard deviation of a normal variable over its median absolute deviation."""


def _spread(bench: BenchResults) -> float | None:
    squares, freedom = 0.0, 0
    for attempt in bench.all:
        for share, n in _deviations(attempt) if attempt.worked else ():
            squares += share**2 * (n - 1)
            freedom += n - 1
    return math.sqrt(squares / freedom) if freedom else None


def _deviations(attempt: Attempt) -> Iterator[tuple[float, int]]:
    """Yields the standard deviation of each process's observations, as a share of their mean, and
    their number: without the observations, from their median absolute deviation."""
    observed = _observations(attempt)
    for values in observed:
        mean = fmean(values)
        if len(values) > 1 and mean and math.isfinite(mean):
            yield stdev(values) / abs(mean), len(values)
    if not observed:
        for process in attempt.processes:
            rate = process.result.rate
            if rate is not None and rate.n > 1 and rate.median:
                yield NORMAL_MAD * rate.mad / abs(rate.median), rate.n


def _observations(attempt: Attempt) -> Sequence[Sequence[float]]:
    """Returns the observations of each process; none where they are not stored."""
    of_processes: list[Sequence[float]] = [
        process.rates for process in attempt.processes if process.rates
    ]
    if of_processes or attempt.is_program:
        # Those of several processes are not told apart.
        own = attempt.record.samples.get(RATE.name) if len(attempt.processes) == 1 else None
        return of_processes or ([own] if own else [])
    return [time.samples for time in _times_of(attempt.record) if time.samples]


LONGEST = 60
"""Most characters of a value that a reason has."""


PYTHON = "python"
"""The setting that is the environment, of which a comparison may be."""


def _plan_text(target: ScriptTarget) -> str:
    number = f" n={target.processes}" if target.method == "njobs" else ""
    nodes = f" on {target.nodes} nodes" if target.nodes > 1 else ""
    return f"{target.method}{number}{nodes}"


FACTS: Mapping[str, Callable[[ScriptTarget], Any]] = {
    "script": lambda target: PurePath(target.script).name,
    "arguments": lambda target: target.argv,
    "plan": _plan_text,
    "observations": lambda target: (target.stop, target.skip),
    "observed parts": lambda target: target.observe,
}
"""Facts of a program that both sides must share."""


def why_not_comparable(base: BenchResults, new: BenchResults) -> str:
    """Returns why the results of a bench cannot be compared; empty if they can be."""
    versions = (base.facts.version, new.facts.version)
    if all(versions) and versions[0] != versions[1]:
        return f"the bench's script was changed: {versions[0][:12]} and {versions[1][:12]}"
    if set(base.attempts) & set(new.attempts):
        return _units(base, new)
    cases = (_cases(base), _cases(new))
    if not all(cases):
        # One that never started has no case to differ.
        return ""
    return _differing(*cases)


def _units(base: BenchResults, new: BenchResults) -> str:
    sides = [
        {sample.unit for attempt in bench.all if (sample := sample_of(attempt)) is not None}
        for bench in (base, new)
    ]
    if all(sides) and not sides[0] & sides[1]:
        return f"the units are {_words(sorted(sides[0]))} and {_words(sorted(sides[1]))}"
    return ""


def _cases(bench: BenchResults) -> list[Case]:
    return [attempts[0].record.case for attempts in bench.attempts.values()]


def _differing(base: Sequence[Case], new: Sequence[Case]) -> str:
    one, other = base[0], new[0]
    if isinstance(one.target, ScriptTarget) and isinstance(other.target, ScriptTarget):
        for title, read in FACTS.items():
            values = (read(one.target), read(other.target))
            if values[0] != values[1]:
                return f"other {title}: {_changed(*values)}"
    settings = [identity_of(case.settings) for case in (one, other)]
    names = [
        name for name in settings[0] if name != PYTHON and settings[0][name] != settings[1][name]
    ]
    if names:
        shown = (f"{name} {settings[0][name]} and {settings[1][name]}" for name in names)
        return f"other settings: {'; '.join(shown)}"
    return "no case is on both sides: the operators, models or inputs differ"


def _changed(base: Any, new: Any) -> str:
    """Returns two values, of sequences only what one of them lacks."""
    if isinstance(base, tuple) and isinstance(new, tuple):
        sides = [[word for word in a if word not in b] for a, b in ((base, new), (new, base))]
        if any(sides):
            return " and ".join(_words(side) or "none" for side in sides)
    return f"{_words(base)} and {_words(new)}"


def _words(value: Any) -> str:
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    text = " ".join(map(str, value)) if is_list else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
