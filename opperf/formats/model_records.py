"""Records of models, one of each run of a model under some settings, as PyTorch/XLA's benchmarks
and PyTorch's runner write them, with times by their definitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import msgspec

from opperf.model.metrics import WRONG

TITLES = {
    "eager": "Eager",
    "inductor": "Inductor",
    "openxla+dynamo": "XLA+Dynamo",
    "openxla+lazytensor": "XLA+LazyTensor",
}
"""Those of PyTorch/XLA's benchmarks, by name; others have their own name for title."""

TESTS = {"inference": "eval", "training": "train"}
"""Words of the runner and of options, and what records have."""

DEFAULT = ("inductor", "openxla+dynamo")

OF_XLA = {"openxla": "openxla+dynamo", None: "openxla+lazytensor"}
"""By what traces the program for XLA: dynamo's backend, or lazy tensors."""


def title_of(backend: str) -> str:
    """Returns the backend's name in headings."""
    return TITLES.get(backend, backend)


METRICS = ("exec", "compile")
"""The times that are compared, by the name of the option."""

UNKNOWN = math.nan
"""Variance of a value of one sample."""


class Estimate(NamedTuple):
    """A value with its errors."""

    value: float
    deviation: float = 0.0
    """The standard deviation of single values, 0 for one."""
    variance: float = UNKNOWN
    """Of the logarithm of the value: the square of its relative standard error."""
    weight: float = 0.0
    """Sum of the squares of the variances over their degrees of freedom: `variance` squared over it
    is the degrees of freedom of the whole, after Welch and Satterthwaite."""


def estimate(values: Sequence[float]) -> Estimate | None:
    """Returns the mean of some values; None without any, and for one that is no time."""
    n = len(values)
    if not n:
        return None
    mean = sum(values) / n
    if mean <= 0:
        return None
    if n == 1:
        return Estimate(mean)
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    relative = variance / n / mean**2
    return Estimate(mean, math.sqrt(variance), relative, relative**2 / (n - 1))


INCOMPATIBLE = "SKIP"
"""The error of what the runner omits, as the model does not support it."""

WARMUP_REPEATS = 3
"""Repeats of PyTorch/XLA's benchmarks that are no steady ones: the first compiles, and two more
fill caches."""


WRONG_CODES = frozenset(code.value for code in WRONG)


class ModelRecord(msgspec.Struct, frozen=True):
    """The results of a model under some settings."""

    suite_name: str
    model_name: str
    metrics: Mapping[str, Any]
    """Lists with a value of each repeat, or single values; times in seconds. `error` where it
    failed."""
    accelerator: str = ""
    accelerator_model: str = ""
    xla: str | None = None
    xla_flags: str | list[str] | None = None
    dynamo: str | None = None
    torch_xla2: str | None = None
    test: str | None = None
    """`eval` or `train`."""
    enable_functionalization: bool | None = None
    batch_size: int | None = None
    repeat: int | None = None
    iterations_per_run: int | None = None
    outputs_file: str | None = None
    timestamp: float | None = None
    """Seconds since 1970, UTC; that of all records of a run."""
    verification_code: str | None = None
    verification_mean_rel_error: float | None = None
    verification_max_rel_error: float | None = None
    command: str | None = None
    """The command that repeats it, where the record has it."""
    others: Mapping[str, Mapping[str, Any]] = {}
    """Keys without a field, by the object that has them: `model`, `experiment`, or the record."""
    place: str = ""
    """`FILE:LINE` where it was read; not written."""
    estimates: Mapping[str, Estimate | None] | None = None
    """Of a run of opperf, by metric; not written. None of others, whose lists have them."""

    @property
    def error(self) -> str | None:
        """Why it has no results; None if it has."""
        found = self.metrics.get("error")
        return None if found is None else str(found)

    @property
    def is_wrong(self) -> bool:
        """Whether its verification found it wrong."""
        return self.verification_code in WRONG_CODES

    @property
    def failure(self) -> str | None:
        """The error, or that the result is wrong; None for neither."""
        if self.error is None and self.is_wrong:
            return f"wrong result: verification {self.verification_code}"
        return self.error

    @property
    def runtime(self) -> str:
        """The parts of PyTorch/XLA that ran the model; empty for eager mode."""
        return " ".join(filter(None, (self.xla, self.dynamo, self.torch_xla2)))

    @property
    def backend(self) -> str | None:
        """The backend's name; None for XLA's former runtime and for torch_xla2, which have none."""
        if self.torch_xla2 is not None:
            return None
        if self.xla is None:
            return "eager" if self.dynamo is None else self.dynamo
        if self.xla != "PJRT" or self.dynamo not in OF_XLA:
            return None
        return OF_XLA[self.dynamo]

    @property
    def flags(self) -> str:
        """Flags of XLA, as text."""
        flags = [str(self.xla_flags)] if self.xla_flags else []
        return ", ".join(
            [*flags, *(["functionalization"] if self.enable_functionalization else [])]
        )

    @property
    def times(self) -> list[float]:
        """The time of each repeat in seconds; none unless all are numbers."""
        values = self.metrics.get("total_time")
        return values if isinstance(values, list) and all(map(is_number, values)) else []

    @property
    def has_times(self) -> bool:
        """Whether it has a time, be it only of a repeat that compiles."""
        times = self.times or self.estimates
        return bool(times) or is_number(self.metrics.get("mean_total_time"))

    def time(self, metric: str) -> Estimate | None:
        """Returns one of `METRICS`: the time of a repeat in seconds, once nothing compiles, or what
        the first repeat takes longer than the others on average; None without enough repeats."""
        if self.error is not None:
            return None
        if self.estimates is not None:
            return self.estimates.get(metric)
        times = self.times
        if metric == "exec":
            # A table of another runner has the mean alone.
            return estimate(times[WARMUP_REPEATS:]) if times else self._single("mean_total_time")
        if len(times) < 2:
            return self._single("compilation_latency")
        later = times[1:]
        return estimate([times[0] - math.fsum(later) / len(later)])

    def _single(self, name: str) -> Estimate | None:
        value = self.metrics.get(name)
        return Estimate(float(value)) if is_number(value) and value > 0 else None


LARGEST = 1e100
"""Numbers are below it, and times not below one over it: the squares and the ratios of those that
are not are no numbers of 64 bits."""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a number below `LARGEST`."""
    return type(value) in (int, float) and -LARGEST < value < LARGEST
