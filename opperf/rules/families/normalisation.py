"""Normalisation layers and softmax."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Argument, TensorSpec
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import WORDS, few_sentences, scores, sentences
from opperf.rules.configurations import WHY
from opperf.rules.families.layers import INDEX, classifiers
from opperf.rules.image_shapes import channels_last, feature_maps, network_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, square
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    AT_LEAST_SINGLE,
    LOWER_TRIANGULAR,
    PADDED,
    POSITIVE,
    REQUESTED,
    below,
    fixed,
    tensor,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

GROUPS = 32
"""Groups of channels, as many as group normalisation was proposed with."""


def data_scale_and_shift(shape: Shape, features: int, dtype: str = REQUESTED) -> Roles:
    """Data with the scale and shift that are learned for each feature."""
    return {
        "data": tensor(*shape),
        "scale": tensor(features, fill=POSITIVE, dtype=dtype),
        "shift": tensor(features, dtype=dtype),
    }


Maps = tuple[str, Shape, int]
"""Why feature maps are normalised, their shape and the axis of channels."""


def by_channel(operation: CanonicalOperation, layers: Iterable[Maps]) -> Iterable[Roles]:
    """Layers by channel, the second axis of those without one; parameters are in full precision."""
    for why, shape, axis in layers:
        made = {WHY: why, **data_scale_and_shift(shape, shape[axis], AT_LEAST_SINGLE)}
        if "axis" in operation.inputs:
            yield {**made, "axis": axis}
        elif axis == 1:
            yield made


def running_statistics(features: int) -> Roles:
    """Means and variances of channels that training has left."""
    return {
        "mean": fixed(features, dtype=AT_LEAST_SINGLE),
        "variance": fixed(features, fill=POSITIVE, dtype=AT_LEAST_SINGLE),
    }


@FAMILIES.operation("batch_norm", "batch_norm_relu")
def batch_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of ResNet-50, with the statistics of the batch."""
    maps = feature_maps(size)
    yield from by_channel(
        operation,
        (
            ("ResNet-50, stage 1", maps, 1),
            ("ResNet-50, stage 4: many channels of few pixels", network_maps(size, 512, 7, 7), 1),
            ("ResNet-50, stage 1, with channels last", channels_last(maps), -1),
        ),
    )


@FAMILIES.operation("batch_norm_inference", "batch_norm_relu_inference")
def batch_norm_inference(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of ResNet-50 that predicts, with running statistics."""
    maps = feature_maps(size)
    for made in by_channel(
        operation,
        (
            ("ResNet-50 predicting, stage 1", maps, 1),
            ("ResNet-50 predicting, stage 1, channels last", channels_last(maps), -1),
        ),
    ):
        if operation.name == "batch_norm_relu_inference":
            # The mask that the gradient reads is written in training only.
            made = {name: without_gradient(value) for name, value in made.items()}
        yield {**made, **running_statistics(maps[1])}


def without_gradient(value: Argument) -> Argument:
    """Returns the tensor without a gradient; any other value as it is."""
    if isinstance(value, TensorSpec):
        return msgspec.structs.replace(value, gradient=False)
    return value


@FAMILIES.operation("layer_norm")
def layer_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of transformers, and of a convolutional network with channels last and first."""
    # The maps of a stage, a quarter of the images: other axes than the last take long.
    maps = network_maps(size, 96, 56, 56, samples=2)
    for why, shape, axis in (
        ("BERT-base, token by token", sentences(size), -1),
        ("ConvNeXt-T, stage 1, with channels last", channels_last(maps), -1),
        ("ConvNeXt-T, stage 1, with channels first", maps, 1),
    ):
        yield {WHY: why, **data_scale_and_shift(shape, shape[axis]), "axis": axis}


@FAMILIES.operation("rms_norm")
def rms_norm(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Layers of language models, over all of a text, for one word and within each head."""
    length = size.extent(512, least=16)
    for why, shape in (
        ("Llama 2 7B, reading a text", (1, length, 4096)),
        ("Llama 2 7B, generating one word", (1, 1, 4096)),
        ("T5-base, token by token", few_sentences(size)),
        ("Qwen3, queries of each head: short rows", (1, length, 32, 128)),
    ):
        scale = tensor(shape[-1], fill=POSITIVE)
        yield {WHY: why, "data": tensor(*shape), "scale": scale, "epsilon": 1e-6}


@FAMILIES.operation("local_response_norm")
def local_response(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """AlexNet's first feature maps."""
    yield {
        WHY: "AlexNet, the first maps, across five neighbouring channels",
        "data": tensor(*network_maps(size, 96, 55, 55)),
        "alpha": 1e-4,
        "beta": 0.75,
        "offset": 2.0,
        "channels": 5,
    }


DISTANCES = (
    "distances to the 1024 entries of a codebook, to each of which a vector is assigned softly",
    "distances to the centres of ten clusters, as soft k-means assigns each of many vectors",
    "attention by the distances of queries and keys, of heads as BERT-base's",
    "attention by such distances, over each sentence's own tokens",
    "distances to the vectors of all words of a vocabulary, to the nearest of which one rounds",
    "distances at a temperature of four, as annealing begins",
    "costs of 21 disparities of each pixel, as stereo networks match two images",
    "distances of as many vectors to each centre, among which a centre chooses",
)
"""Lines of the rows of `softmax` for `softmin`, whose smallest elements count most."""


@FAMILIES.operation("softmax", "log_softmax", "softmin")
def softmax(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of classes, heads, words and pixels; with a temperature, and by sentences' lengths."""
    heads = scores(size)
    *rows, length = heads
    lengths = fixed(*rows, fill=below(length + 1, start=length // 2), dtype=INDEX)
    words = size.extent(WORDS)
    attention = [] if operation.name == "log_softmax" else [heads]
    kinds: list[tuple[str, Shape, int, Roles]] = [
        *((why, shape, -1, {}) for why, shape in classifiers(size)),
        *(("BERT-base, scores of its heads", shape, -1, {}) for shape in attention),
        ("BERT-base, over each sentence's own tokens", heads, -1, {"lengths": lengths}),
        ("BERT-base, words that are masked", (size.samples(64), words), -1, {}),
        ("a classifier's distillation, as Hinton's", square(size), -1, {"temperature": 4.0}),
        ("segmentation, 21 classes of each pixel", network_maps(size, 21, 64, 64), 1, {}),
        ("a matrix along its first axis, whose neighbours are apart", square(size), 0, {}),
    ]
    whys = dict(zip((why for why, *_ in kinds), DISTANCES, strict=False))
    for why, shape, axis, options in kinds:
        if options.keys() <= operation.inputs.keys():
            own = whys[why] if operation.name == "softmin" else why
            yield {WHY: own, "data": tensor(*shape), "axis": axis, **options}


@FAMILIES.operation("masked_softmax", "masked_log_softmax")
def masked_softmax(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Scores of heads, half of them masked: those of padding, and of later tokens."""
    shape = batch, _, _, length = scores(size)
    causal = fixed(batch, 1, length, length, fill=LOWER_TRIANGULAR, dtype="bool")
    padded = fixed(batch, 1, 1, length, fill=PADDED, dtype="bool")
    for mask, why in (
        (padded, "BERT-base, scores of its heads, each sentence's padding masked"),
        (causal, "GPT-2, scores of its heads, causal: later tokens are masked"),
    ):
        yield {WHY: why, "data": tensor(*shape), "mask": mask, "axis": -1}


VARIANTS: dict[str, Variants] = {
    "instance_norm": lambda size: [
        {WHY: why, **data_scale_and_shift(shape, shape[1])}
        for why, shape in (
            ("fast style transfer, second layer", network_maps(size, 64, 128, 128, samples=1)),
            ("CycleGAN, residual blocks", network_maps(size, 256, 64, 64, samples=1)),
            ("nnU-Net, stage 4, in 3D", network_maps(size, 256, 16, 16, 8, samples=1, multiple=2)),
        )
    ],
    "group_norm": lambda size: [
        {WHY: why, **data_scale_and_shift(shape, shape[1]), "groups": groups}
        for why, shape, groups in (
            (
                "ResNet-50 with group normalisation, stage 1: two channels a group",
                network_maps(size, 64, 56, 56, samples=2),
                GROUPS,
            ),
            (
                "ResNet-50 with group normalisation, stage 1: eight channels a group",
                network_maps(size, 256, 56, 56, samples=2),
                GROUPS,
            ),
            ("Stable Diffusion, first blocks", network_maps(size, 320, 64, 64, samples=1), GROUPS),
            ("PoolFormer: all channels in one group", network_maps(size, 64, 56, 56, samples=2), 1),
        )
    ],
    "unit_length": lambda size: [
        {WHY: why, "data": tensor(*shape), "axes": axes}
        for why, shape, axes in (
            ("FaceNet, embedding vectors", (size.extent(1800), 128), (1,)),
            ("whole feature maps, as descriptors of images", feature_maps(size), (1, 2, 3)),
            ("SSD, conv4_3: across channels", network_maps(size, 512, 38, 38, samples=1), (1,)),
            ("within each channel, as spatial attention", feature_maps(size), (2, 3)),
        )
    ],
}
add_rows(FAMILIES.operation, VARIANTS)
