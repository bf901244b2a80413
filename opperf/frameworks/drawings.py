"""The kinds of contents: for each distribution, NumPy code that draws or computes its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opperf.dtypes import DTYPES
from opperf.frameworks.texts import text_values
from opperf.model import Fill, TensorSpec

INTEGER_SPAN = 10
"""Width of the range that integers are drawn from if a fill's domain holds no integer, e.g.
[0.1, 0.9). Small, so that sums and products of int8 stay in range."""

DIAGONAL_MARGIN = 1.0
"""Added to the diagonal of triangular matrices so that solving with them is stable."""

DRAWN = 1 << 16
"""Maximum number of random numbers drawn for a tensor. Longer ones are sums of two series of half
as many: a run of the whole registry would otherwise spend more time drawing than measuring."""

LENGTH = 32749
"""Length of such a series, a prime: in matrices, whose rows rarely are as long, no row has the same
part of it as another. In single precision it fits the second-level cache several times."""

TURN = 1082
"""Elements by which the second series is turned from one block of sums to the next. Twice a prime,
and from `LENGTH` a prime: turned, too, the series lies the same in no two rows."""

FILL_BLOCKS = f'''def fill_blocks(series, shape, dtype, finish=lambda x: x):
    """Returns sums of two series, of which the second is turned for each block."""
    first, second = series[0], np.tile(series[1], 2)
    size = int(np.prod(shape, dtype="int64"))
    blocks = np.empty((-(-size // {LENGTH}), {LENGTH}), dtype)
    for number, block in enumerate(blocks):
        turn = {TURN} * number % {LENGTH}
        block[:] = finish(first + second[turn : turn + {LENGTH}])
    return blocks.ravel()[:size].reshape(shape)'''
"""Function that makes long tensors. Its blocks stay in the caches until they are finished. They
begin to repeat after LENGTH * LENGTH elements, 4 GB of single precision. Elements that share a
number of one series are correlated (0.5 for a normal distribution), and those of the others, whose
sums wrap, are not."""

DATA = "data"
"""The named value that is a tensor's own data, with its dtype in the value `dtype`."""


def whole_range(fill: Fill, dtype: str) -> tuple[int, int]:
    """Returns the range of integers [low, high) in a continuous fill's domain."""
    if fill.distribution == "normal":
        low, high = -INTEGER_SPAN // 2, INTEGER_SPAN // 2
    else:
        low, high = math.ceil(fill.low), math.ceil(fill.high)
    if high <= low:
        high = low + INTEGER_SPAN
    if low < 0 and not DTYPES[dtype].signed:
        low, high = 0, max(high, INTEGER_SPAN)
    return low, high


class Drawing(NamedTuple):
    """Code that draws or computes numbers: an expression, and the statements before it."""

    expression: str
    values: Callable[[TensorSpec], dict[str, Any]]
    """Returns the named values of the code, except `shape` and `dtype`."""
    before: tuple[str, ...] = ()
    dtype: str = ""
    """Dtype of the numbers, `ASKED` for the tensor's; empty for what NumPy makes of them."""


ASKED = "asked"
SINGLE = "float32"


INTEGERS = Drawing(
    "rng.integers({low}, {high}, {shape})",
    lambda spec: {"low": int(spec.fill.low), "high": int(spec.fill.high)},
)


def _domain(spec: TensorSpec) -> dict[str, Any]:
    return {"low": spec.fill.low, "high": spec.fill.high}


def _padded(spec: TensorSpec) -> dict[str, Any]:
    """Along the last axis, or that before axes of one element, to which tokens are broadcast."""
    axis = next((i for i in reversed(range(len(spec.shape))) if spec.shape[i] != 1), 0)
    last, behind = spec.shape[axis], (1,) * (len(spec.shape) - axis - 1)
    return {
        "last": last,
        "along": (last, *behind),
        "first": spec.fill.low * last,
        "whole": spec.fill.high * last,
        "each": (*spec.shape[:axis], 1, *behind),
    }


DRAWINGS: dict[str, Drawing] = {
    "normal": Drawing(
        'rng.normal({low}, {high}, {shape}).astype("float32")', _domain, dtype=SINGLE
    ),
    "uniform": Drawing(
        'rng.uniform({low}, {high}, {shape}).astype("float32")', _domain, dtype=SINGLE
    ),
    "integers": INTEGERS,
    "boolean": Drawing("rng.integers(0, 2, {shape})", lambda spec: {}),
    "signs": Drawing("(rng.integers(0, 2, {shape}) * 2 - 1)", lambda spec: {}),
    "odds": Drawing(
        "(rng.random({shape}) * {total} < {ones})",
        lambda spec: {"total": spec.fill.low + spec.fill.high, "ones": spec.fill.high},
    ),
}
"""Fills whose numbers are drawn independently, for any shape."""

IN_WHOLE_NUMBERS = Drawing(
    INTEGERS.expression,
    lambda spec: dict(zip(("low", "high"), whole_range(spec.fill, spec.dtype), strict=True)),
)
"""The continuous fills in dtypes of integers."""


def _whole_sums(low: int, high: int) -> dict[str, Any]:
    """Sums in 32 bits take half the time."""
    bits = 32 if -(2**31) <= low < high <= 2**31 and high - low <= 2**31 else 64
    return {"low": low, "span": high - low, "signed": f"int{bits}", "unsigned": f"uint{bits}"}


# A sum below the span has a difference that wraps to a large number.
WHOLE_SUMS = Drawing(
    "fill_blocks(series, {shape}, {dtype},"
    " lambda x: np.minimum(x, x - {span}).view({signed}) + {low})",
    lambda spec: _whole_sums(int(spec.fill.low), int(spec.fill.high)),
    (f"series = rng.integers({{span}}, size=(2, {LENGTH}), dtype={{unsigned}})",),
    ASKED,
)

UNIFORM_SERIES = f'series = rng.random((2, {LENGTH})).astype("float32")'

SUMS: dict[str, Drawing] = {
    "normal": Drawing(
        'fill_blocks(series, {shape}, "float32")',
        lambda spec: {"mean": spec.fill.low / 2, "sigma": spec.fill.high * math.sqrt(0.5)},
        (f'series = rng.normal({{mean}}, {{sigma}}, (2, {LENGTH})).astype("float32")',),
        SINGLE,
    ),
    # Rounded up, so that no number is zero if `low` is.
    "uniform": Drawing(
        'fill_blocks(series, {shape}, "float32", lambda x: {high} - {span} * (np.ceil(x) - x))',
        lambda spec: {"high": spec.fill.high, "span": spec.fill.high - spec.fill.low},
        (UNIFORM_SERIES,),
        SINGLE,
    ),
    "integers": WHOLE_SUMS,
    "boolean": WHOLE_SUMS._replace(values=lambda spec: _whole_sums(0, 2)),
    "signs": WHOLE_SUMS._replace(
        expression=f"({WHOLE_SUMS.expression} * 2 - 1)", values=lambda spec: _whole_sums(0, 2)
    ),
    "odds": Drawing(
        "fill_blocks(series, {shape}, {dtype}, lambda x: (np.ceil(x) - x) * {total} < {ones})",
        DRAWINGS["odds"].values,
        (UNIFORM_SERIES,),
        ASKED,
    ),
}
"""The same fills for tensors that are too long to draw, in the dtype that they are to have, or in
single precision if they are continuous. A real number may be below `low` by a rounding error."""

IN_WHOLE_SUMS = WHOLE_SUMS._replace(
    values=lambda spec: _whole_sums(*whole_range(spec.fill, spec.dtype))
)

CONTINUOUS = ("normal", "uniform")


def _rows(spec: TensorSpec) -> dict[str, Any]:
    last = spec.shape[-1] if spec.shape else 1
    return {"rows": spec.size // max(last, 1), "last": last}


def _ends(spec: TensorSpec) -> dict[str, Any]:
    """Returns also the first number, the distance to the last one, and in how many steps."""
    rows, low = _rows(spec), int(spec.fill.low)
    return {
        **rows,
        "low": low,
        "span": int(spec.fill.high) - low,
        "steps": max(1, rows["last"] - 1),
    }


def _shares(spec: TensorSpec) -> dict[str, Any]:
    rows = _rows(spec)
    return {**rows, "total": int(spec.fill.high), "parts": max(1, rows["last"])}


def _counted(spec: TensorSpec) -> dict[str, Any]:
    """Returns how many numbers there are before they repeat, and how often each occurs."""
    each = max(1, int(spec.fill.low))
    count = int(spec.fill.high) if spec.fill.high > 1 else -(-spec.size // each)
    return {"count": count, "each": each}


def _windows(spec: TensorSpec) -> dict[str, Any]:
    """Returns the map's extents, and of each axis the number of windows beside their movement."""
    counts = spec.shape[len(spec.shape) - len(spec.fill.data) :]
    return {
        "extents": tuple(extent for extent, *_ in spec.fill.data),
        "widths": tuple(width for _, width, *_ in spec.fill.data),
        "moves": tuple((n, *move) for n, (_, _, *move) in zip(counts, spec.fill.data, strict=True)),
    }


def _square(spec: TensorSpec) -> dict[str, Any]:
    *_, rows, columns = spec.shape
    if rows != columns:
        raise ValueError(f"{spec.fill.distribution} matrices are square, not {spec.shape}")
    return {"rows": rows}


def _matrix(spec: TensorSpec) -> dict[str, Any]:
    *_, rows, columns = spec.shape
    return {"rows": rows, "columns": columns, "margin": DIAGONAL_MARGIN}


def _grid(spec: TensorSpec) -> dict[str, Any]:
    """Returns also the extents of the points, and the axis of a point's numbers."""
    last = spec.fill.data == "last"
    extents, axis = (spec.shape[1:-1], -1) if last else (spec.shape[2:], 0)
    return {"scale": spec.fill.low, "noise": spec.fill.high, "extents": extents, "axis": axis}


def _corners(spec: TensorSpec) -> dict[str, Any]:
    half = (spec.fill.high - spec.fill.low) / 2
    return {
        "low": spec.fill.low,
        "middle": spec.fill.low + half,
        "corners": (*spec.shape[:-1], 2),
        "shortest": half * 0.1,
        "half": half,
    }


def _detected(spec: TensorSpec) -> dict[str, Any]:
    """Returns the numbers of boxes, of objects, of classes and of columns."""
    *samples, boxes, columns = spec.shape
    if columns > DETECTION:
        raise ValueError(f"a detection has at most {DETECTION} columns, not {columns}")
    return {
        "boxes": (math.prod(samples), boxes),
        "objects": (math.prod(samples), int(spec.fill.high), 2),
        "count": int(spec.fill.high),
        "classes": max(1, int(spec.fill.low)),
        "columns": columns,
    }


ZIPF = 1.0
"""Exponent of the law by which a word's frequency falls with its rank: about one in texts of any
language (Zipf, "Human Behavior and the Principle of Least Effort", 1949)."""

DETECTION = 6
"""Columns of a detection: class, score and a box's corners."""

# A A^T / n has eigenvalues in [0, 4]; the identity added keeps them in [1, 5].
DEFINITE = "(drawn @ np.swapaxes(drawn, -1, -2) / {rows} + np.eye({rows}))"

WHOLE: dict[str, Drawing] = {
    "constant": Drawing("np.full({shape}, {low})", lambda spec: {"low": spec.fill.low}),
    "sequence": Drawing("np.resize(np.arange({count}).repeat({each}), {shape})", _counted),
    # Part of a window at the border is outside the map.
    "windows": Drawing(
        "np.ravel_multi_index([np.clip(start + rng.integers(0, width, {shape}), 0, extent - 1)"
        " for start, width, extent in zip(starts, {widths}, {extents})], {extents})",
        _windows,
        (
            "starts = np.ix_(*(np.arange(n) * stride // divisor - padding"
            " for n, stride, divisor, padding in {moves}))",
        ),
    ),
    # In random order, so that the frequent ones lie anywhere in a table.
    "zipf": Drawing(
        "(rng.permutation({span})[np.searchsorted(gathered, rng.random({shape}) * gathered[-1])]"
        " + {low})",
        lambda spec: {"low": int(spec.fill.low), "span": int(spec.fill.high - spec.fill.low)},
        (f"gathered = np.cumsum(np.arange(1.0, {{span}} + 1) ** -{ZIPF})",),
    ),
    "permutation": Drawing(
        "rng.permuted(np.tile(np.arange({among}), ({rows}, 1)), axis=1)[:, :{last}]"
        ".reshape({shape})",
        # Each row has the first ones of so many numbers.
        lambda spec: {**_rows(spec), "among": max(_rows(spec)["last"], int(spec.fill.high))},
    ),
    "ascending": Drawing(
        "np.tile(np.arange({last}) * {span} // {steps} + {low}, {rows}).reshape({shape})", _ends
    ),
    "parts": Drawing(
        "np.tile(np.diff(np.arange({last} + 1) * {total} // {parts}), {rows}).reshape({shape})",
        _shares,
    ),
    "balanced": Drawing(
        "(rng.permutation({count}) % {span} + {low}).reshape({shape})",
        lambda spec: {
            "count": spec.size,
            "low": int(spec.fill.low),
            "span": max(1, int(spec.fill.high) - int(spec.fill.low)),
        },
    ),
    "chosen": Drawing(
        "(rng.permutation({count}) < {ones}).reshape({shape})",
        lambda spec: {"count": spec.size, "ones": int(spec.fill.high)},
    ),
    "simplex": Drawing(
        "(drawn / drawn.sum(axis=-1, keepdims=True))",
        lambda spec: {},
        ("drawn = rng.uniform(0.1, 1.0, {shape})",),
    ),
    "padded": Drawing(
        "(np.arange({last}).reshape({along}) < rng.uniform({first}, {whole}, {each}))", _padded
    ),
    "band": Drawing(
        "np.broadcast_to(np.tri({rows}, {columns}) - np.tri({rows}, {columns}, {before}), {shape})",
        lambda spec: {**_matrix(spec), "before": -int(spec.fill.high)},
    ),
    "positive_definite": Drawing(DEFINITE, _square, ("drawn = rng.normal(size={shape})",)),
    # Shuffled, the rows have the singular values that they had, which are the eigenvalues.
    "invertible": Drawing(
        f"np.take_along_axis({DEFINITE}, rng.random({{shuffled}}).argsort(axis=-2), axis=-2)",
        lambda spec: {**_square(spec), "shuffled": (*spec.shape[:-1], 1)},
        ("drawn = rng.normal(size={shape})",),
    ),
    **{
        f"{side}_triangular": Drawing(
            f"(np.{triangle}(rng.uniform(0.0, 1.0, {{shape}})) / np.sqrt({{columns}})"
            " + {margin} * np.eye({rows}, {columns}))",
            _matrix,
        )
        for side, triangle in (("lower", "tril"), ("upper", "triu"))
    },
    "boxes": Drawing(
        "np.concatenate([corner, corner + rng.uniform({shortest}, {half}, {corners})], axis=-1)",
        _corners,
        ("corner = rng.uniform({low}, {middle}, {corners})",),
    ),
    # Around an object, boxes overlap by about half; few scores are high, like those of most
    # anchors.
    "detections": Drawing(
        "np.concatenate([(which % {classes})[..., None], rng.random({boxes})[..., None] ** 4,"
        " corner, corner + sides], axis=-1)[..., -{columns}:].reshape({shape})",
        _detected,
        (
            "which = rng.integers(0, {count}, {boxes})",
            "drawn = [np.take_along_axis(rng.uniform(low, high, {objects}), which[..., None], 1)"
            " for low, high in ((0.0, 0.7), (0.1, 0.3))]",
            "sides = drawn[1] * rng.uniform(0.8, 1.2, drawn[1].shape)",
            "corner = drawn[0] + drawn[1] * rng.normal(0.0, 0.1, drawn[0].shape)",
        ),
    ),
    "grid": Drawing(
        "(np.stack(np.meshgrid(*lines, indexing='ij')[::-1], {axis}) * {scale}"
        " + rng.normal(0.0, {noise}, {shape}))",
        _grid,
        ("lines = [np.linspace(-1, 1, extent) for extent in {extents}]",),
    ),
    "coordinates": Drawing(
        "(np.indices({shape})[{along}] + rng.normal(0.0, {noise}, {shape}))",
        lambda spec: {"along": int(spec.fill.low), "noise": spec.fill.high},
    ),
    # Lengths by a gamma distribution of the mean and deviation of English words' lengths, of which
    # one of a hundred is longer.
    "text": Drawing(
        "np.array(drawn)[rng.integers(0, {distinct}, {shape})]",
        text_values,
        (
            "gaps = np.ceil(rng.gamma(3.5, 1.2, {words} * {distinct})).clip(1, 12).astype(int)",
            "series = ''.join(rng.choice(list({letters}), gaps.sum()))",
            "drawn = [series[end - gap : end] for gap, end in zip(gaps, gaps.cumsum())]",
            "drawn = [getattr({between}.join(drawn[place :: {distinct}]), {case})()"
            " for place in range({distinct})]",
            "drawn = [{wholes}[place % len({wholes})].format(text)"
            " for place, text in enumerate(drawn)]",
        ),
    ),
    "literal": Drawing("np.array({data}).reshape({shape})", lambda spec: {DATA: spec.fill.data}),
}
"""Fills that depend on the whole shape."""

ELEMENTWISE = (*DRAWINGS, "constant", "sequence", "zipf")
"""Fills that ask nothing of a tensor's shape."""
