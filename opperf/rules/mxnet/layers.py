"""Layers with options that only MXNet has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from opperf.model import Operator
from opperf.operations.uses import (
    ANYTHING,
    Array,
    Choice,
    Table,
    ToArguments,
    Use,
    Values,
    Written,
    merge,
    use,
)
from opperf.rules.bert import FEED_FORWARD, few_sentences
from opperf.rules.configurations import PHASE, WHY
from opperf.rules.deviations import NotFinite
from opperf.rules.families.layers import classifiers, outputs
from opperf.rules.families.normalisation import running_statistics
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape
from opperf.rules.sizes import Preset
from opperf.rules.values import PROBABILITY, Arguments, call, tensor
from opperf.rules.variants import Variants, add_rows

SLOPE = 0.25
"""MXNet's default factor of negative values."""

MIDDLE = (0.125 + 0.334) / 2
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


def leaky_roles(data: Array, act_type: str = "leaky", slope: float = SLOPE) -> dict[str, Any]:
    """The tensor and the factor of negative numbers."""
    return {"x": data, "slope": slope}


LEAKY = {
    "elu": use("elu", ACTIVATED, slope=SLOPE),
    "gelu": use("gelu", ACTIVATED),
    "gelu_erf": use("gelu", ACTIVATED),
    "gelu_tanh": use("gelu_tanh", ACTIVATED),
    "leaky": use("leaky_relu", leaky_roles),
    "prelu": use("leaky_relu", f"{ACTIVATED} slope=gamma"),
    # The slopes are an output too, which is written in the train phase alone.
    "rrelu": use("leaky_relu", ACTIVATED, lambda made, _: Written((made, ANYTHING)), slope=MIDDLE),
    "selu": use("selu", ACTIVATED),
}


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
    """Data, scale and shift of channels: training reads no running statistics."""
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
    """Arguments of batch normalisation, which takes running statistics in the train phase too."""
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
    """Arguments of group normalisation: MXNet 1 has scales of groups, MXNet 2 of channels."""
    groups = roles["groups"]
    scales = {"gamma": roles["scale"], "beta": roles["shift"]}
    if "_npx_group_norm" not in operator.names:
        scales = {key: msgspec.structs.replace(one, shape=(groups,)) for key, one in scales.items()}
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
    return {"data": roles["data"], "sequence_length": roles["lengths"], "use_sequence_length": True}


def with_lengths(operator: Operator, roles: dict[str, Any]) -> dict[str, Any]:
    """Arguments of softmax, with whether there are lengths."""
    names = {"lengths": "length"}
    lengths = {"use_length": True} if "lengths" in roles else {}
    return {names.get(role, role): value for role, value in roles.items()} | lengths


def unit_length(first: int, last: int | None, least: int) -> Use:
    """Division by the length along axes from `first` until `last`, of tensors of `least` axes."""

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


def normalised(operation: str, arguments: ToArguments) -> Choice:
    """The uses of a batch normalisation, which reads its statistics in the predict phase."""
    return by_phase(
        use(operation, batch_norm_roles, to_arguments=arguments),
        use(f"{operation}_inference", batch_norm_inference_roles, to_arguments=arguments),
    )


SCALED = "data scale=gamma shift=beta"
SOFTMAX = "data axis temperature"
SEQUENCES = "data lengths=sequence_length -use_sequence_length"
TRAINING = {"mode": "training"}
"""`Dropout` has a mode of its own besides the phase."""

LAYERS: Table = {
    "Activation": Choice("act_type", ACTIVATIONS),
    "BatchNorm": normalised("batch_norm", batch_norm_arguments),
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
            "instance": use("softmax", lambda data, mode: {"data": data.reshape(len(data), -1)}),
        },
    ),
    "_contrib_BatchNormWithReLU": normalised("batch_norm_relu", batch_norm_arguments),
    "_contrib_SyncBatchNorm": normalised("batch_norm", sync_batch_norm_arguments),
    "log_softmax": use("log_softmax", SOFTMAX),
    "masked_log_softmax": use("masked_log_softmax", "data mask axis"),
    "masked_softmax": use("masked_softmax", "data mask axis"),
    "softmax": use("softmax", f"{SOFTMAX} lengths=length -use_length", to_arguments=with_lengths),
    "softmin": use("softmin", SOFTMAX),
}

WIDEST = 2**31 - 1
"""The largest signed 32-bit integer."""


def range_end(min_range: Array, max_range: Array) -> Array:
    """The end of a range that is symmetric about zero."""
    import numpy as np

    return np.maximum(abs(min_range), abs(max_range))


def dequantize_roles(data: Array, min_range: Array, max_range: Array) -> dict[str, Any]:
    """Numbers and their scale: the range ends half a step beyond the largest, as oneDNN's."""
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

OPERATIONS: Table = merge(LAYERS, QUANTISED)

FAMILIES = Families()

TRAIN_PHASE = frozenset({"Dropout"})
"""In the predict phase it only copies its input."""
NOT_FINITE = {"LeakyReLU": NotFinite("only training writes its slopes", {"act_type": "rrelu"})}

KINDS = {
    "elu": "ELU",
    "prelu": "PReLU with a learned slope for each column",
    "rrelu": "randomised leaky ReLU",
    "selu": "SELU in self-normalising networks",
}
"""Activations of any layer by MXNet's names for them."""


def feed_forward(size: Preset) -> Shape:
    """Shape of the units inside a feed-forward block of BERT-base and GPT-2."""
    return few_sentences(size, FEED_FORWARD)


def discriminated(size: Preset) -> Shape:
    """Shape of the first maps of DCGAN's discriminator (Radford et al., 2016)."""
    return network_maps(size, 64, 32, 32, samples=32)


OF_MODELS: dict[str, tuple[Callable[[Preset], Shape], str, Arguments]] = {
    "gelu": (feed_forward, "GELU in BERT's feed-forward blocks", {}),
    "gelu_erf": (feed_forward, "GELU by the error function, in BERT's feed-forward blocks", {}),
    "gelu_tanh": (feed_forward, "GELU by tanh, in GPT-2's feed-forward blocks", {}),
    "leaky": (discriminated, "leaky ReLU in DCGAN's discriminator", {"slope": 0.2}),
}
"""Activations of some model's layer, by MXNet's names: the shape, why, and options."""


def kinds(operator: Operator) -> tuple[str, ...]:
    """Every activation that this build's operator has."""
    choice = operator.parameter("act_type")
    return choice.choices if choice is not None else ()


@FAMILIES.add("LeakyReLU", replaces="each of its activations is a kernel that takes the same maps")
def leaky_relu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor for each activation; PReLU has a slope for each column. RReLU takes no gradient: it
    needs the slopes of the train phase, in which it crashes in MXNet 1.9.1 and 2.0."""
    for kind in kinds(operator):
        if kind in OF_MODELS:
            of_model, why, options = OF_MODELS[kind]
            yield {WHY: why, "data": tensor(*of_model(size)), "act_type": kind, **options}
            continue
        for what, shape in outputs(size):
            slopes: Arguments = (
                {"gamma": tensor(shape[-1], fill=PROBABILITY)} if kind == "prelu" else {}
            )
            data, why = tensor(*shape, gradient=kind != "rrelu"), f"{KINDS.get(kind, kind)}: {what}"
            yield {WHY: why, "data": data, **slopes, "act_type": kind}


VARIANTS: dict[str, Variants] = {
    "FullyConnected": lambda size: {
        "AlexNet, the first dense layer, of whole maps, which it flattens": call(
            data=tensor(*(maps := network_maps(size, 256, 6, 6))),
            weight=tensor(hidden := size.extent(4096), math.prod(maps[1:])),
            bias=tensor(hidden),
            num_hidden=hidden,
            flatten=True,
        )
    }
}
add_rows(FAMILIES.add, VARIANTS)


@FAMILIES.add("SoftmaxActivation", replaces="it has modes in place of an axis")
def softmax_activation(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores of classes, of whole samples and of each pixel."""
    for why, shape in classifiers(size):
        yield {WHY: why, "data": tensor(*shape), "mode": "instance"}
    why = "the classes of each pixel, as a network segments images: channels are far apart"
    yield {WHY: why, "data": tensor(*feature_maps(size)), "mode": "channel"}
