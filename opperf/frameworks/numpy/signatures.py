"""Parameters of NumPy's functions: names and defaults, from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Parameters = Mapping[str, inspect.Parameter]

UFUNC_INPUTS = {1: "x", 2: "x1, x2"}
"""Names of ufuncs' inputs in NumPy's documentation, by their number: ufuncs have no signature."""

UFUNC_OPTIONS = "/, out=None, *, where=True, casting='same_kind', order='K', dtype=None"
"""Parameters of every ufunc after its inputs."""

UNDOCUMENTED = {
    "arange": "start, stop=None, step=None, /, dtype=None",
    "array": "object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0",
    "concatenate": "arrays, /, axis=0, out=None, dtype=None, casting='same_kind'",
    "einsum": "subscripts, /, *operands, out=None, optimize=False",
    "einsum_path": "subscripts, /, *operands, optimize='greedy'",
    "ravel_multi_index": "multi_index, dims, mode='raise', order='C'",
    "where": "condition, x=None, y=None, /",
    "random.rand": "*size",
    "random.randn": "*size",
}
"""Parameters of functions without a signature that Python can parse: docstrings with brackets or
dots, and functions of `*operands` whose first is something else."""


NOTHING = "<no value>"
"""A docstring's default of a parameter that has none."""


def parameters(name: str, function: Callable[..., Any]) -> Parameters:
    """Returns the parameters of a function by its full name; none if they are unknown.

    Looked for in `UNDOCUMENTED`, in the number of a ufunc's inputs, in the function's signature,
    and in the first lines of its docstring, where C functions have it.
    """
    if name in UNDOCUMENTED:
        return parse(UNDOCUMENTED[name])
    if isinstance(function, np.ufunc):
        if function.nin not in UFUNC_INPUTS:
            return {}
        return parse(f"{UFUNC_INPUTS[function.nin]}, {UFUNC_OPTIONS}")
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return parse_docstring(inspect.getdoc(function) or "")


def parse_docstring(text: str) -> Parameters:
    """Returns the parameters that a docstring begins with, `name(a, b=None)`; none if it does
    not."""
    opening = text.find("(")
    if opening < 0 or not text[:opening].isidentifier():
        return {}
    depth = 0
    for place, character in enumerate(text[opening:], opening):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return parse(" ".join(text[opening + 1 : place].split()))
    return {}


def parse(text: str) -> Parameters:
    """Returns the parameters of a `def` with this between its parentheses; none if Python cannot
    read it.

    A default that is no literal (`np.float64`) is kept as its text.
    """
    try:
        definition = ast.parse(f"def function({text.replace(NOTHING, 'None')}): ...").body[0]
    except SyntaxError:
        return {}
    assert isinstance(definition, ast.FunctionDef)
    return {parameter.name: parameter for parameter in _in(definition.args)}


def _in(declared: ast.arguments) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    positional = [*declared.posonlyargs, *declared.args]
    without = len(positional) - len(declared.defaults)
    for place, one in enumerate(positional):
        alone = place < len(declared.posonlyargs)
        kind = kinds.POSITIONAL_ONLY if alone else kinds.POSITIONAL_OR_KEYWORD
        default = declared.defaults[place - without] if place >= without else None
        yield kinds(one.arg, kind, default=_literal(default))
    if declared.vararg is not None:
        yield kinds(declared.vararg.arg, kinds.VAR_POSITIONAL)
    for one, keyword_default in zip(declared.kwonlyargs, declared.kw_defaults, strict=True):
        yield kinds(one.arg, kinds.KEYWORD_ONLY, default=_literal(keyword_default))


def _literal(node: ast.expr | None) -> Any:
    if node is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)
