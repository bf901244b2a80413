"""A case as a script in plain PyTorch, which reproduces what was measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from opperf.frameworks import scripts
from opperf.frameworks.base import CallArguments
from opperf.frameworks.fill import Code
from opperf.frameworks.literals import imports_of, literal
from opperf.frameworks.scripts import ScriptTensor
from opperf.frameworks.torch import (
    bodies,
    collectives,
    devices,
    functions,
    gradient,
    private,
    tensors,
)
from opperf.frameworks.torch import modes as execution
from opperf.frameworks.user_code import OBJECT, call_in_script, imports_in_script
from opperf.model import DEFAULTS, Case, ObjectTarget


def script(case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
    """Returns the imports, the tensors and the call, with its backward pass if the case has one."""
    assert isinstance(call, partial)
    seed = f"torch.manual_seed({case.settings.seed})"
    made = scripts.tensors(case, arguments, seeding=seed)
    names = scripts.names_of(made)
    codes = {
        scripted.name: tensors.code(scripted.spec, scripted.seed)
        for scripted in made
        if scripted.has_contents
    }
    filled = [line for scripted in made for line in _tensor(scripted, codes)]
    words = scripts.call_text(call, names, render_plain)
    imported, own = call_in_script(case.target)
    function = own or dotted_path(call.func)
    base, _, backend = case.settings.mode.partition(":")
    if base in execution.COMPILED:
        named = f", backend={backend!r}" if backend else ""
        function = f"torch.compile({function}, dynamic=False{named})"
    called = [f"out = {function}({words})"]
    if execution.predicts(case):
        called = ["with torch.no_grad():", f"    {called[0]}"]
    if case.settings.autocast != DEFAULTS["autocast"]:
        kind, dtype = devices.type_of(case.settings.device), case.settings.autocast
        context = f"with torch.autocast({kind!r}, torch.{dtype}, cache_enabled=False):"
        called = [context, *(f"    {line}" for line in called)]
    wanted = [
        scripted for scripted in made if scripted.spec.gradient and scripted.tensor is not None
    ]
    imported = [*imports_in_script(case.settings.imports), *imported, *_placed(case, call)]
    imported += _module_of(call.func)
    if collectives.is_collective(case.target):
        imported += collectives.SCRIPT
        called += collectives.AFTER
    lines = [*imports_of(filled), "import numpy as np", "import torch", *dict.fromkeys(imported)]
    for body in bodies.definitions([*call.args, *call.keywords.values()]):
        # Their annotations need it.
        lines += ["from typing import Any", "", "", *body.splitlines(), ""]
    lines += [*scripts.definitions(codes.values()), "", seed, *filled, ""]
    if "backward" in case.passes and wanted:
        lines += [f"{scripted.name}.requires_grad_(True)" for scripted in wanted]
        inputs = [scripted.tensor for scripted in wanted]
        lines += [*called, *_backward(call, inputs, [scripted.name for scripted in wanted])]
    else:
        if case.settings.phase == "train":
            lines += [f"{scripted.name}.requires_grad_(True)" for scripted in wanted]
        lines += called
    if not case.settings.device.startswith("cpu"):
        lines += [f"torch.{devices.type_of(case.settings.device)}.synchronize()"]
    return "\n".join(lines) + "\n"


def _placed(case: Case, call: partial[Any]) -> list[str]:
    if not isinstance(case.target, ObjectTarget) or not isinstance(call.func, torch.nn.Module):
        return []
    device, dtype = str(devices.torch_device(case.settings.device)), case.settings.dtype
    lines = [f"{OBJECT}.to({device!r}, torch.{dtype})"]
    return [*lines, f"{OBJECT}.eval()"] if execution.predicts(case) else lines


def _tensor(made: ScriptTensor, codes: Mapping[str, Code]) -> list[str]:
    if made.storage:
        viewed = f"{made.name} = {tensors.view_expression(made.storage, made.spec)}"
        if not made.has_contents:
            return [viewed]
        return [viewed, *tensors.written(made.name, made.spec, codes[made.name])]
    lines = codes[made.name].lines(made.name)
    if made.device.startswith("cpu"):
        return lines
    return [*lines, f"{made.name} = {made.name}.to({str(devices.torch_device(made.device))!r})"]


def _backward(
    call: Callable[[], Any], inputs: Sequence[torch.Tensor], wanted: Sequence[str]
) -> list[str]:
    heads = {f"out{place}": head for place, head in gradient.heads(call, inputs).items()}
    made = [
        f"head_gradient{number} = {head.format(out=name)}"
        for number, (name, head) in enumerate(heads.items())
    ]
    names = ", ".join(f"head_gradient{number}" for number in range(len(heads)))
    return [
        *made,
        f"gradients = torch.autograd.grad([{', '.join(heads)}], [{', '.join(wanted)}], [{names}], "
        "allow_unused=True)",
    ]


def dotted_path(function: Callable[..., Any]) -> str:
    """Returns a function's dotted path in a script."""
    if private.is_overload(function):
        return f"torch.ops.{function}"
    return functions.path_of(function)


IMPORTED = "torch.nn.functional"
"""The one module below a package of PyTorch's that programs use without importing it."""


def _module_of(function: Callable[..., Any]) -> list[str]:
    """Returns the import of a module below a package, of which `import torch` leaves some out."""
    name = dotted_path(function).rpartition(".")[0]
    while name and name not in sys.modules:
        name = name.rpartition(".")[0]
    is_below = name.startswith("torch.") and name.count(".") > 1 and name != IMPORTED
    is_file = getattr(sys.modules.get(name), "__file__", None) is not None
    return [f"import {name}"] if is_below and is_file else []


PLAIN = (torch.dtype, torch.layout, torch.memory_format)
"""Types of PyTorch's values whose text is their path."""


def render_plain(value: Any) -> str:
    """Returns a value that is no tensor as an expression of a script."""
    if isinstance(value, PLAIN):
        return str(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    own = bodies.source_of(value)
    if own is not None:
        return own
    if isinstance(value, torch.Generator):
        return f"torch.Generator().manual_seed({value.initial_seed()})"
    return literal(value)
