"""Operators that run others: functions and graphs by their names in `frameworks.mxnet.calls`, with
tensors in the order of their parameters there."""

from __future__ import annotations

from opperf.model import TensorSpec
from opperf.rules.bert import FEED_FORWARD
from opperf.rules.bert import UNITS as WIDTH
from opperf.rules.registering import Families
from opperf.rules.shapes import in_cache, square
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE_DEFINITE, ZEROS, between, call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

UNITS = 256
"""Width of a recurrent layer: that of a small language model, as `recurrent` has it."""
STEPS = 64
"""Length of a sequence at the default size."""
LIMIT = UNITS**-0.5
"""Bound of initial weights, as usual; it keeps states from growing step by step."""

ITERATIONS = 16
"""Of a solver that always makes all of them: an earlier end would leave output unwritten."""


def weight(*shape: int) -> TensorSpec:
    """A layer's weights."""
    return tensor(*shape, fill=between(-LIMIT, LIMIT))


def signals(size: Preset) -> tuple[TensorSpec, TensorSpec]:
    """A batch of sequences, and a first state."""
    steps = size.extent(STEPS, least=4)
    return tensor(steps, size.batch, UNITS), tensor(size.batch, UNITS, fill=ZEROS)


WITHIN, BEYOND = 1e12, 0.0
"""Limits that a gradient's sum of squares stays below, and exceeds."""

VARIANTS: dict[str, Variants] = {
    "_foreach _npx_foreach": lambda size: {
        "Elman's recurrent layer over a batch of sequences: three matrix products a step": call(
            fn="elman", data=(*signals(size), *[weight(UNITS, UNITS)] * 3)
        ),
        "a running mean of signals: mostly the loop": call(fn="deviation", data=signals(size)),
    },
    # Linear equations. MXNet has no gradient of a loop whose counter, its first tensor, takes one.
    "_while_loop _npx_while_loop": lambda size: {
        why: call(
            cond="few",
            func="richardson",
            data=(
                fixed(1, fill=ZEROS),
                tensor(square(size)[0], sides, fill=ZEROS),
                tensor(square(size)[0], square(size)[0], fill=POSITIVE_DEFINITE),
                tensor(square(size)[0], sides),
            ),
            max_iterations=ITERATIONS,
        )
        for sides, why in (
            (1, "Richardson's iteration for one right-hand side: a matrix by a vector each step"),
            (size.batch, "Richardson's iteration for many right-hand sides: matrix products"),
        )
    },
    "_cond _npx_cond": lambda size: {
        why: call(
            cond="finite",
            then_branch="descend",
            else_branch="decay",
            data=(tensor(*shape), fixed(1, fill=literal((limit,))), tensor(*shape)),
        )
        for shape, limit, why in (
            (square(size), WITHIN, "a step of a layer's weights, as the gradient is in range"),
            (in_cache(size), WITHIN, "a step of few weights, which stay in cache, in range too"),
            (square(size), BEYOND, "no step, as mixed precision makes after an overflow"),
        )
    },
    "_CachedOp _CachedOpThreadSafe": lambda size: {
        why: call(
            sym="perceptron",
            data=(tensor(size.batch, inputs), weight(inputs, hidden), weight(hidden, outputs)),
        )
        for inputs, hidden, outputs, why in (
            (28 * 28, 128, 10, "a hybridized classifier of MNIST's digits: two small dense layers"),
            (WIDTH, FEED_FORWARD, WIDTH, "a hybridized feed-forward block as wide as BERT-base's"),
        )
    },
}
add_rows(FAMILIES.add, VARIANTS)
