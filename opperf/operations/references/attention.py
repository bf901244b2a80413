"""Attention, as a whole."""

from __future__ import annotations

import numpy as np

from opperf.operations.references.normalisation import masked_softmax
from opperf.operations.references.reference import Array


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Values weighted by the softmax of the scaled products of queries and keys, all of (...,
    heads, tokens, width). Of fewer heads of keys and values each serves several of queries. A mask
    is of booleans, whether a query attends to a key, or is added to the scores; a causal one hides
    the keys behind each query."""
    times = query.shape[-3] // key.shape[-3]
    keys, values = key.repeat(times, -3), value.repeat(times, -3)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = factor * query @ keys.swapaxes(-1, -2)
    seen = np.ones(scores.shape, bool)
    if mask is not None and mask.dtype == bool:
        seen = seen & mask
    elif mask is not None:
        scores = scores + mask
    if causal:
        seen = seen & np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    highest = scores.max(-1, keepdims=True)
    return masked_softmax(scores - highest, seen, -1) @ values
