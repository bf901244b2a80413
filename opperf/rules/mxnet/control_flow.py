"""Loops, branches and whole graphs: operators that run other operators.

Rules name the functions and graphs to run, which are in `opperf.frameworks.mxnet.bodies`; tensors
are in the order of their parameters there.
"""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD
from opperf.rules.bert import UNITS as WIDTH
from opperf.rules.engine import Families
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
    """A recurrent layer over a batch of sequences, whose steps are three products of matrices; and
    a running mean, whose steps take less time than the loop itself."""
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
    }
    yield {
        "fn": "deviation",
        "data": tensors([tensor(steps, size.batch, UNITS), tensor(size.batch, UNITS, fill=ZEROS)]),
    }


@FAMILIES.add("_while_loop", "_npx_while_loop")
def while_loop(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Linear equations for an iterative solver, with one right-hand side and with several."""
    rows, _ = square(size)
    for sides in (1, size.batch):
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
        }


WITHIN, BEYOND = 1e12, 0.0
"""Limits that a gradient's sum of squares stays below, and exceeds."""


@FAMILIES.add("_cond", "_npx_cond")
def cond(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """An optimizer's step for each shape, taken as the gradient is finite; and a skipped step."""
    steps = [(shape, WITHIN) for shape in shapes(size)]
    for shape, limit in (*steps, (square(size), BEYOND)):
        yield {
            "cond": "finite",
            "then_branch": "descend",
            "else_branch": "decay",
            "data": tensors([tensor(*shape), fixed(1, fill=literal((limit,))), tensor(*shape)]),
        }


@FAMILIES.add("_CachedOp", "_CachedOpThreadSafe")
def cached(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two dense layers: of a classifier of digits, and of a feed-forward block of BERT-base."""
    for inputs, hidden, outputs in ((28 * 28, 128, 10), (WIDTH, FEED_FORWARD, WIDTH)):
        layers = (weight(inputs, hidden), weight(hidden, outputs))
        yield {"sym": "perceptron", "data": tensors([tensor(size.batch, inputs), *layers])}
