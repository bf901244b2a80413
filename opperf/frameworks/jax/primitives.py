"""The primitives that JAX's functions are made of, as operators: `primitive.add`."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jax.extend import core

from opperf.frameworks.jax import categories, private, registry
from opperf.frameworks.jax.devices import platform_of
from opperf.frameworks.jax.structures import decode
from opperf.model import Operator, OperatorTarget

NAMESPACE = "primitive"
PREFIX = f"{NAMESPACE}."

INPUT = re.compile(r"x(\d+)")
"""Names of the inputs; every other argument is one of the primitive's own parameters."""


def input_name(position: int) -> str:
    """Returns the name of an input."""
    return f"x{position}"


def _lowerings(platform: str | None = None) -> Iterable[core.Primitive]:
    """Returns the primitives with a lowering for one platform, or for all; none if this version of
    JAX keeps them elsewhere."""
    if platform is None:
        return tuple(private.LOWERINGS.find() or ())
    return tuple((private.PLATFORM_LOWERINGS.find() or {}).get(platform, ()))


PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
"""Platforms by the names that lowerings have."""


@functools.cache
def by_name() -> dict[str, core.Primitive]:
    """Returns the primitives by name: those that JAX offers to packages that extend it, and others
    that some platform has a lowering of."""
    # Modules that are imported late register theirs at that time.
    registry.public_functions()
    public = [
        primitive
        for primitive in vars(core.primitives).values()
        if isinstance(primitive, core.Primitive)
    ]
    others = [primitive for platform in (None, *PLATFORMS) for primitive in _lowerings(platform)]
    found: dict[str, core.Primitive] = {}
    for primitive in (*public, *others):
        found.setdefault(_operator_name(primitive.name), primitive)
    return dict(sorted(found.items()))


def _operator_name(name: str) -> str:
    """Returns the operator's name of a primitive: `primitive.scatter_add` of `scatter-add`."""
    return PREFIX + name.replace("-", "_")


def operator_name(primitive: core.Primitive) -> str:
    """Returns the name of a primitive as an operator; empty if it is none."""
    name = _operator_name(primitive.name)
    return name if by_name().get(name) is primitive else ""


@functools.cache
def operators() -> tuple[Operator, ...]:
    """Returns the primitives as operators, sorted by name."""
    return tuple(_operator(name, one) for name, one in by_name().items())


def _operator(name: str, primitive: core.Primitive) -> Operator:
    printed = PREFIX + primitive.name
    named = callers(name)
    return Operator(
        framework=registry.FRAMEWORK,
        namespace=NAMESPACE,
        namespaces=(NAMESPACE,),
        name=name,
        aliases=(printed,) if printed != name else (),
        category=named[0].category if named else categories.OTHER,
        on_request=True,
        prefixes=("jax.",),
    )


def find(name: str) -> Operator | None:
    """Returns the operator of a primitive's name, such as `primitive.add`; None if there is
    none."""
    wanted = name.removeprefix("jax.")
    return next((operator for operator in operators() if wanted in operator.names), None)


def of(target: OperatorTarget) -> core.Primitive | None:
    """Returns the primitive that a target is; None for another operator."""
    return by_name().get(target.name)


def missing_lowering(operator: Operator, device: str) -> str:
    """Returns why a primitive cannot run on a device; empty if it can, and for a function."""
    if operator.namespace != NAMESPACE:
        return ""
    primitive = by_name()[operator.name]
    common = _lowerings()
    if not common or primitive in common:
        return ""
    having = [platform for platform in PLATFORMS if primitive in _lowerings(platform)]
    if platform_of(device) in having:
        return ""
    return f"JAX has it for {', '.join(having)} only"


SAME_NAME = (
    *("lax", "lax.linalg", "random", "jnp", "nn", "jnp.linalg", "jnp.fft", "scipy.special"),
)
"""Namespaces whose function of a primitive's name calls it, the nearest first."""

CALLERS: Mapping[str, tuple[str, ...]] = {
    "acos": ("jnp.arccos",),
    "acosh": ("jnp.arccosh",),
    "add_any": ("jnp.add", "lax.tanh"),
    "and": ("lax.bitwise_and", "jnp.bitwise_and"),
    "approx_top_k": ("lax.approx_max_k",),
    "asin": ("jnp.arcsin",),
    "asinh": ("jnp.arcsinh",),
    "atan": ("jnp.arctan",),
    "atan2": ("jnp.arctan2",),
    "atanh": ("jnp.arctanh",),
    "broadcast_in_dim": ("jnp.broadcast_to",),
    "clamp": ("jnp.clip",),
    "complex": ("lax.complex",),
    "conv_general_dilated": ("lax.conv_general_dilated", "lax.conv", "jnp.convolve"),
    "convert_element_type": ("jnp.astype",),
    "div": ("jnp.divide",),
    "dot_general": ("jnp.matmul",),
    "dynamic_update_slice": ("lax.dynamic_update_slice",),
    "eq": ("jnp.equal",),
    "erf_inv": ("scipy.special.erfinv",),
    "fft": ("jnp.fft.fft",),
    "gather": ("jnp.take",),
    "ge": ("jnp.greater_equal",),
    "gt": ("jnp.greater",),
    "igamma": ("scipy.special.gammainc",),
    "igammac": ("scipy.special.gammaincc",),
    "integer_pow": ("jnp.power",),
    "is_finite": ("jnp.isfinite",),
    "le": ("jnp.less_equal",),
    "le_to": ("jnp.less_equal", "jnp.searchsorted"),
    "lgamma": ("scipy.special.gammaln",),
    "logistic": ("nn.sigmoid",),
    "lt": ("jnp.less",),
    "lt_to": ("jnp.less", "jnp.digitize"),
    "lu": ("scipy.linalg.lu",),
    "max": ("jnp.maximum",),
    "min": ("jnp.minimum",),
    "mul": ("jnp.multiply",),
    "ne": ("jnp.not_equal",),
    "neg": ("jnp.negative",),
    "not": ("lax.bitwise_not", "jnp.invert"),
    "or": ("lax.bitwise_or", "jnp.bitwise_or"),
    "pow": ("jnp.power",),
    "random_bits": ("random.bits",),
    "random_clone": ("random.clone",),
    "random_fold_in": ("random.fold_in",),
    "random_gamma": ("random.gamma", "random.loggamma"),
    "random_seed": ("random.key",),
    "random_split": ("random.split",),
    "random_unwrap": ("random.key_data",),
    "random_wrap": ("random.wrap_key_data",),
    "reduce_and": ("jnp.all",),
    "reduce_max": ("jnp.max",),
    "reduce_min": ("jnp.min",),
    "reduce_or": ("jnp.any",),
    "reduce_prod": ("jnp.prod",),
    "reduce_sum": ("jnp.sum",),
    "reduce_window_max": ("lax.reduce_window",),
    "reduce_window_min": ("lax.reduce_window",),
    "reduce_window_sum": ("lax.reduce_window",),
    "regularized_incomplete_beta": ("lax.betainc", "scipy.special.betainc"),
    "rem": ("jnp.fmod",),
    "rev": ("jnp.flip",),
    "scatter": ("jnp.put_along_axis",),
    "scatter-add": ("ops.segment_sum",),
    "scatter-max": ("ops.segment_max",),
    "scatter-min": ("ops.segment_min",),
    "scatter-mul": ("ops.segment_prod",),
    "select_and_scatter_add": ("lax.reduce_window",),
    "select_n": ("lax.select_n", "jnp.where"),
    "shift_left": ("jnp.left_shift",),
    "shift_right_arithmetic": ("jnp.right_shift",),
    "slice": ("lax.slice", "jnp.split"),
    "sub": ("jnp.subtract",),
    "triangular_solve": ("scipy.linalg.solve_triangular", "jnp.linalg.inv"),
    "xor": ("lax.bitwise_xor", "jnp.bitwise_xor"),
}
"""Functions that do what a primitive does, and those that call it, the nearest first, after those
of its name."""


def callers(name: str) -> tuple[Operator, ...]:
    """Returns the functions, by JAX's documentation, that do what a primitive does, the nearest
    first."""
    bare = by_name()[name].name
    same = (f"{namespace}.{bare.replace('-', '_')}" for namespace in SAME_NAME)
    known = registry.by_name()
    found = (known.get(caller) for caller in (*same, *CALLERS.get(bare, ())))
    return tuple(dict.fromkeys(caller for caller in found if caller is not None))


def bind(primitive: core.Primitive, arguments: Mapping[str, Any]) -> functools.partial[Any]:
    """Returns the call of a primitive with a case's arguments."""
    inputs = {name: value for name, value in arguments.items() if INPUT.fullmatch(name)}
    ordered = sorted(inputs, key=lambda name: int(name[1:]))
    parameters = {name: decode(one) for name, one in arguments.items() if name not in inputs}
    return functools.partial(primitive.bind, *(inputs[name] for name in ordered), **parameters)


def called_by(function: Callable[..., Any]) -> core.Primitive | None:
    """Returns the primitive whose `bind` a function is; None for any other."""
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, core.Primitive) else None


def path_of(primitive: core.Primitive) -> str:
    """Returns the dotted path of a primitive's `bind`, in a public module if one has it."""
    # A program imports modules while it runs.
    modules = [(name, one) for name, one in sys.modules.items() if name.partition(".")[0] == "jax"]
    public = (core.primitives.__name__, core.primitives)
    ordered = sorted(modules, key=lambda one: ("._" in one[0], one[0]))
    return next(
        f"{module}.{name}.bind"
        for module, found in (public, *ordered)
        for name, one in list(vars(found).items())
        if one is primitive
    )
