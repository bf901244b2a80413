"""Families of PyTorch's operators that return a view of a tensor, and of their forms that copy.

A view takes the time of a call whatever the tensor; its gradient and a copy take longer for more
elements.
"""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator, TensorSpec
from opperf.rules.bert import HEADS, UNITS, WIDTH, few_sentences
from opperf.rules.configurations import WHY
from opperf.rules.pictures import feature_maps, network_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import Shape, column, cube, square, tall
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.shapes import COPIED, copy_of
from opperf.rules.values import REQUESTED, Arguments, below, fixed, literal, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()

COMPLEX = "complex64"
"""Dtype of tensors whose conjugates or parts are taken."""

FRAME, HOP = 400, 160
"""Samples of a frame of 25 ms, and from one frame to the next, 10 ms later, of sound at 16 kHz."""

PATCH = 16
"""Side of a vision transformer's patches."""

GROUPS = 4
"""Heads of queries for each head of keys, as in Llama 3."""


def sound(size: Preset) -> Shape:
    """Shape of a recording of 30 seconds at 16 kHz, at the default size."""
    return (size.extent(480_000),)


def heads(size: Preset) -> Shape:
    """Shape of BERT-base's queries: a vector for each sentence, token and head."""
    return (*few_sentences(size)[:2], HEADS, WIDTH)


def rotated(size: Preset) -> Shape:
    """Shape of queries as pairs of numbers, which rotary embeddings turn."""
    return (*heads(size)[:3], WIDTH // 2, 2)


def heads_first(size: Preset) -> TensorSpec:
    """`a.transpose(1, 2)` of BERT-base's heads: heads before tokens, not in the order of memory."""
    batch, length, count, width = heads(size)
    strides = (length * count * width, width, count * width, 1)
    return TensorSpec((batch, count, length, width), REQUESTED, strides=strides, gradient=True)


MATRIX = "a dense layer's weights, for its backward pass"
UNITARY = "the conjugate transpose of a complex matrix, which inverts a unitary one"


def as_argument(name: str) -> Variants:
    """Tensors to reshape without a copy, and their new shapes as the argument of this name."""
    return lambda size: [
        {
            "self": tensor(*few_sentences(size)),
            name: heads(size),
            WHY: "BERT-base's tokens divided among its heads",
        },
        {
            "self": tensor(*network_maps(size, 512, 7, 7)),
            name: (size.samples(8), -1),
            WHY: "VGG's last feature maps to one vector for each picture",
        },
    ]


def like(name: str) -> Variants:
    """A tensor to reshape, and one of the new shape as the argument of this name."""
    return lambda size: [
        {
            "self": tensor(*few_sentences(size)),
            name: fixed(*heads(size)),
            WHY: "BERT-base's tokens divided among its heads, as the queries are",
        }
    ]


def of_matrix(why: str, dtype: str = REQUESTED) -> Variants:
    """A square matrix alone."""
    return lambda size: [{"self": tensor(*square(size), dtype=dtype), WHY: why}]


def parts_of(size: Preset) -> list[tuple[TensorSpec, int, int, int, str]]:
    """Tensors, the axis and both ends of a part of each, and why it is taken."""
    batch, length, width = few_sentences(size)
    channels = feature_maps(size)[1]
    return [
        (tensor(batch, length, width), 1, 0, length // 2, "the first tokens, as a prompt's"),
        (
            tensor(batch, length, 3 * width),
            2,
            width,
            2 * width,
            "the keys in a joint projection of queries, keys and values, as GPT-2's",
        ),
        (
            tensor(*feature_maps(size)),
            1,
            channels // 2,
            channels,
            "half of the channels of feature maps, as in ShuffleNet's branches",
        ),
    ]


def narrowed(size: Preset, starts_are_tensors: bool = False) -> Iterable[Arguments]:
    """Parts by their beginning and length, the beginning as a tensor where an overload takes it."""
    for whole, axis, begin, end, why in parts_of(size):
        start = fixed(fill=literal(begin), dtype="int64") if starts_are_tensors else begin
        yield {"self": whole, "dim": axis, "start": start, "length": end - begin, WHY: why}


def sliced(size: Preset) -> Iterable[Arguments]:
    """Parts by their beginning and end, and every other row."""
    for whole, axis, begin, end, why in parts_of(size):
        yield {"self": whole, "dim": axis, "start": begin, "end": end, WHY: why}
    yield {
        "self": tensor(*feature_maps(size)),
        "dim": 3,
        "start": 0,
        "end": feature_maps(size)[3],
        "step": 2,
        WHY: "every other column of feature maps, as a shortcut of stride 2",
    }


def selected(size: Preset) -> Iterable[Arguments]:
    """One index of the first, a middle and the last axis."""
    batch, length, width = few_sentences(size)
    for shape, axis, index, why in (
        ((batch, length, width), 1, 0, "the first token of each sentence, as BERT's pooler takes"),
        ((3, batch, length, width), 0, 1, "the keys among queries, keys and values"),
        ((batch, length, 2), 2, 0, "the first logit of each token, as where an answer begins"),
    ):
        yield {"self": tensor(*shape), "dim": axis, "index": index, WHY: why}


def expanded(size: Preset) -> list[tuple[Shape, Shape, str]]:
    """Shapes to broadcast, and those to broadcast to, with why."""
    batch, length, *_ = heads(size)
    rows = tall(size)
    # Llama 3 8B's keys.
    shared = (1, 8, 1, size.extent(1024, least=32), 128)
    return [
        (column(size), rows, "a number per row to a matrix, as each sample's maximum or norm"),
        ((1, UNITS), (batch * length, UNITS), "a bias to all tokens: its gradient sums over them"),
        (
            shared,
            (*shared[:2], GROUPS, *shared[3:]),
            "each head of keys to its group of heads of queries, as in Llama 3",
        ),
    ]


def expand(size: Preset) -> Iterable[Arguments]:
    """Tensors, and the shapes to broadcast them to."""
    for shape, wide, why in expanded(size):
        yield {"self": tensor(*shape), "size": wide, WHY: why}


def transposed(size: Preset) -> Iterable[Arguments]:
    """Heads of attention, and a matrix."""
    return [
        {
            "self": tensor(*heads(size)),
            "dim0": 1,
            "dim1": 2,
            WHY: "BERT-base's heads before its tokens, as products of attention take them",
        },
        {"self": tensor(*square(size)), "dim0": 0, "dim1": 1, WHY: MATRIX},
    ]


VIEWS: dict[str, Variants] = {
    "adjoint": of_matrix(UNITARY, COMPLEX),
    "alias": of_matrix("a tensor as it is, as an identity leaves it in a graph"),
    "as_strided": lambda size: [
        {
            "self": tensor(*sound(size)),
            "size": ((sound(size)[0] - FRAME) // HOP + 1, FRAME),
            "stride": (HOP, 1),
            WHY: "overlapping frames of sound, as before a spectrogram",
        },
        {
            "self": tensor(*square(size)),
            "size": square(size)[::-1],
            "stride": (1, square(size)[1]),
            WHY: "the transpose of a matrix by its strides",
        },
    ],
    "broadcast_to": expand,
    "detach": of_matrix("a layer's output, cut off from the graph, as a target network's"),
    "diagonal": lambda size: [
        {
            "self": tensor(*square(size)),
            WHY: "the diagonal of a matrix, as a covariance's variances",
        },
        {
            "self": tensor(*cube(size)),
            "offset": 1,
            "dim1": 1,
            "dim2": 2,
            WHY: "a diagonal of each matrix of a batch, as covariances of neighbouring steps",
        },
    ],
    "expand": expand,
    "expand_as": lambda size: [
        {"self": tensor(*shape), "other": fixed(*wide), WHY: why}
        for shape, wide, why in expanded(size)
    ],
    "flatten.using_ints": lambda size: [
        {
            "self": tensor(*network_maps(size, 512, 7, 7)),
            "start_dim": 1,
            WHY: "VGG's last feature maps to one vector for each picture",
        },
        {
            "self": tensor(*heads(size)),
            "start_dim": 2,
            WHY: "BERT-base's heads joined, as before the projection of attention's output",
        },
    ],
    "mH": of_matrix(UNITARY, COMPLEX),
    "mT": of_matrix(MATRIX),
    "narrow": narrowed,
    "narrow.Tensor": lambda size: narrowed(size, starts_are_tensors=True),
    "numpy_T": of_matrix(MATRIX),
    "permute": lambda size: [
        {
            "self": tensor(*feature_maps(size, 96)),
            "dims": (0, 2, 3, 1),
            WHY: "feature maps from NCHW to NHWC, as before ConvNeXt-T's layer norm",
        },
        {
            "self": tensor(*heads(size)),
            "dims": (0, 2, 1, 3),
            WHY: "BERT-base's heads before its tokens, as products of attention take them",
        },
    ],
    "ravel": of_matrix("gradients laid out flat, as before they are sent to other devices"),
    "reshape": as_argument("shape"),
    "reshape_as": like("other"),
    "select.int": selected,
    "slice.Tensor": sliced,
    "squeeze": lambda size: [
        {
            "self": tensor(*network_maps(size, 2048, 1, 1)),
            WHY: "ResNet-50's features after global pooling, all axes of extent 1",
        }
    ],
    "squeeze.dim": lambda size: [
        {
            "self": tensor(*few_sentences(size)[:2], 1),
            "dim": -1,
            WHY: "the one logit of each token, as an extractive reader's",
        }
    ],
    "squeeze.dims": lambda size: [
        {
            "self": tensor(*network_maps(size, 2048, 1, 1)),
            "dim": (2, 3),
            WHY: "ResNet-50's features after global pooling, by both spatial axes",
        }
    ],
    "t": of_matrix(MATRIX),
    **dict.fromkeys(("transpose.int", "transpose_"), transposed),
    "unflatten.int": lambda size: [
        {
            "self": tensor(*few_sentences(size)),
            "dim": -1,
            "sizes": (HEADS, WIDTH),
            WHY: "BERT-base's tokens divided among its heads",
        }
    ],
    "unfold": lambda size: [
        {
            "self": tensor(*sound(size)),
            "dimension": 0,
            "size": FRAME,
            "step": HOP,
            WHY: "overlapping frames of sound, as before a spectrogram",
        },
        {
            "self": tensor(*photographs(size)),
            "dimension": 2,
            "size": PATCH,
            "step": PATCH,
            WHY: "rows of patches of pictures, as a vision transformer's",
        },
    ],
    "unsqueeze": lambda size: [
        {
            "self": tensor(*few_sentences(size)[:2]),
            "dim": 1,
            WHY: "a mask of tokens, to broadcast it over the scores of attention",
        }
    ],
    "view": as_argument("size"),
    "view.dtype": lambda size: [
        {
            "self": fixed(*square(size), fill=below(256), dtype="int32"),
            "dtype": "uint8",
            WHY: "whole numbers as their bytes, as before they are sent",
        },
        {
            "self": fixed(*square(size), fill=below(256), dtype="uint8"),
            "dtype": "int32",
            WHY: "bytes as whole numbers, as of packed 8-bit weights",
        },
    ],
    "view_as": like("other"),
    "view_as_complex": lambda size: [
        {
            "self": tensor(*rotated(size)),
            WHY: "queries' pairs of numbers as complex ones, as Llama's rotary embedding has them",
        }
    ],
    "view_as_real": lambda size: [
        {
            "self": tensor(*rotated(size)[:-1], dtype=COMPLEX),
            WHY: "turned queries back to pairs of real numbers, as in Llama's rotary embedding",
        }
    ],
}
"""Operators that return a view, and the tensors that models view so."""


@FAMILIES.add(*VIEWS)
def view(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tensors, and how they are viewed."""
    for one in own(VIEWS, operator, size):
        yield {**one, WHY: f"{one[WHY]}: a view"}


COPIES: dict[str, Variants] = {
    copy_of(name): variants
    for name, variants in VIEWS.items()
    if name in COPIED or name.partition(".")[0] in COPIED
}


@FAMILIES.add(*COPIES)
def copy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The tensors of a view, whose elements are copied."""
    for one in own(COPIES, operator, size):
        yield {**one, WHY: f"{one[WHY]}: a copy"}


@FAMILIES.also("reshape")
def reshape_with_a_copy(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Tokens' heads, of which no view has the new shape."""
    whole = heads_first(size)
    batch, count, length, width = whole.shape
    yield {
        "self": whole,
        "shape": (batch * count, length, width),
        WHY: "BERT-base's sentences and heads joined, heads not before tokens in memory: a copy",
    }
