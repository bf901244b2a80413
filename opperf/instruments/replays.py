"""The instrument of replays: how much of a trace was replayed, and the times by operator."""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opperf.frameworks.replays import CallSequence, Replayed, Step
from opperf.instruments.instrument import Instrument
from opperf.model import Metric, MetricKind, Part

if TYPE_CHECKING:
    from opperf.instruments.visit import Visit


def _share(name: str, description: str, title: str = "", usual: bool = False) -> Metric:
    return Metric(
        name,
        "%",
        MetricKind.COUNT,
        title=title,
        description=description,
        lower_is_better=False,
        usual=usual,
    )


CALLS = _share(
    "replayed_calls", "share of the operators' calls of a trace that its replay makes", usual=True
)
DISTINCT = _share(
    "replayed_distinct",
    "share of the distinct calls of a trace that its replay makes, each at least once",
)
OPERATORS = _share(
    "replayed_operators",
    "share of the operators of a trace whose calls its replay makes, all of them",
)
RECORDED_SHARE = _share(
    "replayed_recorded",
    "share of the time of a trace's calls that those have which its replay makes",
    "Replayed share of time",
)
OUTSIDE = Metric(
    "replay_inputs",
    "B",
    MetricKind.MEMORY,
    title="Tensors from outside",
    description="bytes of the tensors of a replay that no call of it makes",
    usual=False,
)

MOST_ITERATIONS = 11
"""Iterations whose calls are timed one by one: an odd number has a middle one."""

LONGEST_S = 2.0
"""Seconds after which no further iteration of these begins."""


class Replays(Instrument):
    """Keeps the shares of a trace that its replay covers, and the times of its operators."""

    name = "replays"
    metrics = (CALLS, DISTINCT, OPERATORS, RECORDED_SHARE, OUTSIDE)

    def measure(self, visit: Visit) -> None:
        replay = visit.prepared.called
        if not isinstance(replay, Replayed):
            return
        begun = time.perf_counter()
        iterations: list[Sequence[int]] = []
        with visit.busy():
            while len(iterations) < MOST_ITERATIONS and (
                not iterations or time.perf_counter() - begun < LONGEST_S
            ):
                visit.restore()
                iterations.append(replay.step_times())
        sequence, omitted = replay.sequence, replay.omitted
        calls = [index for index, step in enumerate(sequence.steps) if not step.collective]
        made = [index for index in calls if index not in omitted]
        distinct = {sequence.steps[index].call for index in calls}
        visit.parts = parts_of(sequence, omitted, iterations)
        names = {name_of(sequence, sequence.steps[index]) for index in calls}
        operators = [part for part in visit.parts if part.name in names]
        for metric, part, whole in (
            (CALLS, len(made), len(calls)),
            (DISTINCT, len({sequence.steps[index].call for index in made}), len(distinct)),
            (OPERATORS, sum(part.made == part.calls for part in operators), len(operators)),
            (RECORDED_SHARE, *_recorded(sequence, made, calls)),
        ):
            if whole:
                visit.keep_value(metric, 100 * part / whole)
        visit.keep_value(OUTSIDE, float(replay.outside_bytes))


def name_of(sequence: CallSequence, step: Step) -> str:
    """Returns the operator of a step; of a collective operation its own name."""
    return step.collective.name if step.collective else sequence.calls[step.call].name


def _recorded(sequence: CallSequence, made: Sequence[int], calls: Sequence[int]) -> tuple[int, int]:
    known = [max(0, step.recorded_ns) for step in sequence.steps]
    return sum(known[index] for index in made), sum(known[index] for index in calls)


def parts_of(
    sequence: CallSequence, omitted: Mapping[int, str], iterations: Sequence[Sequence[int]]
) -> tuple[Part, ...]:
    """Returns the operators with the medians of their times in iterations, longest first."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for index, step in enumerate(sequence.steps):
        by_name[name_of(sequence, step)].append(index)
    parts = []
    for name, indices in by_name.items():
        made = [index for index in indices if index not in omitted]
        reasons = Counter(omitted[index] for index in indices if index in omitted)
        known = [sequence.steps[index].recorded_ns for index in indices]
        of_made = [sequence.steps[index].recorded_ns for index in made]
        sums = [sum(times[index] for index in made) for times in iterations]
        parts.append(
            Part(
                name,
                calls=len(indices),
                made=len(made),
                time_ns=statistics.median(sums) if made else None,
                recorded_ns=_sum(known),
                made_recorded_ns=_sum(of_made),
                reason=reasons.most_common(1)[0][0] if reasons else "",
            )
        )
    return tuple(sorted(parts, key=lambda part: -(part.time_ns or 0)))


def _sum(times: Sequence[int]) -> float | None:
    known = [time for time in times if time >= 0]
    return float(sum(known)) if known else None


REPLAYS = Replays()
