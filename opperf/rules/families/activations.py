"""Activations, each at the shapes of networks that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opperf.model import Argument
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import FEED_FORWARD, sentences
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import FEW, Shape, in_cache, square, tiny
from opperf.rules.sizes import IMAGES, Preset
from opperf.rules.values import tensor

FAMILIES = Families()

ShapeOf = Callable[[Preset], Shape]


def feed_forward(size: Preset) -> Shape:
    """Shape of the vectors inside BERT-base's feed-forward blocks."""
    return sentences(size, FEED_FORWARD)


def text(size: Preset, width: int, tokens: int = 1024) -> Shape:
    """Shape of one long text, a vector of this width for each token."""
    return (1, size.extent(tokens), width)


def maps(channels: int, side: int, samples: int = IMAGES) -> ShapeOf:
    """Shape of feature maps of a network, by their channels and side."""
    return lambda size: network_maps(size, channels, side, side, samples=samples)


def atoms(width: int) -> ShapeOf:
    """Shape of the vectors of a batch of molecules' atoms of one element, of this width."""
    return lambda size: (size.extent(10000), width)


Uses = tuple[tuple[str, ShapeOf], ...]
"""Why an activation is measured, and the shape."""

SHRUNK: Uses = (
    ("sparse codes of a batch of patches, shrunk in each step of their search", square),
    ("sparse codes of a few patches, which stay in cache", in_cache),
)

ACTIVATIONS: dict[str, Uses] = {
    "celu": (("ANI-1x, hydrogen's network, first layer: a row for each atom", atoms(160)),),
    "elu": (("ELU's own network on CIFAR-100, its first layers", maps(192, 32)),),
    "gelu": (("BERT-base, inside its feed-forward blocks", feed_forward),),
    "gelu_tanh": (("GPT-2, inside its feed-forward blocks", lambda size: text(size, 3072)),),
    "hard_sigmoid": (
        ("MobileNetV3, gates of squeeze and excitation: few elements", maps(960, 1)),
        ("gates of a recurrent cell on small devices", square),
    ),
    "hard_swish": (
        ("MobileNetV3, first layer", maps(16, 112)),
        ("MobileNetV3, last layer: many channels of few pixels", maps(960, 7)),
    ),
    "hard_tanh": (
        ("binarised networks, before the sign of activations", feature_maps),
        ("states of a recurrent cell on small devices, which stay in cache", in_cache),
    ),
    "hard_shrink": SHRUNK,
    "leaky_relu": (
        ("YOLOv3, first residual stage", maps(64, 208, samples=2)),
        ("a GAN's discriminator, late layer: many channels", maps(512, 8)),
    ),
    "mish": (
        ("YOLOv4, stage 1", maps(64, 304, samples=2)),
        ("YOLOv4, stage 5: many channels of few pixels", maps(1024, 19)),
    ),
    "relu6": (
        ("MobileNetV2, after its first strided depthwise layer", maps(96, 56)),
        ("MobileNetV2, last layer: many channels of few pixels", maps(1280, 7)),
    ),
    "selu": (("a wide dense layer of a self-normalising network", square),),
    "silu": (
        ("Llama 7B, gates of feed-forward blocks, short text", lambda size: text(size, 11008, 128)),
    ),
    "soft_shrink": SHRUNK,
}
"""Arguments that networks call activations with."""

PARAMETERS: dict[str, dict[str, Argument]] = {
    "celu": {"slope": 0.1},
    "elu": {"slope": 1.0},
    "hard_shrink": {"threshold": 0.5},
    "leaky_relu": {"slope": 0.1},
    "soft_shrink": {"threshold": 0.5},
}
"""As networks and papers have them: TorchANI's and Darknet's slopes, others as first published."""


@FAMILIES.operation(*ACTIVATIONS)
def activation(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Activations of networks that have them, and few elements."""
    own = PARAMETERS.get(operation.name, {})
    for why, shape in ACTIVATIONS[operation.name]:
        yield {WHY: why, "x": tensor(*shape(size)), **own}
    yield {**FEW, "x": tensor(*tiny(size)), **own}


@FAMILIES.operation("glu")
def glu(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Halves of vectors, and halves of channels."""
    for why, shape, axis in (
        ("Conformer, its convolution's gates: halves of each vector", sentences(size, 1024), -1),
        ("gated convolutions, halves of channels: far apart in memory", feature_maps(size, 128), 1),
    ):
        yield {WHY: why, "x": tensor(*shape), "axis": axis}
