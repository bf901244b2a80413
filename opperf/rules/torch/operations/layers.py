"""PyTorch's layers: linear, embedding, dropout, attention, and those that move pixels."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Choice, Roles, Table, Values, Written, use

INDEX = "int64"
"""Dtype of indices in PyTorch's programs."""


DROPPED = "data=input|self rate=p -train"
"""Arguments of dropout, of which the forms in place name the data as methods do."""


def by_train(**parts: Any) -> Choice:
    """The uses of dropout that trains and that predicts, by an argument."""
    return Choice(
        "train", {True: use("dropout", DROPPED), False: use("dropout_inference", DROPPED, **parts)}
    )


def _kept_mask(made: Array, arguments: Values) -> tuple[Array, Array]:
    import numpy as np

    return made, np.ones(made.shape, bool)


def by_channel(input: Array, p: float, train: bool) -> dict[str, Any]:
    """The inputs of dropout of whole channels."""
    assert train
    return {"data": input, "rate": p, "axes": tuple(range(2, input.ndim))}


def _embedding_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    return {"weight": roles["weight"], "indices": msgspec.structs.replace(data, dtype=INDEX)}


KINDS = ("sum", "mean", "max")
"""Reductions of a bag of embeddings, by number."""


def _bag_roles(
    weight: Array,
    indices: Array,
    offsets: Array,
    mode: int = 0,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= {"scale_grad_by_freq", "sparse"}
    return {
        "data": indices,
        "weight": weight,
        "offsets": offsets,
        "kind": KINDS[mode],
        "shares": per_sample_weights,
        # The operator that programs call has None, the internal one -1 for no padding.
        "padding": None if padding_idx == -1 else padding_idx,
        "has_end": include_last_offset,
    }


MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")
"""How images are read between their elements, and beyond them, by number."""


def _grid_roles(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> dict[str, Any]:
    return {
        "data": input,
        "grid": grid,
        "kind": MODES[interpolation_mode],
        "padding": PADDINGS[padding_mode],
        "align": align_corners,
    }


def _attention_roles(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= {"enable_gqa", "dropout_p"} and not others.get("dropout_p")
    made = {"query": query, "key": key, "value": value, "causal": is_causal, "scale": scale}
    return {**made, "mask": attn_mask}


def _attention_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    query, key = roles["query"], roles["key"]
    assert isinstance(query, TensorSpec) and isinstance(key, TensorSpec)
    shares, mask = query.shape[1] != key.shape[1], roles.get("mask")
    if shares and operator.parameter("enable_gqa") is None:
        return None
    # What programs call converts a mask of booleans; kernels only add numbers.
    if operator.variants and isinstance(mask, TensorSpec) and mask.dtype == "bool":
        return None
    names = {"mask": "attn_mask", "causal": "is_causal"}
    made = {names.get(role, role): value for role, value in roles.items()}
    return {**made, **({"enable_gqa": True} if shares else {})}


BILINEAR = "...i,kij,...j->...k"
"""Sums over the products of two vectors' elements, weighted for each output."""


def _bilinear_roles(input1: Array, input2: Array, weight: Array, bias: Any = None) -> Any:
    assert bias is None
    return {"tensors": [input1, weight, input2], "subscripts": BILINEAR}


OPERATIONS: Table = {
    "linear": use("dense", "data=input weight bias"),
    "mkldnn_linear": use("dense", "data=self weight bias"),
    "bilinear": use("einsum", _bilinear_roles),
    "dropout": by_train(),
    "native_dropout": by_train(to_output=_kept_mask),
    "feature_dropout": use("dropout", by_channel),
    "alpha_dropout": use("alpha_dropout", DROPPED),
    "feature_alpha_dropout": use("alpha_dropout", by_channel),
    "embedding": use(
        "embedding",
        "data=indices weight -padding_idx -scale_grad_by_freq -sparse",
        to_arguments=_embedding_arguments,
    ),
    "embedding_bag": use(
        "embedding_bag",
        _bag_roles,
        lambda made, arguments: Written((made, ANYTHING, ANYTHING, ANYTHING)),
    ),
    **{f"grid_sampler{axes}": use("grid_sample", _grid_roles) for axes in ("", "_2d", "_3d")},
    "affine_grid_generator": use(
        "affine_grid",
        lambda theta, size, align_corners: {
            "theta": theta,
            "extents": size[2:],
            "align": align_corners,
        },
    ),
    "pixel_shuffle": use("pixel_shuffle", "data=self block=upscale_factor"),
    "pixel_unshuffle": use("pixel_unshuffle", "data=self block=downscale_factor"),
    "channel_shuffle": use("channel_shuffle", "data=self groups"),
    "native_channel_shuffle": use("channel_shuffle", "data=self groups"),
    "scaled_dot_product_attention": use(
        "attention", _attention_roles, to_arguments=_attention_arguments
    ),
    "_scaled_dot_product_flash_attention_for_cpu": use(
        "attention",
        _attention_roles,
        lambda made, arguments: Written((made, ANYTHING)),
        _attention_arguments,
    ),
}
