"""Families of elementwise functions of `jax.lax`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Choice, Roles, Table, Use, merge, only_if, use, uses
from opperf.rules.configurations import WHY
from opperf.rules.domains import PAIRS
from opperf.rules.families.elementwise import broadcasting
from opperf.rules.jax.as_numpy import narrowed, without_repeats
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, slim, square, tiny
from opperf.rules.sizes import Preset
from opperf.rules.values import POSITIVE, Arguments, between, call, fixed, literal, tensor
from opperf.rules.variants import Variants, add_rows

LAX = "lax.{}"
"""Pattern of the names in the registry."""

SAME_NAME = (
    *("bitwise_not", "cbrt", "ceil", "cos", "cosh", "digamma", "erf", "erfc", "exp", "exp2"),
    *("expm1", "floor", "log", "log1p", "log2", "reciprocal", "rsqrt", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh"),
)
RENAMED = {
    "abs": "absolute",
    **{f"a{name}": f"arc{name}" for kind in ("cos", "sin", "tan") for name in (kind, f"{kind}h")},
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
    "clz": "leading_zeros",
    "erf_inv": "erfinv",
    "is_finite": "isfinite",
    "lgamma": "gammaln",
    "logistic": "sigmoid",
    "neg": "negative",
    "optimization_barrier": "identity",
    "population_count": "ones_in_bits",
    "stage": "identity",
    "stop_gradient": "identity",
}
"""Operations of functions that have another name in `jax.lax`."""

OF_COMPLEX = {"conj": "conjugate", "imag": "imag", "real": "real"}


def scalar(value: Argument) -> Argument:
    """A number as a tensor of the dtype of the others, which `jax.lax` requires it to have."""
    return fixed(fill=literal(value))


def clamp_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """A tensor and its bounds."""
    return {"min": scalar(roles["low"]), "x": roles["x"], "max": scalar(roles["high"])}


def polygamma_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The order, and a tensor."""
    return {"m": scalar(roles["order"]), "x": roles["x"]}


def sample_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """Shape parameters and samples, which the function's signature does not name."""
    a, x = roles["a"], roles["x"]
    assert isinstance(a, TensorSpec) and isinstance(x, TensorSpec)
    return {"args": (a, x)}


def omitted(operator: Operator, roles: Roles) -> None:
    """Nothing: a family of the function's own has its inputs."""


TO_EVEN = 1
"""The value of `RoundingMethod.TO_NEAREST_EVEN`."""

UNARY: Table = merge(
    uses(SAME_NAME, "x -accuracy", LAX),
    {f"lax.{name}": use(operation, "x=x|operand -accuracy") for name, operation in RENAMED.items()},
    {f"lax.{name}": use(operation, "z=x") for name, operation in OF_COMPLEX.items()},
    {
        "lax.clamp": use("clip", "x low=min high=max", to_arguments=clamp_arguments),
        "lax.integer_pow": use("power", lambda x, y: {"x": x, "y": float(y)}, to_arguments=omitted),
        "lax.one_minus_square": use("square", "x", lambda made, arguments: 1 - made),
        "lax.polygamma": use("polygamma", "x order=m", to_arguments=polygamma_arguments),
        "lax.round": Choice(
            "rounding_method",
            {
                None: use("round_half_away", "x"),
                TO_EVEN: use("rint", "x -rounding_method", to_arguments=omitted),
            },
        ),
        "lax.reduce_precision": use("round_to_bits", "x=operand exponent_bits mantissa_bits"),
    },
)

TWO_SAME_NAME = ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "complex")
TWO_RENAMED = {
    "atan2": "arctan2",
    "div": "divide",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "ne": "not_equal",
    "pow": "power",
    "rem": "fmod",
    "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
    # The same as an arithmetic one of numbers that are not negative.
    "shift_right_logical": "right_shift",
    "sub": "subtract",
}
"""Operations of functions that have another name in `jax.lax`."""

GAMMA = "a x"

BINARY: Table = merge(
    uses(TWO_SAME_NAME, "x y", LAX),
    {
        f"lax.{name}": without_repeats(use(operation, "x y"))
        for name, operation in TWO_RENAMED.items()
    },
    {
        "lax.betainc": use("betainc", "a b x"),
        "lax.igamma": use("gammainc", GAMMA),
        "lax.igamma_grad_a": use("gammainc_derivative", GAMMA),
        "lax.igammac": use("gammaincc", GAMMA),
        "lax.random_gamma_grad": use(
            "gamma_sample_derivative",
            lambda args: dict(zip(("a", "x"), args, strict=True)),
            to_arguments=sample_arguments,
        ),
        "lax.zeta": use("zeta", "x q"),
    },
)


def is_of_one_shape(roles: Roles) -> bool:
    """Whether nothing is broadcast."""
    return len({value.shape for value in roles.values() if isinstance(value, TensorSpec)}) == 1


def with_narrow_indices(entry: Use) -> Use:
    """Returns the use with indices of 32 bits."""

    def to_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
        made = entry.to_arguments(operator, roles)
        return made and {name: narrowed(value) for name, value in made.items()}

    return replace(entry, to_arguments=to_arguments)


SELECTED: Table = {
    "lax.select": only_if(use("where", "condition=pred x=on_true y=on_false"), is_of_one_shape),
    "lax.select_n": with_narrow_indices(use("choose", "indices=which choices=cases")),
}

OPERATIONS: Table = merge(UNARY, BINARY, SELECTED)


FAMILIES = Families()


@FAMILIES.also("lax.clamp")
def clamp_between_tensors(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor with bounds for each element, for a projected gradient step."""
    shape = square(size)
    low, high = (fixed(*shape, fill=between(end, end + 1)) for end in (-1.0, 0.0))
    yield {"min": low, "x": tensor(*shape), "max": high}


@FAMILIES.also("lax.round")
def round_to_even(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Halves rounded to even, as `jax.numpy.round` and fake quantisation do."""
    yield {"x": tensor(*square(size)), "rounding_method": TO_EVEN}


@FAMILIES.add("lax.igamma", "lax.igammac", replaces="fewer elements: XLA loops until all converge")
def incomplete_gamma(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Shape parameters and points. A million take XLA a second, until the slowest converges."""
    fills = PAIRS["gammainc"]
    shape = slim(size)
    points = tensor(*shape, fill=fills.right)
    for a, why in (
        (fixed(*shape, fill=fills.left), "chi-square probabilities, each of its own freedom"),
        (fixed(1, shape[1], fill=fills.left), "parameters of each column, for fitted features"),
        (tensor(*shape, fill=fills.left), "a gamma distribution that is learnt: both gradients"),
    ):
        yield {"a": a, "x": points, WHY: why}


@FAMILIES.add("lax.mulhi")
def high_half(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Two tensors of words of 32 bits."""
    words = fixed(*square(size), fill=between(0.0, 2.0**31), dtype="int32")
    yield {"x": words, "y": words, WHY: "the upper halves of products, as a counter's generator"}


@FAMILIES.add("lax.polynomial")
def polynomial(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Places, and coefficients from the constant on."""
    coefficients = (1.0, -0.5, 0.25, -0.125, 0.0625)
    why = "a quartic in Horner's form: the approximation of a special function"
    yield {"x": tensor(*square(size)), "coeffs": coefficients, WHY: why}
    yield {"x": tensor(*tiny(size)), "coeffs": coefficients, **FEW}


FORMATS = {
    (5, 10): "to float16's bits, as a check of what half precision loses",
    (8, 7): "to bfloat16's bits, for the inputs of a TPU's matrix unit",
}
"""Bits of exponent and mantissa, and why numbers are rounded to them."""


VARIANTS: dict[str, Variants] = {
    "lax.nextafter": lambda size: [
        {"x1": tensor(*left), "x2": tensor(*right), **notes}
        for left, right, notes in broadcasting(size)[:2]
    ],
    "lax.integer_pow": lambda size: [
        {"x": tensor(*square(size), fill=POSITIVE), "y": exponent, WHY: why}
        for exponent, why in (
            (2, "squares, such as of an error: one product"),
            (3, "cubes, for the polynomial of GELU's approximation: two products"),
            (-1, "reciprocals, such as of a norm: one division"),
            (10, "tenth powers, by squares of squares: four products"),
        )
    ],
    "lax.reduce_precision": lambda size: {
        why: call(operand=tensor(*square(size)), exponent_bits=exponent, mantissa_bits=mantissa)
        for (exponent, mantissa), why in FORMATS.items()
    },
}
add_rows(FAMILIES.add, VARIANTS)
