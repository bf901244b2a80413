"""Families of PyTorch's operators that copy a tensor and replace a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.bert import UNITS, WIDTH, few_sentences, scores, tokens
from opperf.rules.configurations import WHY
from opperf.rules.families.indexing import mask
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import cube, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.indexing import shuffled
from opperf.rules.torch.layouts import in_channels_last
from opperf.rules.values import ZEROS, Arguments, fixed, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()


CACHED = 1024
"""Tokens that a cache of keys has room for."""


def cache(size: Preset) -> TensorSpec:
    """Keys of earlier tokens, by sample and head."""
    return tensor(size.batch // 2, 12, size.extent(CACHED, least=64), WIDTH)


MASKED = "GPT-2's scores of texts padded on the left, one number where a mask excludes a token"

LEFT = Fill("padded", 0.0, 0.5)
"""Of a mask of padding in front of texts."""


def masked(value: Argument) -> Variants:
    """Scores and a matrix with a mask, and a number to write."""

    def variants(size: Preset) -> Iterable[Arguments]:
        _, *other = scores(size)
        shape = (size.pictures, *other)
        yield {
            "self": tensor(*shape),
            "mask": fixed(size.pictures, 1, 1, other[-1], fill=LEFT, dtype="bool"),
            "value": value,
            WHY: MASKED,
        }
        yield {
            "self": tensor(*square(size)),
            "mask": mask(square(size)),
            "value": value,
            WHY: "half of a matrix set to a number, as the tokens that are to be predicted",
        }

    return variants


def filled(value: Argument) -> Variants:
    """Spectrograms, of which some slices are set to a number."""

    def variants(size: Preset) -> Iterable[Arguments]:
        batch, length = tokens(size)
        for dim, extent, why in (
            (1, length, "time steps of spectrograms masked, as SpecAugment: whole rows"),
            (2, 80, "frequencies of spectrograms masked, as SpecAugment: single elements"),
        ):
            yield {
                "self": tensor(batch, length, 80),
                "dim": dim,
                "index": shuffled(max(2, extent // 8)),
                "value": value,
                WHY: why,
            }

    return variants


def whole(value: Argument, zero: Argument) -> Variants:
    """A tensor that is set to a number, and one to zero."""
    return lambda size: [
        {"self": tensor(*square(size)), "value": value, WHY: "a matrix set to one number"},
        {
            "self": tensor(*feature_maps(size)),
            "value": zero,
            WHY: "a gradient of feature maps set to zero before it is summed",
        },
    ]


VARIANTS: Mapping[str, Variants] = {
    "index_copy": lambda size: [
        {
            "self": (keys := cache(size)),
            "dim": 2,
            "index": shuffled(1),
            "source": tensor(*keys.shape[:2], 1, WIDTH),
            WHY: "one token's keys to a static cache, as Transformers' generation: a copy of all",
        },
        {
            "self": tensor(*square(size)),
            "dim": 0,
            "index": shuffled(square(size)[0]),
            "source": tensor(*square(size)),
            WHY: "all rows in another order, as results put back: whole rows",
        },
        {
            "self": tensor(*square(size)),
            "dim": 1,
            "index": shuffled(square(size)[1]),
            "source": tensor(*square(size)),
            WHY: "all columns in another order: single elements",
        },
    ],
    "index_fill.int_Scalar": filled(0.0),
    "index_fill.int_Tensor": filled(tensor()),
    "masked_fill": masked(-10000.0),
    "masked_fill.Tensor": masked(tensor()),
    "masked_scatter": lambda size: [
        {
            "self": tensor(*few_sentences(size)),
            "mask": mask((*few_sentences(size)[:2], 1)),
            "source": tensor(*few_sentences(size)),
            WHY: "vectors of a picture's patches in place of tokens: rows by a mask",
        },
        {
            "self": tensor(*square(size)),
            "mask": mask(square(size)),
            "source": tensor(*vector(size)),
            WHY: "half of a matrix from a list, as measurements put back in their places",
        },
    ],
    "as_strided_scatter": lambda size: [
        {
            "self": tensor(rows := square(size)[0], columns := square(size)[1]),
            "src": tensor(rows, columns // 2),
            "size": (rows, columns // 2),
            "stride": (columns, 2),
            WHY: "every other column replaced, by strides, as a functional graph's view",
        },
        {
            "self": tensor(rows, columns),
            "src": tensor(min(rows, columns)),
            "size": (min(rows, columns),),
            "stride": (columns + 1,),
            WHY: "a diagonal replaced, by one stride: mostly a copy of the matrix",
        },
    ],
    "diagonal_scatter": lambda size: [
        {
            "self": tensor(*square(size)),
            "src": tensor(min(square(size))),
            WHY: "a matrix's diagonal replaced, as variances with a ridge",
        },
        {
            "self": tensor(*cube(size)),
            "src": tensor(cube(size)[0], cube(size)[1] - 1),
            "offset": 1,
            "dim1": 1,
            "dim2": 2,
            WHY: "a diagonal of each matrix of a stack replaced, as transitions of states",
        },
    ],
    "select_scatter": lambda size: [
        {
            "self": tensor(*few_sentences(size)),
            "src": tensor(size.pictures, UNITS),
            "dim": 1,
            "index": 0,
            WHY: "the first token of each sentence replaced, as a class token",
        },
        {
            "self": tensor(*square(size)),
            "src": tensor(square(size)[0]),
            "dim": 1,
            "index": 3,
            WHY: "a column replaced: single elements, mostly a copy of the matrix",
        },
    ],
    "slice_scatter": lambda size: [
        {
            "self": (keys := cache(size)),
            "src": tensor(*keys.shape[:2], 16, WIDTH),
            "dim": 2,
            "start": 16,
            "end": 32,
            WHY: "a block of keys in a cache replaced, as a compiled graph does it",
        },
        {
            "self": tensor(*square(size)),
            "src": tensor(square(size)[0], square(size)[1] // 2),
            "dim": 1,
            "start": 0,
            "end": square(size)[1],
            "step": 2,
            WHY: "every other column replaced, as rotary embeddings interleave halves",
        },
        {
            "self": tensor(*square(size)),
            "src": tensor(square(size)[0] // 2, square(size)[1]),
            "start": 0,
            "end": square(size)[0] // 2,
            WHY: "the first half of the rows replaced: one long copy",
        },
    ],
    "unfold_backward": lambda size: [
        {
            "grad_in": tensor(size.batch, (rows := size.extent(16384)) // 128 - 3, 512),
            "input_sizes": (size.batch, rows),
            "dim": 1,
            "size": 512,
            "step": 128,
            WHY: "the gradient of a signal's overlapping frames, as before a Fourier transform",
        },
        {
            "grad_in": tensor(size.batch, 3, size.side(224) // 16, size.side(224), 16),
            "input_sizes": (size.batch, 3, size.side(224), size.side(224)),
            "dim": 2,
            "size": 16,
            "step": 16,
            WHY: "the gradient of a picture's rows of patches: nothing overlaps",
        },
    ],
    "fill.Scalar": whole(2.0, 0.0),
    "fill.Tensor": whole(fixed(), fixed(fill=ZEROS)),
}
"""Operators by name, or by overload where those take other arguments."""


@FAMILIES.add(*VARIANTS)
def in_part(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors, and values that replace a part of them or all."""
    return own(VARIANTS, operator, size)


@FAMILIES.also("masked_fill.Scalar", "masked_fill.Tensor")
def masked_channels(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps with channels last, and a mask of channels."""
    maps = feature_maps(size)
    yield {
        "self": in_channels_last(maps),
        "mask": mask((1, maps[1], 1, 1)),
        "value": 0.0 if operator.overload == "Scalar" else tensor(),
        WHY: "channels last: half of the channels set to a number, as they are pruned",
    }
