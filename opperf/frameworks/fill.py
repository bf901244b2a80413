"""Contents of tensors, as the NumPy code that draws them. The same code fills a tensor here and is
written into a script. The same spec and seed give the same numbers."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

from msgspec import structs

from opperf.dtypes import is_integer, kind_of
from opperf.errors import UnsupportedError
from opperf.frameworks.drawings import (
    ASKED,
    CONTINUOUS,
    DATA,
    DRAWINGS,
    DRAWN,
    ELEMENTWISE,
    FILL_BLOCKS,
    IN_WHOLE_NUMBERS,
    IN_WHOLE_SUMS,
    SUMS,
    WHOLE,
    Drawing,
)
from opperf.frameworks.literals import data_literal, literal
from opperf.frameworks.user_inputs import FUNCTION, VARIABLE, script_code
from opperf.model import Case, Fill, TensorSpec

RESULT = "made"

TEMPORARIES = (
    *("across", "contents", "corner", "down", "drawn", "fill_blocks", "gaps"),
    *("gathered", "keep", "phases", "places", "real", "rng", "series", "sides", "which", VARIABLE),
)
"""Variables of the code itself, which are no names for tensors."""


@dataclass(frozen=True)
class Code:
    """Python code of one value, which uses `np`. Texts have `{name}` in place of a named value, so
    that there are few texts, each compiled once."""

    before: tuple[str, ...]
    expression: str
    values: Mapping[str, Any]
    definition: str = ""
    """A function that the code calls; empty for none."""

    def within(self, template: str, *before: str, **values: Any) -> Code:
        """Returns the code of `template` with this one as `{made}`, after more statements."""
        expression = template.replace("{made}", self.expression)
        merged = {**self.values, **values}
        return replace(self, before=(*self.before, *before), expression=expression, values=merged)

    def run(self, **modules: Any) -> Any:
        """Runs the code and returns its value. `modules` are those that it uses beside NumPy."""
        # The manager imports this module and needs no NumPy.
        import numpy as np

        scope = {"np": np, **modules, **self.values}
        lines = (*self.before, f"{RESULT} = {self.expression}")
        exec(_compiled((self.definition, *lines) if self.definition else lines), scope)
        made = scope[RESULT]
        # A function among the statements has the scope, which has the function: without this, the
        # tensor would live until Python looks for such cycles, beside those of many later cases.
        scope.clear()
        return made

    def lines(self, name: str) -> list[str]:
        """Returns a script's lines that assign the value; the definition is before them."""
        written = {key: literal(value) for key, value in self.values.items() if key != DATA}
        if DATA in self.values:
            written[DATA] = data_literal(self.values[DATA], self.values["dtype"])
        lines = [*self.before, f"{name} = {self.expression}"]
        return [line.format_map(written) for line in lines]


class _Names(dict[str, str]):
    """Maps each name to itself."""

    def __missing__(self, name: str) -> str:
        return name


@functools.cache
def _compiled(lines: tuple[str, ...]) -> CodeType:
    return compile("\n".join(lines).format_map(_Names()), "<contents of a tensor>", "exec")


def seed_at(seed: int, place: str) -> int:
    """Returns the seed of the tensor at a place. Seeds differ, lest `x - y` be zero."""
    return zlib.crc32(f"{seed} {place}".encode())


def entropy(spec: TensorSpec, seed: int) -> list[int]:
    """Returns the seed of a tensor's generator. Real numbers are drawn in single precision for
    every dtype, and are the same in each up to rounding."""
    kind = spec.dtype if is_integer(spec.dtype) else "float32"
    key = f"{spec.shape}{kind}{spec.fill.distribution}{spec.fill.low}{spec.fill.high}"
    return [seed, zlib.crc32(key.encode())]


def storage_spec(case: Case, spec: TensorSpec) -> TensorSpec | None:
    """Returns the vector of which a case's tensor is a view, or None, with zeros where a user's
    arrays have nothing. Raises `UnsupportedError` if the fill is not elementwise."""
    if not spec.is_view:
        return None
    if spec.fill.distribution not in (*ELEMENTWISE, *USERS):
        raise UnsupportedError(
            f"a tensor filled as {spec.fill.distribution} cannot have strides or shared storage"
        )
    sharing = [one for _, one in case.tensors() if one.storage == spec.storage]
    elements = max(sharer.reach for sharer in (sharing if spec.storage else [spec]))
    fill = NOTHING if spec.fill.distribution in USERS else spec.fill
    return TensorSpec((elements,), spec.dtype, fill, array_type=spec.array_type)


USERS = (FUNCTION, "given")
"""Distributions of the arrays that a user passes."""

NOTHING = Fill("constant")
"""Zeros, which a user's array replaces."""


GENERATOR = "rng = np.random.default_rng({entropy})"


def _drawing(spec: TensorSpec) -> Drawing:
    """Raises `KeyError` for `given`, a user's own array."""
    distribution = spec.fill.distribution
    if distribution not in DRAWINGS:
        return WHOLE[distribution]
    whole = distribution in CONTINUOUS and is_integer(spec.dtype)
    if spec.size <= DRAWN:
        return IN_WHOLE_NUMBERS if whole else DRAWINGS[distribution]
    return IN_WHOLE_SUMS if whole else SUMS[distribution]


INFINITE = (
    "np.where(rng.random({whole}) < {infinite}, "
    "rng.choice(np.array([-np.inf, np.inf], {dtype}), {whole}), {made})"
)
"""Contents with infinite numbers in some places."""


def _with_others(spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a tensor of which some elements are infinite or NaN; no integers are."""
    complete = structs.replace(spec.fill, missing=0.0, infinite=0.0)
    made = code(structs.replace(spec, fill=complete), seed)
    if is_integer(spec.dtype):
        return made
    if spec.fill.infinite:
        made = made.within(INFINITE, whole=spec.shape, infinite=spec.fill.infinite)
    if spec.fill.missing:
        nothing = "np.datetime64('NaT')" if kind_of(spec.dtype) == "date" else "np.nan"
        made = made.within(
            f"np.where(rng.random({{whole}}) < {{missing}}, {nothing}, {{made}})",
            whole=spec.shape,
            missing=spec.fill.missing,
        )
    return made


IMAGINARY = 1
"""Added to the seed for the imaginary part, lest it be the real one."""


MATRICES = ("positive_definite", "invertible", "lower_triangular", "upper_triangular")
"""Distributions of matrices, which keep what they are for if each row and its column are turned by
a phase: the spectrum, the triangle, and the real diagonal."""


def _complex(spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a complex tensor: normal numbers, uniform numbers of any angle, Hermitian
    or triangular matrices. Other fills are real numbers."""
    dtype = "float64" if spec.dtype == "complex128" else "float32"
    made = code(structs.replace(spec, dtype=dtype), seed)
    if spec.fill.distribution == "normal":
        made = _with_second_drawing("real + 1j * {second}", made, spec, seed)
    elif spec.fill.distribution == "uniform":
        turned = "real * np.exp({turn} * 1j * {second})"
        # Uniform numbers become angles of a full turn.
        turn = 2 * math.pi / ((spec.fill.high - spec.fill.low) or 1)
        made = _with_second_drawing(turned, made, spec, seed).within("{made}", turn=turn)
    elif spec.fill.distribution in MATRICES:
        made = made.within(
            "phases[:, None] * {made} * phases.conj()",
            "rng = np.random.default_rng({other_entropy})",
            "phases = np.exp(2j * np.pi * rng.random({rows}))",
            other_entropy=entropy(spec, seed + IMAGINARY),
            rows=spec.shape[-1],
        )
    # The dtype of the drawn numbers is among the values, and this one beside it.
    return made.within("({made}).astype({complex_dtype})", complex_dtype=spec.dtype)


def _with_second_drawing(joined: str, made: Code, spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a complex tensor; `joined` is an expression of `real`, the numbers drawn
    by this code, and of `{second}`, others drawn alike, of which a share is zero."""
    _, *drawn = made.before
    second = made.expression
    if spec.fill.real:
        second = f"np.where(rng.random({{whole}}) < {{share_of_real}}, 0, {second})"
    return made.within(
        joined.replace("{second}", second),
        f"real = {made.expression}",
        "rng = np.random.default_rng({other_entropy})",
        *drawn,
        other_entropy=entropy(spec, seed + IMAGINARY),
        whole=spec.shape,
        share_of_real=spec.fill.real,
    )


def returned(spec: TensorSpec) -> Code:
    """Returns the code of a script for an array that a user's function returns."""
    definition, expression = script_code(spec)
    return Code((), expression, {"dtype": spec.dtype}, definition)


def code(spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a tensor's contents, in float32 if NumPy lacks the dtype. Raises
    `ValueError` if the shape does not fit the fill, and `KeyError` for a user's own array."""
    if spec.fill.missing or spec.fill.infinite:
        return _with_others(spec, seed)
    if kind_of(spec.dtype) == "complex":
        return _complex(spec, seed)
    drawing = _drawing(spec)
    dtype = "float32" if spec.dtype == "bfloat16" else spec.dtype
    expression, before = drawing.expression, drawing.before
    if drawing.dtype not in (dtype, ASKED):
        expression += ".astype({dtype})"
    if any("rng." in text for text in (*before, expression)):
        before = (GENERATOR, *before)
    return Code(
        before,
        expression,
        {
            "entropy": entropy(spec, seed),
            "shape": spec.shape,
            "dtype": dtype,
            **drawing.values(spec),
        },
        FILL_BLOCKS if "fill_blocks" in expression else "",
    )
