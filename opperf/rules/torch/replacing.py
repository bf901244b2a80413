"""Families of PyTorch's operators that copy a tensor and replace a part of it."""

from __future__ import annotations

from collections.abc import Mapping

from opperf.model import Argument, Fill, Operator, TensorSpec
from opperf.rules.bert import UNITS, WIDTH, few_sentences, scores, tokens
from opperf.rules.deviations import NotFinite
from opperf.rules.families.indexing import mask
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import cube, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.indexing import shuffled
from opperf.rules.torch.operations.convolutions import channels_last
from opperf.rules.values import ZEROS, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

NOT_FINITE = dict.fromkeys(("masked_fill", "masked_fill_"), NotFinite("models mask with infinity"))


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

    def variants(size: Preset) -> Rows:
        _, *other = scores(size)
        shape = (size.images, *other)
        return {
            MASKED: call(
                self=tensor(*shape),
                mask=fixed(size.images, 1, 1, other[-1], fill=LEFT, dtype="bool"),
                value=value,
            ),
            "half of a matrix set to a number, as the tokens that are to be predicted": call(
                self=tensor(*square(size)), mask=mask(square(size)), value=value
            ),
        }

    return variants


def filled(value: Argument) -> Variants:
    """Spectrograms, of which some slices are set to a number."""

    def variants(size: Preset) -> Rows:
        batch, length = tokens(size)
        return {
            why: call(
                self=tensor(batch, length, 80),
                dim=dim,
                index=shuffled(max(2, extent // 8)),
                value=value,
            )
            for dim, extent, why in (
                (1, length, "time steps of spectrograms masked, as SpecAugment: whole rows"),
                (2, 80, "frequencies of spectrograms masked, as SpecAugment: single elements"),
            )
        }

    return variants


def whole(value: Argument, zero: Argument) -> Variants:
    """A tensor that is set to a number, and one to zero."""
    return lambda size: {
        "a matrix set to one number": call(self=tensor(*square(size)), value=value),
        "a gradient of feature maps set to zero before it is summed": call(
            self=tensor(*feature_maps(size)), value=zero
        ),
    }


VARIANTS: Mapping[str, Variants] = {
    "index_copy": lambda size: {
        "one token's keys to a static cache, as Transformers' generation: a copy of all": call(
            self=(keys := cache(size)),
            dim=2,
            index=shuffled(1),
            source=tensor(*keys.shape[:2], 1, WIDTH),
        ),
        "all rows in another order, as results put back: whole rows": call(
            self=tensor(*square(size)),
            dim=0,
            index=shuffled(square(size)[0]),
            source=tensor(*square(size)),
        ),
        "all columns in another order: single elements": call(
            self=tensor(*square(size)),
            dim=1,
            index=shuffled(square(size)[1]),
            source=tensor(*square(size)),
        ),
    },
    "index_fill.int_Scalar": filled(0.0),
    "index_fill.int_Tensor": filled(tensor()),
    "masked_fill": masked(-10000.0),
    "masked_fill.Tensor": masked(tensor()),
    "masked_scatter": lambda size: {
        "vectors of an image's patches in place of tokens: rows by a mask": call(
            self=tensor(*few_sentences(size)),
            mask=mask((*few_sentences(size)[:2], 1)),
            source=tensor(*few_sentences(size)),
        ),
        "half of a matrix from a list, as measurements put back in their places": call(
            self=tensor(*square(size)), mask=mask(square(size)), source=tensor(*vector(size))
        ),
    },
    "as_strided_scatter": lambda size: {
        "every other column replaced, by strides, as a functional graph's view": call(
            self=tensor(rows := square(size)[0], columns := square(size)[1]),
            src=tensor(rows, columns // 2),
            size=(rows, columns // 2),
            stride=(columns, 2),
        ),
        "a diagonal replaced, by one stride: mostly a copy of the matrix": call(
            self=tensor(rows, columns),
            src=tensor(min(rows, columns)),
            size=(min(rows, columns),),
            stride=(columns + 1,),
        ),
    },
    "diagonal_scatter": lambda size: {
        "a matrix's diagonal replaced, as variances with a ridge": call(
            self=tensor(*square(size)), src=tensor(min(square(size)))
        ),
        "a diagonal of each matrix of a stack replaced, as transitions of states": call(
            self=tensor(*cube(size)),
            src=tensor(cube(size)[0], cube(size)[1] - 1),
            offset=1,
            dim1=1,
            dim2=2,
        ),
    },
    "select_scatter": lambda size: {
        "the first token of each sentence replaced, as a class token": call(
            self=tensor(*few_sentences(size)), src=tensor(size.images, UNITS), dim=1, index=0
        ),
        "a column replaced: single elements, mostly a copy of the matrix": call(
            self=tensor(*square(size)), src=tensor(square(size)[0]), dim=1, index=3
        ),
    },
    "slice_scatter": lambda size: {
        "a block of keys in a cache replaced, as a compiled graph does it": call(
            self=(keys := cache(size)),
            src=tensor(*keys.shape[:2], 16, WIDTH),
            dim=2,
            start=16,
            end=32,
        ),
        "every other column replaced, as rotary embeddings interleave halves": call(
            self=tensor(*square(size)),
            src=tensor(square(size)[0], square(size)[1] // 2),
            dim=1,
            start=0,
            end=square(size)[1],
            step=2,
        ),
        "the first half of the rows replaced: one long copy": call(
            self=tensor(*square(size)),
            src=tensor(square(size)[0] // 2, square(size)[1]),
            start=0,
            end=square(size)[0] // 2,
        ),
    },
    "unfold_backward": lambda size: {
        "the gradient of a signal's overlapping frames, as before a Fourier transform": call(
            grad_in=tensor(size.batch, (rows := size.extent(16384)) // 128 - 3, 512),
            input_sizes=(size.batch, rows),
            dim=1,
            size=512,
            step=128,
        ),
        "the gradient of an image's rows of patches: nothing overlaps": call(
            grad_in=tensor(size.batch, 3, size.side(224) // 16, size.side(224), 16),
            input_sizes=(size.batch, 3, size.side(224), size.side(224)),
            dim=2,
            size=16,
            step=16,
        ),
    },
    "fill.Scalar": whole(2.0, 0.0),
    "fill.Tensor": whole(fixed(), fixed(fill=ZEROS)),
}

add_rows(FAMILIES.add, VARIANTS, replaces="it writes to a tensor that is there")


@FAMILIES.also("masked_fill.Scalar", "masked_fill.Tensor")
def masked_channels(operator: Operator, size: Preset) -> Rows:
    """Feature maps with channels last, and a mask of channels."""
    maps = feature_maps(size)
    return {
        "channels last: half of the channels set to a number, as they are pruned": call(
            self=channels_last(tensor(*maps)),
            mask=mask((1, maps[1], 1, 1)),
            value=0.0 if operator.overload == "Scalar" else tensor(),
        )
    }
