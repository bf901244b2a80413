"""Contents of tensors as NumPy expressions, for a script that does without opperf.

The numbers drawn are others than those a case is measured with; their distribution is the same.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opperf.dtypes import is_whole
from opperf.frameworks.fill import DIAGONAL_MARGIN, whole_range
from opperf.model import Argument, Case, TensorSpec

GENERATOR = "rng = np.random.default_rng(0)"
"""What makes the `rng` that the expressions draw from."""


def _continuous(spec: TensorSpec, text: str) -> str:
    if is_whole(spec.dtype):
        low, high = whole_range(spec.fill, spec.dtype)
        return f"rng.integers({low}, {high}, {spec.shape})"
    return text


def _normal(spec: TensorSpec) -> str:
    return _continuous(spec, f"rng.normal({spec.fill.low}, {spec.fill.high}, {spec.shape})")


def _uniform(spec: TensorSpec) -> str:
    return _continuous(spec, f"rng.uniform({spec.fill.low}, {spec.fill.high}, {spec.shape})")


def _permutation(spec: TensorSpec) -> str:
    last = spec.shape[-1] if spec.shape else 1
    rows = spec.size // max(last, 1)
    return f"rng.permuted(np.tile(np.arange({last}), ({rows}, 1)), axis=1).reshape({spec.shape})"


def _positive_definite(spec: TensorSpec) -> str:
    rows = spec.shape[-1]
    return (
        f"(lambda a: a @ np.swapaxes(a, -1, -2) / {rows} + np.eye({rows}))"
        f"(rng.normal(size={spec.shape}))"
    )


def _lower_triangular(spec: TensorSpec) -> str:
    *_, rows, columns = spec.shape
    return (
        f"np.tril(rng.uniform(0, 1, {spec.shape})) / {columns} ** 0.5 "
        f"+ {DIAGONAL_MARGIN} * np.eye({rows}, {columns})"
    )


def _boxes(spec: TensorSpec) -> str:
    low, half = spec.fill.low, (spec.fill.high - spec.fill.low) / 2
    corners = (*spec.shape[:-1], 2)
    return (
        "(lambda corner, extent: np.concatenate([corner, corner + extent], axis=-1))"
        f"(rng.uniform({low}, {low + half}, {corners}), "
        f"rng.uniform({half * 0.1}, {half}, {corners}))"
    )


EXPRESSIONS: dict[str, Callable[[TensorSpec], str]] = {
    "normal": _normal,
    "uniform": _uniform,
    "integers": lambda s: f"rng.integers({int(s.fill.low)}, {int(s.fill.high)}, {s.shape})",
    "constant": lambda s: f"np.full({s.shape}, {s.fill.low})",
    "sequence": lambda s: f"np.arange({s.size}).reshape({s.shape})",
    "boolean": lambda s: f"rng.integers(0, 2, {s.shape})",
    "odds": lambda s: (
        f"(rng.random({s.shape}) * {s.fill.low + s.fill.high} < {s.fill.high}).astype(int)"
    ),
    "permutation": _permutation,
    "simplex": lambda s: f"rng.dirichlet(np.ones({s.shape[-1]}), {s.shape[:-1]})",
    "positive_definite": _positive_definite,
    "lower_triangular": _lower_triangular,
    "boxes": _boxes,
    "literal": lambda s: f"np.array({s.fill.data}).reshape({s.shape})",
}


def expression(spec: TensorSpec) -> str:
    """A NumPy expression for an array of the spec's shape, filled alike, of whatever dtype.

    Raises `KeyError` for contents that only a caller has (`given`), or another tensor (`same`).
    """
    return EXPRESSIONS[spec.fill.distribution](spec)


def variable(place: str) -> str:
    """What a script calls the tensor at a place: `name`, or `name.index` in a list."""
    name, _, index = place.partition(".")
    return f"{name}{index}" if index or not keyword.iskeyword(name) else f"{name}_"


def numbers_of(spec: TensorSpec) -> str:
    """What a script calls the tensor whose numbers this one has; empty if they are its own."""
    return variable(spec.fill.of) if spec.fill.of else ""


def _placed(name: str, argument: Argument, made: Any) -> Iterator[tuple[str, TensorSpec, Any]]:
    if isinstance(argument, TensorSpec):
        yield name, argument, made
    elif isinstance(argument, tuple) and isinstance(made, list):
        for index, (spec, array) in enumerate(zip(argument, made, strict=True)):
            if isinstance(spec, TensorSpec):
                yield f"{name}.{index}", spec, array


def tensors(case: Case, arguments: Mapping[str, Any]) -> list[tuple[str, TensorSpec, Any]]:
    """Every tensor a script makes: its name there, its spec, and the array made from it. Those
    that have another one's numbers come behind it."""
    made = [
        (variable(place), spec, array)
        for name, argument in case.arguments.items()
        for place, spec, array in _placed(name, argument, arguments[name])
        if spec.fill.distribution != "same"
    ]
    return sorted(made, key=lambda tensor: bool(tensor[1].fill.of))
