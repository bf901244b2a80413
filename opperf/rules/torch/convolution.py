"""Families of PyTorch's convolutions, and of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from opperf.model import Argument, Kind, Operator, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import ENLARGED, FORM, MAPS, TAGS, WHY, inputs_of, notes_of
from opperf.rules.families.convolution import layer
from opperf.rules.image_shapes import Window, feature_maps, network_maps, photographs, video
from opperf.rules.image_shapes import layers as stable_diffusion
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import IMAGES, Preset
from opperf.rules.torch.operations.convolutions import OPERATIONS, convolution_arguments
from opperf.rules.torch.roles import by_role
from opperf.rules.values import Arguments, fixed, taken, tensor

FAMILIES = Families()

NOT_BENCHMARKED = dict.fromkeys(
    ("convolution_overrideable", "convolution_backward_overrideable"),
    "a place for kernels of backends in other packages: PyTorch's own only raises an error",
)
"""Operators that cannot be called on their own, each with the reason."""


def transposed(window: Window, further: int = 0) -> Roles:
    """A transposed convolution's inputs."""
    data, weight = window.shape[1], window.filters // window.groups
    return {
        "data": tensor(*window.shape),
        "weight": tensor(data, weight, *window.along(window.kernel)),
        "bias": tensor(window.filters),
        "stride": window.along(window.stride),
        "dilation": window.along(window.dilate),
        "padding": window.along(window.pad),
        **({"groups": window.groups} if window.groups > 1 else {}),
        **({"output_padding": window.along(further)} if further else {}),
    }


@FAMILIES.also("conv1d.default")
@by_role(OPERATIONS)
def speech_layers(operation: CanonicalOperation, size: Preset) -> Rows:
    """Layers of networks for sound, one dilated and one of each channel alone."""
    frames = network_maps(size, 512, 200)
    return {
        "wav2vec 2.0, the first layer, of a second of sound: steps of five samples": layer(
            Window((1, 1, size.extent(16000, least=640)), 512, kernel=10, stride=5), biased=False
        ),
        "Conv-TasNet, dilated, depthwise": layer(Window(frames, 512, pad=8, dilate=8, groups=512)),
        "Conformer, depthwise in time": layer(Window(frames, 512, kernel=31, pad=15, groups=512)),
    }


@FAMILIES.also("conv3d.default")
@by_role(OPERATIONS)
def volume_layers(operation: CanonicalOperation, size: Preset) -> Rows:
    """Layers of networks for video, one of one axis at a time."""
    clip = network_maps(size, 64, 16, 56, 56, samples=1)
    plain = layer(Window(network_maps(size, 144, 16, 56, 56, samples=1)), biased=False)
    return {
        "R(2+1)D, along time": {**plain, "weight": tensor(64, 144, 3, 1, 1), "padding": (1, 0, 0)},
        "3D ResNet-18, stage 1": {TAGS: (MAPS,), **layer(Window(clip, pad=1), biased=False)},
    }


@FAMILIES.also("conv_transpose2d", "convolution.default")
@by_role(OPERATIONS)
def enlarging_layers(operation: CanonicalOperation, size: Preset) -> Rows:
    """Layers that enlarge, one with an extent that the stride leaves open."""
    if operation.name == "convolution":
        return {}
    joined = network_maps(size, 512, 32, 32, samples=1)
    return {
        "CycleGAN, the first enlargement: 3 x 3 at steps of two, and one row more": transposed(
            Window(network_maps(size, 256, 64, 64, samples=1), 128, stride=2, pad=1), further=1
        ),
        "pix2pix, an enlargement: 4 x 4 at steps of two": {
            TAGS: (ENLARGED,),
            **transposed(Window(joined, 128, kernel=4, stride=2, pad=1)),
        },
    }


Layers = tuple[tuple[str, Callable[[Preset], Window]], ...]
"""Layers, each with why it is measured."""


def of(*sample: int, samples: int = IMAGES, **window: int) -> Callable[[Preset], Window]:
    """A window over feature maps of these channels and sides."""
    return lambda size: Window(network_maps(size, *sample, samples=samples), **window)


WINDOWS: Layers = (
    ("ResNet-50, stage 1, 3 x 3", lambda size: Window(feature_maps(size), pad=1)),
    ("ResNet-50, first layer", lambda size: Window(photographs(size), kernel=7, stride=2, pad=3)),
    ("DeepLab, stage 3, dilated", of(256, 28, 28, samples=2, filters=256, pad=2, dilate=2)),
    ("MobileNet, depthwise", of(512, 14, 14, filters=512, pad=1, groups=512)),
    ("C3D, the first layer, of images half as wide", lambda size: Window(video(size), pad=1)),
    ("segmenting volumes, dilated", of(32, 16, 16, 16, samples=1, filters=32, pad=2, dilate=2)),
    ("X3D, depthwise on all axes", of(108, 16, 28, 28, samples=1, filters=108, pad=1, groups=108)),
)
"""Layers of images and of video, for operators that are one kernel of a convolution."""

ENLARGING: Layers = (
    ("DCGAN, the generator's second layer", of(512, 8, 8, filters=256, kernel=4, stride=2, pad=1)),
    ("U-Net, the second enlargement", of(512, 28, 28, samples=2, filters=256, kernel=2, stride=2)),
    ("3D U-Net, an enlargement", of(256, 8, 8, 8, samples=1, filters=256, kernel=2, stride=2)),
)
"""Layers that enlarge, of images and of volumes."""


DILATED: Layers = (
    *(layer for layer in WINDOWS if layer[0].endswith("dilated")),
    ("DeepLab v3, a branch", of(2048, 28, 28, samples=1, filters=256, pad=12, dilate=12)),
)
"""Layers whose kernels read elements that are apart."""


@FAMILIES.add(
    *("slow_conv_dilated2d", "slow_conv_dilated3d"),
    replaces="PyTorch has dilated layers alone by it",
)
@by_role(OPERATIONS)
def dilated_kernels(operation: CanonicalOperation, size: Preset) -> Rows:
    """Layers of which the elements of a window are apart."""
    return {why: layer(window(size)) for why, window in DILATED}


@FAMILIES.add(
    *("thnn_conv2d", "slow_conv3d", "slow_conv3d_forward", "slow_conv_transpose2d"),
    *("slow_conv_transpose3d", "mkldnn_convolution"),
    replaces="each kernel takes some of the layers alone",
)
@by_role(OPERATIONS)
def kernels(operation: CanonicalOperation, size: Preset) -> Rows:
    """Layers for one kernel of a convolution, of which each takes those that it can."""
    if operation.name == "convolution":
        return {why: layer(window(size)) for why, window in WINDOWS}
    return {why: transposed(window(size)) for why, window in ENLARGING}


def output_of(roles: Mapping[str, Any], is_transposed: bool = False) -> TensorSpec:
    """A tensor of the shape and of the order of axes of a layer's output."""
    data: TensorSpec = roles["data"]
    weight: TensorSpec = roles["weight"]
    filters = weight.shape[1] * roles.get("groups", 1) if is_transposed else weight.shape[0]
    further = roles.get("output_padding", (0,) * len(roles["stride"]))
    kept = (roles[name] for name in ("stride", "padding", "dilation"))
    sides = [
        (e - 1) * s + d * (k - 1) + 1 - 2 * p + add
        if is_transposed
        else (e + 2 * p - d * (k - 1) - 1) // s + 1
        for e, k, s, p, d, add in zip(data.shape[2:], weight.shape[2:], *kept, further, strict=True)
    ]
    return msgspec.structs.replace(data, shape=(data.shape[0], filters, *sides))


def layers_of(is_transposed: bool, size: Preset) -> Iterable[Roles]:
    """The layers of one direction, without a bias."""
    for why, window in ENLARGING if is_transposed else WINDOWS:
        made = (transposed if is_transposed else layer)(window(size))
        yield {WHY: why, **{name: value for name, value in made.items() if name != "bias"}}


@FAMILIES.add(
    *("cudnn_convolution", "cudnn_convolution_transpose", "miopen_convolution"),
    *("miopen_convolution_transpose", "conv_depthwise3d", "miopen_depthwise_convolution"),
)
def of_gpu(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers for the kernels of cuDNN, MIOpen and CUDA."""
    volumes = operator.name == "conv_depthwise3d"
    for roles in layers_of("transpose" in operator.name, size):
        alone = roles.get("groups", 1) != 1
        if alone < ("depthwise" in operator.name) or volumes > (axes_of(roles) == 3):
            continue
        inputs = inputs_of(roles)
        if volumes:
            # The number of groups is that of channels.
            inputs.pop("groups")
        made = convolution_arguments(operator, inputs)
        if made is not None:
            off = {
                flag.name: False
                for flag in operator.parameters
                if flag.kind is Kind.BOOL and flag.required and flag.name != "transposed"
            }
            yield {WHY: roles[WHY], **made, **off}


def axes_of(roles: Mapping[str, Any]) -> int:
    """The number of spatial axes of a layer's maps."""
    return len(roles["data"].shape) - 2


@FAMILIES.add(
    *("cudnn_convolution_relu", "cudnn_convolution_add_relu"),
    *("miopen_convolution_relu", "miopen_convolution_add_relu"),
)
def fused(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers with what follows them, as a compiler joins them for cuDNN and MIOpen to compute."""
    for why, window in WINDOWS[:2]:
        roles = layer(window(size))
        made = convolution_arguments(operator, roles)
        assert made is not None
        added: Arguments = {}
        if operator.parameter("z") is not None:
            added = {"z": output_of(roles), "alpha": 1.0}
        yield {WHY: f"{why}, with its ReLU", **made, **added}


@FAMILIES.add("conv_tbc", "conv_tbc_backward")
def time_first(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers over sentences, with time along the first axis."""
    for why, channels, filters, kernel in (
        ("ConvS2S, a layer of the encoder, which its gates follow: of three words", 512, 1024, 3),
        ("TextCNN, time along the first axis: of five words", 300, 100, 5),
    ):
        data, made = (
            tensor(size.extent(32, least=8), size.batch, width) for width in (channels, filters)
        )
        passed = {"self": data} if operator.name == "conv_tbc" else {"self": made, "input": data}
        yield {
            **{WHY: why, **passed, "pad": kernel // 2},
            "weight": tensor(kernel, channels, filters),
            "bias": tensor(filters),
        }


BORDERS_BY_WORD = {
    "conv1d": (
        ("TCN, a dilated layer", "same", (64, 400), 64, 3, 2, True),
        ("16 channels of EEG, filter of 51 samples", "same", (16, 512), 16, 51, 1, True),
    ),
    "conv2d": (
        ("Keras's VGG-16, second block", "same", (128, 112, 112), 128, 3, 1, True),
        ("Keras's Inception v3, second layer, no border", "valid", (32, 149, 149), 32, 3, 1, False),
        ("EfficientNet-B0, the head's 1 x 1", "same", (320, 7, 7), 1280, 1, 1, False),
    ),
    "conv3d": (
        ("nnU-Net, the first stage on a patch", "same", (32, 16, 32, 32), 32, 3, 1, True),
        ("3D U-Net, second layer, no border", "valid", (32, 16, 32, 32), 64, 3, 1, True),
    ),
}
"""By operator: why, the border, a sample's extents, filters, the kernel's extent, its dilation, and
whether there is a bias: batch normalisation has one of its own."""


@FAMILIES.add(*(f"{name}.padding" for name in BORDERS_BY_WORD), replaces="the border is a word")
def border_by_word(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers with the word for the border that keeps the extents, and with that for none."""
    for why, border, sample, filters, kernel, dilation, biased in BORDERS_BY_WORD[operator.name]:
        channels, *sides = sample
        yield {
            WHY: why,
            "input": tensor(*network_maps(size, channels, *sides, samples=4)),
            "weight": tensor(filters, channels, *(kernel,) * len(sides)),
            **({"bias": tensor(filters)} if biased else {}),
            "padding": border,
            **({"dilation": (dilation,) * len(sides)} if dilation > 1 else {}),
        }


@FAMILIES.add("mkldnn_reorder_conv2d_weight", "mkldnn_reorder_conv3d_weight")
def reordered_weights(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Weights that oneDNN puts in the order of its kernels, once for a network that predicts."""
    axes, network = (2, "ResNet") if "2d" in operator.name else (3, "3D ResNet")
    for why, filters, kernel in (
        (f"weights of a {network}'s stage 4, 3 wide", 512, 3),
        (f"weights of a {network}'s stage 3, 1 wide", 256, 1),
    ):
        # Weights do not grow with the size; of the smallest there are fewer.
        width = size.extent(filters, least=32) if size.scale < 1 else filters
        weight = fixed(width, width, *(kernel,) * axes)
        yield {
            **{WHY: why, TAGS: (FORM,), "padding": (kernel // 2,) * axes},
            "self": msgspec.structs.replace(weight, layout="mkldnn"),
        }


@FAMILIES.also("conv2d.default")
def of_diffusion(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of 3 x 3 of Stable Diffusion."""
    for block in stable_diffusion(size):
        made: Arguments = {"input": block.maps, "weight": block.weight, "bias": block.bias}
        yield {**made, "padding": (1, 1), **block.notes}


ALL_THREE = (True, True, True)
"""Gradients to compute: of the data, the weights and the bias."""


def _gradient_arguments(roles: Mapping[str, Any], is_transposed: bool) -> dict[str, Argument]:
    made = output_of(roles, is_transposed)
    return {
        "grad_output": made,
        "input": roles["data"],
        "weight": roles["weight"],
        "bias_sizes": (made.shape[1],),
        **{name: roles[name] for name in ("stride", "padding", "dilation")},
        "transposed": is_transposed,
        "output_padding": roles.get("output_padding", (0,) * len(roles["stride"])),
        "groups": roles.get("groups", 1),
        "output_mask": ALL_THREE,
    }


@FAMILIES.also("convolution_backward.default")
def gradients(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of a layer that is dilated, of one that enlarges and of one of video."""
    (_, plain), _, (_, dilated), _, (_, volume), *_ = WINDOWS
    for why, roles, is_transposed in (
        ("ResNet-50, stage 1, 3 x 3", {TAGS: (MAPS,), **layer(plain(size))}, False),
        ("DeepLab, stage 3, dilated", layer(dilated(size)), False),
        ("DCGAN, the generator's second layer", transposed(ENLARGING[0][1](size)), True),
        ("C3D, the first layer, of images half as wide", layer(volume(size)), False),
    ):
        yield {**notes_of(roles), WHY: why, **_gradient_arguments(roles, is_transposed)}


@FAMILIES.add("mps_convolution_backward", "mps_convolution_transpose_backward")
def gradients_of_mps(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of layers, by Apple's kernels."""
    is_transposed = "transpose" in operator.name
    for roles in layers_of(is_transposed, size):
        if axes_of(roles) == 2:
            made = _gradient_arguments(roles, is_transposed)
            few = {"output_mask": (True, True) if is_transposed else ALL_THREE}
            yield {WHY: roles[WHY], "self": roles["data"], **taken(operator, made), **few}
