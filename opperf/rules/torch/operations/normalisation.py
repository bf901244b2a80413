"""PyTorch's normalisation layers."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import ANYTHING, Array, Choice, Roles, Table, Values, Written, use
from opperf.rules.families.normalisation import running_statistics
from opperf.rules.shapes import Shape
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.values import taken

SWITCHES = frozenset({"cudnn_enabled", "cudnn_enable", "momentum", "training", "use_input_stats"})
"""Arguments that do not affect the values, or that select the operation."""

MOMENTUM, EPSILON = 0.1, 1e-5
"""Share of a batch's statistics in the running ones, and what is added to a variance: the defaults
of PyTorch's layers."""

SINGLE_EPSILON = 1.1920928955078125e-07
"""The distance of 1 and the next number of float32, which `rms_norm` adds by default."""


def scale_and_shift(weight: Any, bias: Any, features: int) -> dict[str, Any]:
    """The scale and shift of each feature; one and zero where there are none."""
    import numpy as np

    return {
        "scale": np.ones(features) if weight is None else weight,
        "shift": np.zeros(features) if bias is None else bias,
    }


def _batch_norm_roles(
    input: Array, eps: float, weight: Any = None, bias: Any = None, **others: Any
) -> dict[str, Any]:
    assert others.keys() <= SWITCHES | {"running_mean", "running_var"}
    return {"data": input, "epsilon": eps, **scale_and_shift(weight, bias, input.shape[1])}


def _inference_roles(running_mean: Array, running_var: Array, **arguments: Any) -> dict[str, Any]:
    statistics = {"mean": running_mean, "variance": running_var}
    return {**_batch_norm_roles(**arguments), **statistics}


def maps_of(roles: Roles) -> TensorSpec | None:
    """The maps of a normalisation by channel: those with the channels behind the other axes are in
    the usual order, with channels last in memory. None for any other axis of channels."""
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    if roles.get("axis", 1) == 1:
        return data
    batch, *sides, channels = data.shape
    if len(data.shape) != 4:
        return None
    return channels_last(msgspec.structs.replace(data, shape=(batch, channels, *sides)))


def _batch_norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """The arguments but for that which says whether it trains."""
    data = maps_of(roles)
    if data is None:
        return None
    statistics = {**running_statistics(data.shape[1]), **roles}
    offered: dict[str, Argument] = {
        **{"input": data, "weight": roles["scale"], "bias": roles["shift"]},
        **{"running_mean": statistics["mean"], "running_var": statistics["variance"]},
        **{"momentum": MOMENTUM, "eps": EPSILON, "cudnn_enabled": True},
    }
    return taken(operator, offered)


def _with_batch_statistics(made: Array, arguments: Values) -> tuple[Array, ...]:
    import numpy as np

    data = arguments["input"]
    others = _but_for(data, 1)
    return made, data.mean(others), 1 / np.sqrt(data.var(others) + arguments["eps"])


def _but_for(data: Array, dim: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(data.ndim) if axis != dim)


def batch_norm(training: str, saves: bool) -> Choice:
    """The uses of batch normalisation that trains and that predicts, by an argument."""
    train, predict = _with_batch_statistics, lambda made, _: Written((made, ANYTHING, ANYTHING))
    return Choice(
        training,
        {
            trains: use(operation, roles, save if saves else None, _batch_norm_arguments)
            for trains, operation, roles, save in (
                (True, "batch_norm", _batch_norm_roles, train),
                (False, "batch_norm_inference", _inference_roles, predict),
            )
        },
    )


def rows_of(data: Array, normalized_shape: Shape) -> Array:
    """The data with the axes that are normalised as one, and the others as one."""
    return data.reshape(-1, math.prod(normalized_shape))


def _layer_norm_roles(
    input: Array,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    eps: float = EPSILON,
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= SWITCHES
    rows = rows_of(input, normalized_shape)
    scale, shift = (None if values is None else values.reshape(-1) for values in (weight, bias))
    parts = scale_and_shift(scale, shift, rows.shape[1])
    return {"data": rows, "axis": 1, "epsilon": eps, **parts}


def _layer_norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    if roles["axis"] not in (-1, len(data.shape) - 1):
        return None
    made: dict[str, Argument] = {"input": data, "normalized_shape": data.shape[-1:]}
    needed = {"eps": EPSILON} if operator.name.startswith("native") else {}
    return {**made, "weight": roles["scale"], "bias": roles["shift"], **needed}


def _in_shape(made: Array, arguments: Values) -> Array:
    return made.reshape(arguments["input"].shape)


def with_row_statistics(made: Array, arguments: Values) -> tuple[Array, ...]:
    """The output, and the mean and the reciprocal of the standard deviation of what was normalised
    together."""
    import numpy as np

    data, over = arguments["input"], arguments["normalized_shape"]
    rows = rows_of(data, over)
    shape = (*data.shape[: data.ndim - len(over)], *[1] * len(over))
    deviation = np.sqrt(rows.var(1) + arguments["eps"])
    return _in_shape(made, arguments), rows.mean(1).reshape(shape), (1 / deviation).reshape(shape)


def _rms_norm_roles(
    input: Array, normalized_shape: Shape, weight: Any = None, eps: float | None = None
) -> dict[str, Any]:
    rows = rows_of(input, normalized_shape)
    scale = 1.0 if weight is None else weight.reshape(-1)
    return {"data": rows, "scale": scale, "epsilon": SINGLE_EPSILON if eps is None else eps}


def _rms_norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    over = {"normalized_shape": data.shape[-1:]}
    return {"input": data, **over, "weight": roles["scale"], "eps": roles["epsilon"]}


def _group_norm_roles(
    input: Array,
    num_groups: int = 0,
    group: int = 0,
    weight: Any = None,
    bias: Any = None,
    eps: float = EPSILON,
    **others: Any,
) -> dict[str, Any]:
    assert others.keys() <= SWITCHES | {"N", "C", "HxW"}
    parts = scale_and_shift(weight, bias, input.shape[1])
    return {"data": input, "groups": num_groups or group, "epsilon": eps, **parts}


def _group_norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    data = roles["data"]
    assert isinstance(data, TensorSpec)
    samples, channels, *sides = data.shape
    offered: dict[str, Argument] = {
        **{"input": data, "weight": roles["scale"], "bias": roles["shift"]},
        **dict.fromkeys(("num_groups", "group"), roles["groups"]),
        **{"N": samples, "C": channels, "HxW": math.prod(sides)},
        **({"eps": EPSILON} if operator.name.startswith("native") else {}),
    }
    return taken(operator, offered)


def _with_group_statistics(made: Array, arguments: Values) -> tuple[Array, ...]:
    import numpy as np

    data = arguments["input"]
    groups = data.reshape(len(data), arguments["group"], -1)
    return made, groups.mean(2), 1 / np.sqrt(groups.var(2) + arguments["eps"])


def _instance_norm_arguments(operator: Operator, roles: Roles) -> dict[str, Argument]:
    return {
        **{"input": roles["data"], "weight": roles["scale"], "bias": roles["shift"]},
        **{"use_input_stats": True, "momentum": MOMENTUM, "eps": EPSILON, "cudnn_enabled": True},
    }


def _moments_roles(input: Array, **others: Any) -> dict[str, Any]:
    assert others.keys() <= {"running_mean", "running_var", "momentum"}
    return {"x": input, "axis": _but_for(input, 1)}


def _along_kept_axis(made: Array, arguments: Values) -> Array:
    shape = [1] * arguments["v"].ndim
    shape[arguments.get("dim", 0)] = -1
    return made.reshape(shape)


OPERATIONS: Table = {
    "batch_norm": batch_norm("training", saves=False),
    "native_batch_norm": batch_norm("training", saves=True),
    "batch_norm_update_stats": use("moments", _moments_roles),
    "layer_norm": use("layer_norm", _layer_norm_roles, _in_shape, _layer_norm_arguments),
    "native_layer_norm": use(
        "layer_norm", _layer_norm_roles, with_row_statistics, _layer_norm_arguments
    ),
    "rms_norm": use("rms_norm", _rms_norm_roles, _in_shape, _rms_norm_arguments),
    "group_norm": use("group_norm", _group_norm_roles, to_arguments=_group_norm_arguments),
    "native_group_norm": use(
        "group_norm", _group_norm_roles, _with_group_statistics, _group_norm_arguments
    ),
    "instance_norm": use("instance_norm", _batch_norm_roles, to_arguments=_instance_norm_arguments),
    "cosine_similarity": use("cosine_similarity", "x=x1 y=x2 axis=dim epsilon=eps"),
    "norm_except_dim": use(
        "norm",
        lambda v, pow=2, dim=0: {"x": v, "order": pow, "axis": _but_for(v, dim)},
        _along_kept_axis,
    ),
    "native_norm": use("norm", lambda self, p=2, **others: {"x": self, "order": p}),
    "renorm": use("renorm", "data=self order=p axis=dim limit=maxnorm"),
    "embedding_renorm": use("renorm_of_rows", "data=self indices order=norm_type limit=max_norm"),
}
