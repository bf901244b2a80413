"""MXNet's layers: activations, normalisation, sequences, losses, quantisation."""

from __future__ import annotations

from typing import Any

import msgspec

from opperf.model import Operator
from opperf.operations.uses import ANYTHING, Array, Choice, Table, Use, Values, Written, use
from opperf.rules.configurations import PHASE
from opperf.rules.families.normalisation import running_statistics

SLOPE = 0.25
"""MXNet's default factor of negative values."""

RANDOM_SLOPE = (0.125 + 0.334) / 2
"""The slope in the predict phase: the middle of the range that is drawn from in the train phase."""

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
    # The slopes are an output too, which is written in the train phase alone.
    "rrelu": use(
        "leaky_relu",
        ACTIVATED,
        lambda made, arguments: Written((made, ANYTHING)),
        slope=RANDOM_SLOPE,
    ),
    "selu": use("selu", ACTIVATED),
}


def sample_roles(data: Array, mode: str) -> dict[str, Any]:
    """Data with each sample as one row."""
    return {"data": data.reshape(len(data), -1)}


def dense_roles(
    data: Array, weight: Array, bias: Array, num_hidden: int, flatten: bool
) -> dict[str, Any]:
    """Data with rows of whole samples or of the last axis, weights and bias."""
    assert len(weight) == num_hidden
    flat = data.reshape(len(data), -1) if flatten else data
    return {"data": flat, "weight": weight, "bias": bias}


def batch_norm_roles(
    data: Array, gamma: Array, beta: Array, fix_gamma: bool, axis: int = 1, **other: Any
) -> dict[str, Any]:
    """Data, scale and shift of channels. The train phase does not read the running statistics; a
    fixed scale is one."""
    assert other.keys() <= {"moving_mean", "moving_var", "ndev", "key"}
    scale = gamma * 0 + 1 if fix_gamma else gamma
    return {"data": data, "scale": scale, "shift": beta, "axis": axis, "epsilon": 1e-3}


def batch_norm_inference_roles(
    moving_mean: Array, moving_var: Array, **arguments: Any
) -> dict[str, Any]:
    """As `batch_norm_roles`, with the running statistics."""
    return {**batch_norm_roles(**arguments), "mean": moving_mean, "variance": moving_var}


def group_norm_roles(data: Array, gamma: Array, beta: Array, num_groups: int) -> dict[str, Any]:
    """Data, scale and shift of channels, from MXNet 1's scale and shift of groups."""
    times = data.shape[1] // len(gamma)
    scale, shift = gamma.repeat(times), beta.repeat(times)
    return {"data": data, "scale": scale, "shift": shift, "groups": num_groups, "epsilon": 1e-5}


def dense_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a dense layer along the last axis."""
    return {**roles, "num_hidden": roles["weight"].shape[0], "flatten": False}


def with_statistics(roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of batch normalisation: data, scale and shift, and the running statistics, which
    take no gradient; the train phase takes them too."""
    channels = roles["scale"].shape[0]
    statistics = {**running_statistics(channels), **roles}
    return {
        "data": roles["data"],
        "gamma": roles["scale"],
        "beta": roles["shift"],
        "moving_mean": statistics["mean"],
        "moving_var": statistics["variance"],
        "fix_gamma": False,
    }


def batch_norm_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of batch normalisation, with the axis of channels."""
    return {**with_statistics(roles), "axis": roles.get("axis", 1)}


def across_devices_arguments(roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of batch normalisation across devices, with one device, which waits for no other.
    Layers with the same key share memory while the process lives, so each width has its own."""
    return {**with_statistics(roles), "ndev": 1, "key": f"opperf-{roles['data'].shape[1]}"}


def sync_batch_norm_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments of `across_devices_arguments` where channels are in the second axis."""
    return across_devices_arguments(roles) if roles["axis"] == 1 else None


def group_norm_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of group normalisation. MXNet 1 has a scale for each group; MXNet 2, where `npx`
    has the operator too, one for each channel."""
    groups = roles["groups"]
    scales = {"gamma": roles["scale"], "beta": roles["shift"]}
    if "_npx_group_norm" not in operator.names:
        scales = {
            name: msgspec.structs.replace(one, shape=(groups,)) for name, one in scales.items()
        }
    return {"data": roles["data"], **scales, "num_groups": groups}


def sequence_last_roles(data: Array, axis: int = 0, **others: Any) -> dict[str, Any]:
    """Sequences with time along the first axis, and the length of each if there are lengths."""
    assert others.keys() <= {"sequence_length", "use_sequence_length"}
    lengths = {"lengths": others["sequence_length"]} if "sequence_length" in others else {}
    return {"data": data.swapaxes(0, axis), **lengths}


def sequence_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Sequences, the length of each if there are lengths, and whether there are."""
    if "lengths" not in roles:
        return {"data": roles["data"]}
    return {
        "data": roles["data"],
        "sequence_length": roles["lengths"],
        "use_sequence_length": True,
    }


def softmax_arguments(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of softmax, with whether there are lengths."""
    names = {"lengths": "length"}
    lengths = {"use_length": True} if "lengths" in roles else {}
    return {names.get(role, role): value for role, value in roles.items()} | lengths


def unit_length(first: int, last: int | None, least: int) -> Use:
    """The use of division by the length along the axes from `first` to, not including, `last`, of
    tensors of at least so many axes."""

    def axes(data: Any) -> tuple[int, ...]:
        return tuple(range(len(data.shape)))[first:last]

    def roles(data: Array, mode: str) -> dict[str, Any]:
        return {"data": data, "axes": axes(data), "epsilon": 1e-10}

    def arguments(operator: Operator, inputs: dict[str, Any]) -> dict[str, Any] | None:
        data = inputs["data"]
        fits = len(data.shape) >= least and inputs["axes"] == axes(data)
        return {"data": data} if fits else None

    return use("unit_length", roles, to_arguments=arguments)


def by_phase(train: Use, predict: Use) -> Choice:
    """The uses of an operator that is two operations, one in each phase."""
    return Choice(PHASE, {"train": train, "predict": predict})


SCALED = "data scale=gamma shift=beta"
SOFTMAX = "data axis temperature"
SEQUENCES = "data lengths=sequence_length -use_sequence_length"
BATCH_NORM = use("batch_norm", batch_norm_roles, to_arguments=batch_norm_arguments)
TRAINING = {"mode": "training"}
"""`Dropout` has a mode of its own besides the phase."""

LAYERS: Table = {
    "Activation": Choice("act_type", ACTIVATIONS),
    "BatchNorm": by_phase(
        BATCH_NORM,
        use(
            "batch_norm_inference",
            batch_norm_inference_roles,
            to_arguments=batch_norm_arguments,
        ),
    ),
    "Dropout": by_phase(
        use("dropout", "data rate=p axes -mode", also=TRAINING),
        use("dropout_inference", "data rate=p -mode", also=TRAINING),
    ),
    "FullyConnected": use("dense", dense_roles, to_arguments=dense_arguments),
    "GroupNorm": use("group_norm", group_norm_roles, to_arguments=group_norm_arguments),
    "InstanceNorm": use("instance_norm", SCALED, epsilon=1e-3),
    "L2Normalization": Choice(
        "mode",
        {
            "instance": unit_length(1, None, least=2),
            "channel": unit_length(1, 2, least=3),
            "spatial": unit_length(2, None, least=3),
        },
    ),
    "LRN": use("local_response_norm", "data alpha beta offset=knorm channels=nsize"),
    "LayerNorm": use("layer_norm", f"{SCALED} axis", epsilon=1e-5),
    "LeakyReLU": Choice("act_type", LEAKY),
    "SequenceLast": use("sequence_last", sequence_last_roles, to_arguments=sequence_arguments),
    "SequenceMask": use("sequence_mask", SEQUENCES, to_arguments=sequence_arguments),
    "SequenceReverse": use("sequence_reverse", SEQUENCES, to_arguments=sequence_arguments),
    "SoftmaxActivation": Choice(
        "mode",
        {
            "channel": use("softmax", "data -mode", axis=1),
            "instance": use("softmax", sample_roles),
        },
    ),
    "_contrib_BatchNormWithReLU": by_phase(
        use("batch_norm_relu", batch_norm_roles, to_arguments=batch_norm_arguments),
        use(
            "batch_norm_relu_inference",
            batch_norm_inference_roles,
            to_arguments=batch_norm_arguments,
        ),
    ),
    "_contrib_SyncBatchNorm": by_phase(
        use("batch_norm", batch_norm_roles, to_arguments=sync_batch_norm_arguments),
        use(
            "batch_norm_inference",
            batch_norm_inference_roles,
            to_arguments=sync_batch_norm_arguments,
        ),
    ),
    "log_softmax": use("log_softmax", SOFTMAX),
    "masked_log_softmax": use("masked_log_softmax", "data mask axis"),
    "masked_softmax": use("masked_softmax", "data mask axis"),
    "softmax": use(
        "softmax",
        f"{SOFTMAX} lengths=length -use_length",
        to_arguments=softmax_arguments,
    ),
    "softmin": use("softmin", SOFTMAX),
}

PREDICTION = use("identity", "x=data -label -use_linear")

LOSSES: Table = {
    "CTCLoss": use("ctc_loss", "data label"),
    # The output of an output layer is the prediction; the label affects the gradient alone.
    "LinearRegressionOutput": PREDICTION,
    "LogisticRegressionOutput": use("sigmoid", "x=data -label"),
    "MAERegressionOutput": PREDICTION,
    "SVMOutput": PREDICTION,
    "SoftmaxOutput": use(
        "softmax", "data -label -multi_output -use_ignore -ignore_label -out_grad", axis=1
    ),
    "smooth_l1": use("smooth_l1", "x=data sigma=scalar"),
    "softmax_cross_entropy": use("softmax_cross_entropy", "data label"),
}

WIDEST = 2**31 - 1
"""The largest signed 32-bit integer."""


def range_end(min_range: Array, max_range: Array) -> Array:
    """The end of a range that is symmetric about zero."""
    import numpy as np

    return np.maximum(abs(min_range), abs(max_range))


def dequantize_roles(data: Array, min_range: Array, max_range: Array) -> dict[str, Any]:
    """Numbers and their scale, which takes the end of the range to half a step beyond the largest
    number, as in oneDNN."""
    import numpy as np

    scale = range_end(min_range, max_range) / (np.iinfo(data.dtype).max + 0.5)
    return {"data": data, "scale": scale}


def requantize_roles(
    data: Array,
    min_range: Array,
    max_range: Array,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> dict[str, Any]:
    """Values that 32-bit numbers represent, and the end of the calibrated range or of their own."""
    values = data * (range_end(min_range, max_range) / WIDEST)
    if min_calib_range is None or max_calib_range is None:
        return {"x": values, "end": abs(values).max()}
    return {"x": values, "end": max(abs(min_calib_range), abs(max_calib_range))}


def requantize_output(made: Array, arguments: Values) -> Written:
    """Requantised numbers, and both ends of their range."""
    import numpy as np

    end = np.full(1, requantize_roles(**arguments)["end"])
    return Written((made, -end, end))


QUANTISED: Table = {
    "_contrib_dequantize": use("dequantize", dequantize_roles),
    "_contrib_requantize": use("quantize_symmetric", requantize_roles, requantize_output),
}
