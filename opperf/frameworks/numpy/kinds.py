"""Kinds of the parameters of NumPy's functions, which have only names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from opperf.model import Kind

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

OF_ONE: Mapping[tuple[str, str], Kind] = {
    ("cov", "ddof"): Kind.INT,
    ("cond", "p"): Kind.STRING,
    ("diag", "k"): Kind.INT,
    ("diagflat", "k"): Kind.INT,
    ("expand_dims", "axis"): Kind.INT,
    ("eye", "k"): Kind.INT,
    ("flip", "axis"): Kind.INT,
    ("fftfreq", "d"): Kind.FLOAT,
    ("choice", "a"): Kind.TENSOR,
    ("choice", "p"): Kind.TENSOR,
    ("insert", "obj"): Kind.INT,
    ("integers", "dtype"): Kind.OTHER,
    ("kaiser", "beta"): Kind.FLOAT,
    ("linalg.norm", "ord"): Kind.OTHER,
    ("multivariate_normal", "mean"): Kind.TENSOR,
    ("polyder", "m"): Kind.INT,
    ("polyint", "m"): Kind.INT,
    ("randint", "dtype"): Kind.OTHER,
    ("rot90", "k"): Kind.INT,
    ("tri", "k"): Kind.INT,
    ("tril", "k"): Kind.INT,
    ("tril_indices", "k"): Kind.INT,
    ("tril_indices", "m"): Kind.INT,
    ("tril_indices_from", "k"): Kind.INT,
    ("triu", "k"): Kind.INT,
    ("triu_indices", "k"): Kind.INT,
    ("triu_indices", "m"): Kind.INT,
    ("triu_indices_from", "k"): Kind.INT,
}
"""By a function's own name and a parameter of it, where it means something else there. A dtype
that is no dtype of arrays in general, like that of `integers`, is not set by `--dtype`."""

BY_DEFAULT: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOL),
    (int, Kind.INT),
    (float, Kind.FLOAT),
    (str, Kind.STRING),
    (tuple, Kind.SHAPE),
)
"""By the type of a default, where the name is not enough; `bool` first, as it is an `int`."""


def kind_of(name: str, namespace: str, parameter: inspect.Parameter) -> Kind:
    """Returns the kind of a parameter of the function of that full name.

    A variadic parameter takes arrays, or extents (`rand(*shape)`).
    """
    own = OF_ONE.get((name.rpartition(".")[2], parameter.name))
    if own is not None:
        return own
    table = {**ANYWHERE, **DRAWN} if namespace == "random" else ANYWHERE
    found = table.get(parameter.name)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Kind.SHAPE if found is Kind.SHAPE else Kind.TENSORS
    if found is not None:
        return found
    return next((kind for of, kind in BY_DEFAULT if isinstance(parameter.default, of)), Kind.OTHER)
