"""What operators compute, written down with NumPy and SciPy alone: one module for each group.

A reference takes a case's arguments by name, floating tensors in double precision, and gives the
output, a tuple of outputs, or a `Written` where tensors are written in place as well. Where the
output is not unique (signs of eigenvectors, random numbers), there is a property instead: it takes
the outputs and the arguments, and gives pairs of arrays that must be alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Reference = Callable[..., Any]
References = Mapping[str, Reference]
Pairs = Iterable[tuple[Any, Any]]
Property = Callable[..., Pairs]


@dataclass(frozen=True)
class Written:
    """The output of an operator, and what it has written to arguments: arrays by argument name,
    lists of them where the argument is a list."""

    output: Any
    """An empty tuple where the call gives nothing back."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tolerance:
    """How far an operator may be off, by the type it gives: each element by a share of itself.

    What is left of terms that cancel has the error of the terms. So each element may also be off
    by some of that share of the largest one, and by `least` where nothing is left of any.
    """

    relative: Mapping[str, float]
    of_largest: float
    least: float

    def absolute(self, relative: float, expected: Array) -> float:
        """What each element may be off by, whatever it is itself."""
        if not relative:
            return 0.0
        finite = np.abs(expected[np.isfinite(expected)])
        return self.least + self.of_largest * relative * float(finite.max(initial=0.0))


USUAL = Tolerance({"float16": 2e-3, "float32": 1e-4, "float64": 1e-4}, of_largest=0.1, least=2e-6)
"""Single precision has an error of 6e-8, which a sum of ten thousand terms, the condition of a
matrix (up to 5) and fast exponentials and roots make a thousand times as large at most. Half
precision has 5e-4. Outputs in double precision are often calculated in single."""

STRICT = Tolerance({"float16": 1e-3, "float32": 5e-7}, of_largest=0.4, least=2e-7)
"""For weights of up to four: their decay changes them by a millionth in one step, which has to be
seen."""

ROUGH_SQUARES = Tolerance(STRICT.relative, of_largest=2.0, least=STRICT.least)
"""For what adds a thousandth of the gradient's square, which has an error of a ten-thousandth."""

CONSTANT = frozenset(
    {
        *("_full", "_npi_full", "_npi_full_like", "_npi_ones", "_npi_zeros", "_ones"),
        *("_set_value", "_zeros", "ones_like", "reset_arrays", "zeros_like"),
        # One configuration is of a square.
        "shape_array",
        # Matrices whose inverse is sought are of full rank.
        *("_npi_matrix_rank", "_npi_matrix_rank_none_tol"),
        # No tensor of a benchmark holds what these look for.
        *("_npi_isfinite", "_npi_isinf", "_npi_isnan", "_npi_isneginf", "_npi_isposinf"),
    }
)
"""Operators that are to give one number everywhere."""

FIRST_ONLY = frozenset(
    {
        *("Convolution_v1", "Pooling_v1", "_contrib_SparseEmbedding", "_np_all", "_np_any"),
        *("_np_atleast_1d", "_np_atleast_2d", "_np_atleast_3d", "_np_copy", "_np_diag"),
        *("_np_diagflat", "_np_diagonal", "_np_dot", "_np_max", "_np_min", "_np_moveaxis"),
        *("_np_prod", "_np_roll", "_np_squeeze", "_np_sum", "_np_trace", "_np_transpose"),
        *("_scatter_elemwise_div", "_scatter_minus_scalar", "_scatter_plus_scalar"),
    }
)
"""Operators that MXNet 2 no longer has under these names."""

SECOND_ONLY = frozenset(
    {
        *("_contrib_dynamic_reshape", "_npi_advanced_indexing", "_npi_advanced_indexing_multiple"),
        *("_npi_all", "_npi_any", "_npi_atleast_1d", "_npi_atleast_2d", "_npi_atleast_3d"),
        *("_npi_bitwise_left_shift", "_npi_bitwise_left_shift_scalar", "_npi_bitwise_right_shift"),
        *("_npi_bitwise_right_shift_scalar", "_npi_copy", "_npi_cross", "_npi_diag"),
        *("_npi_diagflat", "_npi_diagonal", "_npi_dot", "_npi_fill_diagonal", "_npi_floor_divide"),
        *("_npi_floor_divide_scalar", "_npi_fmax", "_npi_fmax_scalar", "_npi_fmin"),
        *("_npi_fmin_scalar", "_npi_fmod", "_npi_fmod_scalar", "_npi_gcd", "_npi_gcd_scalar"),
        *("_npi_interp", "_npi_kron", "_npi_laplace", "_npi_logaddexp", "_npi_logaddexp_scalar"),
        *("_npi_logical_and", "_npi_logical_and_scalar", "_npi_logical_or"),
        *("_npi_logical_or_scalar", "_npi_logical_xor", "_npi_logical_xor_scalar", "_npi_lstsq"),
        *("_npi_matrix_rank", "_npi_matrix_rank_none_tol"),
        *("_npi_max", "_npi_min", "_npi_moveaxis", "_npi_prod", "_npi_qr"),
        *("_npi_rbitwise_left_shift_scalar", "_npi_rbitwise_right_shift_scalar", "_npi_repeats"),
        *("_npi_rfloor_divide_scalar", "_npi_rfmod_scalar", "_npi_roll", "_npi_rollaxis"),
        *("_npi_squeeze", "_npi_sum", "_npi_trace", "_npi_transpose", "_npi_tri"),
        *("_npi_tril_indices", "_npi_triu", "_npx_index_add", "_npx_index_update", "digamma"),
        *("log_sigmoid", "masked_log_softmax", "masked_softmax", "mish", "random_binomial"),
        *("sample_binomial", "sample_categorical"),
    }
)
"""Operators that came with MXNet 2, or with their names in it."""


def positional(function: Callable[..., Any]) -> Reference:
    """The reference of an operator that passes its arguments in the order `function` has them."""
    return lambda **given: function(*given.values())


def turned(function: Callable[..., Any]) -> Reference:
    """The reference of an operator whose second argument is the left operand."""
    return lambda **given: function(*reversed(given.values()))


def named(names: Iterable[str], functions: Mapping[str, Reference], prefix: str = "") -> References:
    """References by the operators' names: each has the prefix and the name of a function."""
    return {prefix + name: functions[name] for name in names}


def softmax(data: Array, axis: int = -1) -> Array:
    """Exponentials that sum to one along an axis."""
    raised = np.exp(data - data.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def single(value: float) -> float:
    """A number as MXNet holds it: most of its parameters are in single precision."""
    return float(np.float32(value))
