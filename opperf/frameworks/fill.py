"""Contents of tensors, as the NumPy code that draws them.

The same code fills a tensor here and is written into a script. The same spec and seed give the
same numbers.
"""

from __future__ import annotations

import functools
import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, NamedTuple

from opperf.dtypes import DTYPES, is_whole
from opperf.errors import UnsupportedError
from opperf.model import Case, Fill, TensorSpec

INTEGER_SPAN = 10
"""Width of the range that integers are drawn from if a fill's domain holds no whole number, e.g.
[0.1, 0.9). Small, so that sums and products of int8 stay in range."""

DIAGONAL_MARGIN = 1.0
"""Added to the diagonal of triangular matrices so that solving with them is stable."""

CHUNK = 1 << 18
"""Maximum number of random numbers drawn for a tensor; longer tensors repeat them. An operator's
time does not depend on values so far apart, and a run of the whole registry would otherwise spend
more time drawing than measuring."""

RESULT = "made"
"""The variable to which executed code assigns its result."""

TEMPORARIES = ("contents", "corner", "drawn", "gaps", "places", "real", "rng")
"""Variables of the code itself, which are no names for tensors."""


@dataclass(frozen=True)
class Code:
    """Python code of one value, which uses `np` and named values.

    Texts have `{name}` in place of a value, so that there are few texts, each compiled once.
    """

    before: tuple[str, ...]
    """Statements."""
    expression: str
    values: Mapping[str, Any]

    def within(self, template: str, *before: str, **values: Any) -> Code:
        """Returns the code of `template` with this expression in place of `{made}`, after more
        statements."""
        expression = template.replace("{made}", self.expression)
        return Code((*self.before, *before), expression, {**self.values, **values})

    def run(self, **modules: Any) -> Any:
        """Runs the code and returns its value. `modules` are those that it uses beside NumPy."""
        # The manager imports this module and needs no NumPy.
        import numpy as np

        scope = {"np": np, **modules, **self.values}
        exec(_compiled((*self.before, f"{RESULT} = {self.expression}")), scope)
        return scope[RESULT]

    def lines(self, name: str) -> list[str]:
        """Returns the lines of a script that assign the value to the variable `name`."""
        written = {key: literal(value) for key, value in self.values.items()}
        lines = [*self.before, f"{name} = {self.expression}"]
        return [line.format_map(written) for line in lines]


class _Names(dict[str, str]):
    """Maps each name to itself."""

    def __missing__(self, name: str) -> str:
        return name


@functools.cache
def _compiled(lines: tuple[str, ...]) -> CodeType:
    return compile("\n".join(lines).format_map(_Names()), "<contents of a tensor>", "exec")


def literal(value: Any) -> str:
    """Returns the Python source of a plain value or a list of them."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(literal(element) for element in value)}]"
    return repr(value)


def seed_at(seed: int, place: str) -> int:
    """Returns the seed of the tensor at a place in a case's arguments. Seeds differ by place, so
    that `subtract` of two tensors of one shape and fill is not zero."""
    return zlib.crc32(f"{seed} {place}".encode())


def entropy(spec: TensorSpec, seed: int) -> list[int]:
    """Returns the seed of a tensor's generator: the seed, and a hash of the spec. Real numbers are
    drawn in single precision for every dtype, and are the same in each up to rounding."""
    kind = spec.dtype if is_whole(spec.dtype) else "float32"
    key = f"{spec.shape}{kind}{spec.fill.distribution}{spec.fill.low}{spec.fill.high}"
    return [seed, zlib.crc32(key.encode())]


def storage_spec(case: Case, spec: TensorSpec) -> TensorSpec | None:
    """Returns the one-dimensional tensor of which a case's tensor is a view; None if it is no view.

    Raises `UnsupportedError` if the fill is not elementwise.
    """
    if not (spec.storage or spec.strides or spec.offset):
        return None
    if spec.fill.distribution not in ELEMENTWISE:
        raise UnsupportedError(
            f"a tensor that is filled as {spec.fill.distribution} has neither strides nor a "
            "shared storage"
        )
    sharing = [one for _, one in case.tensors() if one.storage == spec.storage]
    elements = max(one.reach for one in (sharing if spec.storage else [spec]))
    return TensorSpec((elements,), spec.dtype, spec.fill, array_type=spec.array_type)


def whole_range(fill: Fill, dtype: str) -> tuple[int, int]:
    """Returns the range of whole numbers [low, high) in a continuous fill's domain."""
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
    """Returns the named values of the code, except `shape`, the shape drawn."""
    before: tuple[str, ...] = ()


INTEGERS = Drawing(
    "rng.integers({low}, {high}, {shape})",
    lambda spec: {"low": int(spec.fill.low), "high": int(spec.fill.high)},
)


def _domain(spec: TensorSpec) -> dict[str, Any]:
    return {"low": spec.fill.low, "high": spec.fill.high}


def _nothing(spec: TensorSpec) -> dict[str, Any]:
    return {}


DRAWINGS: dict[str, Drawing] = {
    "normal": Drawing('rng.normal({low}, {high}, {shape}).astype("float32")', _domain),
    "uniform": Drawing('rng.uniform({low}, {high}, {shape}).astype("float32")', _domain),
    "integers": INTEGERS,
    "boolean": Drawing("rng.integers(0, 2, {shape})", _nothing),
    "signs": Drawing("(rng.integers(0, 2, {shape}) * 2 - 1)", _nothing),
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
"""The continuous fills in dtypes of whole numbers."""

CONTINUOUS = ("normal", "uniform")


def _rows(spec: TensorSpec) -> dict[str, Any]:
    """Returns the number of rows, and of elements in a row."""
    last = spec.shape[-1] if spec.shape else 1
    return {"rows": spec.size // max(last, 1), "last": last}


def _square(spec: TensorSpec) -> dict[str, Any]:
    *_, rows, columns = spec.shape
    if rows != columns:
        raise ValueError(f"positive definite matrices are square, not {spec.shape}")
    return {"rows": rows}


def _matrix(spec: TensorSpec) -> dict[str, Any]:
    *_, rows, columns = spec.shape
    return {"rows": rows, "columns": columns, "margin": DIAGONAL_MARGIN}


def _corners(spec: TensorSpec) -> dict[str, Any]:
    half = (spec.fill.high - spec.fill.low) / 2
    return {
        "low": spec.fill.low,
        "middle": spec.fill.low + half,
        "corners": (*spec.shape[:-1], 2),
        "shortest": half * 0.1,
        "half": half,
    }


WHOLE: dict[str, Drawing] = {
    "constant": Drawing("np.full({shape}, {low})", lambda spec: {"low": spec.fill.low}),
    "sequence": Drawing("np.arange({size}).reshape({shape})", lambda spec: {"size": spec.size}),
    "permutation": Drawing(
        "rng.permuted(np.tile(np.arange({last}), ({rows}, 1)), axis=1).reshape({shape})", _rows
    ),
    "simplex": Drawing(
        "(drawn / drawn.sum(axis=-1, keepdims=True))",
        _nothing,
        ("drawn = rng.uniform(0.1, 1.0, {shape})",),
    ),
    # A A^T / n has eigenvalues in [0, 4]; the identity added keeps them in [1, 5].
    "positive_definite": Drawing(
        "(drawn @ np.swapaxes(drawn, -1, -2) / {rows} + np.eye({rows}))",
        _square,
        ("drawn = rng.normal(size={shape})",),
    ),
    "lower_triangular": Drawing(
        "(np.tril(rng.uniform(0.0, 1.0, {shape})) / np.sqrt({columns})"
        " + {margin} * np.eye({rows}, {columns}))",
        _matrix,
    ),
    "boxes": Drawing(
        "np.concatenate([corner, corner + rng.uniform({shortest}, {half}, {corners})], axis=-1)",
        _corners,
        ("corner = rng.uniform({low}, {middle}, {corners})",),
    ),
    "literal": Drawing("np.array({data}).reshape({shape})", lambda spec: {"data": spec.fill.data}),
}
"""Fills that depend on the whole shape."""

ELEMENTWISE = (*DRAWINGS, "constant", "sequence")
"""Fills that ask nothing of a tensor's shape."""

GENERATOR = "rng = np.random.default_rng({entropy})"


def _drawing(spec: TensorSpec) -> Drawing:
    """Returns the drawing of a tensor's fill. Raises `KeyError` for `given`, a user's own array."""
    distribution = spec.fill.distribution
    if distribution in CONTINUOUS and is_whole(spec.dtype):
        return IN_WHOLE_NUMBERS
    return DRAWINGS.get(distribution) or WHOLE[distribution]


def code(spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a tensor's contents, in its dtype if NumPy has that, else in float32.

    Raises `ValueError` if the shape does not fit the fill, and `KeyError` for the fill `given`, a
    user's own array.
    """
    drawing = _drawing(spec)
    dtype = "float32" if spec.dtype == "bfloat16" else spec.dtype
    expression = drawing.expression
    if not expression.endswith(f'.astype("{dtype}")'):
        expression += ".astype({dtype})"
    before = drawing.before
    if any("rng." in text for text in (*before, expression)):
        before = (GENERATOR, *before)
    made = Code(
        before,
        expression,
        {
            "entropy": entropy(spec, seed),
            "shape": spec.shape,
            "dtype": dtype,
            **drawing.values(spec),
        },
    )
    return _repeat(made, spec) if spec.fill.distribution in DRAWINGS else made


def _repeat(made: Code, spec: TensorSpec) -> Code:
    """Returns the code with at most `CHUNK` numbers drawn, and repeated."""
    if spec.size <= CHUNK:
        return made
    drawn = replace(made, values={**made.values, "shape": CHUNK})
    return drawn.within("np.resize({made}, {whole})", whole=spec.shape)
