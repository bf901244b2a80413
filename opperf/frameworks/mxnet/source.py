"""A case as a script in plain MXNet: what to run to see for oneself what was measured."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import mxnet as mx
import numpy as np

from opperf.frameworks.fill_source import GENERATOR, elements, expression
from opperf.frameworks.mxnet import direct, functions
from opperf.frameworks.mxnet.tensors import BFLOAT16, DENSITY
from opperf.model import Case, Operator, TensorSpec
from opperf.numpy_aliases import REMOVED

PLACES: tuple[tuple[str, ModuleType], ...] = (
    ("mx.nd", mx.nd),
    ("mx.nd.contrib", mx.nd.contrib),
    ("mx.nd.linalg", mx.nd.linalg),
    ("mx.nd.image", mx.nd.image),
    ("mx.nd.random", mx.nd.random),
    ("mx.nd.sparse", mx.nd.sparse),
    ("mx.np", mx.np),
    ("mx.npx", mx.npx),
    ("mx.nd._internal", mx.nd._internal),
    ("mx.nd.op", mx.nd.op),
    ("mx.nd.numpy._internal", mx.nd.numpy._internal),
    ("mx.nd.numpy._op", mx.nd.numpy._op),
    ("mx.nd.numpy_extension._op", mx.nd.numpy_extension._op),
    ("mx.nd.numpy_extension", mx.nd.numpy_extension),
    ("mx.nd.numpy_extension.image", mx.nd.numpy_extension.image),
    ("mx.npx.image", mx.npx.image),
)
"""Where a function is looked for, the places meant for users first."""

Names = dict[int, str]
"""Expression in the script for each tensor, by its identity."""

RESTORED = tuple(name for name in REMOVED if name in vars(np))
"""Names of NumPy that MXNet is imported with, of those that NumPy has removed."""

CUSTOM = "Custom"
CUSTOM_MODULE = "opperf.custom_operations.custom_operations"
"""The operator that runs a custom operator, and where the one it is measured with is defined."""


def script(case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
    """The imports, the tensors and the call, with its backward pass if the case has that."""
    names: Names = {}
    tensors = list(_tensors(case, arguments, names))
    called = _called(call, names)
    wanted = [names[id(array)] for spec, array in _made(case, arguments) if spec.gradient]
    backward = "backward" in case.passes and bool(wanted)
    lines = [*_imports(case), *_handle(call), "", GENERATOR, *tensors, ""]
    train = case.settings.mode == "train"
    if backward:
        lines += [f"{name}.attach_grad()" for name in dict.fromkeys(wanted)]
        lines += [f"with mx.autograd.record(train_mode={train}):", f"    out = {called}"]
        lines += ["mx.autograd.backward(out)"]
    elif train:
        lines += ["with mx.autograd.train_mode():", f"    out = {called}"]
    else:
        lines += [f"out = {called}"]
    return "\n".join([*lines, "mx.nd.waitall()"]) + "\n"


def _imports(case: Case) -> list[str]:
    lines = ["import tempfile"] if any(s.layout == "file" for _, s in case.tensors()) else []
    lines += ["import numpy as np"]
    if RESTORED:
        names = ", ".join(RESTORED)
        lines += [
            f"for builtin in ({names}):  # names that NumPy 1.24 removed and MXNet uses",
            "    setattr(np, builtin.__name__, builtin)",
        ]
    lines += ["import mxnet as mx"]
    if case.label == CUSTOM:
        lines += [f"import {CUSTOM_MODULE}  # registers the custom operator"]
    if _is_numpy(case):
        lines += ["mx.npx.set_np()"]
    return lines


def _is_numpy(case: Case) -> bool:
    return functions.is_numpy(case.target) or any(s.flavour == "np" for _, s in case.tensors())


def _made(case: Case, arguments: Mapping[str, Any]) -> Iterator[tuple[TensorSpec, Any]]:
    """Every tensor's spec, and the array made from it."""
    for name, argument in case.arguments.items():
        yield from elements(argument, arguments[name])


def _tensors(case: Case, arguments: Mapping[str, Any], names: Names) -> Iterator[str]:
    """A line for each tensor; its name is noted for the lines that use it."""
    for name, argument in case.arguments.items():
        variable = f"{name}_" if keyword.iskeyword(name) else name
        for index, (element, array) in enumerate(elements(argument, arguments[name])):
            one = variable if isinstance(argument, TensorSpec) else f"{variable}{index}"
            if element.layout == "file":
                names[id(array)] = f"{one}.name"
                yield f"{one} = tempfile.NamedTemporaryFile()"
                yield f"{one}.write({expression(element)}.astype({element.dtype!r}).tobytes())"
                yield f"{one}.flush()"
            elif element.fill.distribution != "same":
                names[id(array)] = one
                yield f"{one} = {_array(element, case.settings.device)}"


def _array(spec: TensorSpec, device: str) -> str:
    """An expression that makes the array of a spec."""
    module = "mx.np" if spec.flavour == "np" else "mx.nd"
    contents = expression(spec)
    if spec.layout != "dense":
        rows = spec.shape if spec.layout == "csr" else (spec.shape[0], *[1] * (len(spec.shape) - 1))
        contents = f"np.where(rng.random({rows}) < {DENSITY}, {contents}, 0)"
    if spec.dtype == "bfloat16":
        made = f"{module}.array({contents}, ctx={_context(device)})"
        made = f"mx.nd.cast({made}, dtype=np.dtype({BFLOAT16.descr!r}))"
    else:
        made = f'{module}.array({contents}, dtype="{spec.dtype}", ctx={_context(device)})'
    return made if spec.layout == "dense" else f'{made}.tostype("{spec.layout}")'


def _context(device: str) -> str:
    kind, _, index = device.rstrip(")").partition("(")
    return f"mx.{kind}({index})"


def dotted(function: Callable[..., Any]) -> str:
    """Where a script finds a function: a place and the function's name there."""
    name = function.__name__
    for place, module in PLACES:
        if getattr(module, name, None) is function:
            return f"{place}.{name}"
    return functions.path_of(function).replace("mxnet.", "mx.", 1)


def _called(call: Callable[[], Any], names: Names) -> str:
    """The call as text, its arguments as they were bound."""
    assert isinstance(call, partial)
    operator = direct.MADE.get(id(call.func))
    if operator is not None:
        return _called_directly(operator, call.keywords, names)
    words = [_value(value, names) for value in call.args]
    words += [f"{name}={_value(value, names)}" for name, value in call.keywords.items()]
    return f"{dotted(call.func)}({', '.join(words)})"


def _called_directly(operator: Operator, keywords: Mapping[str, Any], names: Names) -> str:
    """The call of an operator that has no function which can call it."""
    tensors = {n: names[id(value)] for n, value in keywords.items() if id(value) in names}
    plain = {n: value for n, value in keywords.items() if n not in tensors}
    given = f"[{', '.join(tensors.values())}]"
    if operator.name in direct.AS_GRAPH:
        values = "".join(f", {name}={value!r}" for name, value in plain.items())
        inputs = f"*map(mx.sym.Variable, {list(tensors)})"
        symbol = f"mx.sym.{operator.namespace}.{direct.bare_name(operator)}({inputs}{values})"
        return f"mx.nd.CachedOp({symbol})(*{given})"
    words = f"{list(plain)}, {list(map(str, plain.values()))}"
    return (
        f"_imperative_invoke(handle.value, {given}, {words}, None, {_takes_numpy(operator)}, False)"
    )


def _takes_numpy(operator: Operator) -> bool:
    return operator.name.startswith(direct.NUMPY)


def _handle(call: Callable[[], Any]) -> list[str]:
    """The lines that find an operator that is called by its handle."""
    assert isinstance(call, partial)
    operator = direct.MADE.get(id(call.func))
    if operator is None or operator.name in direct.AS_GRAPH:
        return []
    return [
        "import ctypes",
        "from mxnet.base import _LIB, c_str, check_call",
        "from mxnet.ndarray._internal import _imperative_invoke",
        "handle = ctypes.c_void_p()  # no function of MXNet's can call this operator",
        f'check_call(_LIB.NNGetOpHandle(c_str("{operator.name}"), ctypes.byref(handle)))',
    ]


def _value(value: Any, names: Names) -> str:
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(_value(element, names) for element in value)}]"
    if isinstance(value, np.dtype):
        return f"np.{value!r}"
    return repr(value)
