"""MXNet's layers: convolutions, activations, normalisation, sequences, losses, quantisation."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import ANYTHING, Array, Choice, Table, Use, Values, Written, use

SPATIAL = "stride dilation=dilate padding=pad"
CONVOLVED = f"data weight bias {SPATIAL} groups=num_group"

# What the weights' shape says already is given once more.
CONVOLUTION = use("convolution", f"{CONVOLVED} -kernel -num_filter -layout")
DECONVOLUTION = use("deconvolution", f"{CONVOLVED} -kernel -num_filter -layout -no_bias")
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


def unit_length(axes: tuple[int, ...]) -> Use:
    """Along these axes of images."""
    return use("unit_length", "data -mode", axes=axes, epsilon=1e-10)


SCALED = "data scale=gamma shift=beta"
SEQUENCES = "data lengths=sequence_length -use_sequence_length"
BATCH_NORM = use("batch_norm", batch_normalised)

LAYERS: Table = {
    "Activation": Choice("act_type", ACTIVATIONS),
    "BatchNorm": BATCH_NORM,
    # Cases are run as in training, whatever the mode is called.
    "Dropout": use("dropout", "data rate=p axes -mode"),
    "FullyConnected": use("dense", rows),
    "GroupNorm": use("group_norm", grouped),
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
    "SequenceLast": use("sequence_last", SEQUENCES),
    "SequenceMask": use("sequence_mask", SEQUENCES),
    "SequenceReverse": use("sequence_reverse", SEQUENCES),
    "SoftmaxActivation": Choice(
        "mode",
        {
            "channel": use("softmax", "data -mode", axis=1),
            "instance": use("softmax", whole_samples),
        },
    ),
    "_contrib_BatchNormWithReLU": use("batch_norm_relu", batch_normalised),
    "_contrib_SyncBatchNorm": BATCH_NORM,
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
