"""Arguments of PyTorch's operators as logs and configurations of programs have them, of which only
shapes and dtypes are known."""

from __future__ import annotations

import msgspec

from opperf.model import Argument, Device, Fill, Operator, TensorSpec, iter_tensors
from opperf.rules.torch.recorded_fills import INDICES, Unfit, along_dim, with_fills
from opperf.rules.values import Arguments, below

PLACEMENT = ("device", "pin_memory")
"""Arguments that say where a result is, which is the case's own device."""

USUAL: tuple[Argument, ...] = (None, "strided")
"""Values of optional arguments that are what the operator does without them."""

INDEX_DTYPES = frozenset({"int32", "int64"})


def contents(operator: Operator, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments with contents that suit it in each tensor without a fill:
    indices in range, numbers in the domain. Those that place the result are omitted,
    unless it needs one."""
    optional = {one.name for one in operator.parameters if not one.required}
    kept = {
        name: value
        for name, value in arguments.items()
        if (name not in PLACEMENT or isinstance(value, Device) and name not in optional)
        and not (name in optional and value in USUAL)
    }
    try:
        filled = with_fills(operator.name.removesuffix("_"), kept)
    except Unfit:
        # The call lacks what its rule needs: indices are still bounded.
        filled = kept
    return {name: _chosen(name, value, filled[name], kept) for name, value in kept.items()}


def _chosen(name: str, value: Argument, filled: Argument, arguments: Arguments) -> Argument:
    """Returns an argument with the fills of its rule where the source gives none."""
    if isinstance(value, tuple) and isinstance(filled, tuple):
        pairs = zip(value, filled, strict=True)
        return tuple(_chosen(name, one, made, arguments) for one, made in pairs)  # type: ignore[misc]
    if not isinstance(value, TensorSpec) or value.fill != Fill():
        return value
    assert isinstance(filled, TensorSpec)
    if name in INDICES and filled.fill == Fill() and filled.dtype in INDEX_DTYPES:
        return msgspec.structs.replace(filled, fill=below(_range(arguments, filled)))
    return filled


def _range(arguments: Arguments, spec: TensorSpec) -> int:
    """Returns the number of entries that an index may point at: along the axis that the call names,
    else along the shortest axis of the largest tensor."""
    try:
        return int(along_dim(arguments, spec).high)
    except Unfit:
        found = [spec for value in arguments.values() for spec in iter_tensors(value)]
        largest = max(found, key=lambda one: one.size)
        return max(1, min(largest.shape, default=1))
