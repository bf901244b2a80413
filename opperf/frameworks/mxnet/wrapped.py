"""The registered operators behind the functions of MXNet's namespaces, by place and name."""

from __future__ import annotations

import functools
import re

from opperf.frameworks.mxnet import registry
from opperf.model import CallableTarget, Operator, Target

PREFIXES = {
    "mxnet.numpy": ("_npi_", "_np_", "_npx_", ""),
    "mxnet.numpy_extension": ("_npx_", "_npi_", "_np_", ""),
    "mxnet.ndarray": ("", "_", "_contrib_", "_npi_", "_np_"),
}
"""Prefixes of the registered names that a namespace's functions may wrap, the likeliest first."""

NUMPY_PREFIXES = ("_npi_", "_np_", "_npx_")
"""Prefixes of registered names that the functions of `mx.np` and `mx.npx` do not have."""

BROADCASTING = (
    "equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor "
    "add maximum minimum power divide=div modulo=mod multiply=mul subtract=sub true_divide=div"
)
"""Functions of `mx.nd` that broadcast, and the ends of their operators' names, where others."""

WRAPPED = {
    **{
        f"ndarray.ndarray.{name}": f"broadcast_{end or name}"
        for name, _, end in (word.partition("=") for word in BROADCASTING.split())
    },
    "ndarray.random.multinomial": "_sample_multinomial",
    "numpy.bitwise_invert": "_npi_bitwise_not",
    "numpy.identity": "_npi_identity",
    "numpy.invert": "_npi_bitwise_not",
    "numpy.random.power": "_npi_powerd",
    "numpy_extension.random.categorical": "_sample_categorical",
    "numpy_extension.random.multinomial": "_sample_multinomial",
}
"""Operators behind functions of another name, by the function's place in MXNet."""


def snake_case(name: str) -> str:
    """Returns `BatchNorm` as `batch_norm`, `LeakyReLU` as `leaky_relu`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def spellings(name: str) -> list[str]:
    """Returns the names an operator may have in any namespace, the requested one first."""
    found, folded_name = [name], snake_case(name)
    for bare, folded in _words():
        if name in bare or folded_name in folded:
            found.extend(sorted(bare) + sorted(folded))
    return list(dict.fromkeys(found))


@functools.cache
def _words() -> list[tuple[set[str], set[str]]]:
    """Returns the names that namespaces may have for each operator, also in snake case."""
    words = []
    for operator in registry.operators():
        bare = {
            alias[len(prefix) :]
            for alias in operator.names
            for prefix in NUMPY_PREFIXES
            if alias.startswith(prefix)
        } | {alias for alias in operator.names if not alias.startswith("_")}
        words.append((bare, {snake_case(word) for word in bare}))
    return words


def place_of(target: Target) -> str:
    """Returns the place of a callable in MXNet, `numpy.linalg.svd`; empty for a registered
    operator. Functions that `mx.np` calls are below `mx.nd`, with the same arguments."""
    if not isinstance(target, CallableTarget):
        return ""
    root, _, place = target.path.partition(".")
    if root == "numpy":
        # MXNet has some functions of NumPy itself in places to which no path of MXNet leads back.
        return target.path
    if root not in ("mx", "mxnet"):
        return ""
    place = place.replace("numpy.function_base.", "numpy.")
    return place.removeprefix("ndarray.") if place.startswith("ndarray.numpy") else place


def wrapped_operator(target: Target, called: Operator) -> Operator | None:
    """Returns the registered operator that a function calls or wraps: itself, or the one of its
    name in its namespace, or of a name alike. None for a function outside MXNet."""
    if called.namespace or not isinstance(target, CallableTarget):
        return called if called.namespace else None
    known = registry.by_name()
    if place_of(target) in WRAPPED:
        return known.get(WRAPPED[place_of(target)])
    words = [target.path.partition(".")[0], *place_of(target).split(".")]
    prefixes = PREFIXES.get(".".join(words[:2]), ())
    submodule = "".join(f"{word}_" for word in words[2:-1])
    needed = len([p for p in called.tensors if p.required])
    for word in spellings(called.name) if prefixes else ():
        for prefix in prefixes:
            own = known.get(prefix + submodule + word) if submodule else None
            if own is not None:
                return own
            operator = known.get(prefix + word)
            if operator is not None and len(operator.tensors) >= needed:
                return operator
    return None
