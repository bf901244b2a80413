"""The results of one untimed call of a case, whose values are in files."""

from __future__ import annotations

from opperf.model import Struct


class Value(Struct, frozen=True):
    """One value among the results of a call."""

    place: str
    """`output`, `output[0]['loss']`, `x after the call`, `gradient of x`."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    """The framework's name of it, or Python's of a plain number; empty of anything else."""
    layout: str = ""
    file: str = ""
    """Name of the file with its elements, in NumPy's format; empty of what has none."""
    step: int = 1
    """Every how manyth element the file has."""
    text: str = ""
    """A value without elements, as Python writes it: `None`, a string, the name of a type."""
    unread: bool = False
    """Whether `text` is the type of an object of which nothing else is known."""


class Observed(Struct, frozen=True):
    """The results of one untimed call of a case, forward and backward."""

    values: tuple[Value, ...] = ()
    refusal: str = ""
    """Why there are none; empty if the call was made."""
    without_gradients: str = ""
    """Why there are no gradients although they were asked for."""
    unwritten: bool = False
    """Whether the case returns memory that it does not write, by the framework's rules."""
