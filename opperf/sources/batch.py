"""Scales the batch of recorded calls.

A log has shapes, and does not say which extents are the batch. The batch is the extent that most
calls have on the outermost axis in memory of their tensors. In each call, the outermost extents
that are multiples of it are scaled, as few different ones as the framework's shape inference
accepts: the rows of a matrix product, not the features that it sums over.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from opperf.model import Argument, Case, TensorSpec, map_tensors

PARAMETERS = frozenset(
    {
        *("weight", "bias", "running_mean", "running_var", "save_mean", "save_invstd"),
        *("normalized_shape", "bias_sizes"),
    }
)
"""Arguments of a layer that are the same for every batch."""

SIZES = frozenset({"size", "sizes", "input_size", "input_sizes", "shape"})
"""Arguments that are the extents of a tensor."""

FREQUENT = 0.3
"""Share of the calls with the most frequent outermost extent that one of its divisors needs to be
the batch: attention has heads times sentences there, in up to two thirds of a layer."""

MATRIX = 2
"""Axes of a matrix, which may be a weight as well as rows of a batch. More axes are those of
data."""

Shapes = list[tuple[int, ...]]
Infer = Callable[[Case], "Shapes | None"]
"""Returns the shapes of a call's results; None if it is refused, or they are not known."""


class Batch(NamedTuple):
    """The batch of a recording."""

    extent: int
    inner: frozenset[int]
    """Extents of the recording's other axes: those of features, words, pixels."""

    def scaled(self, extent: int, factor: float) -> int:
        """Returns a multiple of the batch for a batch that is scaled, of at least one sample."""
        return extent // self.extent * max(1, round(self.extent * factor))


def outermost(spec: TensorSpec) -> int | None:
    """Returns the axis with the largest step in memory; None for a tensor without axes."""
    return max(range(len(spec.shape)), key=lambda axis: spec.steps[axis], default=None)


def _batch_axis(spec: TensorSpec, batch: Batch) -> int | None:
    """Returns the axis of a tensor that may be the batch: one that it is expanded along, as the
    gradient of a mean is, or the outermost one. None if its extent is no multiple of the batch."""
    expanded = [axis for axis, step in enumerate(spec.steps) if not step]
    axes = [*expanded, *([] if len(expanded) == len(spec.shape) else [outermost(spec)])]
    return next((axis for axis in axes if axis is not None and _fits(spec, axis, batch)), None)


def _fits(spec: TensorSpec, axis: int, batch: Batch) -> bool:
    return not spec.shape[axis] % batch.extent


def find_batch(cases: Iterable[Case]) -> Batch | None:
    """Returns the batch of a recording's calls; None if no tensor has several axes."""
    outer: Counter[tuple[bool, int]] = Counter()
    inner: set[int] = set()
    for case in cases:
        for name, spec in case.tensors():
            axis = outermost(spec)
            if axis is None or len(spec.shape) < MATRIX:
                continue
            inner.update(extent for i, extent in enumerate(spec.shape) if i != axis)
            if name not in PARAMETERS:
                outer[len(spec.shape) > MATRIX, spec.shape[axis]] += 1
    if not outer:
        return None
    has_several_axes = max(outer)[0]
    counts = {extent: n for (several, extent), n in outer.items() if several == has_several_axes}
    most = max(counts, key=lambda extent: (counts[extent], -extent))
    frequent = (count for count in counts if count > 1 and counts[count] >= FREQUENT * counts[most])
    return Batch(
        min((count for count in frequent if not most % count), default=most), frozenset(inner)
    )


def scale(case: Case, batch: Batch, factor: float, infer: Infer) -> Case:
    """Returns a call with its batch scaled, where it has one that the framework accepts."""
    before = infer(case)
    if before is None:
        return case
    for extents in _choices(case, batch):
        for with_sizes in (True, False):
            made = _scaled(case, extents, batch, factor, with_sizes)
            if made == case:
                continue
            after = infer(made)
            if after is not None and _agree(before, after, batch, factor):
                # What was recorded is the time of other calls.
                return msgspec.structs.replace(made, recorded=())
    return case


def _choices(case: Case, batch: Batch) -> Iterator[frozenset[int]]:
    """Yields the sets of extents that may be scaled together, fewest and likeliest first."""
    found: dict[int, int] = {}
    for name, spec in case.tensors():
        axis = _batch_axis(spec, batch)
        if axis is None or name in PARAMETERS:
            continue
        extent = spec.shape[axis]
        found[extent] = max(found.get(extent, 0), len(spec.shape))
    for value in _sizes(case.arguments):
        if value and not value[0] % batch.extent:
            found.setdefault(value[0], len(value))
    # A matrix whose rows are as many as the features of others is likelier a weight.
    likely = [
        extent
        for extent, axes in found.items()
        if extent == batch.extent or extent not in batch.inner or axes > MATRIX
    ]
    likely.sort(key=lambda extent: (extent != batch.extent, extent in batch.inner, -extent))
    for count in range(1, len(likely) + 1):
        yield from map(frozenset, itertools.combinations(likely, count))


def _sizes(arguments: Mapping[str, Argument]) -> Iterator[tuple[int, ...]]:
    for name, value in arguments.items():
        if name in SIZES and isinstance(value, tuple):
            whole = tuple(extent for extent in value if isinstance(extent, int))
            if len(whole) == len(value):
                yield whole


def _scaled(
    case: Case, extents: frozenset[int], batch: Batch, factor: float, with_sizes: bool
) -> Case:
    """Sizes that are multiples of the batch are scaled too."""

    def tensor(spec: TensorSpec) -> TensorSpec:
        axis = _batch_axis(spec, batch)
        if axis is None or spec.shape[axis] not in extents:
            return spec
        shape = list(spec.shape)
        shape[axis] = batch.scaled(shape[axis], factor)
        return msgspec.structs.replace(spec, shape=tuple(shape))

    def change(name: str, value: Argument) -> Argument:
        if name in PARAMETERS:
            return value
        if with_sizes and name in SIZES and isinstance(value, tuple) and value:
            first, *others = value
            if isinstance(first, int) and first > 0 and not first % batch.extent:
                return (batch.scaled(first, factor), *others)
            return value
        return map_tensors(value, tensor)

    arguments = {name: change(name, value) for name, value in case.arguments.items()}
    return msgspec.structs.replace(case, arguments=arguments)


def _agree(before: Shapes, after: Shapes, batch: Batch, factor: float) -> bool:
    """Whether results have the extents that they had, or scaled ones."""
    return len(before) == len(after) and all(
        len(shape) == len(other)
        and all(
            new == old or (not old % batch.extent and new == batch.scaled(old, factor))
            for old, new in zip(shape, other, strict=True)
        )
        for shape, other in zip(before, after, strict=True)
    )
