"""Weights of the networks by their extents, and what of their structure all frameworks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from opperf.models.layers import (
    HE,
    XAVIER,
    Weights,
    batch_norm,
    convolution,
    dense,
    dense_layers,
    embedding,
    lstm,
    norm,
    pixelwise,
    upsampling,
)

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
