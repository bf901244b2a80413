"""JAX's gradients: a forward pass that returns residuals, and the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opperf.errors import NoGradientError, OpperfError, one_line
from opperf.frameworks.jax.compiling import expected
from opperf.frameworks.jax.messages import EAGER_ONLY, refusal
from opperf.frameworks.jax.programs import Call, CompiledCall, Flat, Program

HEAD_SEED = 0

LEAST_HEAD = 0.5
"""Head gradients are random in [0.5, 1.5), so that no gradient cancels by symmetry or is zero."""


TURNED = 1 + 0.5j
"""Factor of head gradients of complex results, lest most gradients' imaginary part be zero."""


def head(output: jax.Array) -> jax.Array:
    """Returns the head gradient of a result."""
    # By NumPy: JAX would compile a program for each shape.
    made: Any = np.random.default_rng(HEAD_SEED).random(output.shape, np.float32) + LEAST_HEAD
    if jnp.iscomplexobj(output):
        made = made * TURNED
    placed: jax.Array = jax.device_put(made.astype(output.dtype), output.sharding)
    return placed


class VectorJacobianProduct:
    """A call and its backward pass, `jax.vjp`, with fixed head gradients. Compiled, the residuals
    are results and then arguments. Raises `NoGradientError`."""

    def __init__(self, call: Call, inputs: Sequence[Any]) -> None:
        places = _places(call, inputs)
        if not places:
            raise NoGradientError("none of its inputs takes a gradient")
        self._arrays = list(call.flat.arrays)
        differentiated = {id(self._arrays[place]): i for i, place in enumerate(places)}
        self._order = [differentiated.get(id(wanted)) for wanted in inputs]
        self._forward: Callable[..., Any]
        self._backward: Callable[..., Any]
        if isinstance(call, CompiledCall):
            self._forward, self._backward = _programs(call, places)
        else:
            first, second = passes_of(call.flat, places)
            self._forward, self._backward = _eager(first), _eager(second)
        self._pullback: Any = None
        self.heads: list[Any] = []
        with expected():
            self._try()

    def _try(self) -> None:
        try:
            outputs, self._pullback = self._forward(*self._arrays)
            if not outputs:
                raise NoGradientError("its results are no real or complex numbers")
            self.heads = [head(output) for output in outputs]
            del outputs
            self.backward()
        except OpperfError:
            raise
        except Exception as error:
            reason = refusal(error)
            if reason is None or "RESOURCE_EXHAUSTED" in reason:
                raise
            # Every mode differentiates by tracing.
            raise NoGradientError(one_line(reason.removesuffix(f": {EAGER_ONLY}"))) from error
        finally:
            self._pullback = None

    def record(self) -> None:
        # The residuals of the call before are freed first, as a program's loop does.
        self._pullback = None
        self._results, self._pullback = self._forward(*self._arrays)

    def backward(self) -> Any:
        return self._backward(self.heads, self._pullback)

    def read(self, returned: Any) -> list[Any]:
        return [None if place is None else returned[place] for place in self._order]


def compile_gradient(call: CompiledCall, inputs: Sequence[Any]) -> None:
    """Compiles what a gradient of a call runs, without running it. Raises what JAX raises if it
    cannot be compiled."""
    places = _places(call, inputs)
    if not places:
        return
    forward, backward = _programs(call, places)
    outputs, pullback = forward.compile(call.flat.arrays)
    if outputs:
        # As `head` makes them, of no weak type.
        heads = [output.update(weak_type=False) for output in outputs]
        backward.compile([heads, pullback])


_gradients: dict[Any, dict[tuple[int, ...], list[Program]]] = {}


def compiled_alike(call: partial[Any]) -> CompiledCall:
    """Returns a function's call, whose gradient is compiled once for all with arguments alike."""
    made = CompiledCall(call)
    leaves = jax.tree_util.tree_leaves((call.args, call.keywords))
    alike = (call.func, *(getattr(leaf, "aval", leaf) for leaf in leaves))
    made.gradients = _gradients.setdefault(alike, made.gradients)
    return made


def _places(call: Call, inputs: Sequence[Any]) -> tuple[int, ...]:
    return tuple(
        place
        for place, one in enumerate(call.flat.arrays)
        if any(one is wanted for wanted in inputs)
    )


def _programs(call: CompiledCall, places: tuple[int, ...]) -> list[Program]:
    """Returns the programs of both passes: one gradient of a call after another has the same."""
    if places not in call.gradients:
        functions = passes_of(call.flat, places)
        call.gradients[places] = [
            Program(function, cost=call.program.cost) for function in functions
        ]
    return call.gradients[places]


def passes_of(flat: Flat, places: Sequence[int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns functions of the forward pass, of a call's arrays, and of the backward pass, of head
    gradients and residuals; `places` are those of the arrays that take a gradient."""

    def function(*differentiated: Any, others: Sequence[Any]) -> list[Any]:
        taken = list(others)
        for place, one in zip(places, differentiated, strict=True):
            taken[place] = one
        leaves = jax.tree_util.tree_leaves(flat(*taken))
        # Some results are plain values, such as whether `cho_factor` returns the lower factor.
        arrays = (leaf for leaf in leaves if isinstance(leaf, jax.Array))
        return [array for array in arrays if jnp.issubdtype(array.dtype, jnp.inexact)]

    def forward(*taken: Any) -> tuple[Any, Any]:
        differentiated = [taken[place] for place in places]
        others = [None if i in places else one for i, one in enumerate(taken)]
        return jax.vjp(lambda *xs: function(*xs, others=others), *differentiated)

    def backward(heads: Any, pullback: Any) -> Any:
        return pullback(heads)

    return forward, backward


def _eager(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: jax.block_until_ready(function(*arguments))
