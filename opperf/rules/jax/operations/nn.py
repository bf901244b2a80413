"""The canonical operations of `jax.nn` and `jax.ops`."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Array, Choice, Roles, Table, Values, merge, use, uses

X = "x"

RENAMED = {
    "hard_silu": "hard_swish",
    "soft_sign": "softsign",
    **{
        name: name
        for name in (
            *("hard_sigmoid", "hard_tanh", "identity", "log_sigmoid", "mish", "relu", "relu6"),
            *("selu", "sigmoid", "silu", "softplus"),
        )
    },
}
"""Operations of activations without parameters, or with their usual ones."""


def softmax_roles(x: Array, axis: int = -1, where: Any = None) -> dict[str, Any]:
    """Scores, of which those that are masked are infinitely low."""
    import numpy as np

    data = x if where is None else np.where(where, x, -np.inf)
    return {"data": data, "axis": axis, "temperature": 1.0}


def softmax_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments of a softmax, which has no temperature and no lengths."""
    if not roles.keys() <= {"data", "axis"}:
        return None
    return {"x": roles["data"], "axis": roles["axis"]}


def heads_last(spec: Argument) -> Argument:
    """A tensor of (batch, heads, tokens, width) with the heads behind the tokens."""
    assert isinstance(spec, TensorSpec)
    batch, heads, tokens, width = spec.shape
    return msgspec.structs.replace(spec, shape=(batch, tokens, heads, width))


def attention_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of attention: a mask of numbers is a bias."""
    mask = roles.get("mask")
    is_boolean = isinstance(mask, TensorSpec) and mask.dtype == "bool"
    names = {"mask": "mask" if is_boolean else "bias", "causal": "is_causal"}
    others = {name: value for name, value in roles.items() if name not in ATTENDED}
    return {
        **{name: heads_last(roles[name]) for name in ATTENDED},
        **{names.get(name, name): value for name, value in others.items()},
    }


ATTENDED = ("query", "key", "value")


def attention_roles(
    query: Array,
    key: Array,
    value: Array,
    bias: Any = None,
    mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Any = None,
) -> dict[str, Any]:
    """The inputs of attention, with one mask in place of lengths and windows."""
    import numpy as np

    queries, keys = np.arange(query.shape[1])[:, None], np.arange(key.shape[1])
    if key_value_seq_lengths is not None:
        mask = keys < key_value_seq_lengths[:, None, None, None]
    if local_window_size is not None:
        before, after = local_window_size
        mask = (keys >= queries - before) & (keys <= queries + after)
    return {
        "query": query.swapaxes(1, 2),
        "key": key.swapaxes(1, 2),
        "value": value.swapaxes(1, 2),
        "mask": bias if mask is None else mask,
        "causal": is_causal,
        "scale": scale,
    }


def tokens_first(made: Array, arguments: Values) -> Array:
    """The result with the heads behind the tokens."""
    return made.swapaxes(1, 2)


def segment_roles(reduction: str) -> Any:
    """The conversion of rows and their segments to rows in the order of the segments."""

    def roles(
        data: Array, segment_ids: Array, num_segments: int, indices_are_sorted: bool = False
    ) -> dict[str, Any]:
        import numpy as np

        order = np.argsort(segment_ids, kind="stable")
        lengths = np.bincount(segment_ids, minlength=num_segments)
        return {"data": data[order], "lengths": lengths, "reduction": reduction}

    return roles


def one_hot_roles(x: Array, num_classes: int, axis: int = -1, dtype: Any = None) -> dict[str, Any]:
    """The classes, whose axis is the last."""
    assert axis == -1
    return {"indices": x, "depth": num_classes}


TABLE: Table = merge(
    uses(RENAMED, X, "nn.{}", other=RENAMED),
    {
        "nn.celu": use("celu", "x slope=alpha"),
        "nn.dot_product_attention": use(
            "attention", attention_roles, tokens_first, attention_arguments
        ),
        "nn.elu": use("elu", "x slope=alpha"),
        # The default is the approximation.
        "nn.gelu": Choice(
            "approximate",
            {None: use("gelu_tanh", X), False: use("gelu", f"{X} -approximate")},
        ),
        "nn.glu": use("glu", "x axis"),
        "nn.leaky_relu": use("leaky_relu", "x slope=negative_slope"),
        "nn.log_softmax": use("log_softmax", softmax_roles, to_arguments=softmax_arguments),
        "nn.logsumexp": use("logsumexp", "x=a axis keepdims"),
        "nn.one_hot": use("one_hot", one_hot_roles),
        "nn.softmax": use("softmax", softmax_roles, to_arguments=softmax_arguments),
        **{
            f"ops.segment_{reduction}": use("segment_reduce", segment_roles(reduction))
            for reduction in ("max", "min", "prod", "sum")
        },
    },
)
