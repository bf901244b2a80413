"""Other contents in the storage of a case's inputs, for calls that may not return what an earlier
one did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opperf.frameworks.base import Contents
from opperf.instruments.call_results import contents_of, leaves

if TYPE_CHECKING:
    from opperf.instruments.prepared import PreparedCase

SEED = 1_000_003
"""Added to the seed of the first contents: no user numbers seeds so far."""

SCALE = 0.75
"""Factor of contents that no seed changes, as a user's: their signs, order and zeros stay."""


class OtherContents:
    """Contents that another seed draws for the dense inputs of a case; floating-point numbers that
    are the same for every seed are scaled, and their rows rotated. Raises what the framework raises
    if it cannot draw them."""

    def __init__(self, prepared: PreparedCase, seed: int) -> None:
        self._prepared = prepared
        self.are_scaled = False
        """Whether some are none that the case's rule or function has made."""
        drawn = prepared.redrawn(seed + SEED)
        self._numbers: list[tuple[Any, Any]] = []
        for name, value in prepared.arguments.items():
            pairs = zip(leaves(name, value), leaves(name, drawn[name]), strict=True)
            for (_, own), (_, other) in pairs:
                before, after = (contents_of(prepared.framework, held) for held in (own, other))
                if before is not None and after is not None and before.layout == "dense":
                    self._add(own, before, after)

    def __bool__(self) -> bool:
        """Whether any contents change."""
        return bool(self._numbers)

    def _add(self, tensor: Any, before: Contents, after: Contents) -> None:
        # What measures nothing imports this module too.
        import numpy as np

        numbers = after.numbers(1).reshape(after.shape)
        if not np.array_equal(before.numbers(1), numbers.reshape(-1), equal_nan=True):
            self._numbers.append((tensor, numbers.copy()))
        elif numbers.dtype.kind in "fc" and numbers.any():
            self.are_scaled = True
            numbers = numbers * numbers.dtype.type(SCALE)
            if numbers.ndim > 1:
                numbers = np.roll(numbers, 1, axis=0)
            self._numbers.append((tensor, numbers))

    def write(self) -> None:
        """Gives the inputs these contents, in their own memory where the framework can write to it.
        Raises what the framework raises if it cannot."""
        prepared = self._prepared
        for tensor, numbers in self._numbers:
            other = prepared.framework.write_numbers(prepared.call, tensor, numbers)
            if other is not tensor:
                prepared.replace(tensor, other)
