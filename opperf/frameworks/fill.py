"""Contents of tensors, as the NumPy code that draws them.

What fills a tensor and what a script shows are the same code: run here, or written out. The same
spec and seed give the same numbers.
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
"""Width of the range integers are drawn from when a fill's domain holds no whole number, e.g.
[0.1, 0.9). Small, so that sums and products of int8 stay in range."""

DIAGONAL_MARGIN = 1.0
"""Added to the diagonal of triangular matrices so that solving with them is stable."""

CHUNK = 1 << 18
"""Random numbers drawn at most per tensor; longer tensors repeat them. Filling is outside
every measurement, and an operator's time does not depend on values so far apart, but a
full sweep would otherwise spend more time drawing than measuring."""

RESULT = "made"
"""The variable that code which is run leaves its result in."""

TEMPORARIES = ("contents", "corner", "drawn", "keep", "real", "rng")
"""Variables of the code itself. A tensor's has another name."""


@dataclass(frozen=True)
class Code:
    """Python code for one value, over `np` and values by name.

    Each text has `{name}` for a value. So there are few texts, and each is compiled once.
    """

    before: tuple[str, ...]
    """Statements."""
    expression: str
    values: Mapping[str, Any]

    def within(self, template: str, *before: str, **values: Any) -> Code:
        """The code of an expression that has this one's in place of `{made}`, after more
        statements."""
        expression = template.replace("{made}", self.expression)
        return Code((*self.before, *before), expression, {**self.values, **values})

    def run(self, **modules: Any) -> Any:
        """The value, from the modules that the code names beside NumPy."""
        # What plans and starts workers reads this module, and does without NumPy.
        import numpy as np

        scope = {"np": np, **modules, **self.values}
        exec(_compiled((*self.before, f"{RESULT} = {self.expression}")), scope)
        return scope[RESULT]

    def lines(self, name: str) -> list[str]:
        """The code as a script has it, which leaves the value in the variable `name`."""
        written = {key: literal(value) for key, value in self.values.items()}
        lines = [*self.before, f"{name} = {self.expression}"]
        return [line.format_map(written) for line in lines]


class _Names(dict[str, str]):
    """Each name for itself."""

    def __missing__(self, name: str) -> str:
        return name


@functools.cache
def _compiled(lines: tuple[str, ...]) -> CodeType:
    return compile("\n".join(lines).format_map(_Names()), "<contents of a tensor>", "exec")


def literal(value: Any) -> str:
    """Python source for a plain value, or a list of them."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(literal(element) for element in value)}]"
    return repr(value)


def seed_at(seed: int, place: str) -> int:
    """The seed of the tensor at a place among a case's arguments: two tensors of one shape and
    fill hold different data, or `subtract` would give zeros."""
    return zlib.crc32(f"{seed} {place}".encode())


def entropy(spec: TensorSpec, seed: int) -> list[int]:
    """What the generator of a tensor is seeded with: the seed, and a number for what is filled.
    Real numbers are drawn in single precision, whatever they are rounded to: the same in each."""
    kind = spec.dtype if is_whole(spec.dtype) else "float32"
    key = f"{spec.shape}{kind}{spec.fill.distribution}{spec.fill.low}{spec.fill.high}"
    return [seed, zlib.crc32(key.encode())]


def storage_spec(case: Case, spec: TensorSpec) -> TensorSpec | None:
    """The one-dimensional tensor that a case's tensor is a view of; None if it is none.

    Raises `UnsupportedError` where the fill is of a whole tensor.
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
    """The whole numbers of a continuous fill's domain: [low, high)."""
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
    """How numbers are drawn or computed: an expression, and the statements before it."""

    expression: str
    values: Callable[[TensorSpec], dict[str, Any]]
    """What the code names beside `shape`, the shape drawn."""
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
    "odds": Drawing(
        "(rng.random({shape}) * {total} < {ones})",
        lambda spec: {"total": spec.fill.low + spec.fill.high, "ones": spec.fill.high},
    ),
}
"""Fills whose numbers are drawn one by one, whatever the shape."""

IN_WHOLE_NUMBERS = Drawing(
    INTEGERS.expression,
    lambda spec: dict(zip(("low", "high"), whole_range(spec.fill, spec.dtype), strict=True)),
)
"""The continuous fills in dtypes of whole numbers."""

CONTINUOUS = ("normal", "uniform")


def _rows(spec: TensorSpec) -> dict[str, Any]:
    """The number of rows, and of elements in each."""
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
"""Fills that are made as a whole."""

ELEMENTWISE = (*DRAWINGS, "constant", "sequence")
"""Fills that ask nothing of a tensor's shape."""

GENERATOR = "rng = np.random.default_rng({entropy})"


def _drawing(spec: TensorSpec) -> Drawing:
    """How a tensor is filled. Raises `KeyError` for a fill that no code makes (`given`)."""
    distribution = spec.fill.distribution
    if distribution in CONTINUOUS and is_whole(spec.dtype):
        return IN_WHOLE_NUMBERS
    return DRAWINGS.get(distribution) or WHOLE[distribution]


def code(spec: TensorSpec, seed: int) -> Code:
    """The code of a tensor's contents, of its shape and of its dtype where NumPy has that dtype.

    Raises `ValueError` when the shape does not go with the fill, and `KeyError` for a fill
    that cannot be made here (`given`).
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
    return _repeated(made, spec) if spec.fill.distribution in DRAWINGS else made


def _repeated(made: Code, spec: TensorSpec) -> Code:
    """The code of numbers drawn one by one, of which `CHUNK` are drawn at most."""
    if spec.size <= CHUNK:
        return made
    drawn = replace(made, values={**made.values, "shape": CHUNK})
    return drawn.within("np.resize({made}, {whole})", whole=spec.shape)
