"""The primitives that JAX's functions are made of, as operators: `primitive.add`."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jax.extend import core

from opperf.frameworks.base import CallArguments
from opperf.frameworks.jax import categories, private, registry
from opperf.frameworks.jax.devices import platform_of
from opperf.frameworks.jax.structures import decode
from opperf.model import Operator, OperatorTarget

NAMESPACE = "primitive"
PREFIX = f"{NAMESPACE}."

INPUT = re.compile(r"x(\d+)")
"""Names of the inputs; every other argument is one of the primitive's own parameters."""


def _lowerings(platform: str | None = None) -> Iterable[core.Primitive]:
    """Returns the primitives with a lowering for a platform or all; none if JAX lacks the list."""
    if platform is None:
        return tuple(private.LOWERINGS.find() or ())
    return tuple((private.PLATFORM_LOWERINGS.find() or {}).get(platform, ()))


PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
"""Platforms by the names that lowerings have."""


@functools.cache
def by_name() -> dict[str, core.Primitive]:
    """Returns the primitives that JAX offers, or a platform has a lowering of, by name."""
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
    """Returns `primitive.scatter_add` of `scatter-add`."""
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
    """Returns the operator of a primitive's name, such as `primitive.add`; else None."""
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
    **{
        primitive: (f"{namespace}.{name}",)
        for namespace, pairs in {
            "jnp": (
                "acos=arccos acosh=arccosh asin=arcsin asinh=arcsinh atan=arctan atan2=arctan2 "
                "atanh=arctanh broadcast_in_dim=broadcast_to clamp=clip "
                "convert_element_type=astype div=divide dot_general=matmul eq=equal gather=take "
                "ge=greater_equal gt=greater integer_pow=power is_finite=isfinite le=less_equal "
                "lt=less max=maximum min=minimum mul=multiply ne=not_equal neg=negative pow=power "
                "reduce_and=all reduce_max=max reduce_min=min reduce_or=any reduce_prod=prod "
                "reduce_sum=sum rem=fmod rev=flip scatter=put_along_axis shift_left=left_shift "
                "shift_right_arithmetic=right_shift sub=subtract"
            ),
            "lax": (
                "approx_top_k=approx_max_k complex=complex "
                "dynamic_update_slice=dynamic_update_slice reduce_window_max=reduce_window "
                "reduce_window_min=reduce_window reduce_window_sum=reduce_window "
                "select_and_scatter_add=reduce_window"
            ),
            "scipy.special": "erf_inv=erfinv igamma=gammainc igammac=gammaincc lgamma=gammaln",
            "jnp.fft": "fft=fft",
            "nn": "logistic=sigmoid",
            "scipy.linalg": "lu=lu",
            "random": (
                "random_bits=bits random_clone=clone random_fold_in=fold_in random_seed=key "
                "random_split=split random_unwrap=key_data random_wrap=wrap_key_data"
            ),
            "ops": (
                "scatter-add=segment_sum scatter-max=segment_max scatter-min=segment_min "
                "scatter-mul=segment_prod"
            ),
        }.items()
        for primitive, name in (pair.split("=") for pair in pairs.split())
    },
    "add_any": ("jnp.add", "lax.tanh"),
    "and": ("lax.bitwise_and", "jnp.bitwise_and"),
    "conv_general_dilated": ("lax.conv_general_dilated", "lax.conv", "jnp.convolve"),
    "le_to": ("jnp.less_equal", "jnp.searchsorted"),
    "lt_to": ("jnp.less", "jnp.digitize"),
    "not": ("lax.bitwise_not", "jnp.invert"),
    "or": ("lax.bitwise_or", "jnp.bitwise_or"),
    "random_gamma": ("random.gamma", "random.loggamma"),
    "regularized_incomplete_beta": ("lax.betainc", "scipy.special.betainc"),
    "select_n": ("lax.select_n", "jnp.where"),
    "slice": ("lax.slice", "jnp.split"),
    "triangular_solve": ("scipy.linalg.solve_triangular", "jnp.linalg.inv"),
    "xor": ("lax.bitwise_xor", "jnp.bitwise_xor"),
}
"""Functions that do what a primitive does or call it, the nearest first, after its name's."""


def callers(name: str) -> tuple[Operator, ...]:
    """Returns the functions that do what a primitive does, the nearest first."""
    bare = by_name()[name].name
    same = (f"{namespace}.{bare.replace('-', '_')}" for namespace in SAME_NAME)
    known = registry.by_name()
    found = (known.get(caller) for caller in (*same, *CALLERS.get(bare, ())))
    return tuple(dict.fromkeys(caller for caller in found if caller is not None))


def bind(primitive: core.Primitive, arguments: CallArguments) -> functools.partial[Any]:
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
