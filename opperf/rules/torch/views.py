"""Families of PyTorch's operators that return a view of a tensor, and of their forms that copy.

A view takes the time of a call whatever the tensor; its gradient and a copy take longer for more
elements.
"""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import HEADS, UNITS, WIDTH, few_sentences, heads
from opperf.rules.configurations import WHY
from opperf.rules.families.shapes import TO_HEADS
from opperf.rules.image_shapes import feature_maps, network_maps, photographs
from opperf.rules.registering import Families, Rows
from opperf.rules.shapes import Shape, column, cube, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.shapes import COPIED, copy_of
from opperf.rules.values import REQUESTED, below, call, fixed, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of tensors whose conjugates or parts are taken."""

FRAME, HOP = 400, 160
"""Samples of a frame of 25 ms, and from one frame to the next, 10 ms later, of sound at 16 kHz."""

PATCH = 16
"""Side of a vision transformer's patches."""

GROUPS = 4
"""Heads of queries for each head of keys, those of Llama 3."""


def sound(size: Preset) -> Shape:
    """Shape of a recording of 30 seconds at 16 kHz, at the default size."""
    return (size.extent(480_000),)


def rotated(size: Preset) -> Shape:
    """Shape of Llama 7B's queries of a short text, as pairs of numbers."""
    return (1, size.extent(512), 32, 64, 2)


def heads_first(size: Preset) -> TensorSpec:
    """`a.transpose(1, 2)` of BERT-base's heads: heads before tokens, not in the order of memory."""
    batch, length, count, width = heads(size)
    strides = (length * count * width, width, count * width, 1)
    return TensorSpec((batch, count, length, width), REQUESTED, strides=strides, gradient=True)


MATRIX = "a dense layer's weights, for its backward pass"
UNITARY = "the conjugate transpose of a complex matrix, which inverts a unitary one"


TO_VECTORS = "VGG's last feature maps to one vector for each image"
HEADS_FIRST = "BERT-base's heads before its tokens, as products of attention take them"
FRAMES = "overlapping frames of sound, as before a spectrogram"


def as_argument(name: str) -> Variants:
    """Tensors to reshape without a copy, and their new shapes as the argument of this name."""
    return lambda size: {
        TO_HEADS: call(self=tensor(*few_sentences(size)), **{name: heads(size)}),
        TO_VECTORS: call(
            self=tensor(*network_maps(size, 512, 7, 7)), **{name: (size.samples(8), -1)}
        ),
    }


def _of_matrix(why: str, dtype: str = REQUESTED) -> Variants:
    return lambda size: {why: call(self=tensor(*square(size), dtype=dtype))}


def selected(size: Preset) -> dict[str, dict[str, Any]]:
    """One index of the first, a middle and the last axis."""
    batch, length, width = few_sentences(size)
    return {
        "first tokens, as BERT's pooler": call(self=tensor(batch, length, width), dim=1, index=0),
        "keys among queries and values": call(self=tensor(3, batch, length, width), dim=0, index=1),
        "first logits, where answers begin": call(self=tensor(batch, length, 2), dim=2, index=0),
    }


def expanded(size: Preset) -> dict[str, tuple[Shape, Shape]]:
    """Shapes to broadcast, and those to broadcast to, by why."""
    batch, length, *_ = heads(size)
    keys = (1, 8, size.extent(1024, least=32), 128)
    one, group = ((*keys[:2], count, *keys[2:]) for count in (1, GROUPS))
    return {
        "a number per row to a matrix, as each sample's norm": (column(size), tall(size)),
        "a bias to all tokens: its gradient sums over them": ((1, UNITS), (batch * length, UNITS)),
        "Llama 3: each head of keys to its group of heads of queries": (one, group),
    }


def _expand(size: Preset) -> Rows:
    made = expanded(size).items()
    return {why: call(self=tensor(*shape), size=wide) for why, (shape, wide) in made}


def _transposed(size: Preset) -> Rows:
    return {
        HEADS_FIRST: call(self=tensor(*heads(size)), dim0=1, dim1=2),
        MATRIX: call(self=tensor(*square(size)), dim0=0, dim1=1),
    }


VIEWS: dict[str, Variants] = {
    "adjoint": _of_matrix(UNITARY, COMPLEX),
    "alias": _of_matrix("a tensor as it is, as an identity leaves it in a graph"),
    "as_strided": lambda size: {
        FRAMES: call(
            self=tensor(count := sound(size)[0]),
            size=((count - FRAME) // HOP + 1, FRAME),
            stride=(HOP, 1),
        ),
        "the transpose of a matrix by its strides": call(
            self=tensor(*square(size)), size=square(size)[::-1], stride=(1, square(size)[1])
        ),
    },
    "broadcast_to": _expand,
    "detach": _of_matrix("a layer's output, cut off from the graph, as a target network's"),
    "diagonal": lambda size: {
        "the diagonal of a matrix, as a covariance's variances": call(self=tensor(*square(size))),
        "covariances with the next step": call(self=tensor(*cube(size)), offset=1, dim1=1, dim2=2),
    },
    "expand": _expand,
    "flatten.using_ints": lambda size: {
        TO_VECTORS: call(self=tensor(*network_maps(size, 512, 7, 7)), start_dim=1),
        "BERT-base's heads joined after attention": call(self=tensor(*heads(size)), start_dim=2),
    },
    "mH": _of_matrix(UNITARY, COMPLEX),
    "mT": _of_matrix(MATRIX),
    "numpy_T": _of_matrix(MATRIX),
    "permute": lambda size: {
        "ConvNeXt-T's maps to NHWC": call(self=tensor(*feature_maps(size, 96)), dims=(0, 2, 3, 1)),
        HEADS_FIRST: call(self=tensor(*heads(size)), dims=(0, 2, 1, 3)),
    },
    "ravel": _of_matrix("gradients laid out flat, as before they are sent to other devices"),
    "reshape": as_argument("shape"),
    "select.int": selected,
    "squeeze": lambda size: {
        "ResNet-50's globally pooled features": call(self=tensor(*network_maps(size, 2048, 1, 1)))
    },
    "squeeze.dim": lambda size: {
        "an extractive reader's logits": call(self=tensor(*few_sentences(size)[:2], 1), dim=-1)
    },
    "squeeze.dims": lambda size: {
        "ResNet-50, pooled globally": call(self=tensor(*network_maps(size, 2048, 1, 1)), dim=(2, 3))
    },
    "t": _of_matrix(MATRIX),
    **dict.fromkeys(("transpose.int", "transpose_"), _transposed),
    "unflatten.int": lambda size: {
        TO_HEADS: call(self=tensor(*few_sentences(size)), dim=-1, sizes=(HEADS, WIDTH))
    },
    "unfold": lambda size: {
        FRAMES: call(self=tensor(*sound(size)), dimension=0, size=FRAME, step=HOP),
        "image patches": call(self=tensor(*photographs(size)), dimension=2, size=PATCH, step=PATCH),
    },
    "unsqueeze": lambda size: {"a token mask": call(self=tensor(*few_sentences(size)[:2]), dim=1)},
    "view": as_argument("size"),
    "view.dtype": lambda size: {
        "integers as their bytes, to be sent": call(
            self=fixed(*square(size), fill=below(256), dtype="int32"), dtype="uint8"
        ),
        "bytes as integers, such as packed 8-bit weights": call(
            self=fixed(*square(size), fill=below(256), dtype="uint8"), dtype="int32"
        ),
    },
    "view_as_complex": lambda size: {"Llama's queries in pairs": call(self=tensor(*rotated(size)))},
    "view_as_real": lambda size: {
        "Llama's rotated queries as pairs": call(self=tensor(*rotated(size)[:-1], dtype=COMPLEX))
    },
}
"""Operators that return a view, and the tensors that models view so."""


@FAMILIES.add(*VIEWS, replaces="a view takes a call's time whatever the tensor, unless it copies")
def view(operator: Operator, size: Preset) -> Rows:
    """Tensors, and how they are viewed."""
    return [{**row, WHY: f"{row[WHY]}: a view"} for row in own(VIEWS, operator, size)]


def without_axes(**axes: Argument) -> Variants:
    """Maps of one channel, whose axis is removed."""
    return lambda size: {"depth maps": call(self=tensor(*network_maps(size, 1, 480, 640)), **axes)}


COPIES: dict[str, Variants] = {
    **{
        copy_of(name): variants
        for name, variants in VIEWS.items()
        if name in COPIED or name.partition(".")[0] in COPIED
    },
    # Models view few elements so, and a copy of few is a call's overhead.
    "squeeze_copy": without_axes(),
    "squeeze_copy.dim": without_axes(dim=1),
    "squeeze_copy.dims": without_axes(dim=(1,)),
    "unsqueeze_copy": lambda size: {
        "Llama 3's heads of keys": call(self=tensor(1, 8, size.extent(1024, least=32), 128), dim=2)
    },
}


@FAMILIES.add(*COPIES, replaces="the tensors of the view that it copies")
def copy(operator: Operator, size: Preset) -> Rows:
    """The tensors of a view, whose elements are copied."""
    return [{**row, WHY: f"{row[WHY]}: a copy"} for row in own(COPIES, operator, size)]


@FAMILIES.also("reshape")
def reshape_with_a_copy(operator: Operator, size: Preset) -> Rows:
    """Tokens' heads, of which no view has the new shape."""
    whole = heads_first(size)
    batch, count, length, width = whole.shape
    return {"BERT-base's heads: a copy": call(self=whole, shape=(batch * count, length, width))}
