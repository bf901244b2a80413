"""Integers of JAX's functions that are valid only beside certain others."""

from __future__ import annotations

from opperf.dtypes import is_integer
from opperf.model import Fill, Mapping, TensorSpec
from opperf.rules.dependencies import (
    Asked,
    Rules,
    Unfit,
    at,
    below_number,
    extent_of,
    number_of,
    sums_to,
)
from opperf.rules.values import below

AXES = "ragged_dot_dimension_numbers"


def ragged_extent(asked: Asked) -> int:
    """Returns how many rows or columns the groups of a product share."""
    axes = asked.arguments.get(AXES)
    listed = axes.entries.get("lhs_ragged_dimensions") if isinstance(axes, Mapping) else None
    if not isinstance(listed, tuple) or not isinstance(listed[0], int):
        raise Unfit
    return asked.extent("lhs", listed[0])


def factored(asked: Asked) -> Fill:
    """Returns pivots, which count from zero, of the matrix before them."""
    pair = asked.arguments.get("lu_and_piv")
    if not is_integer(asked.spec.dtype) or not isinstance(pair, tuple):
        raise Unfit
    matrix = pair[0]
    if not isinstance(matrix, TensorSpec):
        raise Unfit
    return below(at(matrix.shape, -2))


CONTENTS: Rules = {
    "lax.ragged_dot": {"group_sizes": sums_to(extent_of("lhs"))},
    "lax.ragged_dot_general": {"group_sizes": sums_to(ragged_extent)},
    "lax.linalg.lu_pivots_to_permutation": {"pivots": below_number("permutation_size")},
    "jnp.repeat": {"repeats": sums_to(number_of("total_repeat_length"))},
    "scipy.linalg.lu_solve": {"lu_and_piv": factored},
    "scipy.stats.multinomial.logpmf": {"x": sums_to(number_of("n"))},
    "scipy.stats.multinomial.pmf": {"x": sums_to(number_of("n"))},
}
"""By function and argument."""
