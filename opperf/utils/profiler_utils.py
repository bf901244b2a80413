"""Measure any function, as a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from opperf.api.calls import device_name
from opperf.frameworks import load
from opperf.instruments.profilers import profiler
from opperf.instruments.profilers.summary import summarise
from opperf.model import MetricKind
from opperf.mxnet_api import FRAMEWORK
from opperf.results.units import UNITS

Result = TypeVar("Result")

Profiled = tuple[Result, dict[str, float]]


def cpp_profile(function: Callable[..., Result]) -> Callable[..., Profiled[Result]]:
    """Decorator: call the function once under MXNet's own profiler.

    The decorated function returns its result and `{'avg_time_<name>': ms of kernels}`, which is
    empty if no kernel ran.
    """
    return _profile(function, "native")


def python_profile(function: Callable[..., Result]) -> Callable[..., Profiled[Result]]:
    """Decorator: call the function once, and measure the time until its work is done.

    The decorated function returns its result and `{'avg_time_<name>': ms, 'p50_time_<name>':
    ms, 'p90_time_<name>': ms, 'p99_time_<name>': ms}`.
    """
    return _profile(function, "python")


def _profile(function: Callable[..., Result], back_end: str) -> Callable[..., Profiled[Result]]:
    @functools.wraps(function)
    def profile(*positional: Any, **keywords: Any) -> Profiled[Result]:
        framework = load(FRAMEWORK)
        device = device_name(keywords.get("ctx"), framework)
        results: list[Result] = []

        def call() -> None:
            results.append(function(*positional, **keywords))

        timer = profiler(back_end, framework, device)
        (timed,) = timer.trace([call], 1)
        samples = timed.times
        label = function.__name__
        times: dict[str, float] = {}
        if samples:
            summary = summarise(samples, "ns")
            _, divisor, _ = UNITS[summary.unit]
            times[f"avg_time_{label}"] = summary.mean / divisor
            if timer.kind is MetricKind.WALL:
                for name in ("p50", "p90", "p99"):
                    times[f"{name}_time_{label}"] = getattr(summary, name) / divisor
        return results[0], times

    return profile
