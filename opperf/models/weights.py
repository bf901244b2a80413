"""Weights of the networks by their extents, what of their structure all frameworks share, and
how arrays are declared and drawn. Names of weights are those of PyTorch, their initialisation is
the usual one.

Biases, and the scales and shifts of normalisation, differ from the 0 and 1 of a new network as
those of a trained one do, so that a network without them has other outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from opperf.model import Struct

if TYPE_CHECKING:
    import numpy as np


DENSE, CONVOLUTION, IMAGES, OTHER = "dense", "convolution", "images", "other"
"""Kinds of arrays, by which frameworks choose a layout: weights of dense layers, of convolutions,
and images; all others have the same in each."""


class Array(Struct, frozen=True):
    """An array to be drawn."""

    shape: tuple[int, ...]
    """As PyTorch and MXNet have it: outputs before inputs, channels before rows and columns."""
    distribution: str = "normal"
    """A key of `DISTRIBUTIONS`."""
    center: float = 0.0
    width: float = 1.0
    """The standard deviation; of a uniform distribution half of its range."""
    kind: str = OTHER
    """`DENSE`, `CONVOLUTION`, `IMAGES` or `OTHER`."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def _uniform(rng: np.random.Generator, array: Array) -> Any:
    # In place: the table of an embedding is hundreds of megabytes.
    drawn = rng.random(array.shape, "float32")
    drawn *= 2 * array.width
    drawn += array.center - array.width
    return drawn


DISTRIBUTIONS: Mapping[str, Callable[[np.random.Generator, Array], Any]] = {
    "normal": lambda rng, one: rng.standard_normal(one.shape, "float32") * one.width + one.center,
    "uniform": _uniform,
    "integers": lambda rng, one: rng.integers(0, int(one.width), one.shape, "int32"),
    "bits": lambda rng, one: rng.integers(0, 2, one.shape).astype("float32"),
}
"""Functions that draw an array, float32 or int32. Integers are from 0 to below the width, bits are
0.0 or 1.0."""


def draw(array: Array, name: str, seed: int) -> np.ndarray[Any, Any]:
    """Returns an array's contents: by the seed and its own name, whatever else is drawn."""
    import numpy as np

    rng = np.random.default_rng([seed, *name.encode()])
    drawn: np.ndarray[Any, Any] = DISTRIBUTIONS[array.distribution](rng, array)
    return drawn


Weights: TypeAlias = dict[str, Array]

SMALL = 0.1
"""Standard deviation of what normalisation adds, and of its scales."""

HE, XAVIER = 2.0, 1.0
"""Gains: variances of a weight times its number of inputs, before ReLU (He et al. 2015) and before
what is no ReLU (Glorot and Bengio 2010), with which outputs are of the size of inputs."""


def dense(name: str, inputs: int, outputs: int, gain: float = XAVIER) -> Weights:
    """Returns weight and bias of a dense layer."""
    width = math.sqrt(gain / inputs)
    return {
        f"{name}.weight": Array((outputs, inputs), width=width, kind=DENSE),
        f"{name}.bias": _bias(inputs, outputs),
    }


def dense_layers(name: str, widths: Sequence[int]) -> Weights:
    """Returns weights and biases of dense layers between these widths, with ReLU between them."""
    made: Weights = {}
    for number, (inputs, outputs) in enumerate(zip(widths, widths[1:], strict=False)):
        made |= dense(f"{name}.{number}", inputs, outputs, HE)
    return made


def _bias(inputs: int, outputs: int) -> Array:
    return Array((outputs,), "uniform", width=1 / math.sqrt(inputs))


def embedding(name: str, rows: int, width: int, deviation: float = 0) -> Weights:
    """Returns the table of an embedding; without a standard deviation its rows have length 1."""
    return {f"{name}.weight": Array((rows, width), width=deviation or 1 / math.sqrt(width))}


def convolution(name: str, inputs: int, outputs: int, kernel: int) -> Weights:
    """Returns the weight of a convolution without a bias."""
    shape = (outputs, inputs, kernel, kernel)
    width = math.sqrt(HE / (inputs * kernel**2))
    return {f"{name}.weight": Array(shape, width=width, kind=CONVOLUTION)}


def pixelwise(name: str, inputs: int, outputs: int) -> Weights:
    """Returns weight and bias of a convolution of 1 x 1."""
    return {**convolution(name, inputs, outputs, 1), f"{name}.bias": _bias(inputs, outputs)}


def upsampling(name: str, inputs: int, outputs: int) -> Weights:
    """Returns weight and bias of a transposed convolution whose kernels of 2 x 2 do not overlap."""
    width = math.sqrt(HE / inputs)
    return {
        f"{name}.weight": Array((inputs, outputs, 2, 2), width=width, kind=CONVOLUTION),
        f"{name}.bias": _bias(inputs, outputs),
    }


def norm(name: str, channels: int, scale: float = 1.0) -> Weights:
    """Returns scales and shifts of a normalisation."""
    return {
        f"{name}.weight": Array((channels,), center=scale, width=SMALL * scale),
        f"{name}.bias": Array((channels,), width=SMALL),
    }


def batch_norm(name: str, channels: int, scale: float = 1.0) -> Weights:
    """Returns scales and shifts of a batch normalisation, and running statistics, which the phase
    `train` updates."""
    return {
        **norm(name, channels, scale),
        f"{name}.running_mean": Array((channels,), width=SMALL),
        f"{name}.running_var": Array((channels,), "uniform", center=1.0, width=0.5),
    }


def lstm(name: str, width: int, layers: int) -> Weights:
    """Returns weights and biases of LSTM layers whose inputs are as wide as they are; gates in the
    order input, forget, cell, output."""
    arrays = {
        "weight": Array((4 * width, width), width=math.sqrt(XAVIER / width), kind=DENSE),
        "bias": _bias(width, 4 * width),
    }
    return {
        f"{name}.{role}_{side}_l{layer}": array
        for layer in range(layers)
        for role, array in arrays.items()
        for side in ("ih", "hh")
    }


Extents: TypeAlias = Mapping[str, int]
"""Sizes of a network by name, with its `batch`."""


def widths(extents: Extents) -> list[int]:
    """Returns the widths of a multilayer perceptron from its inputs to its outputs."""
    hidden = [extents["width"]] * extents["layers"]
    return [extents["inputs"], *hidden, extents["classes"]]


def mlp(extents: Extents) -> Weights:
    """Returns the weights of a multilayer perceptron."""
    return dense_layers("layers", widths(extents))


class Residual(NamedTuple):
    """A residual block of two convolutions: its channels, and the stride of the first one."""

    inputs: int
    outputs: int
    stride: int

    @property
    def has_projection(self) -> bool:
        """Whether its shortcut is a convolution of 1 x 1."""
        return self.stride != 1 or self.inputs != self.outputs


def residual_blocks(width: int) -> tuple[Residual, ...]:
    """Returns the blocks of ResNet-18, whose first stage has `width` channels."""
    stages = (
        Residual(width, width, 1),
        *(Residual(width << n, width << n + 1, 2) for n in range(3)),
    )
    return tuple(
        block for stage in stages for block in (stage, Residual(stage.outputs, stage.outputs, 1))
    )


LAST_SCALE = 0.25
"""Scale of the last normalisation of a residual block: below 1, as that of a block that adds little
at first (Goyal et al. 2017), so that activations do not grow with depth."""


def resnet18(extents: Extents) -> Weights:
    """Returns the weights of ResNet-18."""
    width = extents["width"]
    made = {**convolution("stem", 3, width, 7), **batch_norm("stem_norm", width)}
    for number, block in enumerate(residual_blocks(width)):
        name = f"blocks.{number}"
        made |= convolution(f"{name}.conv1", block.inputs, block.outputs, 3)
        made |= batch_norm(f"{name}.norm1", block.outputs)
        made |= convolution(f"{name}.conv2", block.outputs, block.outputs, 3)
        made |= batch_norm(f"{name}.norm2", block.outputs, LAST_SCALE)
        if block.has_projection:
            made |= convolution(f"{name}.shortcut", block.inputs, block.outputs, 1)
            made |= batch_norm(f"{name}.shortcut_norm", block.outputs)
    return made | dense("head", 8 * width, extents["classes"])


def levels(extents: Extents) -> list[int]:
    """Returns the channels of a U-Net's levels, the finest first."""
    return [extents["width"] << level for level in range(extents["levels"] + 1)]


def _two_convolutions(name: str, inputs: int, outputs: int) -> Weights:
    return {
        **convolution(f"{name}.conv1", inputs, outputs, 3),
        **batch_norm(f"{name}.norm1", outputs),
        **convolution(f"{name}.conv2", outputs, outputs, 3),
        **batch_norm(f"{name}.norm2", outputs),
    }


def unet(extents: Extents) -> Weights:
    """Returns the weights of a U-Net."""
    channels = levels(extents)
    made: Weights = {}
    for level, (inputs, outputs) in enumerate(zip([3, *channels], channels, strict=False)):
        made |= _two_convolutions(f"down.{level}", inputs, outputs)
    for number, outputs in enumerate(reversed(channels[:-1])):
        made |= upsampling(f"up.{number}.upsample", 2 * outputs, outputs)
        made |= _two_convolutions(f"up.{number}.merge", 2 * outputs, outputs)
    return made | pixelwise("head", channels[0], extents["classes"])


def transformer(extents: Extents) -> Weights:
    """Returns the weights of a transformer encoder that classifies a sequence."""
    width = extents["width"]
    return {
        **_embeddings(extents),
        **norm("norm", width),
        **_transformer_blocks(extents),
        **dense("head", width, extents["classes"]),
    }


def gpt(extents: Extents) -> Weights:
    """Returns the weights of a GPT, which uses the table of its tokens for its outputs too."""
    return {
        **_embeddings(extents),
        **_transformer_blocks(extents),
        **norm("norm", extents["width"]),
    }


def _embeddings(extents: Extents) -> Weights:
    return {
        **embedding("tokens", extents["vocabulary"], extents["width"]),
        **embedding("positions", extents["length"], extents["width"]),
    }


def _transformer_blocks(extents: Extents) -> Weights:
    width = extents["width"]
    # The more blocks add to their inputs, the less each does (GPT-2).
    share = 1 / (2 * extents["layers"])
    made: Weights = {}
    for number in range(extents["layers"]):
        name = f"blocks.{number}"
        made |= norm(f"{name}.norm1", width)
        made |= dense(f"{name}.attention.qkv", width, 3 * width)
        made |= dense(f"{name}.attention.output", width, width, XAVIER * share)
        made |= norm(f"{name}.norm2", width)
        made |= dense(f"{name}.expand", width, 4 * width)
        made |= dense(f"{name}.contract", 4 * width, width, HE * share)
    return made


def bottom_widths(extents: Extents) -> list[int]:
    """Returns the widths of DLRM's layers below its interaction."""
    return [extents["inputs"], extents["width"], extents["embedding"]]


def top_widths(extents: Extents) -> list[int]:
    """Returns the widths of DLRM's layers above its interaction: of the dense features, and the dot
    products of each pair of features."""
    features = extents["tables"] + 1
    pairs = features * (features - 1) // 2
    return [extents["embedding"] + pairs, extents["width"], extents["width"] // 2, 1]


def dlrm(extents: Extents) -> Weights:
    """Returns the weights of a DLRM."""
    made = dense_layers("bottom.layers", bottom_widths(extents))
    for number in range(extents["tables"]):
        made |= embedding(f"tables.{number}", extents["rows"], extents["embedding"])
    return made | dense_layers("top.layers", top_widths(extents))


def lstm_language_model(extents: Extents) -> Weights:
    """Returns the weights of a language model of LSTM layers."""
    width, vocabulary = extents["width"], extents["vocabulary"]
    return {
        **embedding("tokens", vocabulary, width, 1.0),
        **lstm("lstm", width, extents["layers"]),
        **dense("head", width, vocabulary),
    }
