"""JAX's callables by path or operator, its objects for plain values, and calls of both."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from opperf.errors import UnknownOperatorError, did_you_mean, suggest
from opperf.frameworks import paths, user_code
from opperf.frameworks.base import CallArguments, Constant
from opperf.frameworks.core import Core
from opperf.frameworks.jax import COLLECTIVES, devices, parameters, primitives, registry
from opperf.frameworks.jax.devices import DTYPES, dtype_of
from opperf.frameworks.jax.messages import refusal
from opperf.frameworks.jax.programs import Flat
from opperf.model import (
    CallableTarget,
    Case,
    Device,
    DType,
    Function,
    Generator,
    Number,
    Operator,
    OperatorTarget,
    Target,
    TensorSpec,
)
from opperf.model import Mapping as Entries
from opperf.model import split_positional as by_position
from opperf.near_names import nearest

ROOTS = {"jax": jax, "jnp": jnp, "lax": jax.lax}

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
"""JAX's structures, which are mappings in a case, by the annotation of their parameters."""

PALLAS = "jax.experimental.pallas"
"""Module of kernels that a CPU interprets."""

BY_NAME: Mapping[str, Callable[[Any], Any]] = {"shardings": jax.sharding.SingleDeviceSharding}
"""Functions that make a parameter's value of a case's, by the parameter's name."""


def constant(value: Constant, device: str) -> Any:
    """Returns JAX's object for a plain value, or None. Raises `UnknownOperatorError` for a path."""
    if isinstance(value, DType):
        return dtype_of(value.name)
    if isinstance(value, Device):
        return devices.jax_device(value.name or device)
    if isinstance(value, Generator):
        return jax.random.key(value.seed)
    if isinstance(value, Function):
        return function_at(value.path)
    return None


def function_at(path: str) -> Callable[..., Any]:
    """Returns a function of JAX or a body, by its path. Raises `UnknownOperatorError`."""
    module, _, name = path.rpartition(".")
    if module == BODIES:
        return paths.find(f"bodies.{name}", "opperf", {"bodies": importlib.import_module(BODIES)})
    return find(path)


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
    """Returns the source of one of these objects, or None. `path_of` has the path of a function."""
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


find = functools.partial(paths.find, framework="JAX", roots=ROOTS)
"""Returns the callable at a dotted path. Raises the errors of `paths.find`."""


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it if it is JAX's."""
    operator = registry.operator_of(function)
    if operator is not None:
        return registry.path_of(operator.name)
    primitive = primitives.called_by(function)
    if primitive is not None:
        return primitives.path_of(primitive)
    return paths.path_of(function)


def target_of(function: Callable[..., Any]) -> Target:
    """Returns the target of a callable that a user passed."""
    operator = registry.operator_of(function)
    if operator is not None:
        return operator.target
    return CallableTarget(framework=registry.FRAMEWORK, path=path_of(function))


def target_at(path: str) -> Target:
    """Returns the target at a path, an operator's if there. Raises `UnknownOperatorError`."""
    if path.partition(".")[0] not in ROOTS and ":" not in path:
        near = nearest(path, [*registry.by_name()])
        raise UnknownOperatorError(f"JAX has no function {path!r}{did_you_mean(near)}")
    own = user_code.target_at(registry.FRAMEWORK, path)
    if own is not None:
        function_of(own)
        return own
    return target_of(find(path))


def function_of(target: Target) -> Callable[..., Any]:
    """Returns the callable of a target. Raises `UnknownOperatorError`."""
    if not isinstance(target, OperatorTarget):
        return user_code.function_of(target, find, ROOTS)
    primitive = primitives.of(target)
    if primitive is not None:
        return primitive.bind
    operator = registry.by_name().get(target.name)
    if operator is None:
        raise UnknownOperatorError(
            f"JAX {jax.__version__} has no function {target.name!r}"
            f"{suggest(target.name, registry.by_name())}"
        )
    return registry.public_functions()[operator.name].function


def signature(target: Target, function: Callable[..., Any]) -> Operator:
    """Returns a target's parameters: of the operator, or of the callable's signature. Primitives
    declare none."""
    primitive = primitives.called_by(function)
    if primitive is not None:
        operator = primitives.find(primitives.operator_name(primitive))
    else:
        operator = registry.operator_of(function)
    if operator is not None:
        return operator
    return Operator(
        framework=registry.FRAMEWORK,
        namespace="",
        name=target.label,
        parameters=parameters.declared(target.label, function),
    )


def bind(
    function: Callable[..., Any], arguments: CallArguments, seed: int
) -> functools.partial[Any]:
    """Returns a call, as `paths.bind`, with a key of the seed if it draws random numbers."""
    primitive = primitives.called_by(function)
    if primitive is not None:
        return primitives.bind(primitive, arguments)
    unnamed, named = by_position(arguments)
    declared = parameters.signature_of(function)
    if str(getattr(function, "__module__", "")).startswith(PALLAS) and "interpret" in declared:
        device = jax.config.values["jax_default_device"] or jax.devices()[0]
        named.setdefault("interpret", device.platform == "cpu")
    operator = registry.operator_of(function)
    if operator is not None:
        _complete(operator, declared, named, seed)
    return paths.bind(function, declared, unnamed, named)


def _complete(
    operator: Operator, declared: parameters.Parameters, named: dict[str, Any], seed: int
) -> None:
    """Adds the key of random numbers, and replaces dtypes and structures by JAX's objects."""
    if operator.namespace == "random":
        for name in declared.keys() & set(parameters.KEYS):
            named.setdefault(name, jax.random.key(seed))
    for parameter in operator.parameters:
        value = named.get(parameter.name)
        if parameter.choices and isinstance(value, str) and value in DTYPES:
            named[parameter.name] = dtype_of(value)
    structure(declared, named)


def output_shapes(framework: Core, case: Case) -> list[tuple[int, ...]] | None:
    """Returns the shapes of the case's outputs; None if only a call can show them."""
    if not isinstance(case.target, OperatorTarget) or case.target.name in COLLECTIVES:
        # A user's function may exist in the caller's process only.
        return None
    try:
        device = case.settings.device
        arguments = {name: abstract(value, device) for name, value in case.arguments.items()}
        call = bind(framework.function(case.target), arguments, case.settings.seed)
        flat = Flat(call, (jax.Array, jax.ShapeDtypeStruct))
        made = jax.eval_shape(flat, *flat.arrays)
    except Exception as error:
        if refusal(error) is None:
            raise
        # The call's own refusal is the better message.
        return None
    return [tuple(leaf.shape) for leaf in jax.tree_util.tree_leaves(made)]


def abstract(
    value: Any, device: str, array: Callable[[TensorSpec, Any], Any] = lambda spec, made: made
) -> Any:
    """Returns an argument with shapes in place of arrays, or what `array` returns of each."""
    if isinstance(value, tuple):
        made = [abstract(element, device, array) for element in value]
        return made if any(isinstance(element, TensorSpec) for element in value) else tuple(made)
    if isinstance(value, Entries):
        return {name: abstract(one, device, array) for name, one in value.entries.items()}
    if isinstance(value, TensorSpec):
        return array(value, jax.ShapeDtypeStruct(value.shape, dtype_of(value.dtype)))
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Constant):
        return constant(value, device)
    return value
