"""The primitives that a call of a function is made of, with the inputs that each gets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core

from opperf.dtypes import DTYPES, kind_of
from opperf.errors import UnsupportedError
from opperf.frameworks.base import CPU
from opperf.frameworks.jax import WIDE, functions, primitives
from opperf.frameworks.jax.devices import KEYS, wide
from opperf.frameworks.jax.functions import abstract
from opperf.frameworks.jax.gradient import passes_of
from opperf.frameworks.jax.messages import refusal
from opperf.frameworks.jax.programs import Flat
from opperf.frameworks.jax.structures import encode
from opperf.model import Argument, Fill, Generator, TensorSpec, iter_tensors

SEED = 0
"""Seed of the keys of random numbers while a call is traced: no number depends on it."""

SAFE: Mapping[str, Fill] = {
    "float": Fill("uniform", 0.05, 0.95),
    "complex": Fill("normal", 0.0, 1.0),
    "integer": Fill("integers", 0.0, 2.0),
    "bool": Fill("boolean"),
}
"""Contents of an input that is computed on the way, by the kind of dtype: numbers that are in the
domain of logarithms, roots and inverse functions, and indices that are in any range."""

SUITABLE: Mapping[tuple[str, int], Fill] = {
    ("cholesky", 0): Fill("positive_definite"),
    ("cholesky_update", 0): Fill("upper_triangular"),
    ("eigh", 0): Fill("positive_definite"),
    ("symmetric_product", 1): Fill("positive_definite"),
    ("triangular_solve", 0): Fill("lower_triangular"),
    ("tridiagonal", 0): Fill("positive_definite"),
    # A dominant diagonal, between the two others.
    ("tridiagonal_solve", 1): Fill("uniform", 3.0, 4.0),
}
"""Contents of the inputs of primitives that only some matrices suit, by the input's position."""

OF_ANY_SHAPE = frozenset({"normal", "uniform", "integers", "constant", "boolean", "signs", "odds"})
"""Distributions that a tensor of another shape may have too."""

MOVING = frozenset(
    {
        *("broadcast_in_dim", "concatenate", "convert_element_type", "copy", "expand_dims"),
        *("reshape", "rev", "slice", "squeeze", "stop_gradient", "transpose"),
    }
)
"""Primitives whose results are numbers of an input."""

SELECTION = "select_n"
"""The primitive that selects among its inputs but the first. It moves integers, such as indices
from the end that are made positive; of others it may select those that are in a domain."""


class Step(NamedTuple):
    """A primitive's call within a program, and what is known of its inputs' contents."""

    equation: core.JaxprEqn
    contents: tuple[TensorSpec | None, ...]

    @property
    def size(self) -> int:
        values = (*self.equation.invars, *self.equation.outvars)
        return sum(math.prod(getattr(entry.aval, "shape", ())) for entry in values)


def steps(
    function: Callable[..., Any], arguments: Mapping[str, Argument]
) -> Iterator[dict[str, dict[str, Argument]]]:
    """Yields, for a call of a function and for its backward pass if it has one, the arguments of
    the largest call of each primitive, by name. None for a function that cannot be traced, and no
    primitive that takes a function or a device."""
    yield _of_pass(function, arguments, forward)
    if any(spec.gradient for value in arguments.values() for spec in iter_tensors(value)):
        yield _of_pass(function, arguments, backward)


Traced = Callable[[Flat, Sequence[int]], Callable[..., Any]]
"""Returns the function to trace, from a call and the indices of its arrays that take a gradient."""


def forward(flat: Flat, places: Sequence[int]) -> Callable[..., Any]:
    """Returns the call."""
    return flat


def backward(flat: Flat, places: Sequence[int]) -> Callable[..., Any]:
    """Returns the gradients of the sum of the call's results."""

    first, second = passes_of(flat, places)

    def gradients(*arrays: Any) -> Any:
        outputs, pullback = first(*arrays)
        return second([jnp.ones_like(output) for output in outputs], pullback)

    return gradients


def _of_pass(
    function: Callable[..., Any], arguments: Mapping[str, Argument], traced: Traced
) -> dict[str, dict[str, Argument]]:
    specs = [spec for value in arguments.values() for spec in iter_tensors(value)]
    is_wide = any(spec.dtype in WIDE for spec in specs)
    with warnings.catch_warnings(), wide(is_wide):
        # As a case's call does, of functions that will be removed.
        warnings.simplefilter("ignore")
        found = _steps_of(function, arguments, traced)
    made: dict[str, dict[str, Argument]] = {}
    sizes: dict[str, int] = {}
    for step in found:
        name = primitives.operator_name(step.equation.primitive)
        if not name or step.size <= sizes.get(name, -1):
            continue
        try:
            made[name] = arguments_of(step)
        except UnsupportedError:
            continue
        sizes[name] = step.size
    return made


def _steps_of(
    function: Callable[..., Any], arguments: Mapping[str, Argument], traced: Traced
) -> list[Step]:
    specs: dict[int, TensorSpec] = {}

    def array(spec: TensorSpec, made: Any) -> Any:
        specs[id(made)] = spec
        return made

    try:
        values = {name: abstract(value, CPU, array) for name, value in arguments.items()}
        flat = Flat(functions.bind(function, values, SEED), (jax.Array, jax.ShapeDtypeStruct))
        of_arrays = [specs.get(id(array)) for array in flat.arrays]
        places = [i for i, spec in enumerate(of_arrays) if spec is not None and spec.gradient]
        program = jax.make_jaxpr(traced(flat, places))(*flat.arrays)
    except Exception as error:
        if refusal(error) is None:
            raise
        return []
    known = dict(zip(program.jaxpr.invars, of_arrays, strict=True))
    return list(_walk(program.jaxpr, known))


Known = dict[Any, TensorSpec | None]
"""The known contents of a program's values."""


def _walk(program: core.Jaxpr, known: Known) -> Iterator[Step]:
    """Yields the steps of a program and of those inside it, and adds to `known`."""
    for equation in program.eqns:
        contents = tuple(contents_of(variable, known) for variable in equation.invars)
        yield Step(equation, contents)
        for inner in programs_in(list(equation.params.values())):
            # The program of a function's call has its inputs; those of a loop have others too.
            is_call = len(inner.invars) == len(contents)
            is_call = is_call and len(inner.outvars) == len(equation.outvars)
            inside: Known = dict(zip(inner.invars, contents, strict=True)) if is_call else {}
            yield from _walk(inner, inside)
            if is_call:
                results = (contents_of(variable, inside) for variable in inner.outvars)
                known.update(zip(equation.outvars, results, strict=True))
        if equation.primitive.name in MOVING:
            known[equation.outvars[0]] = _first(contents)
        elif equation.primitive.name == SELECTION:
            known[equation.outvars[0]] = _first(
                spec
                for spec in contents[1:]
                if spec is not None and kind_of(spec.dtype) == "integer"
            )


def _first(contents: Iterable[TensorSpec | None]) -> TensorSpec | None:
    return next((spec for spec in contents if spec is not None), None)


def programs_in(values: Any) -> Iterator[core.Jaxpr]:
    """Yields the programs among a primitive's parameters."""
    if isinstance(values, core.ClosedJaxpr):
        yield values.jaxpr
    elif isinstance(values, core.Jaxpr):
        yield values
    elif isinstance(values, tuple | list):
        for entry in values:
            yield from programs_in(entry)


def contents_of(value: Any, known: Known) -> TensorSpec | None:
    """Returns the tensor whose contents a value of a program has; None if it is not known."""
    if not isinstance(value, core.Literal):
        return known.get(value)
    number = value.val
    aval: Any = value.aval
    dtype = str(aval.dtype)
    # Of `float0`, the dtype of gradients that do not exist, there is no number.
    if kind_of(dtype) in (None, "complex") or not math.isfinite(number):
        return None
    return TensorSpec((), dtype, Fill("constant", float(number)))


def arguments_of(step: Step) -> dict[str, Argument]:
    """Raises `UnsupportedError`."""
    equation = step.equation
    inputs = {
        f"x{position}": _input(equation.primitive.name, position, one.aval, spec)
        for position, (one, spec) in enumerate(zip(equation.invars, step.contents, strict=True))
    }
    return {**inputs, **{name: encode(value) for name, value in equation.params.items()}}


def _input(primitive: str, position: int, aval: Any, spec: TensorSpec | None) -> Argument:
    """Returns an input, of contents that are known. Raises `UnsupportedError` for what is no
    array."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        raise UnsupportedError(f"{primitive} takes values that are no arrays")
    dtype = str(aval.dtype)
    if dtype in KEYS:
        is_default = aval.dtype == jax.random.key(SEED).dtype
        whole = tuple(aval.shape)
        return Generator(SEED) if is_default and not whole else TensorSpec(whole, dtype)
    if dtype not in DTYPES:
        raise UnsupportedError(f"{primitive} takes arrays of {dtype}")
    shape, kind = tuple(aval.shape), kind_of(dtype)
    assert kind is not None
    fill = SUITABLE.get((primitive, position)) or _moved(spec, shape, kind) or SAFE[kind]
    return TensorSpec(shape, dtype, fill, gradient=kind in ("float", "complex"))


def _moved(spec: TensorSpec | None, shape: tuple[int, ...], kind: str) -> Fill | None:
    """Returns the fill of a tensor with another's numbers; None if it means nothing there."""
    if spec is None or kind_of(spec.dtype) != kind or spec.fill.of:
        return None
    name = spec.fill.distribution
    if name not in OF_ANY_SHAPE and (shape != spec.shape or name == "same"):
        return None
    return spec.fill
