"""Loops, branches and whole graphs: operators that run other operators.

Rules name the functions and graphs to run, which are in `opperf.frameworks.mxnet.calls`; tensors
are in the order of their parameters there.
"""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD
from opperf.rules.bert import UNITS as WIDTH
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import shapes, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    POSITIVE_DEFINITE,
    ZEROS,
    Arguments,
    between,
    fixed,
    literal,
    tensor,
    tensors,
)

FAMILIES = Families()

UNITS = 256
"""Width of a recurrent layer: that of a small language model, as `recurrent` has it."""
STEPS = 64
"""Length of a sequence at the default size."""
LIMIT = UNITS**-0.5
"""Bound of initial weights, as usual; it keeps states from growing step by step."""

ITERATIONS = 16
"""Steps of an iterative solver, which reduce the error to a fifth or less. The loop always makes
all of them: one that ended earlier would leave the rest of its output unwritten."""


def weight(*shape: int) -> TensorSpec:
    """A layer's weights."""
    return tensor(*shape, fill=between(-LIMIT, LIMIT))


@FAMILIES.add("_foreach", "_npx_foreach")
def foreach(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A recurrent layer over a batch of sequences; and a running mean of them."""
    steps = size.extent(STEPS, least=4)
    yield {
        "fn": "elman",
        "data": tensors(
            [
                tensor(steps, size.batch, UNITS),
                tensor(size.batch, UNITS, fill=ZEROS),
                *[weight(UNITS, UNITS)] * 3,
            ]
        ),
        WHY: "Elman's recurrent layer over a batch of sequences: three matrix products a step",
    }
    yield {
        "fn": "deviation",
        "data": tensors([tensor(steps, size.batch, UNITS), tensor(size.batch, UNITS, fill=ZEROS)]),
        WHY: "a running mean of signals: a step takes less time than the loop around it",
    }


@FAMILIES.add("_while_loop", "_npx_while_loop")
def while_loop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Linear equations for an iterative solver, with one right-hand side and with several."""
    rows, _ = square(size)
    solved = (
        (1, "Richardson's iteration for one right-hand side: a matrix by a vector each step"),
        (size.batch, "Richardson's iteration for many right-hand sides: matrix products"),
    )
    for sides, why in solved:
        yield {
            "cond": "few",
            "func": "richardson",
            "data": tensors(
                [
                    # MXNet has no gradient of a loop whose counter takes one.
                    fixed(1, fill=ZEROS),
                    tensor(rows, sides, fill=ZEROS),
                    tensor(rows, rows, fill=POSITIVE_DEFINITE),
                    tensor(rows, sides),
                ]
            ),
            "max_iterations": ITERATIONS,
            WHY: why,
        }


WITHIN, BEYOND = 1e12, 0.0
"""Limits that a gradient's sum of squares stays below, and exceeds."""


@FAMILIES.add("_cond", "_npx_cond")
def cond(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An optimizer's step for each shape, and a skipped one."""
    dense, embedding = shapes(size)
    steps = (
        (dense, WITHIN, "a step of a square layer's weights, taken as the gradient is in range"),
        (embedding, WITHIN, "a step of an embedding's weights, taken as the gradient is in range"),
        (dense, BEYOND, "a step without its gradient, as mixed precision makes after an overflow"),
    )
    for shape, limit, why in steps:
        yield {
            "cond": "finite",
            "then_branch": "descend",
            "else_branch": "decay",
            "data": tensors([tensor(*shape), fixed(1, fill=literal((limit,))), tensor(*shape)]),
            WHY: why,
        }


@FAMILIES.add("_CachedOp", "_CachedOpThreadSafe")
def cached(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two dense layers, of the widths of whole models or blocks."""
    for inputs, hidden, outputs, why in (
        (28 * 28, 128, 10, "a hybridized classifier of MNIST's digits: two small dense layers"),
        (WIDTH, FEED_FORWARD, WIDTH, "a hybridized feed-forward block as wide as BERT-base's"),
    ):
        layers = (weight(inputs, hidden), weight(hidden, outputs))
        data = tensors([tensor(size.batch, inputs), *layers])
        yield {"sym": "perceptron", "data": data, WHY: why}
