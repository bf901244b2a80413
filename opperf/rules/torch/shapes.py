"""Families of PyTorch's operators that move and repeat elements, and of derivatives of views."""

from __future__ import annotations

from opperf.model import TensorSpec
from opperf.rules.bert import UNITS
from opperf.rules.families.indexing import parts_of
from opperf.rules.image_shapes import channels_last, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, cube, line, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.views import selected
from opperf.rules.values import BOOLEAN, REQUESTED, below, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

PHONEMES, HIDDEN = 128, 256
"""Phonemes of a sentence and the width of their vectors, those of FastSpeech 2."""

SMALL = 16
"""Order of small matrices, such as a mixture's covariances."""

LONGEST = 12
"""More than the frames of most phonemes."""


def _durations(count: int) -> TensorSpec:
    return fixed(count, fill=below(LONGEST, start=1), dtype="int64")


def _selected_gradients(size: Preset) -> Rows:
    return {
        why: call(
            grad_output=tensor(*without(row["self"].shape, row["dim"])),
            input_sizes=row["self"].shape,
            dim=row["dim"],
            index=row["index"],
        )
        for why, row in selected(size).items()
    }


def _sliced_gradients(size: Preset) -> Rows:
    return {
        why: call(
            grad_output=tensor(*without(whole, dim, end - start)),
            input_sizes=whole,
            **{"dim": dim, "start": start, "end": end, "step": 1},
        )
        for why, (whole, dim, start, end) in parts_of(size).items()
    }


def without(shape: Shape, axis: int, *extents: int) -> Shape:
    """The shape with these extents in place of that of an axis."""
    return (*shape[:axis], *extents, *shape[axis + 1 :])


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
        "diagonal matrices, as mixtures' covariances": call(self=tensor(tall(size)[0], SMALL)),
        "subdiagonals, as shifts between states": call(
            self=tensor(cube(size)[0], cube(size)[1]), offset=-1
        ),
    },
    "diagonal_backward": lambda size: {
        "the gradient of a matrix's diagonal, for the trace of a covariance": call(
            grad_output=tensor(rows := square(size)[0]),
            input_sizes=(rows,) * 2,
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
            self=tensor(count := size.extent(PHONEMES * 16), HIDDEN),
            repeats=_durations(count),
            dim=0,
        ),
        "run lengths decoded": call(self=tensor(*line(size)), repeats=_durations(line(size)[0])),
    },
    "repeat_interleave.Tensor": lambda size: {
        "each token's sentence, in a packed batch": call(repeats=_durations(line(size)[0]))
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
    "select_backward": _selected_gradients,
    "set": lambda size: {"a tensor emptied, before it is freed": call(self=tensor(*square(size)))},
    "set.source_Tensor": lambda size: {
        "a tensor that takes the memory of another, as a parameter of sharded training": call(
            self=tensor(*square(size)), source=tensor(*square(size))
        )
    },
    "slice_backward": _sliced_gradients,
    "slice_inverse": slice_and_whole,
}

add_rows(FAMILIES.add, OWN, replaces="its second tensor decides repeats, or the storage")


STAGE = 96
"""Channels of the first stage of Swin-T."""
SHIFT = 3
"""Rows and columns that its windows are shifted by."""

FURTHER: dict[str, Variants] = {
    "roll": lambda size: {
        "Swin-T's feature maps, shifted by half a window": call(
            self=tensor(*channels_last(network_maps(size, STAGE, 56, 56))),
            shifts=(-SHIFT, -SHIFT),
            dims=(1, 2),
        )
    },
    "tril triu": lambda size: {
        "GPT-2's mask of attention by position, as booleans": call(
            self=fixed(*[size.extent(1024)] * 2, fill=BOOLEAN, dtype="bool"), diagonal=0
        )
    },
    # What recorded runs repeat are indices alone.
    "repeat.default": lambda size: {
        "ViT-B/16's positions": call(self=tensor(1, 197, UNITS), repeats=(size.samples(32), 1, 1))
    },
}
add_rows(FAMILIES.also, FURTHER)
