"""Known differences of frameworks from the references of canonical operations: what is theirs by
definition, and no error."""

from __future__ import annotations

from typing import Final, NamedTuple


class Difference(NamedTuple):
    """A difference of one framework."""

    text: str
    dtypes: tuple[str, ...] = ()
    """Dtypes that results may have, whatever the inputs have."""
    of_gradient: bool = False
    """Whether its gradient is not that of its results."""


IN_DOUBLE: Final = Difference("results are in double precision", ("float64", "complex128"))
OF_LOSS: Final = Difference("its gradient is that of a loss, whatever the heads", of_gradient=True)
SCALED: Final = Difference("its gradient is scaled by an argument", of_gradient=True)
