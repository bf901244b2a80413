"""Checks the outputs and gradients of planned cases for NaN and infinity.

    python -m tests.finite FRAMEWORK SIZE [OPERATOR ...]

checks a framework's cases and prints those with either. The tests check the sizes small and
default. Large, which takes tens of minutes and 16 GB of memory, has this command only.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import opperf  # noqa: F401  (restores what MXNet needs of NumPy)
from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks import Framework, load
from opperf.model import Case, Settings
from opperf.profilers import find_profilers
from opperf.results.text import inputs_text
from opperf.rules.engine import rules_module
from opperf.rules.not_finite import may_lack_numbers
from opperf.runner.guard import guard
from opperf.runner.prepared import PreparedCase
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

USAGE = 2


@functools.cache
def planned(name: str, size: str, patterns: tuple[str, ...] = ()) -> tuple[Case, ...]:
    """Returns the cases of a framework's operators, all of them by default, as a run plans them.
    Raises `UnknownOperatorError` for a pattern that matches none."""
    framework = load(name)
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    return plan(framework, Selection(patterns, size=size, settings=settings)).cases


def numbers(value: Any) -> Iterator[Any]:
    """Yields the real and complex arrays among a framework's values as NumPy arrays."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from numbers(element)
    elif hasattr(value, "asnumpy"):
        # MXNet's bfloat16 is of another kind, as NumPy has no such numbers.
        if np.dtype(value.dtype).kind == "f":
            yield value.asnumpy()
    elif hasattr(value, "block_until_ready"):
        yield from jax_numbers(value)
    elif hasattr(value, "detach"):
        yield from torch_numbers(value.detach())
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        yield value


def torch_numbers(tensor: Any) -> Iterator[Any]:
    """Yields the real and complex numbers that a tensor of PyTorch stores."""
    from opperf.frameworks.torch.tensors import stored_parts

    for part in stored_parts(tensor):
        if part.is_floating_point():
            # NumPy has few of PyTorch's dtypes.
            yield part.double().numpy()
        elif part.is_complex():
            yield part.to_dense().resolve_conj().cdouble().numpy()


def jax_numbers(array: Any) -> Iterator[Any]:
    """Yields the real and complex numbers of an array of JAX."""
    import jax.numpy as jnp

    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        yield np.asarray(array)
    elif jnp.issubdtype(array.dtype, jnp.floating):
        # NumPy has few of JAX's dtypes.
        yield np.asarray(array).astype(np.float64)


def count_strange(value: Any) -> str:
    """Returns how many NaN and infinite numbers there are; empty for none."""
    found = [one[~np.isfinite(one)] for one in numbers(value)]
    nan = sum(int(np.isnan(one).sum()) for one in found)
    infinite = sum(one.size for one in found) - nan
    counts = {"NaN": nan, "infinite": infinite}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def find_strange(case: Case, framework: Framework) -> list[str]:
    """Returns what of a case's outputs and gradients is not finite, in words. Raises what the call
    raises, and `UnsupportedError` if the case does not fit in memory."""
    guard(case, framework)
    found: dict[str, str] = {}
    with framework.scope(case), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = PreparedCase(case, framework)
        found["outputs"] = count_strange(prepared.call())
        if "backward" in case.passes:
            try:
                gradient = framework.gradient(case, prepared.call, prepared.differentiated)
            except NoGradientError:
                pass
            else:
                found["gradients"] = count_strange(gradients_of(gradient, prepared))
    return [f"{place}: {counts}" for place, counts in found.items() if counts]


def gradients_of(gradient: Any, prepared: PreparedCase) -> list[Any]:
    """Returns the gradients of a call that was just recorded."""
    if hasattr(gradient, "gradients"):
        gradient.record()
        return list(gradient.gradients())
    return [one.grad for one in prepared.differentiated]


def is_fault(case: Case, framework: Framework) -> bool:
    """Returns whether numbers that are not finite are a fault of the case's inputs."""
    return not may_lack_numbers(case, framework, rules_module(framework.rules).NOT_FINITE)


def check(case: Case, framework: Framework) -> str:
    """Returns one line on what is wrong with a case; empty if nothing is. A case that this build or
    machine lacks the means for has nothing wrong."""
    try:
        found = find_strange(case, framework) if is_fault(case, framework) else []
    except UnsupportedError:
        return ""
    except Exception as error:
        reason = framework.refusal(error)
        if reason is None:
            raise
        found = [] if framework.unavailable(reason) else [reason]
    return f"{case.label} {case.id} {inputs_text(case)}: {'; '.join(found)}" if found else ""


def main(arguments: list[str]) -> int:
    """Prints what is wrong with a framework's cases; 1 if anything is."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return USAGE
    name, size, *operators = arguments
    framework = load(name)
    cases = planned(name, size, tuple(operators))
    wrong = 0
    for number, case in enumerate(cases, 1):
        print(f"\r\033[K{number}/{len(cases)} {case.label}", end="", file=sys.stderr, flush=True)
        line = check(case, framework)
        if line:
            wrong += 1
            print(f"\r\033[K{line}", flush=True)
    print(f"\r\033[K{len(cases)} cases, {wrong} with NaN or infinity", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
