"""Families of PyTorch's elementwise operators: of a tensor and a number, three tensors, views."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from opperf.model import Fill, Operator, TensorSpec
from opperf.operations import OPERATIONS as CANONICAL
from opperf.operations.uses import Roles, Use
from opperf.rules.bert import scores
from opperf.rules.configurations import WHY
from opperf.rules.deviations import IN_DOUBLE
from opperf.rules.domains import MANTISSAS, PAIRS, SHIFTS, Pair
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

AMONG, DEGREE = 0.5, 5
"""A number that many normal random ones are above, and many below, and a polynomial's degree."""

NUMBERS: dict[tuple[str, str], float] = {
    **{
        (operation, role): AMONG
        for operation in ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum")
        for role in ("x", "y")
    },
    ("power", "y"): 3,
    **{
        (name, role): number
        for name, operation in CANONICAL.items()
        if set(operation.inputs) == {"x", "degree"}
        # A shifted polynomial of a half is one of zero.
        for role, number in (("x", 0.3), ("degree", DEGREE))
    },
}
"""By operation and role, the number where `FACTOR` makes all results one or is a special case."""
SAID = {("power", "x"): "2 to the power of each: ", ("power", "y"): "cubes: "}


@FAMILIES.category("unary", "binary")
# Those that write to the tensor have no category of their own.
@FAMILIES.add(
    *(f"{name}_.Scalar" for name in ("copysign", "eq", "ge", "gt", "le", "lt", "ne")),
    "xlogy_.Scalar_Other",
)
def with_number(operator: Operator, size: Preset) -> list[Arguments] | NoInputs:
    """A tensor, and a number in place of the other; one use shows the overhead of a call."""
    made: list[Arguments] = []
    for own, chosen in uses_of(operator, OPERATIONS):
        # A power by a number is a product: bound by memory.
        is_cube = own.operation == "power" and operator.tensors[0].name == "self"
        *several, few = shared.of_one(size, name="" if is_cube else own.operation)
        made += beside_number(operator, own, chosen, several if made else (*several, few))
    return made or NoInputs("no rule has values for it", searchable=True)


def beside_number(
    operator: Operator, own: Use, chosen: Arguments, shapes: Iterable[tuple[Shape, Roles]]
) -> Iterable[Arguments]:
    """The arguments of one use of an operator of a tensor and a number."""
    roles = tuple(CANONICAL[own.operation].inputs)
    if len(roles) != len(Pair()):
        return
    fills = dict(zip(roles, PAIRS.get(own.operation, Pair()), strict=True))
    modes = [f"{value}: " for value in chosen.values()]
    for shape, notes in shapes:
        for role, other in (roles, roles[::-1]):
            inputs: Roles = {
                role: NUMBERS.get((own.operation, role), FACTOR),
                other: tensor(*shape, fill=fills[other], dtype=shared.dtype_for(own.operation)),
            }
            said = [*modes, SAID.get((own.operation, role), "")]
            # The operator takes a tensor for one of the roles only.
            arguments = own.to_arguments(operator, inputs)
            if arguments is not None:
                yield {**arguments, **chosen, WHY: "".join([*said, str(notes[WHY])])}


THREE: dict[str, tuple[str, Callable[[TensorSpec], Arguments]]] = {
    "addcdiv": (
        "Adam's step: the mean gradient divided by the root of the mean square",
        lambda one: call(self=one, tensor1=one, tensor2=with_fill(one, POSITIVE), value=-0.001),
    ),
    "addcmul": (
        "Adam's mean square, to which a thousandth of the gradient's square is added",
        lambda one: call(self=one, tensor1=one, tensor2=one, value=0.001),
    ),
    "lerp.Scalar": ("a moving average, as Adam's", lambda one: call(self=one, end=one, weight=0.1)),
    "lerp.Tensor": (
        "between two tensors, with a weight for each element",
        lambda one: call(self=one, end=one, weight=with_fill(one, PROBABILITY)),
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
    for shape, notes in shared.of_one(size, (f"{why}: long rows", f"{why}: few rows, in cache")):
        yield {**arguments(tensor(*shape)), **notes}


@FAMILIES.also("add.Tensor", "div.Tensor", "lt.Tensor", "maximum", "mul.Tensor", "sub.Tensor")
def two_views(operator: Operator, size: Preset) -> Rows:
    """Two tensors in different orders, of operators that stand for the kinds of kernels."""
    right = POSITIVE if "div" in operator.names else NORMAL
    maps = tensor(*feature_maps(size))
    return {
        "a matrix and a transposed one: one of them is read across its rows": call(
            self=tensor(*square(size)), other=transposed(tensor(*square(size), fill=right))
        ),
        "two layers' feature maps, one with channels last and one with channels first": call(
            self=msgspec.structs.replace(maps, memory_format="channels_last"),
            other=with_fill(maps, right),
        ),
    }


ROWS: dict[str, Variants] = {
    "nextafter": lambda size: [
        {"self": tensor(*left), "other": tensor(*right), **notes}
        for left, right, notes in shared.broadcasting(size)[:2]
    ]
}
add_rows(FAMILIES.add, ROWS)

OWN: dict[str, Variants] = {
    "clamp.Tensor clip.Tensor": lambda size: {
        why: call(
            self=tensor(*square(size)),
            min=fixed(*bounds, fill=between(-1.0, 0.0)),
            max=fixed(*bounds, fill=between(0.0, 1.0)),
        )
        for bounds, why in (
            (square(size), "bounds for each element, for a projected gradient step"),
            ((1, square(size)[1]), "bounds for each column, such as a policy's actions"),
        )
    }
}
add_rows(FAMILIES.add, OWN, replaces="its bounds are tensors")

FURTHER: dict[str, Variants] = {
    "bitwise_and.Tensor": lambda size: [
        {
            "self": fixed(1, 1, length, length, fill=LOWER_TRIANGULAR, dtype="bool"),
            "other": fixed(batch, 1, 1, length, fill=PADDED, dtype="bool"),
            WHY: "A causal mask and a mask of padding for each sentence, combined, as booleans",
        }
        for batch, _, length, _ in [scores(size)]
    ],
    "mul.Tensor": lambda size: {
        "a tensor and a boolean mask of its shape, which is converted on the way": call(
            self=tensor(*square(size)), other=fixed(*square(size), fill=BOOLEAN, dtype="bool")
        ),
        # Llama 7B's code has pairs of a head's 128 numbers as 64 complex ones.
        "Llama 7B, rotary embeddings as complex numbers, of a short text": call(
            self=tensor(1, size.extent(512), 32, 64, dtype=COMPLEX),
            other=fixed(size.extent(512), 1, 64, dtype=COMPLEX),
        ),
    },
    "clamp.default": lambda size: {
        "A lower bound alone, for norms to divide by": call(self=tensor(*square(size)), min=0.0)
    },
    "ldexp.Tensor": lambda size: {
        "exponents in int32, as frexp returns them": call(
            self=tensor(*square(size), fill=MANTISSAS),
            other=fixed(*square(size), fill=SHIFTS, dtype="int32"),
        )
    },
    "logit": lambda size: {
        "probabilities clamped first": call(self=tensor(*square(size), fill=PROBABILITY), eps=1e-6)
    },
    "special_round": lambda size: {
        "Numbers to integers: one pass, where tenths take three": call(self=tensor(*square(size)))
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
            (0.75, "words' frequencies to 0.75, as word2vec draws negative samples: a power"),
        )
    },
}
add_rows(FAMILIES.also, FURTHER)
