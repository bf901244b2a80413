"""Families of PyTorch's operators that make tensors from numbers: constants, ranges, windows."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Operator, TensorSpec
from opperf.rules.bert import few_sentences, tokens
from opperf.rules.configurations import WHY
from opperf.rules.pictures import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal
from opperf.rules.variants import Variants, own

FAMILIES = Families()

WHOLE = "int64"
"""Dtype of positions and labels, as PyTorch makes them."""

UNTOUCHED = "int32"
"""Dtype of uninitialised tensors: floats may be NaN, and int32 is as large as the default dtype."""


def of_shapes(maps: str, matrix: str, **values: Argument) -> Variants:
    """The configurations of an operator that makes tensors of a shape: feature maps and a matrix,
    each with why."""
    return lambda size: [
        {"size": feature_maps(size), **values, WHY: maps},
        {"size": square(size), **values, WHY: matrix},
    ]


def made_new(why: str, **values: Argument) -> Variants:
    """The configuration of an operator that makes a tensor like another, of a shape of its own."""
    return lambda size: [
        {"self": fixed(*few_sentences(size)), "size": square(size), **values, WHY: why}
    ]


def rows(size: Preset) -> tuple[int, int]:
    """The strides of a contiguous square matrix."""
    return (square(size)[1], 1)


def scalar(value: float) -> TensorSpec:
    """A tensor of one number."""
    return fixed(fill=literal(value))


SPACED = {
    "linspace": "points at equal distances, as a function is sampled",
    "logspace": "points at equal ratios, as the frequencies of a spectrum",
}
"""Why numbers are made between two, by operator."""

ENDS: dict[str, tuple[Argument, Argument]] = {
    "Scalar_Tensor": (1.0, scalar(4.0)),
    "Tensor_Scalar": (scalar(1.0), 4.0),
    "Tensor_Tensor": (scalar(1.0), scalar(4.0)),
}
"""Both ends, by the overload that takes one or both as a tensor."""


def spaced(why: str, start: Argument, end: Argument) -> Variants:
    """The configuration of many numbers between two."""
    return lambda size: [{"start": start, "end": end, "steps": vector(size)[0], WHY: why}]


NAN_FREE = {"dtype": UNTOUCHED}

OWN: dict[str, Variants] = {
    "arange": lambda size: [
        {
            "end": vector(size)[0],
            "dtype": WHOLE,
            WHY: "positions of all samples, as an epoch's order before it is shuffled",
        },
        {
            "end": vector(size)[0],
            WHY: "real numbers counted up, as the times of a signal's samples",
        },
        {
            "end": tokens(size)[1],
            "dtype": WHOLE,
            WHY: f"positions of a sentence's tokens: {MOSTLY_DISPATCH}",
        },
    ],
    "arange.start": lambda size: [
        {
            "start": vector(size)[0],
            "end": 2 * vector(size)[0],
            "dtype": WHOLE,
            WHY: "positions that do not begin at zero, as of one device's share of the samples",
        }
    ],
    "arange.start_step": lambda size: [
        {
            "start": 0,
            "end": 2 * vector(size)[0],
            "step": 2,
            "dtype": WHOLE,
            WHY: "even numbers in order, as the places of real parts among imaginary ones",
        }
    ],
    "empty.memory_format": of_shapes(
        "a buffer of feature maps: not written to",
        "a buffer of a matrix: not written to",
        **NAN_FREE,
    ),
    "empty_like": lambda size: [
        {
            "self": fixed(*feature_maps(size)),
            **NAN_FREE,
            WHY: "a buffer of results shaped as the input: not written to",
        }
    ],
    "empty_permuted": lambda size: [
        {
            "size": feature_maps(size),
            "physical_layout": (0, 2, 3, 1),
            **NAN_FREE,
            WHY: "a buffer of feature maps with channels last: not written to",
        }
    ],
    "empty_strided": lambda size: [
        {
            "size": square(size),
            "stride": rows(size),
            **NAN_FREE,
            WHY: "a buffer by its strides, as compiled code makes them: not written to",
        }
    ],
    "eye.m": lambda size: [
        {
            "n": square(size)[0],
            "m": 2 * square(size)[1],
            WHY: "a wide matrix with ones on its diagonal, as a projection to some coordinates",
        }
    ],
    "fft_fftfreq": lambda size: [
        {"n": vector(size)[0], "d": 1e-3, WHY: "a long signal's, as the axis of a plot"}
    ],
    "fft_rfftfreq": lambda size: [
        {"n": vector(size)[0], "d": 1e-3, WHY: "a long real signal's, as the axis of a plot"}
    ],
    "full": lambda size: [
        {
            "size": feature_maps(size),
            "fill_value": 0.0,
            WHY: "feature maps of zeros, as of a padded border",
        },
        {
            "size": square(size),
            "fill_value": -10_000.0,
            WHY: "a square matrix of one number, as a mask's for excluded scores",
        },
    ],
    "new_empty": made_new("a buffer of the dtype of another: not written to", **NAN_FREE),
    "new_empty_strided": lambda size: [
        {
            "self": fixed(*few_sentences(size)),
            "size": square(size),
            "stride": rows(size),
            **NAN_FREE,
            WHY: "a buffer for a gradient by the strides of its tensor: not written to",
        }
    ],
    "new_full": made_new("a mask's number for excluded scores", fill_value=-10_000.0),
    "new_ones": made_new("a mask of all tokens, of the scores' dtype"),
    "new_zeros": made_new("sums to begin with, of the gradients' dtype"),
    "ones": of_shapes("weights of every pixel to begin with", "a mask to clear parts of"),
    "range": lambda size: [
        {
            "start": 1,
            "end": vector(size)[0],
            WHY: "numbers counted up, the last one too: the deprecated form of `arange`",
        }
    ],
    "range.step": lambda size: [
        {
            "start": 1,
            "end": 2 * vector(size)[0] - 1,
            "step": 2,
            WHY: "odd numbers, the last one too: the deprecated form of `arange`",
        }
    ],
    "scalar_tensor": lambda size: [
        {"s": 2.5, WHY: f"a number to compute with tensors, as in graphs: {MOSTLY_DISPATCH}"}
    ],
    "zeros": of_shapes("sums of gradients to begin with", "a recurrent layer's first state"),
    **{
        f"{name}.{overload}": spaced(why, *ends)
        for name, why in SPACED.items()
        for overload, ends in ENDS.items()
    },
}
"""Operators with inputs of their own."""


@FAMILIES.add(*OWN)
def create(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Shapes, numbers and ends of ranges."""
    return own(OWN, operator, size)


FRAME = 400
"""Samples of a frame of 25 ms at 16 kHz."""

SIDE_LOBES = 14.0
"""A Kaiser window's parameter for side lobes about 100 dB down."""

HANN = 0.5
"""Both parameters of Hann's window among Hamming's."""


def shape_of_window(operator: Operator) -> Arguments:
    """The arguments of a window beside its length."""
    beta = SIDE_LOBES if operator.name.startswith("kaiser") else HANN
    values: Arguments = {"periodic": False, "alpha": HANN, "beta": beta}
    return {name: value for name, value in values.items() if operator.parameter(name) is not None}


@FAMILIES.category("window")
def window(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The length of a window, of a frame and of a long signal."""
    for length, why in (
        (FRAME, f"a frame of 25 ms of sound, as Whisper's: {MOSTLY_DISPATCH}"),
        (vector(size)[0], "a window as long as a signal, before its Fourier transform"),
    ):
        yield {"window_length": length, **shape_of_window(operator), WHY: why}
