"""Families of PyTorch's elementwise operators: with a number in place of a tensor, with three
tensors, and with tensors that are views."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations import OPERATIONS
from opperf.operations.uses import Roles, Use
from opperf.rules.bert import scores
from opperf.rules.configurations import WHY
from opperf.rules.domains import (
    PAIRS,
    Pair,
)
from opperf.rules.engine import uses_of
from opperf.rules.families import elementwise as shared
from opperf.rules.families.special import COMPLEX
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families, NoInputs
from opperf.rules.shapes import Shape, slim, square
from opperf.rules.sizes import Preset
from opperf.rules.slow import SLOW
from opperf.rules.torch.operations.elementwise import TABLE
from opperf.rules.values import (
    BOOLEAN,
    LOWER_TRIANGULAR,
    NORMAL,
    PADDED,
    POSITIVE,
    PROBABILITY,
    Arguments,
    between,
    fixed,
    tensor,
)
from opperf.rules.views import every_other_column, transposed

FAMILIES = Families()

FACTOR = 2
"""A number beside a tensor: whole, so that tensors of whole numbers keep their dtype."""

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
        for name, operation in OPERATIONS.items()
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
    for own, chosen in uses_of(operator, TABLE):
        *several, few = shared.of_one(size)
        if own.operation in SLOW:
            several = [(slim(size), {WHY: shared.ROWS[1]})]
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
    roles = tuple(OPERATIONS[own.operation].inputs)
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
    for left, right, why in shared.broadcasting(size):
        yield {"self": tensor(*left), "other": tensor(*right), WHY: why}


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
    """Three tensors, or two and a number, of weights of one layer and of many short rows."""
    why, arguments = THREE[next(name for name in operator.names if name in THREE)]
    for shape, notes in shared.of_one(size, (f"{why}: long rows", f"{why}: many short rows")):
        yield {**arguments(tensor(*shape)), **notes}


@FAMILIES.add("clamp.Tensor", "clip.Tensor")
def clamp_between_tensors(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and bounds for each element or each column."""
    rows, columns = square(size)
    for bounds, why in (
        ((rows, columns), "bounds for each element, as of a projected gradient step"),
        ((1, columns), "bounds for each column, as of a policy's actions"),
    ):
        yield {
            "self": tensor(rows, columns),
            "min": fixed(*bounds, fill=between(-1.0, 0.0)),
            "max": fixed(*bounds, fill=between(0.0, 1.0)),
            WHY: why,
        }


@FAMILIES.also("clamp.default")
def lower_bound(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A lower bound alone, as keeps norms from zero before a division."""
    yield {"self": tensor(*square(size)), "min": 0.0}


@FAMILIES.also("logit")
def logit_away_from_bounds(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Probabilities that are kept from 0 and 1 first, as those of another network."""
    yield {"self": tensor(*square(size), fill=PROBABILITY), "eps": 1e-6}


@FAMILIES.also("add.Tensor", "sub.Tensor", "rsub.Tensor")
def with_factor(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A term with a factor, as decay adds a share of the weights to their gradient."""
    shape = square(size)
    yield {"self": tensor(*shape), "other": tensor(*shape), "alpha": 0.01}


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


@FAMILIES.also("abs", "exp.default")
def of_spectrum(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Complex numbers, as of a spectrum."""
    yield {"self": tensor(*square(size), dtype=COMPLEX)}


@FAMILIES.also("pow.Tensor_Scalar")
def special_powers(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Exponents for which no power is computed."""
    for exponent, why in (
        (2, "squares, as of Llama's normalisation: a product in place of a power"),
        (0.5, "square roots, which have an instruction"),
    ):
        yield {"self": tensor(*square(size), fill=POSITIVE), "exponent": exponent, WHY: why}


TRANSPOSED = "a matrix and a transposed one: one of them is read across its rows"
SPREAD = "every other column of a matrix, a view: no vector loads"

VIEWED = (
    *("abs", "cos", "exp", "neg", "rsqrt", "sigmoid", "sin", "sqrt", "tanh", "relu", "gelu"),
    *("silu", "clamp.default", "erf"),
)
"""Operators of one tensor that stand for the kinds of kernels: one instruction or many, vectorised
or by calls."""


@FAMILIES.also(*VIEWED)
def view(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Every other column of a matrix, which is no block of memory."""
    spec = every_other_column(square(size), gradient=True)
    # Those that write to their tensor have the name of the others too.
    fill = POSITIVE if POSITIVE_ONLY & set(operator.names) else NORMAL
    own: Arguments = {"min": -1.0, "max": 1.0} if "clamp" in operator.names else {}
    yield {"self": with_fill(spec, fill), **own, WHY: SPREAD}


POSITIVE_ONLY = frozenset({"rsqrt", "sqrt"})
"""Operators among `VIEWED` of numbers above zero."""

VIEWED_PAIRS = ("add.Tensor", "div.Tensor", "lt.Tensor", "maximum", "mul.Tensor", "sub.Tensor")
"""Operators of two tensors that stand for the kinds of kernels."""


@FAMILIES.also(*VIEWED_PAIRS)
def two_views(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors whose elements are in different orders, or not adjacent."""
    side = square(size)
    right = POSITIVE if "div" in operator.names else NORMAL
    for one, other, why in (
        (tensor(*side), transposed(side, gradient=True), TRANSPOSED),
        (every_other_column(side, gradient=True), every_other_column(side, gradient=True), SPREAD),
    ):
        yield {"self": one, "other": with_fill(other, right), WHY: why}
    maps = tensor(*feature_maps(size))
    yield {
        "self": msgspec.structs.replace(maps, memory_format="channels_last"),
        "other": with_fill(maps, right),
        WHY: "feature maps with channels last and others with channels first, as of two layers",
    }
