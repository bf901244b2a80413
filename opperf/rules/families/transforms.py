"""Cosine transforms."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.shapes import cube, prime_below, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.values import tensor

FAMILIES = Families()

LAST, LAST_TWO = (-1,), (-2, -1)


@FAMILIES.operation("cosine_transform", "inverse_cosine_transform")
def cosine_transform(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Rows, one long row, rows of a prime length, and pictures."""
    rows, columns = square(size)
    for shape, axes, why in (
        ((rows, columns), LAST, "frames of sound, a power of two long, as for cepstra"),
        (vector(size), LAST, "one long signal, which does not fit in the nearest cache"),
        ((rows, prime_below(columns)), LAST, "rows of a prime length: Bluestein's algorithm"),
        ((rows, columns), LAST_TWO, "one large picture, as to solve Poisson's equation"),
        (cube(size), LAST_TWO, "a stack of small pictures, as blocks are compressed"),
    ):
        yield {"x": tensor(*shape), "axes": axes, WHY: why}
