"""JAX's public functions that are excluded, as they neither take nor make arrays, each with the
reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DTYPES = "computes on dtypes, not on arrays"
_FILES = "reads or writes files"
_HELP = "documentation, text and introspection"
_SHAPE_ONLY = "reads an array's shape or type, not its elements"
_STATE = "gets or sets a configuration"
_MAPPED = "works inside a function that is mapped over several devices"
_MAKES_FUNCTION = "makes a function, not an array"
_INTERNAL = "for those who extend JAX, without arrays"

NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("jnp.can_cast", "jnp.finfo", "jnp.iinfo", "jnp.isdtype", "jnp.issubdtype"),
            *("jnp.promote_types", "jnp.result_type", "lax.dtype"),
        ),
        _DTYPES,
    ),
    **dict.fromkeys(("jnp.fromfile", "jnp.load", "jnp.save", "jnp.savez"), _FILES),
    **dict.fromkeys(
        (
            *("jnp.array_repr", "jnp.array_str", "jnp.fromstring", "jnp.get_printoptions"),
            *("jnp.printoptions", "jnp.set_printoptions", "jnp.einsum_path"),
        ),
        _HELP,
    ),
    **dict.fromkeys(
        (
            *("jnp.broadcast_shapes", "jnp.iscomplexobj", "jnp.isrealobj", "jnp.isscalar"),
            *("jnp.iterable", "jnp.ndim", "jnp.shape", "jnp.size", "lax.broadcast_shapes"),
            *("lax.conv_dimension_numbers", "lax.padtype_to_pads", "lax.shape_as_value"),
            "lax.conv_general_permutations",
            *("lax.reduce_window_shape_tuple", "lax.conv_general_shape_tuple"),
            *("lax.conv_shape_tuple", "lax.conv_transpose_shape_tuple"),
        ),
        _SHAPE_ONLY,
    ),
    **dict.fromkeys(("random.key_impl", "random.default_prng_impl"), _STATE),
    **dict.fromkeys(
        (
            *("lax.all_gather", "lax.all_to_all", "lax.axis_index", "lax.axis_size"),
            *("lax.pbroadcast", "lax.pcast", "lax.pmax", "lax.pmean", "lax.pmin", "lax.ppermute"),
            *("lax.pshuffle", "lax.psum", "lax.psum_scatter", "lax.pswapaxes", "lax.pvary"),
            *("lax.ragged_all_to_all", "lax.all_gather_invariant", "lax.all_gather_reduced"),
            *("lax.unreduced_psum", "lax.unreduced_psum_scatter", "lax.psend", "lax.precv"),
        ),
        _MAPPED,
    ),
    **dict.fromkeys(
        (
            *("jnp.frompyfunc", "jnp.vectorize", "lax.composite"),
            "nn.get_scaled_dot_general_config",
        ),
        _MAKES_FUNCTION,
    ),
}
"""Functions by name."""

PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^lax\.(?:standard_\w+|naryop\w*|unop\w*|\w+_p)$"), _INTERNAL),
)
"""Functions by a pattern of names."""


def reason(name: str) -> str:
    """Returns why a public function is excluded; empty if it is an operator."""
    own = NAMES.get(name, "")
    return own or next((why for pattern, why in PATTERNS if pattern.search(name)), "")
