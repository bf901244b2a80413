"""`torch.compile`: its caches, what it counts, and its errors.

Imports of the compiler are in functions: they take a second, which no other mode has to spend.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch

from opperf.errors import UnsupportedError
from opperf.frameworks.torch import private
from opperf.frameworks.torch.messages import refusal

THREADS_VARIABLE = "TORCHINDUCTOR_COMPILE_THREADS"
"""Environment variable of the number of processes that compile."""

EXPECTED = ("requires_grad mismatch", "grad_mode")
"""Reasons of recompilations that are of the measurement: the backward pass has a program of its
own, which records, and so is the second one of the same function."""


CACHE_COUNTERS = "inductor"
NOT_CACHED = ("fxgraph_cache_miss", "fxgraph_cache_bypass")
"""The compiler's counters of graphs that its cache did not have, or that it cannot keep."""


@functools.cache
def _start() -> str:
    """Compiles a first function, so that what the compiler does once in a process, as finding the
    processor's instructions, is in no case's time. Returns why it cannot; empty if it can."""
    if THREADS_VARIABLE not in os.environ:
        # In this process: others would take memory, and cores from the calls that are timed.
        private.COMPILER_CONFIG.get().compile_threads = 1
    try:
        torch.compile(lambda x: x + 1)(torch.zeros(8))
    except Exception as error:
        return _reason(error)
    return ""


def _reason(error: BaseException) -> str:
    text = refusal(error) or f"{type(error).__name__}: {error}"
    if "InvalidCxxCompiler" in text:
        return (
            "torch.compile needs a C++ compiler, and finds none; install g++, or set the "
            "environment variable CXX to the path of one"
        )
    return f"torch.compile: {text}"


@contextmanager
def scope(is_cold: bool) -> Iterator[None]:
    """Returns a context in which cases are compiled, without anything compiled before, and with an
    empty cache of code if `is_cold`.

    Raises `UnsupportedError` in place of what the compiler raises, and if it does not work here.
    """
    obstacle = _start()
    if obstacle:
        raise UnsupportedError(obstacle)
    failure: Exception | None = None
    # Programs of earlier cases count towards the limit of recompilations.
    torch.compiler.reset()
    private.CLEAR_METRICS.get()()
    private.COUNTERS.get().pop(CACHE_COUNTERS, None)
    try:
        with private.FRESH_CACHE.get()() if is_cold else nullcontext():
            try:
                yield
            except private.COMPILER_ERROR.get() as error:
                # The folder of the cache would be kept for an error that passes here.
                failure = error
    finally:
        _WITH_BREAKS.clear()
        torch.compiler.reset()
    if failure is not None:
        raise UnsupportedError(_reason(failure)) from failure


_WITH_BREAKS: list[partial[Any]] = []
"""The latest call of this process's case that may have graph breaks, if it has one."""


def compiled(call: partial[Any], whole: bool) -> Callable[[], Any]:
    """Returns the call, compiled when it is first called; as one graph if `whole`."""
    function = call.func
    if not isinstance(function, torch.nn.Module):
        function = _python_function(function)
    if not whole:
        _WITH_BREAKS[:] = [partial(function, *call.args, **call.keywords)]
    made = torch.compile(function, fullgraph=whole, dynamic=False)
    return partial(made, *call.args, **call.keywords)


def _python_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function with code that can be compiled, for one that may be written in C++."""

    def call(*unnamed: Any, **named: Any) -> Any:
        return function(*unnamed, **named)

    return call


def count() -> dict[str, int]:
    """Returns the graph breaks of the case that was compiled last, how many of its graphs were not
    in the cache of code, and, if the compiler tells, how often it was compiled again for another
    reason than to record gradients."""
    counters, explain = private.COUNTERS.get(), private.EXPLAIN.get()
    misses = sum(counters[CACHE_COUNTERS][name] for name in NOT_CACHED)
    reasons = private.recompilation_reasons()
    breaks = [
        explain(call.func)(*call.args, **call.keywords).graph_break_count for call in _WITH_BREAKS
    ]
    counts = {"graph_breaks": sum(breaks), "compile_cache_misses": misses}
    if reasons is not None:
        again = [reason for reason in reasons if not any(words in reason for words in EXPECTED)]
        counts["recompilations"] = len(again)
    return counts
