"""The Python callables of MXNet: which one calls an operator, and how to call any of them."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import mxnet as mx
import numpy as np

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import paths, user_code
from opperf.frameworks.base import CallArguments
from opperf.frameworks.mxnet import direct, private, registry, user_operators
from opperf.frameworks.mxnet.calls import Function
from opperf.model import (
    CallableTarget,
    Kind,
    ObjectTarget,
    Operator,
    OperatorTarget,
    Parameter,
    Target,
)
from opperf.model import split_positional as by_position

ROOTS = {"mx": mx, "mxnet": mx, "nd": mx.nd, "np": mx.np, "npx": mx.npx}

MODULES: tuple[tuple[str, ModuleType], ...] = (
    ("", mx.nd.op),
    ("", private.INTERNAL.get()),
    ("_contrib_", mx.nd.contrib),
    ("_linalg_", mx.nd.linalg),
    ("_image_", mx.nd.image),
    ("_random_", mx.nd.random),
    ("_sparse_", mx.nd.sparse),
    ("_npi_", private.NUMPY_INTERNAL.get()),
    ("_np_", private.NUMPY_OPERATORS.get()),
    ("_npx_", private.EXTENSION_OPERATORS.get()),
    ("_npx_", mx.nd.numpy_extension),
    ("_npx_", mx.npx),
    ("_npx__image_", mx.npx.image),
    ("_np_", mx.np),
    ("_linalg_", mx.nd.linalg),
    ("_npx__image_", mx.nd.numpy_extension.image),
)
"""Modules of the generated functions, each with the prefix that it removes from names."""

GENERATED = "<string>"
"""File name in the code of the functions MXNet generates from its registry. A function of
the same name from a file wraps the operator and may take other arguments."""


def _generated(module: ModuleType, name: str) -> Callable[..., Any] | None:
    found = getattr(module, name, None)
    if isinstance(found, FunctionType) and found.__code__.co_filename == GENERATED:
        return found
    return None


@functools.cache
def operator_function(name: str) -> Callable[..., Any]:
    """Returns the function of an operator, by any of its names: the one that MXNet generates, or
    one of `direct` if that cannot call the operator. Raises `UnknownOperatorError`."""
    operator = registry.by_name().get(name)
    if operator is None:
        raise UnknownOperatorError(
            f"MXNet has no operator {name!r}{suggest(name, registry.by_name())}"
        )
    if user_operators.type_of(operator):
        return Function(operator, user_operators.make)
    if operator.name in direct.MAKERS:
        return direct.function(operator)
    for candidate in operator.names:
        for prefix, module in MODULES:
            if candidate.startswith(prefix):
                function = _generated(module, candidate[len(prefix) :])
                if function is not None:
                    return function
    return direct.function(operator)


@functools.cache
def operators_by_function() -> dict[int, Operator]:
    """Returns the operator by the identity of each function generated for any of its names."""
    table: dict[int, Operator] = {}
    for name, operator in registry.by_name().items():
        for prefix, module in MODULES:
            if name.startswith(prefix):
                function = _generated(module, name[len(prefix) :])
                if function is not None:
                    table[id(function)] = operator
    return table


def operator_behind(function: Callable[..., Any]) -> Operator | None:
    """Returns the operator a generated function calls; None for any other callable."""
    if isinstance(function, Function):
        return function.operator
    return operators_by_function().get(id(function))


find = functools.partial(paths.find, framework="MXNet", roots=ROOTS)
"""Returns the callable at a dotted path. Raises the errors of `paths.find`."""


def path_of(function: Callable[..., Any]) -> str:
    """Returns the dotted path of a callable, under which `find` has it."""
    fallback = fallback_module(function)
    if fallback:
        return f"{fallback}.{function.__name__}"
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    if module == "ndarray":
        # MXNet's module name of some generated functions.
        module = "mxnet.ndarray._internal" if name.startswith("_") else "mxnet.ndarray"
    return f"{module}.{name}" if module else name


def constructor_of(target: ObjectTarget) -> Callable[..., Any]:
    """Returns what builds an object. Raises the errors of `user_code.constructor_of`."""
    return user_code.constructor_of(target, find, ROOTS)


def function_of(target: Target) -> Callable[..., Any]:
    """Returns the callable behind a target. Raises `UnknownOperatorError`."""
    if isinstance(target, OperatorTarget):
        return operator_function(target.name)
    found = user_code.function_of(target, find, ROOTS)
    if isinstance(found, mx.gluon.Block):
        found.initialize()
    operator = operator_behind(found)
    # Some of the functions that MXNet generates cannot call their operator.
    return direct.function(operator) if operator and operator.name in direct.MAKERS else found


NUMPY_TENSORS = frozenset({"x", "x1", "x2", "a", "b", "v", "m", "arr", "ary", "array", "y"})
"""NumPy's names of array parameters, where MXNet's registry has others."""

SEQUENCES = frozenset({"arrays", "seq", "tup", "arys"})
"""NumPy's names of parameters that are lists of arrays."""


NUMPY_VALUES = frozenset(
    {
        *("axes", "axis", "batch_shape", "dimensions", "new_shape", "newshape", "pad_width"),
        *("reps", "repeats", "shape", "size", "shift", "source", "destination"),
        "indices_or_sections",
    }
)
"""NumPy's names of parameters that are integers."""


@functools.cache
def _kinds() -> dict[str, Kind]:
    """Returns the kinds by parameter name, where the name determines one."""
    kinds: dict[str, Kind] = {}
    for operator in registry.operators():
        for parameter in operator.parameters:
            kinds.setdefault(parameter.name, parameter.kind)
    # A scalar's name may mean an array elsewhere (`w`); a shape's never does.
    kinds = {name: kind for name, kind in kinds.items() if kind in (Kind.SHAPE, Kind.FLOATS)}
    for operator in registry.operators():
        kinds.update((parameter.name, parameter.kind) for parameter in operator.tensors)
    return (
        kinds
        | dict.fromkeys(NUMPY_TENSORS, Kind.TENSOR)
        | dict.fromkeys(SEQUENCES, Kind.TENSORS)
        | dict.fromkeys(NUMPY_VALUES, Kind.SHAPE)
    )


UFUNC_INPUTS = {1: ("x",), 2: ("x1", "x2")}
"""Names of ufuncs' inputs in NumPy's documentation, by their number: ufuncs have no signature."""


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Returns the parameters of a callable; none if it has no signature. A function's own code is
    read before `__wrapped__` and `__signature__`: `np.matmul` takes `x1` and wraps a function of
    `a`, and `np.squeeze` takes `x` and declares `a`. A wrapper that passes everything on has the
    parameters of the wrapped function."""
    if isinstance(function, np.ufunc):
        names = UFUNC_INPUTS.get(function.nin, ())
        return {n: inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names}
    if isinstance(function, FunctionType):
        own = inspect.signature(_without_attributes(function)).parameters
        if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own.values()):
            return own
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        return _parameters(wrapped)
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _without_attributes(function: FunctionType) -> FunctionType:
    bare = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    return bare


def _kind(parameter: inspect.Parameter) -> Kind:
    kind = _kinds().get(parameter.name, Kind.OTHER)
    if parameter.kind is parameter.VAR_POSITIONAL and kind is not Kind.SHAPE:
        return Kind.TENSORS
    return kind


def signature(function: Callable[..., Any]) -> Operator:
    """Returns the operator a generated function calls, or one of a callable's parameters."""
    operator = operator_behind(function)
    if operator is not None:
        return operator
    name = getattr(function, "__name__", type(function).__name__)
    parameters = tuple(
        Parameter(
            name=p.name,
            kind=_kind(p),
            # A variadic one only if it is the first.
            required=place == 0 if p.kind is p.VAR_POSITIONAL else p.default is p.empty,
        )
        for place, p in enumerate(_parameters(function).values())
        if p.kind is not p.VAR_KEYWORD
    )
    return Operator(framework=registry.FRAMEWORK, namespace="", name=name, parameters=parameters)


def canonical_target(target: Target) -> Target:
    """Returns the target of MXNet's own module: `mxnet.ndarray.random` of `nd.random`."""
    if not isinstance(target, CallableTarget) or target.path.partition(".")[0] not in ROOTS:
        return target
    try:
        path = path_of(find(target.path))
        find(path)
    except UnknownOperatorError:
        # The path of a lambda or of a function inside another leads nowhere.
        return target
    return CallableTarget(framework=target.framework, path=path)


def is_numpy(target: Target) -> bool:
    """Whether the target takes and returns `mx.np` arrays."""
    if isinstance(target, OperatorTarget):
        return registry.by_name()[target.name].name.startswith("_np")
    if not isinstance(target, CallableTarget):
        return False
    follows = target.path.startswith(FOLLOWS_ARRAY_MODE) and mx.util.is_np_array()
    return is_numpy_path(target.path) or follows


FOLLOWS_ARRAY_MODE = "mxnet.image."
"""Functions that take arrays of either kind, whichever is in use: in MXNet 2 those of `mx.np`."""


def is_numpy_path(path: str) -> bool:
    """Whether a dotted path leads into MXNet's NumPy interface."""
    words = path.split(".")
    return words[0] in ("np", "npx") or bool(
        {"numpy", "numpy_extension", "np", "npx"} & set(words[1:]) and words[0] in ROOTS
    )


FALLBACKS = (("mxnet.numpy", "fallback"), ("mxnet.numpy.linalg", "fallback_linalg"))
"""Modules with functions of the host's NumPy, and the submodules that list them."""


def fallback_module(function: Callable[..., Any]) -> str:
    """Returns the module of `mx.np` with a function that runs on the host's NumPy rather than on an
    operator; else empty."""
    name = getattr(function, "__name__", "")
    for offering, listing in FALLBACKS:
        module = getattr(mx.np, listing, None)
        listed = getattr(module, "__all__", ())
        if name in listed and getattr(module, name, None) is function:
            return offering
    return ""


def is_fallback(target: Target) -> bool:
    """Whether a target is a function of the host's NumPy."""
    if not isinstance(target, CallableTarget):
        return False
    if target.path.startswith("numpy."):
        # MXNet has some functions of NumPy in places to which no path of MXNet leads back.
        return True
    try:
        return bool(fallback_module(function_of(target)))
    except UnknownOperatorError:
        # The path of a lambda or of a function inside another leads nowhere.
        return False


OUT = "out"
"""Keyword of the arrays a call writes to; MXNet's variadic functions do not declare it."""


def bind(function: Callable[..., Any], arguments: CallArguments) -> Callable[[], Any]:
    """Returns a call of `function`, bound in advance, by keyword. A list or array for a variadic
    parameter is spread: `Custom` ends the process when it gets one by keyword."""
    if isinstance(function, Function):
        return function.bind(arguments)
    declared = _parameters(function)
    unnamed, arguments = by_position(arguments)
    if isinstance(function, mx.gluon.Block) and (
        user_code.kinds_of(function) <= {inspect.Parameter.VAR_POSITIONAL}
    ):
        # Of Gluon's objects few take arguments by name.
        return functools.partial(function, *unnamed, *arguments.values())
    renamed = _renamed_parameters(function, declared)
    # MXNet finds the device of a fallback's arrays among the positional arguments only.
    fallback = fallback_module(function)
    spread = next((p.name for p in declared.values() if p.kind is p.VAR_POSITIONAL), None)
    # Parameters before a variadic one that is passed go by position too.
    leading: set[str] = set()
    if spread is not None and spread in arguments:
        leading = set(itertools.takewhile(lambda name: name != spread, declared))
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for passed, value in arguments.items():
        name = renamed.get(passed, passed)
        parameter = declared.get(name)
        if name in leading or (
            parameter is not None and parameter.kind is parameter.POSITIONAL_ONLY
        ):
            positional.append(value)
        elif spread is not None and (
            (name == spread and isinstance(value, (list, tuple)))
            or (
                parameter is None
                and name != OUT
                and isinstance(value, list)
                and any(isinstance(element, mx.nd.NDArray) for element in value)
            )
        ):
            positional.extend(value)
        elif isinstance(value, mx.nd.NDArray) and (name == spread or (fallback and not keywords)):
            positional.append(value)
        else:
            keywords[name] = value
    return functools.partial(function, *unnamed, *positional, **keywords)


def _renamed_parameters(
    function: Callable[..., Any], declared: Mapping[str, inspect.Parameter]
) -> dict[str, str]:
    """Returns the actual names of parameters: `np.matmul` declares `a` and takes `x1`."""
    if not path_of(function).startswith("mxnet."):
        return {}
    try:
        shown = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {
        known: name
        for known, name in zip(shown, declared, strict=False)
        if known not in declared and declared[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }


def target_of(function: Callable[..., Any]) -> Target:
    """Returns the target of a callable: the operator that is measured with it, else by its path."""
    operator, path = operator_behind(function), path_of(function)
    # `mx.npx.softmax` calls the operator `softmax` too, but on arrays of another kind.
    if operator is not None and function.__name__ == operator.name and not is_numpy_path(path):
        return OperatorTarget(framework=registry.FRAMEWORK, name=operator.name)
    return CallableTarget(framework=registry.FRAMEWORK, path=path)
