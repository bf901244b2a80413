"""A case as a script in plain MXNet, which reproduces what was measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import mxnet as mx
import numpy as np

from opperf.frameworks import scripts
from opperf.frameworks.base import CallArguments
from opperf.frameworks.fill import Code
from opperf.frameworks.literals import imports_of, literal
from opperf.frameworks.mxnet import functions, gradient, private, tensors
from opperf.frameworks.mxnet.calls import Call
from opperf.frameworks.scripts import Names, ScriptTensor
from opperf.frameworks.user_code import OBJECT, call_in_script, imports_in_script
from opperf.model import Case, ObjectTarget
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
    ("mx.nd._internal", private.INTERNAL.get()),
    ("mx.nd.op", mx.nd.op),
    ("mx.nd.numpy._internal", private.NUMPY_INTERNAL.get()),
    ("mx.nd.numpy._op", private.NUMPY_OPERATORS.get()),
    ("mx.nd.numpy_extension._op", private.EXTENSION_OPERATORS.get()),
    ("mx.nd.numpy_extension", mx.nd.numpy_extension),
    ("mx.nd.numpy_extension.image", mx.nd.numpy_extension.image),
    ("mx.npx.image", mx.npx.image),
)
"""Modules in which a function is looked up, the public ones first."""

RESTORED = tuple(name for name in REMOVED if name in vars(np))
"""Names that NumPy has removed and MXNet needs."""

CUSTOM = "Custom"
CUSTOM_MODULE = "opperf.custom_operations.custom_operations"
"""The operator that runs a custom operator, and where the one it is measured with is defined."""


def script(case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
    """Returns the imports, the tensors and the call, with its backward pass if the case has one."""
    made = scripts.tensors(case, arguments, seeding=f"mx.random.seed({case.settings.seed})")
    names: Names = {
        id(scripted.tensor): f"{scripted.name}.name"
        if scripted.spec.layout == "file"
        else scripted.name
        for scripted in made
    }
    called = _render_call(case, call, names)
    wanted = [scripted for scripted in made if scripted.spec.gradient]
    backward = "backward" in case.passes and bool(wanted)
    codes = {
        scripted.name: tensors.code(scripted.spec, scripted.device, scripted.seed)
        for scripted in made
    }
    train = case.settings.phase == "train"
    filled = [line for scripted in made for line in _tensor(scripted, codes[scripted.name])]
    heads = gradient.heads(call, train) if backward else {}
    for number, head in enumerate(heads.values()):
        name = f"head_gradient{number}"
        codes[name] = tensors.code(head.spec, case.settings.device, gradient.HEAD_SEED)
        filled += codes[name].lines(name)
    assert isinstance(call, partial)
    # Those of a callable that MXNet does not have.
    own = call.func.lines if isinstance(call.func, Call) else ()
    defined = [*scripts.definitions(codes.values()), *own]
    lines = [*imports_of(filled), *_imports(case), *_built(case, call), *defined, "", *filled, ""]
    if backward:
        outputs = ", ".join(f"out{place}" for place in heads)
        gradients = ", ".join(
            head.text(f"head_gradient{number}", f"out{place}")
            for number, (place, head) in enumerate(heads.items())
        )
        for scripted in wanted:
            stype = tensors.storage_type(scripted.spec.gradient_layout)
            lines += [f"{scripted.name}.attach_grad({f'stype={literal(stype)}' if stype else ''})"]
        lines += [f"with mx.autograd.record(train_mode={train}):", f"    out = {called}"]
        lines += [f"mx.autograd.backward([{outputs}], [{gradients}], train_mode={train})"]
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
    own = [*imports_in_script(case.settings.imports), *call_in_script(case.target)[0]]
    # `mx` is MXNet's name here, and no package.
    lines += [line for line in dict.fromkeys(own) if not line.startswith("import mx.")]
    arrays = (spec.array_type for _, spec in case.tensors())
    if functions.is_numpy(case.target) or "np" in arrays:
        lines += ["mx.npx.set_np()"]
    return lines


def _built(case: Case, call: Callable[[], Any]) -> list[str]:
    assert isinstance(call, partial)
    if not isinstance(case.target, ObjectTarget) or not isinstance(call.func, mx.gluon.Block):
        return []
    return [f"{OBJECT}.initialize()", f"{OBJECT}.cast({case.settings.dtype!r})"]


def _tensor(made: ScriptTensor, code: Code) -> list[str]:
    if made.spec.layout == "file":
        return [
            *code.lines("contents"),
            f"{made.name} = tempfile.NamedTemporaryFile()",
            f"{made.name}.write(contents)",
            f"{made.name}.flush()",
        ]
    return code.lines(made.name)


def dotted_path(function: Callable[..., Any]) -> str:
    """Returns a function's dotted path in a script."""
    name = function.__name__
    for place, module in PLACES:
        if getattr(module, name, None) is function:
            return f"{place}.{name}"
    return functions.path_of(function).replace("mxnet.", "mx.", 1)


def _render_call(case: Case, call: Callable[[], Any], names: Names) -> str:
    assert isinstance(call, partial)
    if isinstance(call.func, Call):
        return call.func.text.format(", ".join(names[id(tensor)] for tensor in call.args))
    function = call_in_script(case.target)[1] or dotted_path(call.func)
    return f"{function}({scripts.call_text(call, names, _render_plain)})"


def _render_plain(value: Any) -> str:
    return f"np.{value!r}" if isinstance(value, np.dtype) else literal(value)
