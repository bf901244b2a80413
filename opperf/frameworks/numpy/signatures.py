"""Parameters of NumPy's functions: from signatures and docstrings, kinds from tables."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from opperf.frameworks.paths import kind_of_default
from opperf.model import Kind

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
    "random.Generator.permuted": "x, *, axis=None, out=None",
    "random.rand": "*size",
    "random.randn": "*size",
}
"""Parameters of functions without a signature that Python can parse: docstrings with brackets or
dots, or that do not say what is given by name alone, and functions of `*operands` whose first is
something else."""


NOTHING = "<no value>"
"""A docstring's default of a parameter that has none."""


def parameters(name: str, function: Callable[..., Any]) -> Parameters:
    """Returns the parameters of a function by its full name; none if they are unknown. Looked for
    in `UNDOCUMENTED`, in the number of a ufunc's inputs, in the function's signature, and in the
    first lines of its docstring, where C functions have it."""
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
    """Returns the parameters that a docstring begins with, `name(a, b=None)`; else none."""
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
    """Returns the parameters of a `def` with this between its parentheses; none if it is no Python.
    A default that is no literal is kept as its text."""
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


Table = Mapping[str, Kind]


def _table(kinds: Mapping[Kind, str]) -> dict[str, Kind]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


ANYWHERE: Table = _table(
    {
        Kind.TENSOR: (
            "a a1 a2 ar ar1 ar2 arr array ary b begindates bins buffer condition data dates dst "
            "element enddates f filt fp fweights aweights weights indices iter k m mask object "
            "offsets p prototype q sample seq_of_zeros sorter src test_elements u v val vals "
            "values w x x1 x2 xp y z out where prepend append to_end to_begin a_min a_max "
            "default obj ind A"
        ),
        Kind.TENSORS: (
            "args arrays arys choicelist choices condlist keys multi_index operands tup varargs xi"
        ),
        Kind.INT: (
            "M N axis axis1 axis2 axisa axisb axisc count deg kth minlength n ndim ndmin num "
            "discont"
        ),
        Kind.SHAPE: (
            "axes dims dimensions indices_or_sections newshape new_shape pad_width repeats reps "
            "s shape shift size source destination"
        ),
        Kind.FLOAT: (
            "beta d dx fill_value initial left nan neginf period posinf rcond right start step "
            "stop tol"
        ),
        Kind.ENUM: "dtype order casting mode kind method interpolation UPLO norm trim",
        Kind.STRING: "subscripts roll weekmask",
        Kind.FLOATS: "funclist range",
        Kind.BOOL: "bias density keepdims",
    }
)
"""By the name of a parameter, where it means the same in most functions."""

DRAWN: Table = _table(
    {
        Kind.FLOAT: "a b dfden dfnum df kappa left mean mode mu n nonc p right scale shape",
        Kind.INT: "high low nbad ngood nsample",
        Kind.TENSOR: "pvals cov alpha colors x out",
    }
)
"""The same for functions that draw random numbers: of a distribution's parameters."""

OF_ONE: Table = _table(
    {
        Kind.INT: (
            "cov:ddof diag:k diagflat:k expand_dims:axis eye:k flip:axis insert:obj polyder:m "
            "polyint:m rot90:k tri:k tril:k tril_indices:k tril_indices:m tril_indices_from:k "
            "triu:k triu_indices:k triu_indices:m triu_indices_from:k"
        ),
        Kind.STRING: "cond:p",
        Kind.FLOAT: "fftfreq:d kaiser:beta",
        Kind.TENSOR: "choice:a choice:p multivariate_normal:mean",
        Kind.OTHER: "integers:dtype randint:dtype",
    }
)
"""By a function's own name and a parameter of it, where it means something else there. A dtype
that is no dtype of arrays in general, like that of `integers`, is not set by `--dtype`."""


def kind_of(name: str, namespace: str, parameter: inspect.Parameter) -> Kind:
    """Returns the kind of a function's parameter. A variadic one takes arrays, or extents."""
    own = OF_ONE.get(f"{name.rpartition('.')[2]}:{parameter.name}")
    if own is not None:
        return own
    table = {**ANYWHERE, **DRAWN} if namespace == "random" else ANYWHERE
    found = table.get(parameter.name)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Kind.SHAPE if found is Kind.SHAPE else Kind.TENSORS
    if found is not None:
        return found
    return kind_of_default(parameter)
