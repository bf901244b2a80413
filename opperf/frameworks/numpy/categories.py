"""The category of each of NumPy's functions, as an ordered table of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opperf.frameworks.numpy.excluded import defining_file
from opperf.model import Operator

Rule = Callable[[Operator, Callable[..., Any]], bool]


def namespace(*names: str) -> Rule:
    """Functions of one of these namespaces."""
    return lambda operator, function: operator.namespace in names


def elementwise(inputs: int) -> Rule:
    """Ufuncs of that many inputs, each element by itself."""
    return lambda operator, function: (
        isinstance(function, np.ufunc) and function.nin == inputs and function.signature is None
    )


def parameter(name: str) -> Rule:
    """Functions with a parameter of that name."""
    return lambda operator, function: operator.parameter(name) is not None


def defined_in(file: str) -> Rule:
    """Functions that a file of NumPy defines."""
    return lambda operator, function: defining_file(function) == file


def named(names: str) -> Rule:
    """Functions of which any name is one of these."""
    wanted = frozenset(names.split())
    return lambda operator, function: not wanted.isdisjoint(operator.names)


RULES: Mapping[str, tuple[Rule, ...]] = {
    "sorting": (
        named("argpartition argsort lexsort msort partition sort sort_complex searchsorted"),
        named("argmax argmin nanargmax nanargmin"),
    ),
    # Before linear algebra, whose namespace has the norms.
    "reduction": (
        parameter("keepdims"),
        named("allclose array_equal array_equiv trace trapz trapezoid"),
    ),
    "linalg": (
        namespace("linalg"),
        named("dot einsum einsum_path inner kron matmul matvec outer tensordot vdot cross"),
        named("vecdot vecmat"),
    ),
    "fft": (namespace("fft"),),
    "random": (namespace("random"),),
    "unary": (
        elementwise(1),
        namespace("emath"),
        defined_in("ufunclike.py"),
        named("angle i0 imag iscomplex isreal nan_to_num real real_if_close round sinc clip"),
    ),
    "binary": (elementwise(2), named("isclose")),
    "cumulative": (
        named("cumprod cumsum nancumprod nancumsum diff ediff1d gradient unwrap"),
        named("cumulative_prod cumulative_sum"),
    ),
    "set": (defined_in("arraysetops.py"),),
    "polynomial": (defined_in("polynomial.py"),),
    "statistics": (
        defined_in("histograms.py"),
        named("bincount corrcoef cov digitize histogram2d interp convolve correlate"),
    ),
    "window": (named("bartlett blackman hamming hanning kaiser"),),
    "date": (named("busday_count busday_offset is_busday"),),
    "joining": (
        named("append block bmat column_stack concatenate dstack hstack insert stack vstack"),
    ),
    "splitting": (named("array_split dsplit hsplit split unstack vsplit"),),
    "creation": (
        named("arange empty eye full geomspace identity indices linspace logspace ones tri zeros"),
        named("empty_like full_like ones_like zeros_like vander fromfunction fromiter meshgrid"),
    ),
    "indexing": (
        named("argwhere choose compress copyto delete diag_indices diag_indices_from extract"),
        named("fill_diagonal flatnonzero ix_ mask_indices nonzero piecewise place put"),
        named("put_along_axis putmask ravel_multi_index select take take_along_axis tril_indices"),
        named("tril_indices_from triu_indices triu_indices_from trim_zeros unravel_index where"),
    ),
    "conversion": (
        named("array asanyarray asarray asarray_chkfinite ascontiguousarray asfarray copy"),
        named("asfortranarray asmatrix fastCopyAndTranspose from_dlpack frombuffer require"),
        named("astype packbits unpackbits"),
    ),
    "shape": (
        named("atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to diag diagflat"),
        named("diagonal expand_dims flip fliplr flipud moveaxis pad ravel repeat reshape resize"),
        named("matrix_transpose roll rollaxis rot90 squeeze swapaxes tile transpose tril triu"),
    ),
    "python_function": (named("apply_along_axis apply_over_axes"),),
}
"""Category and the rules that put a function in it; the first match counts."""

OTHER = "other"
"""The category of a function that no rule knows, as a newer NumPy may have."""


def category_of(operator: Operator, function: Callable[..., Any]) -> str:
    """Returns the category of an operator."""
    for category, rules in RULES.items():
        if any(rule(operator, function) for rule in rules):
            return category
    return OTHER
