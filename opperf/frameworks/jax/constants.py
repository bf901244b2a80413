"""JAX's objects for plain values of a case: dtypes, devices, keys, functions, structures."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from opperf.frameworks import paths
from opperf.frameworks.base import Constant
from opperf.frameworks.jax import devices, dtypes, parameters
from opperf.model import Device, DType, Function, Generator

ROOTS = {"jax": jax, "jnp": jnp, "lax": jax.lax}
"""Modules by the first word of a dotted path."""

BODIES = "opperf.frameworks.jax.bodies"
"""Module of opperf's own functions that cases pass to functions such as `lax.scan`."""

STRUCTURES: Mapping[str, type] = {
    function.__name__: function
    for function in (
        lax.GatherDimensionNumbers,
        lax.ScatterDimensionNumbers,
        lax.RaggedDotDimensionNumbers,
    )
}
"""JAX's structures of plain values by the annotation of the parameters that take them: a case has a
mapping of their fields."""

BY_NAME: Mapping[str, Callable[[Any], Any]] = {"shardings": jax.sharding.SingleDeviceSharding}
"""Functions that make a parameter's value of a case's, by the parameter's name."""


def constant(value: Constant, device: str) -> Any:
    """Returns JAX's object for a plain value; None if it has none. Raises `UnknownOperatorError`
    for the path of a function that does not exist."""
    if isinstance(value, DType):
        return dtypes.dtype_of(value.name)
    if isinstance(value, Device):
        return devices.jax_device(value.name or device)
    if isinstance(value, Generator):
        return jax.random.key(value.seed)
    if isinstance(value, Function):
        return function_at(value.path)
    return None


def function_at(path: str) -> Callable[..., Any]:
    """Returns one of JAX's functions, or one of opperf's bodies, by its dotted path. Raises
    `UnknownOperatorError`."""
    module, _, name = path.rpartition(".")
    if module == BODIES:
        return paths.find(f"bodies.{name}", "opperf", {"bodies": importlib.import_module(BODIES)})
    return paths.find(path, "JAX", ROOTS)


def structure(declared: parameters.Parameters, named: dict[str, Any]) -> None:
    """Replaces, among arguments by name, those for which JAX has types of its own."""
    for name, value in named.items():
        if name not in declared:
            continue
        made = STRUCTURES.get(str(declared[name].annotation))
        if made is not None and isinstance(value, dict):
            named[name] = made(**value)
        elif name in BY_NAME:
            named[name] = BY_NAME[name](value)


def bodies_in(values: Any) -> list[str]:
    """Returns the source of opperf's functions among a call's arguments, each once."""
    leaves: Iterable[Any] = jax.tree_util.tree_leaves(values)
    found = [leaf for leaf in leaves if getattr(leaf, "__module__", None) == BODIES]
    return [inspect.getsource(body) for body in dict.fromkeys(found)]


def source_of(value: Any, path_of: Callable[[Any], str]) -> str | None:
    """Returns the Python source of one of these objects; None for any other value. `path_of` has
    the path of a function of JAX."""
    if isinstance(value, tuple(STRUCTURES.values())):
        return f"jax.lax.{value!r}"
    if isinstance(value, jax.sharding.SingleDeviceSharding):
        (device,) = value.device_set
        return f"jax.sharding.SingleDeviceSharding({source_of(device, path_of)})"
    if isinstance(value, jax.Device):
        return f"jax.devices({value.platform!r})[{value.id}]"
    if callable(value) and not isinstance(value, type):
        own = getattr(value, "__module__", None) == BODIES
        return str(value.__name__) if own else path_of(value)
    return None
