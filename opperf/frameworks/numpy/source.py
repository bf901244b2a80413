"""A case as a script in plain NumPy, which reproduces what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from opperf.frameworks import scripts
from opperf.frameworks.fill import Code
from opperf.frameworks.literals import imports_of
from opperf.frameworks.numpy import functions, tensors
from opperf.frameworks.scripts import ScriptTensor
from opperf.frameworks.user_code import call_in_script
from opperf.model import Case, OperatorTarget


def script(case: Case, arguments: Mapping[str, Any], call: Callable[[], Any]) -> str:
    """Returns the import, the arrays and the call."""
    assert isinstance(call, partial)
    made = scripts.tensors(case, arguments)
    names = scripts.names_of(made)
    codes = {
        scripted.name: tensors.code(scripted.spec, scripted.seed)
        for scripted in made
        if scripted.has_contents
    }
    lines = [line for scripted in made for line in _array(scripted, codes)]
    imported, own = call_in_script(case.target)
    called = f"out = {own or dotted_path(case, call.func)}({scripts.call_text(call, names)})"
    imports = [*imports_of(lines), "import numpy as np", *imported]
    defined = scripts.definitions(codes.values())
    return "\n".join([*imports, *defined, "", *lines, "", called]) + "\n"


def _array(made: ScriptTensor, codes: Mapping[str, Code]) -> list[str]:
    if made.storage:
        viewed = f"{made.name} = {tensors.view_expression(made.storage, made.spec)}"
        return [viewed, *(codes[made.name].lines(f"{made.name}[...]") if made.has_contents else ())]
    return codes[made.name].lines(made.name)


def dotted_path(case: Case, function: Callable[..., Any]) -> str:
    """Returns a function's path in a script; a method's begins with a seeded generator."""
    target, seed = case.target, case.settings.seed
    if not isinstance(target, OperatorTarget):
        return functions.path_of(function).replace("numpy.", "np.", 1)
    method = target.name.rpartition(".")[2]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.random.Generator):
        return f"np.random.default_rng({seed}).{method}"
    if isinstance(owner, np.random.RandomState):
        return f"np.random.RandomState({seed}).{method}"
    return f"np.{target.name}"
