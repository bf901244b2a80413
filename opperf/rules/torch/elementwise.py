"""Families of PyTorch's elementwise operators: with a number in place of a tensor, with three
tensors, and with tensors that are views."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations import OPERATIONS as CANONICAL
from opperf.operations.uses import Roles, Use
from opperf.rules.bert import scores
from opperf.rules.configurations import WHY
from opperf.rules.deviations import IN_DOUBLE
from opperf.rules.domains import PAIRS, Pair
from opperf.rules.engine import uses_of
from opperf.rules.families import elementwise as shared
from opperf.rules.families.special import COMPLEX
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, NoInputs, Rows
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.elementwise import OPERATIONS
from opperf.rules.values import (
    BOOLEAN,
    LOWER_TRIANGULAR,
    NORMAL,
    PADDED,
    POSITIVE,
    PROBABILITY,
    Arguments,
    between,
    call,
    fixed,
    tensor,
    transposed,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

DIFFERENCES = {"float_power": IN_DOUBLE}

FACTOR = 2
"""A number beside a tensor: an integer, so that tensors of integers keep their dtype."""

AMONG = 0.5
"""A number that many normal random ones are above, and many below."""

DEGREE = 5
"""Degree of a polynomial."""

NUMBERS: dict[tuple[str, str], float] = {
    **{
        (operation, role): AMONG
        for operation in ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum")
        for role in ("x", "y")
    },
    # Other powers than the second, which is a product.
    ("power", "y"): 3,
    **{
        (name, role): number
        for name, operation in CANONICAL.items()
        if set(operation.inputs) == {"x", "degree"}
        for role, number in (("x", AMONG), ("degree", DEGREE))
    },
}
"""The number in place of a tensor, by operation and role, where `FACTOR` would make all results the
same or is a special case."""


@FAMILIES.category("unary", "binary")
def with_number(operator: Operator, size: Preset) -> list[Arguments] | NoInputs:
    """A tensor, and a number in place of the operation's other tensor. One of an operator's uses
    shows the overhead of a call."""
    made: list[Arguments] = []
    for own, chosen in uses_of(operator, OPERATIONS):
        *several, few = shared.of_one(size, name=own.operation)
        shapes = several if made else (*several, few)
        made += beside_number(operator, own, chosen, shapes)
    return made or NoInputs("no rule has values for it", searchable=True)


IN_PLACE = (
    *(f"{name}_.Scalar" for name in ("copysign", "eq", "ge", "gt", "le", "lt", "ne")),
    "xlogy_.Scalar_Other",
)
"""Operators of a tensor and a number that write to the tensor and have no category of their own."""

FAMILIES.add(*IN_PLACE)(with_number)


def beside_number(
    operator: Operator, own: Use, chosen: Arguments, shapes: Iterable[tuple[Shape, Roles]]
) -> Iterable[Arguments]:
    """The arguments of one use of an operator of a tensor and a number."""
    roles = tuple(CANONICAL[own.operation].inputs)
    if len(roles) != len(Pair()):
        return
    fills = dict(zip(roles, PAIRS.get(own.operation, Pair()), strict=True))
    dtype = shared.dtype_for(own.operation)
    modes = [f"{value}: " for value in chosen.values()]
    for shape, notes in shapes:
        for role, other in (roles, roles[::-1]):
            inputs: Roles = {
                role: NUMBERS.get((own.operation, role), FACTOR),
                other: tensor(*shape, fill=fills[other], dtype=dtype),
            }
            # The operator takes a tensor for one of the roles only.
            arguments = own.to_arguments(operator, inputs)
            if arguments is not None:
                yield {**arguments, **chosen, WHY: "".join([*modes, str(notes[WHY])])}


@FAMILIES.add("nextafter")
def nextafter(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors, of which one may be broadcast."""
    for left, right, notes in shared.broadcasting(size):
        yield {"self": tensor(*left), "other": tensor(*right), **notes}


THREE: dict[str, tuple[str, Callable[[TensorSpec], Arguments]]] = {
    "addcdiv": (
        "Adam's step: the mean gradient divided by the root of the mean square",
        lambda one: {
            "self": one,
            "tensor1": one,
            "tensor2": with_fill(one, POSITIVE),
            "value": -0.001,
        },
    ),
    "addcmul": (
        "Adam's mean square, to which a thousandth of the gradient's square is added",
        lambda one: {"self": one, "tensor1": one, "tensor2": one, "value": 0.001},
    ),
    "lerp.Scalar": (
        "a moving average, as Adam's mean gradient: one weight for all",
        lambda one: {"self": one, "end": one, "weight": 0.1},
    ),
    "lerp.Tensor": (
        "between two tensors, with a weight for each element",
        lambda one: {"self": one, "end": one, "weight": with_fill(one, PROBABILITY)},
    ),
}
"""Why operators of three tensors are measured, and their arguments from one of them."""


def with_fill(spec: TensorSpec, fill: Fill) -> TensorSpec:
    """The tensor with other contents."""
    return msgspec.structs.replace(spec, fill=fill)


@FAMILIES.add(*THREE)
def of_three(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Three tensors, or two and a number, of the weights of a layer, and few of them."""
    why, arguments = THREE[next(name for name in operator.names if name in THREE)]
    for shape, notes in shared.of_one(
        size, (f"{why}: long rows", f"{why}: few rows, which stay in cache")
    ):
        yield {**arguments(tensor(*shape)), **notes}


@FAMILIES.add("clamp.Tensor", "clip.Tensor", replaces="its bounds are tensors")
def clamp_between_tensors(operator: Operator, size: Preset) -> Rows:
    """A tensor, and bounds for each element or each column."""
    rows, columns = square(size)
    return {
        why: call(
            self=tensor(rows, columns),
            min=fixed(*bounds, fill=between(-1.0, 0.0)),
            max=fixed(*bounds, fill=between(0.0, 1.0)),
        )
        for bounds, why in (
            ((rows, columns), "bounds for each element, for a projected gradient step"),
            ((1, columns), "bounds for each column, such as a policy's actions"),
        )
    }


@FAMILIES.also("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor")
def two_masks(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A causal mask and a mask of padding for each sentence, combined, as booleans."""
    batch, _, length, _ = scores(size)
    yield {
        "self": fixed(1, 1, length, length, fill=LOWER_TRIANGULAR, dtype="bool"),
        "other": fixed(batch, 1, 1, length, fill=PADDED, dtype="bool"),
    }


@FAMILIES.also("bitwise_not", "logical_not")
def one_mask(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A mask of attention, inverted: one byte for each element."""
    batch, _, length, _ = scores(size)
    yield {"self": fixed(batch, 1, length, length, fill=BOOLEAN, dtype="bool")}


@FAMILIES.also("mul.Tensor")
def scaled(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Numbers times a mask, whose dtype is converted, and rotary embeddings."""
    shape = square(size)
    yield {
        "self": tensor(*shape),
        "other": fixed(*shape, fill=BOOLEAN, dtype="bool"),
        WHY: "a tensor and a boolean mask of its shape, which is converted on the way",
    }
    # Llama 7B's code has pairs of a head's 128 numbers as 64 complex ones.
    tokens, heads, width = size.extent(512), 32, 64
    yield {
        "self": tensor(1, tokens, heads, width, dtype=COMPLEX),
        "other": fixed(tokens, 1, width, dtype=COMPLEX),
        WHY: "Llama 7B, rotary embeddings as complex numbers, of a short text",
    }


TRANSPOSED = "a matrix and a transposed one: one of them is read across its rows"

VIEWED_PAIRS = ("add.Tensor", "div.Tensor", "lt.Tensor", "maximum", "mul.Tensor", "sub.Tensor")
"""Operators of two tensors that stand for the kinds of kernels."""


@FAMILIES.also(*VIEWED_PAIRS)
def two_views(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors whose elements are in different orders, or not adjacent."""
    side = square(size)
    right = POSITIVE if "div" in operator.names else NORMAL
    other = transposed(tensor(*side, fill=right))
    yield {"self": tensor(*side), "other": other, WHY: TRANSPOSED}
    maps = tensor(*feature_maps(size))
    yield {
        "self": msgspec.structs.replace(maps, memory_format="channels_last"),
        "other": with_fill(maps, right),
        WHY: "two layers' feature maps, one with channels last and one with channels first",
    }


FURTHER: dict[str, Variants] = {
    "clamp.default": lambda size: {
        "A lower bound alone, as keeps norms from zero before a division": call(
            self=tensor(*square(size)), min=0.0
        )
    },
    "logit": lambda size: {
        "Probabilities that are kept from 0 and 1 first, as those of another network": call(
            self=tensor(*square(size), fill=PROBABILITY), eps=1e-6
        )
    },
    "special_round": lambda size: {
        "Numbers rounded to integers: one pass, where tenths take three": call(
            self=tensor(*square(size))
        )
    },
    "add.Tensor sub.Tensor rsub.Tensor": lambda size: {
        "Two terms, one with a factor, as weights and their gradient in a step of descent": call(
            self=tensor(*square(size)), other=tensor(*square(size)), alpha=0.01
        )
    },
    "abs exp.default": lambda size: {
        "complex numbers, each of two real ones": call(self=tensor(*square(size), dtype=COMPLEX))
    },
    "pow.Tensor_Scalar": lambda size: {
        why: call(self=tensor(*square(size), fill=POSITIVE), exponent=exponent)
        for exponent, why in (
            (2, "squares in Llama's normalisation: a product in place of a power"),
            (0.5, "square roots, which have an instruction"),
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
