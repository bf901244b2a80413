"""Operations that create tensors, interpolate, combine without arithmetic or take apart."""

from __future__ import annotations

from opperf.model import Argument
from opperf.rules.bert import WORDS, tokens
from opperf.rules.configurations import TAGS, TINY
from opperf.rules.dependencies import ascending
from opperf.rules.image_shapes import feature_maps, photographs
from opperf.rules.registering import Families
from opperf.rules.shapes import (
    LIST_LENGTH,
    MOSTLY_DISPATCH,
    Shape,
    column,
    in_cache,
    line,
    square,
    tall,
    vector,
)
from opperf.rules.sizes import Preset
from opperf.rules.values import (
    PADDED,
    SEQUENCE,
    below,
    between,
    call,
    fixed,
    literal,
    tensor,
    tensors,
)
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

BETA = 14.0
"""Parameter of a Kaiser window whose side lobes are about 100 dB down."""
KNOTS, RATE = 64, 4


def window(**parameter: Argument) -> Variants:
    """The length of a window, that of a long signal, and its parameter if it has one."""
    return lambda size: {"a Fourier transform's window": call(length=vector(size)[0], **parameter)}


def triangle(why: str) -> Variants:
    """The rows of a matrix as large as those of other operations."""
    return lambda size: {why: call(rows=square(size)[0])}


def spaced(many: str, few: str, count: int) -> Variants:
    """The ends of numbers at equal distances, or ratios, and how many: many, and the usual few."""
    return lambda size: {
        f"many {many}": call(start=1, stop=4, num=vector(size)[0]),
        f"{few}: {MOSTLY_DISPATCH}": call(start=1, stop=4, num=count, **{TAGS: (TINY,)}),
    }


SPACED = {
    "linspace": ("points at equal distances, as a function is sampled", "a plot's axis", 1000),
    "logspace": ("points at equal ratios, as a spectrum's frequencies", "penalties to try", 50),
}
"""Why numbers are made between two, by operator: many of them, and few, and how many are few."""


def lengths(size: Preset) -> list[int]:
    """Lengths of the sequences of a batch."""
    batch, longest = tokens(size)
    return [longest - i * longest // (2 * batch) for i in range(batch)]


def slices(size: Preset) -> tuple[tuple[str, Shape, int], ...]:
    """Tensors to take apart along the first, a middle and the last axis, each with why."""
    batch, length = tokens(size)
    return (
        ("queries, keys and values of one projection of tokens", (3, batch, 12, length, 64), 0),
        ("time steps one by one, for a recurrent cell in a loop", (batch, length, 64), 1),
        ("the four coordinates of boxes, as to find their areas", (square(size)[0] * 4, 4), -1),
    )


ROWS: dict[str, Variants] = {
    "bartlett_window blackman_window hamming_window hann_window": window(),
    "kaiser_window": window(beta=BETA),
    "eye": lambda size: {
        "an identity matrix, as is added to a covariance matrix": call(rows=square(size)[0]),
        "a shift by one step": call(rows=square(size)[0], columns=2 * square(size)[1], offset=1),
    },
    "tri tril_indices": triangle("the lower triangle of a matrix, for a mask of causal attention"),
    "triu_indices": triangle("the upper triangle of a large matrix, as each pair of points once"),
    "indices": lambda size: {"row and column of each point of a grid": call(shape=square(size))},
    "arange": lambda size: {
        "numbers counted up, as a set's indices": call(start=vector(size)[0]),
        f"positions of a sentence's tokens: {MOSTLY_DISPATCH}": call(
            start=tokens(size)[1], **{TAGS: (TINY,)}
        ),
    },
    "full": lambda size: {
        "a square matrix of one number, as a mask or sums to begin with": call(shape=square(size)),
        "a few rows of one number, which stay in cache, as a layer's state": call(
            shape=in_cache(size)
        ),
    },
    "cast": lambda size: {
        # The first is real, as numbers are whose shape a user gives.
        "real numbers to integers, cut off, as coordinates to pixels": call(
            x=tensor(*square(size), fill=between(0, square(size)[1]), dtype="float32"),
            dtype="int32",
        ),
        "images of eight bits to real numbers, before normalisation": call(
            x=fixed(*photographs(size), fill=below(256), dtype="uint8"), dtype="float32"
        ),
        "a mask to integers, as to count each sentence's tokens": call(
            x=fixed(*square(size), fill=PADDED, dtype="bool"), dtype="int32"
        ),
    },
    **{name: spaced(*points) for name, points in SPACED.items()},
    "full_like": lambda size: {
        "a matrix of one number, as a first state": call(x=fixed(*square(size)), value=2.0),
        "a smaller one, which stays in cache, as labels": call(x=fixed(*in_cache(size)), value=2.0),
    },
    "vandermonde": lambda size: {"powers up to cubes": call(x=tensor(*line(size)), columns=4)},
    "interpolate": lambda size: {
        "many points in a short table, as a calibration or a curve of colours": call(
            x=tensor(*vector(size), fill=between(0, KNOTS - 1)),
            known=fixed(KNOTS, fill=literal([float(i) for i in range(KNOTS)]), dtype="float64"),
            values=tensor(KNOTS),
        ),
        "a signal at four times its rate: numbers in order": call(
            x=tensor(RATE * (line(size)[0] - 1) + 1, fill=SEQUENCE),
            known=fixed(*line(size), fill=ascending(0, RATE * (line(size)[0] - 1))),
            values=tensor(*line(size)),
        ),
    },
    "block_diagonal": lambda size: {
        "a few large matrices, as the covariances of independent groups": call(
            tensors=tensors([tensor(size.extent(512), size.extent(512))] * LIST_LENGTH)
        ),
        "small: a batch of molecules": call(tensors=tensors([tensor(16, 16)] * size.extent(64))),
    },
    "broadcast_together": lambda size: {
        "a column and a row, as each pair of two lists": call(
            tensors=tensors([tensor(*column(size)), tensor(1, tall(size)[1])])
        ),
        "feature maps and a number per channel, before arithmetic": call(
            tensors=tensors([tensor(*feature_maps(size)), tensor(1, feature_maps(size)[1], 1, 1)])
        ),
    },
    "meshgrid": lambda size: {
        why: call(tensors=tensors([tensor(size.extent(side))] * count), indexing=indexing)
        for why, side, count, indexing in (
            ("rows and columns of a map, as the anchors of a detector", 1024, 2, "ij"),
            ("columns and rows of an image, for the rays of its camera", 1024, 2, "xy"),
            ("points of a volume, as an occupancy network's", 96, 3, "ij"),
        )
    },
    "unstack": lambda size: {
        why: call(x=tensor(*shape), axis=axis) for why, shape, axis in slices(size)
    },
    "pad_sequences": lambda size: {
        "spectrograms of 80 mel bands to one batch, for speech recognition": call(
            tensors=tensors(tensor(length, 80) for length in lengths(size)), value=0.0
        ),
        "sentences of word numbers to one batch, as a data loader's collate function": call(
            tensors=tensors(fixed(n, fill=below(WORDS), dtype="int64") for n in lengths(size)),
            value=0,
        ),
    },
    "combinations": lambda size: {
        why: call(x=tensor(size.extent(count, least=8)), length=length, repeated=repeated)
        for why, count, length, repeated in (
            ("each pair of elements once, for a metric loss", 1024, 2, False),
            ("each triple, repeated or not, as polynomial features of degree three", 96, 3, True),
        )
    },
}
add_rows(FAMILIES.operation, ROWS)
