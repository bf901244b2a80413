"""Families of PyTorch's normalisation, of its parts that devices share, and of its gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable

from opperf.model import Argument, Fill, Operator
from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import UNITS, few_sentences
from opperf.rules.configurations import OUTSIDE, TAGS, WHY
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.torch.operations.normalisation import EPSILON, MOMENTUM, OPERATIONS
from opperf.rules.torch.roles import by_role
from opperf.rules.values import POSITIVE, Arguments, call, fixed, sparse, taken, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

COUNT = "int32"
"""Dtype of numbers of elements."""

GROUPS = 32
"""Groups of channels, as many as group normalisation was proposed with."""

ALL_THREE = (True, True, True)
"""Gradients to compute: of the data, the scale and the shift."""


@FAMILIES.also("batch_norm")
@by_role(OPERATIONS)
def volumes_and_rows(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Maps of volumes, and rows of features: other numbers of axes."""
    predicts = operation.name == "batch_norm_inference"
    volumes = ("3D ResNet-18, stage 1", network_maps(size, 64, 16, 56, 56, samples=1))
    rows = ("a perceptron's layer, rows of features", (size.extent(4096), 512))
    # A network that predicts reads volumes as it reads maps.
    for why, shape in [rows] if predicts else [volumes, rows]:
        channels = shape[1]
        statistics: Roles = {}
        if predicts:
            statistics = {"mean": fixed(channels), "variance": fixed(channels, fill=POSITIVE)}
        yield {
            **{WHY: f"{why}, predicting" if statistics else why, "data": tensor(*shape)},
            **{"scale": tensor(channels, fill=POSITIVE), "shift": tensor(channels), **statistics},
        }


def _maps(size: Preset) -> tuple[tuple[str, Shape], ...]:
    return (
        ("ResNet-50, stage 1", feature_maps(size)),
        ("ResNet-50, stage 4: many channels of few pixels", network_maps(size, 512, 7, 7)),
    )


def _channel_arguments(shape: Shape) -> Arguments:
    channels, elements = shape[1], math.prod(shape) // shape[1]
    means, positive = fixed(channels), fixed(channels, fill=POSITIVE)
    return {
        **dict.fromkeys(("grad_out", "grad_output", "input"), tensor(*shape)),
        "weight": tensor(channels, fill=POSITIVE),
        "bias": tensor(channels),
        **dict.fromkeys(("running_mean", "mean", "save_mean", "sum_dy", "sum_dy_xmu"), means),
        **dict.fromkeys(("running_var", "var", "invstd", "save_var", "save_invstd"), positive),
        "count": fixed(1, fill=Fill("constant", float(elements)), dtype=COUNT),
        **dict.fromkeys(("training", "train", "update", "input_g", "weight_g", "bias_g"), True),
        **dict.fromkeys(("momentum", "exponential_average_factor"), MOMENTUM),
        **dict.fromkeys(("eps", "epsilon"), EPSILON),
        "output_mask": ALL_THREE,
        # What cuDNN keeps for its backward pass; other kernels need nothing of it.
        **dict.fromkeys(("reserve", "reserveSpace"), fixed(0, dtype="uint8")),
    }


@FAMILIES.add(
    *("cudnn_batch_norm", "miopen_batch_norm", "cudnn_batch_norm_backward"),
    *("miopen_batch_norm_backward", "batch_norm_backward", "batch_norm_backward_reduce"),
    *("batch_norm_backward_elemt", "batch_norm_elemt", "batch_norm_stats"),
    "batch_norm_update_stats",
)
def batch_norm(operator: Operator, size: Preset) -> Rows:
    """Layers of ResNet-50 that train, and the parts that devices which share a batch compute."""
    return {why: taken(operator, _channel_arguments(shape)) for why, shape in _maps(size)}


@FAMILIES.also("native_batch_norm_backward.default")
def batch_norm_gradient(operator: Operator, size: Preset) -> Rows:
    """The backward pass of a layer that is frozen."""
    (why, shape), *_ = _maps(size)
    made = taken(operator, _channel_arguments(shape))
    return {f"{why}, with statistics that do not change": {**made, "train": False}}


DEVICES = 8
"""Devices that share a batch."""


@FAMILIES.add("batch_norm_gather_stats", "batch_norm_gather_stats_with_counts")
def gathered_statistics(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Statistics of a layer, from those of the parts of a batch on each of eight devices."""
    for why, shape in (
        ("ResNet-50, stage 4, on eight devices", network_maps(size, 2048, 7, 7)),
        ("ResNet-50, stage 1, on eight devices", feature_maps(size)),
    ):
        channels, elements = shape[1], math.prod(shape) // shape[1]
        offered: Arguments = {
            **{WHY: why, TAGS: (OUTSIDE,)},
            **_channel_arguments(shape),
            **{"mean": fixed(DEVICES, channels), "invstd": fixed(DEVICES, channels, fill=POSITIVE)},
            "count": elements,
            "counts": fixed(DEVICES, fill=Fill("constant", float(elements))),
        }
        yield taken(operator, offered)


@FAMILIES.add("quantized_batch_norm")
def quantized_batch_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Layers of quantised networks that predict."""
    for why, shape in _maps(size):
        yield {
            WHY: f"{why}, quantised",
            **taken(operator, _channel_arguments(shape)),
            **{"weight": fixed(shape[1], fill=POSITIVE), "bias": fixed(shape[1])},
            **{
                "input": channels_last(fixed(*shape, dtype="qint8")),
                "output_scale": 0.05,
                "output_zero_point": 2,
            },
        }


@FAMILIES.also("layer_norm")
@by_role(OPERATIONS)
def layer_norm(operation: CanonicalOperation, size: Preset) -> Rows:
    """A layer of a language model that generates."""
    width = 4096
    return {
        "OPT-6.7B, generating one word of each of a batch of texts": call(
            data=tensor(size.batch, 1, width),
            scale=tensor(width, fill=POSITIVE),
            shift=tensor(width),
            axis=-1,
        )
    }


@FAMILIES.also("native_layer_norm_backward.default")
def layer_norm_gradient(operator: Operator, size: Preset) -> Rows:
    """Backward passes of a layer with parameters, and of one without."""
    scaled = call(weight=tensor(UNITS, fill=POSITIVE), bias=tensor(UNITS), output_mask=ALL_THREE)
    plain = call(output_mask=(True, False, False))
    return {
        why: call(
            **dict.fromkeys(("grad_out", "input"), tensor(*rows, UNITS)),
            normalized_shape=(UNITS,),
            mean=fixed(*rows, 1),
            rstd=fixed(*rows, 1, fill=POSITIVE),
            **parameters,
        )
        for why, rows, parameters in (
            ("BERT-base, token by token", few_sentences(size)[:2], scaled),
            ("DiT-B/2, 256 tokens an image, no scale and shift", (size.images, 256), plain),
        )
    }


@FAMILIES.add("native_group_norm_backward")
def group_norm_gradient(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Backward passes of layers of networks that train with few images."""
    for why, shape, groups in (
        (
            "ResNet-50 with group normalisation, stage 1",
            network_maps(size, 256, 56, 56, samples=2),
            GROUPS,
        ),
        ("Stable Diffusion, first blocks", network_maps(size, 320, 64, 64, samples=1), GROUPS),
        ("PoolFormer: all channels in one group", network_maps(size, 64, 56, 56, samples=2), 1),
    ):
        samples, channels, *sides = shape
        yield {
            **dict.fromkeys(("grad_out", "input"), tensor(*shape)),
            **{"mean": fixed(samples, groups), "rstd": fixed(samples, groups, fill=POSITIVE)},
            **{"weight": tensor(channels, fill=POSITIVE), "N": samples, "C": channels},
            **{"HxW": math.prod(sides), "group": groups, "output_mask": ALL_THREE, WHY: why},
        }


def shortened(shape: Shape, order: float, dim: int) -> Arguments:
    """Weights whose slices have a largest length, which half of those of normal numbers exceed."""
    count = math.prod(shape) // shape[dim]
    limit = count**0.5 if order == 2.0 else count * (2 / math.pi) ** 0.5
    return call(self=tensor(*shape), p=order, dim=dim, maxnorm=limit)


def sparse_norms(**options: Argument) -> Variants:
    """Lengths of sparse gradients, such as an embedding's: of dense ones there is no kernel."""
    return lambda size: {
        f"a sparse matrix of {what}, as clipping of gradients takes its length": call(
            self=sparse("coo", *square(size), density=density), p=2.0, **options
        )
        for what, density in (("one element of twenty", 0.05), ("one element of a thousand", 0.001))
    }


def of_tokens(**others: Argument) -> Variants:
    """Tokens of a large model, by the root of their mean square, or the gradients of that."""

    def variants(size: Preset) -> Rows:
        tokens, width = size.extent(512), size.extent(4096, least=64)
        data = tensor(1, tokens, width)
        gradient: Arguments = {}
        if "output_mask" in others:
            # Of normal numbers, the root of the mean square is near one.
            near_one = fixed(1, tokens, 1, fill=Fill("uniform", 0.95, 1.05), dtype="single")
            gradient = {"grad_out": data, "rstd": near_one}
        return {
            "Llama 3 8B, 512 tokens, each by the root of its mean square": call(
                input=data,
                normalized_shape=(width,),
                weight=tensor(width, fill=POSITIVE),
                **gradient,
                **others,
            )
        }

    return variants


ROWS: dict[str, Variants] = {
    "_fused_rms_norm": of_tokens(eps=1e-5),
    "_fused_rms_norm_backward": of_tokens(output_mask=(True, True)),
    "native_norm.default": sparse_norms(),
    "native_norm.ScalarOpt_dim_dtype": sparse_norms(dim=(), keepdim=False),
    "renorm": lambda size: {
        "weights of each class of at most a length": shortened(square(size), 2.0, 0),
        "weights of each class, columns that lie apart, of at most a length": shortened(
            square(size), 2.0, 1
        ),
        "sums of absolute values of short rows": shortened(tall(size), 1.0, 0),
    },
    "cosine_similarity": lambda size: {
        why: call(x1=tensor(*x), x2=tensor(*y), dim=dim, eps=1e-8)
        for why, x, y, dim in (
            ("Sentence-BERT, pairs of sentences", *((size.extent(4096), UNITS),) * 2, 1),
            (
                "SimCLR, each vector with each other, by tensors of one extent that broadcast",
                *((size.extent(128), 1, 128), (1, size.extent(128), 128), 2),
            ),
            ("LPIPS's kind of distance, pixel by pixel", *(feature_maps(size),) * 2, 1),
        )
    },
    "norm_except_dim": lambda size: {
        "a dense layer's weights, a length per unit": call(v=tensor(*square(size)), pow=2, dim=0),
        "HiFi-GAN, a layer that enlarges": call(v=tensor(size.extent(512), 256, 16), pow=2, dim=0),
        "weights, a length per input: a row apart": call(v=tensor(*tall(size)), pow=2, dim=1),
    },
}
add_rows(FAMILIES.add, ROWS)
