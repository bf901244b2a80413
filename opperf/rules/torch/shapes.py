"""Families of PyTorch's operators that move and repeat elements, and of derivatives of views."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import UNITS, few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.image_shapes import network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import cube, line, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.views import parts_of, selected
from opperf.rules.values import REQUESTED, Arguments, below, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

PHONEMES, HIDDEN = 128, 256
"""Phonemes of a sentence and the width of their vectors, those of FastSpeech 2."""

SMALL = 16
"""Order of small matrices, such as a mixture's covariances."""

LONGEST = 12
"""More than the frames of most phonemes."""


def durations(size: Preset, count: int) -> TensorSpec:
    """Frames of each phoneme."""
    return fixed(count, fill=below(LONGEST, start=1), dtype="int64")


def selected_gradients(size: Preset) -> Iterable[Arguments]:
    """Gradients of one index, and the whole tensor's shape."""
    for selection in selected(size):
        whole, axis = selection["self"], selection["dim"]
        assert isinstance(whole, TensorSpec)
        assert isinstance(axis, int)
        yield {
            "grad_output": tensor(*whole.shape[:axis], *whole.shape[axis + 1 :]),
            "input_sizes": whole.shape,
            **{name: selection[name] for name in ("dim", "index", WHY)},
        }


def sliced_gradients(size: Preset) -> Iterable[Arguments]:
    """Gradients of a part, and the whole tensor's shape."""
    for whole, axis, begin, end, why in parts_of(size):
        part = (*whole.shape[:axis], end - begin, *whole.shape[axis + 1 :])
        yield {
            "grad_output": tensor(*part),
            "input_sizes": whole.shape,
            "dim": axis,
            "start": begin,
            "end": end,
            "step": 1,
            WHY: why,
        }


def slice_and_whole(size: Preset) -> Rows:
    """Half of a matrix's rows, and the matrix, in one storage."""
    rows, columns = square(size)
    part, whole = (
        TensorSpec((count, columns), REQUESTED, storage="whole", gradient=True)
        for count in (rows // 2, rows)
    )
    why = "the whole matrix again from a view of half of its rows, as functionalization needs"
    return {why: call(self=part, src=whole, dim=0, start=0, end=rows // 2)}


OWN: dict[str, Variants] = {
    "diag_embed": lambda size: {
        "many small diagonal matrices, as covariances of mixtures": call(
            self=tensor(tall(size)[0], SMALL)
        ),
        "vectors below the diagonal, for tridiagonal matrices": call(
            self=tensor(cube(size)[0], cube(size)[1]), offset=-1
        ),
    },
    "diagonal_backward": lambda size: {
        "the gradient of a matrix's diagonal, for the trace of a covariance": call(
            grad_output=tensor(square(size)[0]),
            input_sizes=(square(size)[0],) * 2,
            offset=0,
            dim1=0,
            dim2=1,
        ),
        "gradients of the diagonals of a batch, such as of Cholesky factors": call(
            grad_output=tensor(*cube(size)[:2]), input_sizes=cube(size), offset=0, dim1=-2, dim2=-1
        ),
    },
    "repeat_interleave.self_Tensor": lambda size: {
        "FastSpeech 2: vectors of phonemes for as many frames as each lasts": call(
            self=tensor(size.extent(PHONEMES * 16), HIDDEN),
            repeats=durations(size, size.extent(PHONEMES * 16)),
            dim=0,
        ),
        "numbers repeated, as run lengths are decoded": call(
            self=tensor(*line(size)), repeats=durations(size, line(size)[0])
        ),
    },
    "repeat_interleave.Tensor": lambda size: {
        "indices of sentences for all of their tokens, in a packed batch": call(
            repeats=durations(size, line(size)[0])
        )
    },
    "resize": lambda size: {
        "the first half of a matrix, like a buffer for an epoch's last batch": call(
            self=tensor(*square(size)), size=(square(size)[0] // 2, square(size)[1])
        )
    },
    "resize_as": lambda size: {
        "the first half of a matrix, shaped as the last batch of an epoch": call(
            self=tensor(*square(size)), the_template=fixed(square(size)[0] // 2, square(size)[1])
        )
    },
    "select_backward": selected_gradients,
    "set": lambda size: {
        "a tensor emptied, as before its memory is freed": call(self=tensor(*square(size)))
    },
    "set.source_Tensor": lambda size: {
        "a tensor that takes the memory of another, as a parameter of sharded training": call(
            self=tensor(*square(size)), source=tensor(*square(size))
        )
    },
    "slice_backward": sliced_gradients,
    "slice_inverse": slice_and_whole,
}

add_rows(
    FAMILIES.add,
    OWN,
    replaces="its second tensor decides how often each element is repeated, or the storage",
)


STAGE = 96
"""Channels of the first stage of Swin-T."""
SHIFT = 3
"""Rows and columns that its windows are shifted by."""


@FAMILIES.also("roll")
def shift_windows(operator: Operator, size: Preset) -> Rows:
    """Feature maps with channels last, shifted along both spatial axes."""
    batch, channels, height, width = network_maps(size, STAGE, 56, 56)
    return {
        "Swin-T's feature maps, shifted by half a window": call(
            self=tensor(batch, height, width, channels), shifts=(-SHIFT, -SHIFT), dims=(1, 2)
        )
    }


@FAMILIES.also("tril", "triu")
def mask_of_batch(operator: Operator, size: Preset) -> Rows:
    """A square matrix for each of a batch's sentences."""
    batch, length, _ = few_sentences(size)
    why = "a mask for each sentence and pair of tokens, for causal attention"
    return {why: call(self=tensor(batch, length, length), diagonal=0)}


@FAMILIES.also("repeat.default")
def repeated(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor repeated along an axis: what recorded runs repeat are indices alone."""
    batch = size.samples(32)
    yield {
        "self": tensor(1, 197, UNITS),
        "repeats": (batch, 1, 1),
        WHY: "ViT-B/16's table of positions, once for each image",
    }
