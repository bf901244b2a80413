"""A case as a script in plain JAX, which reproduces what was measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from opperf.frameworks import scripts
from opperf.frameworks.base import CallArguments
from opperf.frameworks.fill import Code
from opperf.frameworks.jax import WIDE, WIDE_OPTION, collectives, functions, structures, tensors
from opperf.frameworks.jax.gradient import HEAD_SEED, LEAST_HEAD, TURNED
from opperf.frameworks.literals import imports_of, literal
from opperf.frameworks.user_code import call_in_script
from opperf.model import Case

STRUCTURES = re.compile(r"\bjax\.extend\.core\.primitives\b")
"""Modules that structured arguments name, and that JAX does not import."""


def script(case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
    """Returns the imports, the arrays and the call, with its backward pass if the case has one."""
    assert isinstance(call, partial)
    made = scripts.tensors(case, arguments)
    names = scripts.names_of(made)
    codes: dict[str, Code] = {
        scripted.name: tensors.code(scripted.spec, scripted.seed) for scripted in made
    }
    filled = [line for scripted in made for line in codes[scripted.name].lines(scripted.name)]
    passed = [scripted for scripted in made if scripted.tensor is not None]
    wanted = [scripted.name for scripted in passed if scripted.spec.gradient]
    every = ", ".join(scripted.name for scripted in passed)
    words = scripts.call_text(call, names, _render_plain)
    imported, own = call_in_script(case.target)
    called = f"{own or functions.path_of(call.func)}({words})"
    modules = _modules_of(called)
    lines = [*imports_of(filled), *modules, "import jax.numpy as jnp", "import numpy as np"]
    if case.settings.dtype in WIDE:
        lines += [f"jax.config.update({WIDE_OPTION!r}, True)"]
    setting, mapping = (
        collectives.script_lines(every) if collectives.is_collective(case.target) else ([], [])
    )
    lines += setting
    lines += [*imported, *scripts.definitions(codes.values())]
    bodies = functions.bodies_in((call.args, call.keywords))
    # Their annotations need it.
    lines += ["from typing import Any"] if bodies else []
    for body in bodies:
        lines += ["", "", *body.splitlines()]
    lines += [""]
    lines += [*filled, "", "", f"def call({every}):", f"    return {called}", "", "", *mapping]
    is_compiled = case.settings.mode == "jit"
    donated = tuple(i for i, one in enumerate(passed) if one.spec.donated)
    options = f", donate_argnums={donated}" if donated else ""
    function = f"jax.jit(call{options})" if is_compiled else "call"
    lines += [f"out = jax.block_until_ready({function}({every}))"]
    if "backward" in case.passes and wanted:
        lines += _backward(every, wanted, is_compiled)
    return "\n".join(lines) + "\n"


def _modules_of(called: str) -> list[str]:
    path = called.partition("(")[0]
    module = path.rpartition(".")[0]
    # A method is in a class or an object, which no import has.
    while module and module not in sys.modules:
        module = module.rpartition(".")[0]
    named = dict.fromkeys([module, *STRUCTURES.findall(called)])
    own = [
        f"import {module}"
        for module in named
        if module.startswith("jax.") and module != "jax.numpy"
    ]
    return ["import jax", *own]


def _backward(every: str, wanted: list[str], is_compiled: bool) -> list[str]:
    listed = ", ".join(wanted)
    function = "jax.jit(gradients)" if is_compiled else "gradients"
    return [
        "",
        "",
        f"def inexact({listed}):",
        f"    leaves = jax.tree_util.tree_leaves(call({every}))",
        "    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]",
        "    return [array for array in arrays if jnp.issubdtype(array.dtype, jnp.inexact)]",
        "",
        "",
        "def head(result):",
        f"    drawn = np.random.default_rng({HEAD_SEED}).random(result.shape, np.float32)",
        f"    factor = {TURNED} if jnp.iscomplexobj(result) else 1",
        f"    return jnp.asarray(((drawn + {LEAST_HEAD}) * factor).astype(result.dtype))",
        "",
        "",
        f"def gradients(heads, {listed}):",
        f"    _, pullback = jax.vjp(inexact, {listed})",
        "    return pullback(heads)",
        "",
        "",
        f"heads = [head(result) for result in inexact({listed})]",
        f"gradients_of_inputs = jax.block_until_ready({function}(heads, {listed}))",
    ]


def _render_plain(value: Any) -> str:
    own = functions.source_of(value, functions.path_of)
    if own is not None:
        return own
    if isinstance(value, tuple) and any(callable(element) for element in value):
        return f"({', '.join(_render_plain(element) for element in value)},)"
    if isinstance(value, jnp.dtype):
        return f"jnp.{value}" if str(value) != "bool" else "jnp.bool_"
    if isinstance(value, jax.Array) and tensors.is_key(value):
        return f"jax.random.key({int(jax.random.key_data(value)[-1])})"
    return structures.source(value, literal)
