"""Operators that work element by element: of one tensor, of two, of a tensor and a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Fill, Operator, iter_tensors
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles, Table, Use, Values, merge, only_if, use, uses
from opperf.rules.domains import (
    BITS,
    FEW_INTEGERS,
    MANTISSAS,
    POSITIVE_INTEGERS,
    SHIFTS,
    WHOLE_DTYPE,
)
from opperf.rules.engine import arguments_by_role
from opperf.rules.families import elementwise as shared
from opperf.rules.mxnet.names import FACTOR
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import BOOLEAN, NORMAL, POSITIVE, REQUESTED, Arguments, tensor

X = "x=data|x|a"
"""The one tensor, under its names in `mx.nd` and `mx.np`."""

OF_ND = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil"),
    *("cos", "cosh", "degrees", "digamma", "erf", "erfinv", "exp", "expm1", "floor"),
    *("gamma", "gammaln", "identity", "log", "log10", "log1p", "log2", "log_sigmoid"),
    *("logical_not", "mish", "negative", "ones_like", "radians", "rcbrt", "reciprocal", "relu"),
    *("rint", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softsign", "sqrt", "square"),
    *("tan", "tanh", "trunc", "zeros_like", "abs", "fix", "round"),
)
OF_NUMPY = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "around"),
    *("bitwise_not", "cbrt", "ceil", "copy", "cos", "cosh", "degrees", "exp", "expm1", "fix"),
    *("floor", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "log", "log10", "log1p"),
    *("log2", "logical_not", "nan_to_num", "negative", "radians", "reciprocal", "rint", "sign"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
RENAMED = {
    "abs": "absolute",
    "around": "rint",
    "copy": "identity",
    "div": "divide",
    "fix": "trunc",
    "lesser": "less",
    "lesser_equal": "less_equal",
    "minus": "subtract",
    "mod": "remainder",
    "mul": "multiply",
    "plus": "add",
    "round": "round_half_away",
    "sub": "subtract",
    "true_divide": "divide",
}
"""Operations of operators that have another name in MXNet."""

UNARY = merge(
    uses(OF_ND, X, other=RENAMED),
    uses(OF_NUMPY, X, "_npi_{}", RENAMED),
    uses(("copy",), X, "_np_{}", RENAMED),
    uses(("relu", "sigmoid"), X, "_npx_{}"),
    {
        # Only their gradients differ from those of these operations.
        "BlockGrad": use("identity", X),
        "MakeLoss": use("identity", f"{X} -normalization -valid_thresh"),
        "make_loss": use("identity", X),
        "_contrib_gradientmultiplier": use("identity", "x=data -scalar"),
        "_contrib_round_ste": use("round_half_away", X),
        "_contrib_sign_ste": use("sign", X),
        "_contrib_quadratic": use(
            "polynomial", lambda data, a, b, c: {"x": data, "coefficients": (a, b, c)}
        ),
        "_copyto": use("identity", "x=data -out"),
        "_identity_with_attr_like_rhs": use("identity", "x=lhs -rhs"),
        "_npi_polyval": use("polynomial", "coefficients=p x"),
        "clip": use("clip", "x=data low=a_min high=a_max"),
        "hard_sigmoid": use("affine_clip", "x=data slope=alpha offset=beta"),
        "cast_storage": use("identity", "x=data -stype"),
    },
)

TWO = "x=lhs|x1 y=rhs|x2"
NUMBER = "x=data y=scalar"
LEFT_NUMBER = "y=data x=scalar"

COMPARISONS = ("equal", "greater", "greater_equal", "lesser", "lesser_equal", "not_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
ARITHMETIC = ("add", "div", "mul", "sub")
BOTH = (*COMPARISONS, *LOGICAL, "hypot", "maximum", "minimum", "mod", "power")
BOTH_NUMPY = (
    *("add", "arctan2", "copysign", "equal", "floor_divide", "fmax", "fmin", "fmod"),
    *("greater", "greater_equal", "ldexp", "less", "less_equal", "logaddexp", "mod"),
    *("multiply", "not_equal", "power", "subtract", "true_divide"),
)
LEFT_OF_NUMPY = (
    *("arctan2", "copysign", "floor_divide", "fmod", "ldexp", "mod", "power", "subtract"),
    "true_divide",
)
WHOLE = {
    "bitwise_and": "bitwise_and",
    "bitwise_left_shift": "left_shift",
    "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "bitwise_xor",
    "gcd": "gcd",
    "lcm": "lcm",
}
"""Operations of the operators of integers."""
WHOLE_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def where_stored(made: Any, arguments: Values) -> Any:
    """The result where the tensor is not zero: of a sparse one the rest is not stored."""
    return made * (arguments["data"] != 0)


BINARY = merge(
    uses((*ARITHMETIC, *BOTH), TWO, "broadcast_{}", RENAMED),
    uses(ARITHMETIC, TWO, "elemwise_{}", RENAMED),
    uses(BOTH, TWO, "_{}", RENAMED),
    uses((*BOTH_NUMPY, *LOGICAL, "hypot"), TWO, "_npi_{}", RENAMED),
    uses(WHOLE, TWO, "_npi_{}", WHOLE),
    uses((*BOTH, "div", "minus", "mul", "plus"), NUMBER, "_{}_scalar", RENAMED),
    uses(("div", "minus", "mod", "power"), LEFT_NUMBER, "_r{}_scalar", RENAMED),
    uses((*BOTH_NUMPY, *LOGICAL), NUMBER, "_npi_{}_scalar", RENAMED),
    uses(LEFT_OF_NUMPY, LEFT_NUMBER, "_npi_r{}_scalar", RENAMED),
    {
        f"_npi_{name}_scalar": use(WHOLE[name], lambda data, scalar: {"x": data, "y": int(scalar)})
        for name in WHOLE
    },
    {
        f"_npi_r{name}_scalar": use(WHOLE[name], lambda data, scalar: {"x": int(scalar), "y": data})
        for name in WHOLE_SHIFTS
    },
    {
        "_contrib_allclose": use("allclose", "x=a y=b", relative=1e-5, absolute=1e-8),
        "_grad_add": use("add", TWO),
        "_npi_share_memory": use("shares_memory", "x=a y=b"),
        "_scatter_elemwise_div": use("divide", TWO),
        "_scatter_minus_scalar": use("subtract", NUMBER, where_stored),
        "_scatter_plus_scalar": use("add", NUMBER, where_stored),
        "add_n": use("sum_of_many", "tensors=args"),
    },
)

TRUE_IN_FLOATS = ("logical_not", *(f"broadcast_{name}" for name in LOGICAL))
"""Operators of `mx.nd` that take no booleans."""


def has_numbers(roles: Roles) -> bool:
    """Whether no input is a mask."""
    return all(spec.dtype != shared.MASK for each in roles.values() for spec in iter_tensors(each))


OPERATIONS: Table = {
    name: only_if(entry, has_numbers)
    if name in TRUE_IN_FLOATS and isinstance(entry, Use)
    else entry
    for name, entry in merge(UNARY, BINARY).items()
}

FAMILIES = Families()

ALIKE = tuple(
    name
    for name, entry in BINARY.items()
    if entry.operations <= set(shared.OF_TWO)
    and not name.startswith(("broadcast_", "_npi_"))
    and not name.endswith("_scalar")
)
"""Operators of two tensors that require them to have one shape."""


def two_alike(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Two tensors of one shape."""
    return shared.pairs(operation.name, shared.alike(size))


@FAMILIES.add(*ALIKE, replaces="it takes tensors of one shape alone")
def elementwise(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of one shape."""
    return arguments_by_role(operator, BINARY, two_alike, size)


WHOLE_ONLY = ("bitwise", "gcd", "lcm")
"""Prefixes of operators of integers."""

SCALAR_DOMAINS: dict[str, Fill] = {
    **dict.fromkeys(("rdiv", "rtrue_divide", "rfloor_divide", "rmod", "rfmod", "power"), POSITIVE),
    **dict.fromkeys(("equal", "not_equal"), FEW_INTEGERS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), BOOLEAN),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", *WHOLE_SHIFTS), BITS),
    **dict.fromkeys(("rbitwise_left_shift", "rbitwise_right_shift", "rldexp"), SHIFTS),
    "ldexp": MANTISSAS,
    **dict.fromkeys(("lcm", "gcd"), POSITIVE_INTEGERS),
}
"""By name without prefix and suffix; a leading `r` means that the number is the left operand."""

AMONG = 0.5
"""A number that many normal random ones are above, and many below."""

SCALARS: dict[str, float] = {
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), AMONG),
    **dict.fromkeys(("lesser", "lesser_equal", "maximum", "minimum", "fmax", "fmin"), AMONG),
    # With any other number the result is true everywhere.
    "logical_or": 0.0,
    # With a prime number one step is enough.
    **dict.fromkeys(("lcm", "gcd"), 60.0),
}
"""The number, in the same way, where with `FACTOR` nearly all results would be the same."""


@FAMILIES.category("binary_scalar")
def scalar(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor and a number."""
    base = operator.name.removeprefix("_npi").removeprefix("_").removesuffix("_scalar")
    dtype = WHOLE_DTYPE if base.removeprefix("r").startswith(WHOLE_ONLY) else REQUESTED
    entry = BINARY.get(operator.name)
    name = entry.operation if isinstance(entry, Use) else ""
    for shape, why in shared.of_one(size, name=name):
        data = tensor(*shape, fill=SCALAR_DOMAINS.get(base, NORMAL), dtype=dtype)
        yield {"data": data, "scalar": SCALARS.get(base, FACTOR), **why}


@FAMILIES.add("_contrib_gradientmultiplier", replaces="it requires the factor of the gradient")
def gradientmultiplier(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, which the forward pass copies, and the factor of its gradient."""
    for shape, why in shared.of_one(size):
        yield {"data": tensor(*shape), "scalar": FACTOR, **why}


@FAMILIES.add("_contrib_quadratic")
def quadratic(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and the coefficients of a quadratic polynomial, none of them zero."""
    for shape, why in shared.of_one(size):
        yield {"data": tensor(*shape), "a": 1.0, "b": -2.0, "c": 0.5, **why}
