"""Contents of tensors of which only shape and dtype are known."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from opperf.dtypes import is_floating, is_integer
from opperf.frameworks import Framework
from opperf.model import Argument, Fill, Operator, TensorSpec, iter_tensors
from opperf.rules.bounds import NOTHING, Bounds, places
from opperf.rules.callables import bounds_of, inputs_for_target
from opperf.rules.sizes import PRESETS
from opperf.rules.values import BELOW, Arguments, below

ROWS = ("simplex", "positive_definite", "invertible", "lower_triangular", "upper_triangular")
"""Fills of whole rows or matrices, which only contiguous tensors have."""


def as_by_rule(framework: Framework, operator: Operator, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments with the contents of the operator's own rule in each tensor
    without a fill: indices in range of what they index, numbers in the domain."""
    unfilled = [
        spec
        for value in arguments.values()
        for spec in iter_tensors(value)
        if spec.fill == Fill() and is_integer(spec.dtype)
    ]
    # They are found by the rule's inputs at several sizes, which takes a tenth of a second.
    bounds = bounds_of(framework, operator.target, operator) if unfilled else NOTHING
    # A protocol has no hash that mypy knows of.
    known: Any = framework
    fills = _fills(known, operator)

    def fill(place: str, value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(fill(f"{place}.{i}", one) for i, one in enumerate(value))  # type: ignore[misc]
        if not isinstance(value, TensorSpec) or value.fill != Fill():
            return value
        made = _fill_of(place, value, arguments, bounds, fills.get(place.partition(".")[0], ()))
        return msgspec.structs.replace(value, fill=made)

    return {name: fill(name, value) for name, value in arguments.items()}


def _fill_of(
    place: str,
    spec: TensorSpec,
    arguments: Mapping[str, Argument],
    bounds: Bounds,
    known: Sequence[TensorSpec],
) -> Fill:
    """Returns the fill of a tensor; `known` are those that the rule has for its argument."""
    if is_integer(spec.dtype):
        limit = bounds.limit(place, arguments)
        own = [one.fill for one in known if one.fill.distribution in BELOW]
        if limit is not None:
            low = int(min((fill.low for fill in own), default=0))
            return below(max(low + 1, limit), start=low)
        return own[0] if own and spec.dtype != "bool" else Fill()
    alike = {one.fill for one in known}
    if len(alike) == 1 and all(is_floating(one.dtype) for one in known):
        (fill,) = alike
        if fill.data is None and not fill.of and not (spec.strides and fill.distribution in ROWS):
            return fill
    return Fill()


@functools.cache
@functools.cache
def _fills(framework: Any, operator: Operator) -> Mapping[str, Sequence[TensorSpec]]:
    """Returns the tensors that an operator's rule has for each argument."""
    made = inputs_for_target(framework, operator.target, operator, PRESETS["small"], "float32")
    found: dict[str, list[TensorSpec]] = {}
    for inputs in made if isinstance(made, list) else ():
        for place, spec in places(inputs.arguments):
            if spec.layout == "dense":
                found.setdefault(place.partition(".")[0], []).append(spec)
    return found
