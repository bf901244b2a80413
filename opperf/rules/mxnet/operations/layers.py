"""MXNet's layers: convolutions, activations, normalisation, sequences, losses, quantisation."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Operator
from opperf.operations.uses import ANYTHING, Array, Choice, Table, Use, Values, Written, use
from opperf.rules.values import AT_LEAST_SINGLE, ONES, ZEROS, fixed

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""Layout by the number of spatial axes."""


def windowed(roles: dict[str, Any], filters: int) -> dict[str, Any]:
    """A convolution's arguments but for its layout. The kernel is said beside the weights."""
    grouped = {"num_group": roles["groups"]} if "groups" in roles else {}
    return {
        "data": roles["data"],
        "weight": roles["weight"],
        "bias": roles["bias"],
        "kernel": roles["weight"].shape[2:],
        "stride": roles["stride"],
        "dilate": roles["dilation"],
        "pad": roles["padding"],
        "num_filter": filters,
        **grouped,
    }


def layout(roles: dict[str, Any]) -> dict[str, Any]:
    """The layout of tensors with channels in front."""
    return {"layout": LAYOUTS[len(roles["stride"])]}


def convolved(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A convolution's arguments: each filter has its weights in a row."""
    return {**windowed(roles, roles["weight"].shape[0]), **layout(roles)}


def deconvolved(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A transposed convolution's: the filters of a group are in the second axis. It has no bias
    unless asked for one."""
    filters = roles["weight"].shape[1] * roles.get("groups", 1)
    return {**windowed(roles, filters), "no_bias": False, **layout(roles)}


SPATIAL = "stride dilation=dilate padding=pad"
CONVOLVED = f"data weight bias {SPATIAL} groups=num_group"

# MXNet wants the extents of the weights once more.
CONVOLUTION = use("convolution", f"{CONVOLVED} -kernel -num_filter -layout", spell=convolved)
DECONVOLUTION = use(
    "deconvolution", f"{CONVOLVED} -kernel -num_filter -layout -no_bias", spell=deconvolved
)
POOLING = Choice(
    "global_pool",
    {
        False: use("pooling", "data kernel stride padding=pad kind=pool_type -global_pool"),
        # What it does with a window does not matter where the window is all there is.
        True: use("global_pooling", "data kind=pool_type -kernel -stride -pad -global_pool"),
    },
)

CONVOLUTIONS: Table = {
    "Convolution": CONVOLUTION,
    "Convolution_v1": CONVOLUTION,
    "Deconvolution": DECONVOLUTION,
    "Pooling": POOLING,
    "Pooling_v1": POOLING,
    "_contrib_AdaptiveAvgPooling2D": use("adaptive_average_pooling", "data output_size"),
    "col2im": use("col2im", f"data output_size kernel {SPATIAL}"),
    "im2col": use("im2col", f"data kernel {SPATIAL}"),
}

SLOPE = 0.25
"""Of negative values, by default."""

RANDOM_SLOPE = (0.125 + 0.334) / 2
"""The slope when predicting: the middle of those drawn when training."""

ACTIVATED = "x=data -act_type"

ACTIVATIONS = {
    "log_sigmoid": use("log_sigmoid", ACTIVATED),
    "mish": use("mish", ACTIVATED),
    "relu": use("relu", ACTIVATED),
    "sigmoid": use("sigmoid", ACTIVATED),
    "softrelu": use("softplus", ACTIVATED),
    "softsign": use("softsign", ACTIVATED),
    "tanh": use("tanh", ACTIVATED),
}

LEAKY = {
    "elu": use("elu", ACTIVATED, slope=SLOPE),
    "gelu": use("gelu", ACTIVATED),
    "gelu_erf": use("gelu", ACTIVATED),
    "gelu_tanh": use("gelu_tanh", ACTIVATED),
    "leaky": use("leaky_relu", ACTIVATED, slope=SLOPE),
    "prelu": use("leaky_relu", f"{ACTIVATED} slope=gamma"),
    # The slopes, which only training writes, are an output too.
    "rrelu": use(
        "leaky_relu",
        ACTIVATED,
        lambda made, arguments: Written((made, ANYTHING)),
        slope=RANDOM_SLOPE,
    ),
    "selu": use("selu", ACTIVATED),
}


def whole_samples(data: Array, mode: str) -> dict[str, Any]:
    """Everything of a sample in one row."""
    return {"data": data.reshape(len(data), -1)}


def rows(data: Array, weight: Array, bias: Array, num_hidden: int, flatten: bool) -> dict[str, Any]:
    """Whole samples, or the last axis."""
    assert len(weight) == num_hidden
    flat = data.reshape(len(data), -1) if flatten else data
    return {"data": flat, "weight": weight, "bias": bias}


def batch_normalised(
    data: Array, gamma: Array, beta: Array, fix_gamma: bool, axis: int = 1, **other: Any
) -> dict[str, Any]:
    """Scale and shift of channels. The running statistics are not read when training."""
    assert not fix_gamma and axis == 1
    assert other.keys() <= {"moving_mean", "moving_var", "ndev", "key"}
    return {"data": data, "scale": gamma, "shift": beta, "epsilon": 1e-3}


def grouped(data: Array, gamma: Array, beta: Array, num_groups: int) -> dict[str, Any]:
    """Scale and shift of channels, which MXNet 1 has of groups."""
    times = data.shape[1] // len(gamma)
    scale, shift = gamma.repeat(times), beta.repeat(times)
    return {"data": data, "scale": scale, "shift": shift, "groups": num_groups, "epsilon": 1e-5}


def dense(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """A dense layer's arguments, of the last axis."""
    return {**roles, "num_hidden": roles["weight"].shape[0], "flatten": False}


def with_statistics(roles: dict[str, Any]) -> dict[str, Any]:
    """Data, scale and shift, and the running statistics, which take no gradient."""
    channels = roles["data"].shape[1]
    return {
        "data": roles["data"],
        "gamma": roles["scale"],
        "beta": roles["shift"],
        "moving_mean": fixed(channels, fill=ZEROS, dtype=AT_LEAST_SINGLE),
        "moving_var": fixed(channels, fill=ONES, dtype=AT_LEAST_SINGLE),
        "fix_gamma": False,
    }


def along_channels(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Batch normalisation's arguments, channels in the second axis."""
    return {**with_statistics(roles), "axis": 1}


def in_step(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Those of devices in step, on one device: it waits for no other. Layers of one key share
    memory for as long as the process lives, so that each width needs its own."""
    return {**with_statistics(roles), "ndev": 1, "key": f"opperf-{roles['data'].shape[1]}"}


def in_groups(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Group normalisation's arguments. MXNet 1 learns a scale for each group; MXNet 2, where `npx`
    has the operator too, one for each channel."""
    groups = roles["groups"]
    scales = {"gamma": roles["scale"], "beta": roles["shift"]}
    if "_npx_group_norm" not in operator.names:
        scales = {
            name: msgspec.structs.replace(one, shape=(groups,)) for name, one in scales.items()
        }
    return {"data": roles["data"], **scales, "num_groups": groups}


def with_lengths(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Sequences, and whether there is a length of each."""
    if "lengths" not in roles:
        return {"data": roles["data"]}
    return {
        "data": roles["data"],
        "sequence_length": roles["lengths"],
        "use_sequence_length": True,
    }


def unit_length(axes: tuple[int, ...]) -> Use:
    """Along these axes of images."""
    return use("unit_length", "data -mode", axes=axes, epsilon=1e-10)


SCALED = "data scale=gamma shift=beta"
SEQUENCES = "data lengths=sequence_length -use_sequence_length"
BATCH_NORM = use("batch_norm", batch_normalised, spell=along_channels)

LAYERS: Table = {
    "Activation": Choice("act_type", ACTIVATIONS),
    "BatchNorm": BATCH_NORM,
    # Cases run in the training phase, whatever the operator's own `mode` is.
    "Dropout": use("dropout", "data rate=p axes -mode", also={"mode": "training"}),
    "FullyConnected": use("dense", rows, spell=dense),
    "GroupNorm": use("group_norm", grouped, spell=in_groups),
    "InstanceNorm": use("instance_norm", SCALED, epsilon=1e-3),
    "L2Normalization": Choice(
        "mode",
        {
            "instance": unit_length((1, 2, 3)),
            "channel": unit_length((1,)),
            "spatial": unit_length((2, 3)),
        },
    ),
    "LRN": use("local_response_norm", "data alpha beta offset=knorm channels=nsize"),
    "LayerNorm": use("layer_norm", f"{SCALED} axis", epsilon=1e-5),
    "LeakyReLU": Choice("act_type", LEAKY),
    "SequenceLast": use("sequence_last", SEQUENCES, spell=with_lengths),
    "SequenceMask": use("sequence_mask", SEQUENCES, spell=with_lengths),
    "SequenceReverse": use("sequence_reverse", SEQUENCES, spell=with_lengths),
    "SoftmaxActivation": Choice(
        "mode",
        {
            "channel": use("softmax", "data -mode", axis=1),
            "instance": use("softmax", whole_samples),
        },
    ),
    "_contrib_BatchNormWithReLU": use("batch_norm_relu", batch_normalised, spell=along_channels),
    "_contrib_SyncBatchNorm": use("batch_norm", batch_normalised, spell=in_step),
    "log_softmax": use("log_softmax", "data axis"),
    "masked_log_softmax": use("masked_log_softmax", "data mask axis"),
    "masked_softmax": use("masked_softmax", "data mask axis"),
    "softmax": use("softmax", "data axis"),
    "softmin": use("softmin", "data axis"),
}

PREDICTION = use("identity", "x=data -label -use_linear")

LOSSES: Table = {
    "CTCLoss": use("ctc_loss", "data label"),
    # Of output layers, the output is the prediction.
    "LinearRegressionOutput": PREDICTION,
    "LogisticRegressionOutput": use("sigmoid", "x=data -label"),
    "MAERegressionOutput": PREDICTION,
    "SVMOutput": PREDICTION,
    "SoftmaxOutput": use("softmax", "data -label -multi_output", axis=1),
    "smooth_l1": use("smooth_l1", "x=data sigma=scalar"),
    "softmax_cross_entropy": use("softmax_cross_entropy", "data label"),
}

WIDEST = 2**31 - 1
"""The largest number with a sign of 32 bits."""


def largest(min_range: Array, max_range: Array) -> Array:
    """The end of a range around zero."""
    import numpy as np

    return np.maximum(abs(min_range), abs(max_range))


def dequantized(data: Array, min_range: Array, max_range: Array) -> dict[str, Any]:
    """The end of the range is half a number beyond the largest one, as oneDNN has it."""
    import numpy as np

    scale = largest(min_range, max_range) / (np.iinfo(data.dtype).max + 0.5)
    return {"data": data, "scale": scale}


def requantized(
    data: Array,
    min_range: Array,
    max_range: Array,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> dict[str, Any]:
    """What numbers of 32 bits stand for, and the range given or that of the values."""
    values = data * (largest(min_range, max_range) / WIDEST)
    if min_calib_range is None or max_calib_range is None:
        return {"x": values, "end": abs(values).max()}
    return {"x": values, "end": max(abs(min_calib_range), abs(max_calib_range))}


def with_range(made: Array, arguments: Values) -> Written:
    """Numbers, and the ends of their range."""
    import numpy as np

    end = np.full(1, requantized(**arguments)["end"])
    return Written((made, -end, end))


QUANTISED: Table = {
    "_contrib_dequantize": use("dequantize", dequantized),
    "_contrib_requantize": use("quantize_symmetric", requantized, with_range),
}
