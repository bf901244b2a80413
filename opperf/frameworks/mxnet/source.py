"""A case as a script in plain MXNet, which reproduces what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import mxnet as mx
import numpy as np

from opperf.frameworks.fill_source import GENERATOR, expression, numbers_of, tensors
from opperf.frameworks.mxnet import functions
from opperf.frameworks.mxnet.calls import Call
from opperf.frameworks.mxnet.tensors import BFLOAT16, DENSITY
from opperf.model import Case, TensorSpec
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
"""Names that NumPy has removed and MXNet needs."""

CUSTOM = "Custom"
CUSTOM_MODULE = "opperf.custom_operations.custom_operations"
"""The operator that runs a custom operator, and where the one it is measured with is defined."""


def script(case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
    """The imports, the tensors and the call, with its backward pass if the case has that."""
    made = tensors(case, arguments)
    names: Names = {
        id(array): f"{name}.name" if spec.layout == "file" else name for name, spec, array in made
    }
    called = _called(call, names)
    wanted = [name for name, spec, _ in made if spec.gradient]
    backward = "backward" in case.passes and bool(wanted)
    lines = [*_imports(case), *_defined(call), "", GENERATOR]
    for name, spec, _ in made:
        lines += _tensor(name, spec, case.settings.device)
    lines += [""]
    train = case.settings.phase == "train"
    if backward:
        lines += [f"{name}.attach_grad()" for name in wanted]
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
    return functions.is_numpy(case.target) or any(s.array_type == "np" for _, s in case.tensors())


def _tensor(name: str, spec: TensorSpec, device: str) -> list[str]:
    """The lines that make a tensor."""
    if spec.layout == "file":
        return [
            f"{name} = tempfile.NamedTemporaryFile()",
            f"{name}.write({expression(spec)}.astype({spec.dtype!r}).tobytes())",
            f"{name}.flush()",
        ]
    numbers = numbers_of(spec)
    made = _in_dtype(numbers, spec) if numbers else _array(spec, device)
    return [f"{name} = {made}"]


def _in_dtype(made: str, spec: TensorSpec) -> str:
    """An array in a spec's dtype."""
    if spec.dtype == "bfloat16":
        return f"mx.nd.cast({made}, dtype=np.dtype({BFLOAT16.descr!r}))"
    return f'{made}.astype("{spec.dtype}")'


def _array(spec: TensorSpec, device: str) -> str:
    """An expression that makes the array of a spec."""
    module = "mx.np" if spec.array_type == "np" else "mx.nd"
    contents = expression(spec)
    if spec.layout != "dense":
        rows = spec.shape if spec.layout == "csr" else (spec.shape[0], *[1] * (len(spec.shape) - 1))
        contents = f"np.where(rng.random({rows}) < {DENSITY}, {contents}, 0)"
    if spec.dtype == "bfloat16":
        made = _in_dtype(f"{module}.array({contents}, ctx={_context(device)})", spec)
    else:
        made = f'{module}.array({contents}, dtype="{spec.dtype}", ctx={_context(device)})'
    return made if spec.layout == "dense" else f'{made}.tostype("{spec.layout}")'


def _context(device: str) -> str:
    kind, _, index = device.rstrip(")").partition("(")
    return f"mx.{kind}({index})"


def dotted(function: Callable[..., Any]) -> str:
    """A function's dotted path in a script."""
    name = function.__name__
    for place, module in PLACES:
        if getattr(module, name, None) is function:
            return f"{place}.{name}"
    return functions.path_of(function).replace("mxnet.", "mx.", 1)


def _called(call: Callable[[], Any], names: Names) -> str:
    """The call as text, its arguments as they were bound."""
    assert isinstance(call, partial)
    if isinstance(call.func, Call):
        return call.func.text.format(", ".join(names[id(tensor)] for tensor in call.args))
    words = [_value(value, names) for value in call.args]
    words += [f"{name}={_value(value, names)}" for name, value in call.keywords.items()]
    return f"{dotted(call.func)}({', '.join(words)})"


def _defined(call: Callable[[], Any]) -> list[str]:
    """The lines that define a callable which MXNet does not have."""
    assert isinstance(call, partial)
    return list(call.func.lines) if isinstance(call.func, Call) else []


def _value(value: Any, names: Names) -> str:
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(_value(element, names) for element in value)}]"
    if isinstance(value, np.dtype):
        return f"np.{value!r}"
    return repr(value)
