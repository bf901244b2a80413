"""Work that XLA removes of a traced program: what reaches no result, by JAX's own analysis, and
what the compiled program has fewer operations for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jax.extend import core

from opperf.frameworks import dead_code
from opperf.frameworks.dead_code import BACKWARD, FORWARD, TOTAL
from opperf.frameworks.jax import private
from opperf.frameworks.jax.programs import OPAQUE, CompiledCall, Program
from opperf.frameworks.jax.steps import programs_in
from opperf.model import Note, NoteCode

FREE = frozenset(
    {
        *("broadcast_in_dim", "copy", "expand_dims", "iota", "reshape", "slice", "squeeze"),
        *("sharding_constraint", "stop_gradient", "transpose"),
    }
)
"""Primitives that XLA makes a part of those that take their results."""

UNKNOWN_STEPS = 10
"""Steps of a loop whose number is not known: some, or it would be no loop."""

CUBIC = frozenset(
    {
        *("cholesky", "eig", "eigh", "geqrf", "hessenberg", "householder_product", "lu"),
        *("qr", "schur", "svd", "triangular_solve", "tridiagonal"),
    }
)
"""Primitives of linear algebra, whose operations are as the cube of a matrix's size."""

REWRITTEN = ("cum", "reduce_window")
"""Beginnings of the names of primitives that XLA does with far fewer operations than it counts
before: of a running sum, one for each element and window."""


def _bytes(variable: Any) -> int:
    aval = variable.aval
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    return 0 if shape is None or dtype is None else math.prod(shape) * int(dtype.itemsize)


def _product(equation: Any) -> float:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    length = math.prod(shape[axis] for axis in contracted)
    return float(2 * length * math.prod(equation.outvars[0].aval.shape))


def _convolution(equation: Any) -> float:
    weights = equation.invars[1].aval.shape
    channels = weights[equation.params["dimension_numbers"].rhs_spec[0]]
    each = math.prod(weights) // max(1, channels)
    return float(2 * each * math.prod(equation.outvars[0].aval.shape))


def _cubic(equation: Any) -> float:
    shape = equation.invars[0].aval.shape
    return float(2 * math.prod(shape) * (shape[-1] if shape else 1))


OPERATIONS: Mapping[str, Callable[[Any], float]] = {
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    **dict.fromkeys(CUBIC, _cubic),
}
"""Floating-point operations of the primitives that take longer than moving their bytes."""


def _work(program: core.Jaxpr) -> float:
    return sum(map(_work_of_equation, program.eqns))


def _work_of_equation(equation: Any) -> float:
    name, given = equation.primitive.name, equation.params
    inner = [_work(program) for program in programs_in(list(given.values()))]
    if name == "cond":
        return max(inner, default=0.0)
    if inner:
        steps = given.get("length", UNKNOWN_STEPS if name == "while" else 1)
        return float(steps) * sum(inner)
    if name in FREE:
        return 0.0
    moved = sum(map(_bytes, (*equation.invars, *equation.outvars)))
    operations = OPERATIONS.get(name)
    return dead_code.work_of(moved, 0.0 if operations is None else operations(equation))


def _primitives(program: core.Jaxpr) -> Iterator[str]:
    for equation in program.eqns:
        yield equation.primitive.name
        for inner in programs_in(list(equation.params.values())):
            yield from _primitives(inner)


def dead_share(traced: core.Jaxpr) -> float:
    """Returns the share of a traced program's work that reaches neither a result nor an effect."""
    without_dead_code = private.WITHOUT_DEAD_CODE.find()
    total = _work(traced)
    if without_dead_code is None or not total:
        return 0.0
    live, *_ = without_dead_code(traced, [True] * len(traced.outvars))
    return 1 - _work(live) / total


ENTRY = re.compile(r"^ENTRY [^\n]*\n(?P<body>.*?)^}", re.MULTILINE | re.DOTALL)
"""The function of a program that a call runs, in XLA's text."""

STEP = re.compile(r" = [^=]*? (?P<name>[\w-]+)\((?P<first>%constant)?")
"""A step of it: its name, and whether its first operand is a constant."""

MOVES = frozenset({"constant", "copy", "tuple", "bitcast", "broadcast", "parameter"})
"""Steps that compute nothing."""


def is_constant(program: Program) -> bool:
    """Whether XLA has computed the results: the program only copies them."""
    if program.analysis().get("flops"):
        return False
    entry = ENTRY.search(program.text())
    steps = [] if entry is None else list(STEP.finditer(entry["body"]))
    return (
        bool(steps)
        and all(step["name"] in MOVES for step in steps)
        and any(step["first"] and step["name"] == "copy" for step in steps)
    )


def left_share(program: Program) -> float:
    """Returns the share of a function's work that is left in the compiled program, by XLA's count
    of operations before it optimises the program and after; 1 where it does not count all."""
    names = _primitives(program.traced.jaxpr.jaxpr)
    if OPAQUE.search(program.text()) or any(name.startswith(REWRITTEN) for name in names):
        return 1.0
    before, after, moved = program.operations()
    # What is merged or dropped beside the moving of the same bytes was hardly any work.
    least = dead_code.work_of(moved, after)
    return least / max(least, dead_code.work_of(moved, before)) if before > after else 1.0


def notes(call: CompiledCall) -> list[Note]:
    """Returns the notes on the passes of a call of which XLA removed most."""
    found = _notes((FORWARD, TOTAL), call.program)
    for _, backward in call.gradients.values():
        found += _notes((BACKWARD,), backward)
    return found


def _notes(metrics: tuple[str, ...], program: Program) -> list[Note]:
    if program.traced is None:
        return []
    if is_constant(program):
        return [Note(metric, NoteCode.CONSTANT, dead_code.CONSTANT) for metric in metrics]
    dead = dead_share(program.traced.jaxpr.jaxpr)
    # All that XLA removes shows in the compiled program, which is read where that is not enough.
    found = dead_code.notes(metrics, dead_code.Removed(dead, dead))
    return found or dead_code.notes_of_left(metrics, left_share(program))
