"""PyTorch's callables by path or operator, and their calls."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from opperf.errors import UnknownOperatorError, did_you_mean, suggest
from opperf.frameworks import paths, user_code
from opperf.frameworks.base import CallArguments
from opperf.frameworks.torch import SUCCESSORS, bodies, devices, private, registry, schemas
from opperf.frameworks.torch.devices import DTYPES, dtype_of
from opperf.frameworks.torch.schemas import OUT
from opperf.model import CallableTarget, Kind, Operator, OperatorTarget, Parameter, Target
from opperf.model import split_positional as by_position
from opperf.model.targets import DEFAULT_OVERLOAD
from opperf.near_names import nearest

NAMESPACE = re.compile(r"^\w+::")
"""A namespace of the dispatcher, in front of an operator's name."""

ROOTS = {"torch": torch}


find = functools.partial(paths.find, framework="PyTorch", roots=ROOTS)
"""Returns the callable at a dotted path. Raises the errors of `paths.find`."""


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it if it is PyTorch's."""
    return registry.path_of(function) or paths.path_of(function)


def target_of(function: Callable[..., Any]) -> Target:
    """Returns the target of a callable that a user passed: of an overload, its operator."""
    if private.is_overload(function):
        found = registry.find(function.name())
        if found is not None and found.function is function:
            return found.operator.target
    if isinstance(function, private.PACKET.get()):
        return CallableTarget(
            framework=registry.FRAMEWORK,
            path=f"torch.ops.{private.dispatched_name(function).replace('::', '.')}",
        )
    return CallableTarget(framework=registry.FRAMEWORK, path=path_of(function))


def target_at(path: str) -> Target:
    """Returns the target at a path. Raises `UnknownOperatorError`."""
    if path.partition(".")[0] not in ROOTS and (NAMESPACE.search(path) or ":" not in path):
        names = [operator.target.path for operator in registry.operators() if operator.is_usual]
        near = did_you_mean(nearest(registry.without_prefix(path), names))
        raise UnknownOperatorError(f"PyTorch has no operator {path!r}{_removed(path) or near}")
    if path.removeprefix("torch.") in SUCCESSORS:
        # What PyTorch keeps under such a name raises an error.
        raise UnknownOperatorError(f"PyTorch has no operator {path!r}")
    own = user_code.target_at(registry.FRAMEWORK, path)
    target = own or CallableTarget(framework=registry.FRAMEWORK, path=_with_method(path))
    function_of(target)
    return target


MERGED = "SymInt"
"""Name of overloads with symbolic sizes, which PyTorch 2.0 merged into those with plain ones."""

UPSAMPLED = ("linear1d", "nearest1d", "nearest2d", "nearest3d", "bilinear2d", "bicubic2d")
"""Kinds of `upsample` whose derivative had an overload with factors, beside `trilinear3d`."""

REMOVED: Mapping[str, str] = {
    "col2im_backward": "it was removed, and autograd calls im2col in its place",
    "im2col_backward": "it was removed, and autograd calls col2im in its place",
    **{
        f"upsample_{kind}_backward.vec": (
            f"it was removed, and autograd calls upsample_{kind}_backward with sizes in its place"
        )
        for kind in (*UPSAMPLED, "trilinear3d")
    },
}


def _removed(path: str) -> str:
    name = registry.without_prefix(path).removesuffix(f".{DEFAULT_OVERLOAD}")
    if name in REMOVED:
        return f": {REMOVED[name]}"
    base, _, overload = name.rpartition(".")
    labels = [
        operator.label
        for operator in registry.operators()
        if operator.name == base and OUT not in operator.variants
    ]
    if not labels:
        return ""
    if overload == MERGED and base in labels:
        return f": it was merged into {base}, which takes symbolic sizes"
    near = did_you_mean(nearest(name, labels))
    return near or f": {base} has no overload {overload!r}; it has {', '.join(labels)}"


def _with_method(path: str) -> str:
    """Returns `torch.Tensor.add_` of `torch.add_`, which is no function but a method of tensors."""
    root, _, name = path.partition(".")
    is_method = root in ROOTS and not hasattr(torch, name) and hasattr(torch.Tensor, name)
    return f"{root}.Tensor.{name}" if is_method else path


def function_of(target: Target) -> Callable[..., Any]:
    """Returns the callable of a target. Raises `UnknownOperatorError`."""
    if not isinstance(target, OperatorTarget):
        return user_code.function_of(target, find, ROOTS)
    found = registry.at(target)
    if found is None:
        names = [operator.label for operator in registry.operators()]
        raise UnknownOperatorError(
            f"PyTorch {torch.__version__} has no operator {target.path!r}"
            f"{_removed(target.path) or suggest(target.path, names)}"
        )
    function: Callable[..., Any] = found.function
    return function


def signature(target: Target, function: Callable[..., Any]) -> Operator:
    """Returns a target's parameters: of a schema, or else of a Python signature."""
    if isinstance(target, OperatorTarget):
        found = registry.at(target)
        assert found is not None
        return found.operator
    called = wrapped(target)
    parameters = called.parameters if called is not None else python_parameters(function)
    return Operator(
        framework=registry.FRAMEWORK, namespace="", name=target.label, parameters=parameters
    )


def wrapped(target: Target) -> Operator | None:
    """Returns the operator that a target is, or that a function of PyTorch's calls; else None."""
    if isinstance(target, OperatorTarget):
        found = registry.at(target)
    elif isinstance(target, CallableTarget) and ":" not in target.path:
        found = registry.find(target.path)
    else:
        found = None
    return None if found is None else found.operator


TENSOR_NAMES = frozenset({"input", "data", "x", "y", "a", "b", "other", "target", "weight", "bias"})
"""Names of the tensors of a function without annotations."""


def python_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Returns the parameters of a Python function or module; none if they cannot be read."""
    called = function.forward if isinstance(function, torch.nn.Module) else function
    return tuple(
        _python_parameter(parameter)
        for parameter in paths.signature_of(called).values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def _python_parameter(one: inspect.Parameter) -> Parameter:
    required = one.default is one.empty
    is_tensor = "Tensor" in str(one.annotation) or (
        one.annotation is one.empty and one.name in TENSOR_NAMES
    )
    return Parameter(
        name=one.name,
        kind=Kind.TENSOR if is_tensor else Kind.OTHER,
        required=required,
        default=None if required else str(one.default),
        declared=str(one),
    )


def bind(
    function: Callable[..., Any], arguments: CallArguments, device: str
) -> functools.partial[Any]:
    """Returns a call of a function with these arguments, bound in advance so that it has no
    overhead. Arguments of an operator go by position, as programs write them, up to the first one
    that is omitted, and by name from there on. An operator that makes tensors makes them on the
    device."""
    unnamed, named = by_position(arguments)
    if not private.is_overload(function):
        bodies.build(named, devices.torch_device(device))
        return functools.partial(function, *unnamed, **named)
    schema = private.schema_of(function)
    _to_own(schema, named, device)
    omitted = False
    for argument in schema.arguments[len(unnamed) :]:
        if argument.name in named:
            if not (omitted or argument.kwarg_only):
                unnamed.append(named.pop(argument.name))
        elif argument.has_default_value():
            omitted = True
        elif schemas.type_of(argument)[1]:
            # It has to be passed, and may be None.
            if omitted or argument.kwarg_only:
                named[argument.name] = None
            else:
                unnamed.append(None)
        else:
            omitted = True
    return functools.partial(function, *unnamed, **named)


def _to_own(schema: Any, named: dict[str, Any], device: str) -> None:
    """Replaces names by PyTorch's objects, and adds the device to a call without tensors."""
    takes_tensors = False
    for argument in schema.arguments:
        kind, is_optional = schemas.type_of(argument)
        takes_tensors = takes_tensors or "Tensor" in kind
        value = named.get(argument.name)
        if isinstance(value, str) and kind == schemas.DTYPE_TYPE:
            named[argument.name] = dtype_of(value) if value in DTYPES else value
        if isinstance(value, str) and kind == schemas.LAYOUT_TYPE:
            made = getattr(torch, value, None)
            named[argument.name] = made if isinstance(made, torch.layout) else value
        if kind == "Device" and is_optional and argument.name not in named and not takes_tensors:
            named[argument.name] = devices.torch_device(device)
