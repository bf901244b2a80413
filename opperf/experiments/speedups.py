"""Speed-ups over a baseline, by time, backend and model, with their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opperf.errors import FOUND, OpperfError
from opperf.formats.model_records import Estimate, ModelRecord
from opperf.plurals import pluralize
from opperf.statistics import weights

PERCENTILES = (95, 50, 5)
"""Percentiles over models, in the order of their columns."""

LEVEL = 0.95
"""Confidence of the intervals that plots draw."""


class NothingLeftError(OpperfError):
    """No record is left to compare, or none of the baseline."""

    exit_code = FOUND


Sizes = dict[int | None, Estimate]
"""The times of a model, by batch size."""

Models = dict[str, Sizes]


@dataclass(frozen=True)
class Times:
    """The times that are compared."""

    by_time: Mapping[float, Mapping[str, Models]]
    """By timestamp and backend."""
    without_backend: tuple[ModelRecord, ...]
    """Records of a runtime that is no backend."""
    without_time: int
    """Number of records that failed, or have too few repeats."""
    wrong: tuple[ModelRecord, ...] = ()
    """Records with a time of a wrong result, which is no speed-up."""

    def omitted(self) -> Iterator[str]:
        """Yields messages about the records that no comparison has."""
        if self.without_backend:
            first = self.without_backend[0]
            yield (
                f"warning: {pluralize(len(self.without_backend), 'record')} of a runtime without a "
                f"backend here (xla XRT, torch_xla2, or another dynamo) omitted; the first is "
                f"{first.place}: xla {first.xla}, dynamo {first.dynamo}, torch_xla2 "
                f"{first.torch_xla2}"
            )
        if self.wrong:
            wrong = self.wrong[0]
            yield (
                f"warning: {pluralize(len(self.wrong), 'record')} of a wrong result (verification "
                f"FAIL) not compared; the first is {wrong.place}: {wrong.model_name}"
            )
        if self.without_time:
            yield (
                f"{pluralize(self.without_time, 'record')} without a result, or with too few "
                "repeats, not compared"
            )


class Speedups(NamedTuple):
    """The speed-ups of a backend at one time."""

    models: Mapping[str, Estimate]
    geomean: Estimate
    percentiles: Mapping[int, float]


def collect(records: Iterable[ModelRecord], metric: str) -> Times:
    """Returns the times of records, all of which have a timestamp. Of several of the same time,
    backend, model and batch size the last one counts."""
    by_time: dict[float, dict[str, Models]] = {}
    without_backend = []
    wrong = []
    without_time = 0
    for record in records:
        backend = record.backend
        if backend is None:
            without_backend.append(record)
            continue
        time = record.time(metric)
        if time is None or record.timestamp is None:
            without_time += 1
            continue
        if record.is_wrong:
            wrong.append(record)
            # Nor is an earlier record of the same place one.
            sizes = by_time.get(record.timestamp, {}).get(backend, {}).get(record.model_name, {})
            sizes.pop(record.batch_size, None)
            continue
        models = by_time.setdefault(record.timestamp, {}).setdefault(backend, {})
        models.setdefault(record.model_name, {})[record.batch_size] = time
    return Times(by_time, tuple(without_backend), without_time, tuple(wrong))


def oldest(times: Times, backend: str) -> Models:
    """Returns the first time that there is of each model and batch size."""
    found: Models = {}
    for at in sorted(times.by_time):
        for model, sizes in times.by_time[at].get(backend, {}).items():
            own = found.setdefault(model, {})
            for size, time in sizes.items():
                own.setdefault(size, time)
    return found


def latest(times: Times, backend: str) -> Models:
    """Returns the times at the newest timestamp. Raises `NothingLeftError` if that has none."""
    at = max(times.by_time)
    if backend not in times.by_time[at]:
        raise NothingLeftError(
            f"the newest timestamp, {at:.15g}, has no results of {backend}, which is the baseline; "
            "name another backend first in --backends, or use --baseline oldest"
        )
    return times.by_time[at][backend]


BASELINES = {"oldest": oldest, "latest": latest}
"""Where the baseline is taken from, by the name of the option."""


def compare(
    times: Times, backends: Sequence[str], baseline: Models
) -> dict[float, dict[str, Speedups]]:
    """Returns the speed-ups over the baseline, by time, the oldest first, and backend."""
    found: dict[float, dict[str, Speedups]] = {}
    for at in sorted(times.by_time):
        found[at] = {}
        for backend in backends:
            models = _of_models(times.by_time[at].get(backend, {}), baseline)
            if models:
                values = [speedup.value for speedup in models.values()]
                found[at][backend] = Speedups(
                    models, geometric_mean(list(models.values())), percentiles(values)
                )
    return found


def _of_models(models: Models, baseline: Models) -> dict[str, Estimate]:
    """Returns each model's speed-up: over several batch sizes, their geometric mean."""
    found = {}
    for model, sizes in models.items():
        base = baseline.get(model, {})
        ratios = [ratio(base[size], time) for size, time in sizes.items() if size in base]
        if ratios:
            found[model] = geometric_mean(ratios)
    return found


def ratio(base: Estimate, own: Estimate) -> Estimate:
    """Returns how many times faster than the baseline a time is."""
    value = base.value / own.value
    deviation = value * math.hypot(base.deviation / base.value, own.deviation / own.value)
    if base is own:
        # The baseline over itself is 1, without an error; its deviation is as specified.
        return Estimate(value, deviation, 0.0, 0.0)
    return Estimate(value, deviation, base.variance + own.variance, base.weight + own.weight)


def geometric_mean(values: Sequence[Estimate]) -> Estimate:
    """Returns the geometric mean of at least one value."""
    n = len(values)
    if n == 1:
        return values[0]
    mean = weights.geometric_mean(own.value for own in values)
    relative = math.sqrt(math.fsum((own.deviation / own.value) ** 2 for own in values))
    return Estimate(
        mean,
        mean / n * relative,
        sum(own.variance for own in values) / n**2,
        sum(own.weight for own in values) / n**4,
    )


def percentiles(values: Sequence[float]) -> dict[int, float]:
    """Returns percentiles, interpolated linearly."""
    ordered, found = sorted(values), {}
    for percent in PERCENTILES:
        rest, low = math.modf((len(ordered) - 1) * percent / 100)
        below, above = ordered[int(low)], ordered[math.ceil(low + rest)]
        found[percent] = below + (above - below) * rest
    return found


def interval(value: Estimate) -> tuple[float, float] | None:
    """Returns the confidence interval of a value as a mean of its repeats; None if a part of it is
    of one repeat, whose error nobody knows."""
    if math.isnan(value.variance):
        return None
    if value.variance == 0:
        return value.value, value.value
    # Only charts have intervals.
    import numpy as np

    from opperf.statistics.distributions import t_exceeded

    freedom = np.array(value.variance**2 / value.weight)
    half = float(t_exceeded((1 - LEVEL) / 2, freedom)) * math.sqrt(value.variance)
    return value.value * math.exp(-half), value.value * math.exp(half)
