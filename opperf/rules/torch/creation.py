"""Families of PyTorch's operators that make tensors from numbers: constants, ranges, windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Table, Use, merge, use
from opperf.rules.bert import few_sentences, tokens
from opperf.rules.configurations import OUTSIDE, TAGS, TINY, WHY
from opperf.rules.deviations import UNWRITTEN
from opperf.rules.families.creation import SPACED
from opperf.rules.image_shapes import feature_maps
from opperf.rules.registering import Families
from opperf.rules.shapes import MOSTLY_DISPATCH, square, tiny, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, call, fixed, literal, taken
from opperf.rules.variants import Variants, add_rows

OPTIONS = "-dtype -memory_format -device -layout -pin_memory"
"""Arguments that do not affect the values, in the text of a use."""


def of_one_number(value: float) -> Table:
    """The uses of the operators that write one number all over."""
    name = "ones" if value else "zeros"
    return {
        name: use("full", f"shape=size {OPTIONS}", value=value),
        f"new_{name}": use("full", f"shape=size -self {OPTIONS}", value=value),
        f"{name}_like": use(f"{name}_like", f"x=self {OPTIONS}"),
    }


def of_window(operation: str, **usual: float) -> Use:
    """The use of a window with its usual parameters, where a call has none."""

    def to_roles(window_length: int, periodic: bool = True, **other: Any) -> dict[str, Any]:
        other.pop("dtype", None)
        return {**usual, "length": window_length + periodic, **other}

    return use(
        operation,
        to_roles,
        lambda made, arguments: made[:-1] if arguments.get("periodic", True) else made,
        to_arguments=lambda operator, roles: None,
    )


WINDOWS: Table = {
    **{f"{name}_window": of_window(f"{name}_window") for name in ("bartlett", "blackman", "hann")},
    "hamming_window": of_window("general_hamming_window", alpha=0.54, beta=0.46),
    "kaiser_window": of_window("kaiser_window", beta=12.0),
}

OPERATIONS: Table = merge(
    of_one_number(0.0),
    of_one_number(1.0),
    WINDOWS,
    {
        "arange": use("arange", f"start=end {OPTIONS}"),
        "arange.start": use("arange", f"start stop=end {OPTIONS}"),
        "arange.start_step": use("arange", f"start stop=end step {OPTIONS}"),
        "complex": use("complex", "x=real y=imag"),
        "eye": use("eye", f"rows=n columns=m {OPTIONS}"),
        "fft_fftfreq": use("fourier_frequencies", f"count=n spacing=d {OPTIONS}"),
        "fft_rfftfreq": use("real_fourier_frequencies", f"count=n spacing=d {OPTIONS}"),
        "full": use(
            "full", f"shape=size value=fill_value {OPTIONS}", also={"fill_value": -10_000.0}
        ),
        "full_like": use("full_like", f"x=self value=fill_value {OPTIONS}"),
        "linspace": use("linspace", f"start stop=end num=steps {OPTIONS}"),
        "logspace": use("logspace", f"start stop=end num=steps {OPTIONS}"),
        "new_full": use("full", f"shape=size value=fill_value -self {OPTIONS}"),
        "polar": use("polar", "x=abs y=angle"),
        "range": use(
            "arange",
            lambda start, end, step=1, **_: {"start": start, "stop": end + step / 2, "step": step},
        ),
        "scalar_tensor": use("full", f"value=s {OPTIONS}", shape=()),
        "vander": use("vandermonde", "x columns=N"),
        "zero": use("zeros_like", "x=self"),
    },
)

FAMILIES = Families()

NOT_BENCHMARKED = {
    **dict.fromkeys(
        ("set.source_Storage", "set.source_Storage_storage_offset"),
        "it takes a storage, the memory under a tensor, which is no tensor",
    ),
    "from_file": "it maps a file of the user's into memory",
    "get_gradients": "it reads the gradients of a pass of distributed autograd, which has to run",
}
NOT_FINITE = dict.fromkeys(
    (
        *("empty", "empty_like", "empty_permuted", "empty_quantized", "empty_strided"),
        *("new_empty", "new_empty_strided"),
    ),
    UNWRITTEN,
)

WHOLE = "int64"
"""Dtype of positions and labels, as PyTorch makes them."""

RAW = {"dtype": "int32"}
"""Of uninitialised tensors: floats may be NaN, and int32 is as large as the default dtype."""


def made_new(why: str, **values: Argument) -> Variants:
    """The configuration of an operator that makes a tensor like another, of a shape of its own."""
    return lambda size: {why: call(self=fixed(*few_sentences(size)), size=square(size), **values)}


FIRST, LAST = fixed(fill=literal(1.0)), fixed(fill=literal(4.0))
ENDS: dict[str, tuple[Argument, Argument]] = {
    "Scalar_Tensor": (1.0, LAST),
    "Tensor_Scalar": (FIRST, 4.0),
    "Tensor_Tensor": (FIRST, LAST),
}
"""Both ends, by the overload that takes one or both as a tensor."""


def spaced(many: str, few: str, count: int, start: Argument, end: Argument) -> Variants:
    """The configurations of many numbers between two, and of few."""
    return lambda size: {
        f"many {many}": call(start=start, end=end, steps=vector(size)[0]),
        f"{few}: {MOSTLY_DISPATCH}": call(start=start, end=end, steps=count, **{TAGS: (TINY,)}),
    }


OWN: dict[str, Variants] = {
    "arange": lambda size: {
        "positions of all samples, to be shuffled": call(end=vector(size)[0], dtype=WHOLE),
        "real numbers counted up, as the times of a signal's samples": call(end=vector(size)[0]),
        f"positions of a text's tokens: {MOSTLY_DISPATCH}": call(end=tokens(size)[1], dtype=WHOLE),
    },
    "arange.start": lambda size: {
        "one device's positions": call(start=vector(size)[0], end=2 * vector(size)[0], dtype=WHOLE)
    },
    "arange.start_step": lambda size: {
        "even numbers in order": call(start=0, end=2 * vector(size)[0], step=2, dtype=WHOLE)
    },
    "empty.memory_format": lambda size: {
        "a buffer of maps: not written to": call(size=feature_maps(size), **RAW),
        f"a buffer of few numbers, from those freed before: {MOSTLY_DISPATCH}": call(
            size=tiny(size), **RAW, **{TAGS: (TINY,)}
        ),
    },
    "empty_like": lambda size: {
        "a buffer of results: not written to": call(self=fixed(*feature_maps(size)), **RAW)
    },
    "empty_permuted": lambda size: {
        "a buffer of feature maps with channels last: not written to": call(
            size=feature_maps(size), physical_layout=(0, 2, 3, 1), **RAW
        )
    },
    "empty_strided": lambda size: {
        "a buffer by its strides": call(size=square(size), stride=(square(size)[1], 1), **RAW)
    },
    "eye.m": lambda size: {
        "ones on the diagonal of a wide matrix": call(n=square(size)[0], m=2 * square(size)[1])
    },
    "new_empty": made_new("a buffer of a dtype of its own: not written to", **RAW),
    "new_empty_strided": lambda size: {
        "a buffer by strides of its own: not written to": call(
            self=fixed(*few_sentences(size)), size=square(size), stride=(square(size)[1], 1), **RAW
        )
    },
    "new_full": made_new("a mask's number for excluded scores", fill_value=-10_000.0),
    "new_ones": made_new("a mask of all tokens, of the scores' dtype"),
    "new_zeros": made_new("sums to begin with, of the gradients' dtype"),
    "range": lambda size: {
        "counted to the last number, deprecated for `arange`": call(start=1, end=vector(size)[0])
    },
    "range.step": lambda size: {
        "odd numbers, deprecated for `arange`": call(start=1, end=2 * vector(size)[0] - 1, step=2)
    },
    "scalar_tensor": lambda size: {f"a number in a graph: {MOSTLY_DISPATCH}": call(s=2.5)},
    **{
        f"{name}.{overload}": spaced(*points, *ends)
        for name, points in SPACED.items()
        for overload, ends in ENDS.items()
    },
}

add_rows(FAMILIES.add, OWN, replaces="its numbers are Python's, tensors or both, by overload")

FRAME = 400
"""Samples of a frame of 25 ms at 16 kHz."""

SIDE_LOBES = 14.0
"""A Kaiser window's parameter for side lobes about 100 dB down."""

ALPHA, BETA = 0.54, 0.46
"""Parameters of Hamming's window."""


@FAMILIES.category("window")
def window(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The length of a window, of a frame and of a long signal."""
    beta = SIDE_LOBES if operator.name.startswith("kaiser") else BETA
    for length, periodic, why, tags in (
        (FRAME, False, f"a frame of 25 ms of sound: {MOSTLY_DISPATCH}", (OUTSIDE, TINY)),
        (vector(size)[0], True, "a window as long as a signal, before its Fourier transform", ()),
    ):
        shape: Arguments = {"periodic": periodic, "alpha": ALPHA, "beta": beta}
        yield {"window_length": length, **taken(operator, shape), WHY: why, TAGS: tags}
