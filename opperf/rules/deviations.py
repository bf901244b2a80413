"""Results that may have NaN or infinity, and differences of a framework from the references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from opperf.frameworks import Framework
from opperf.model import Case


class NotFinite(NamedTuple):
    """Why an operator's outputs or gradients may have NaN or infinity."""

    reason: str
    arguments: Mapping[str, Any] = {}
    """Arguments with which they may; empty for any."""


UNWRITTEN = NotFinite("returns memory that is not written")
"""Of operators whose results are whatever was in memory before."""


def may_lack_numbers(case: Case, framework: Framework, listed: Mapping[str, NotFinite]) -> bool:
    """Returns whether the results of a case may have NaN or infinity, by a framework's list."""
    found = _entry(case, framework, listed)
    return found is not None and found.arguments.items() <= case.arguments.items()


def is_unwritten(case: Case, framework: Framework, listed: Mapping[str, NotFinite]) -> bool:
    """Returns whether the results of a case are memory that it does not write, by the same list."""
    return _entry(case, framework, listed) == UNWRITTEN


def _entry(case: Case, framework: Framework, listed: Mapping[str, NotFinite]) -> NotFinite | None:
    """Returns the entry of a case's operator in a framework's list."""
    operator = framework.naming.wrapped_operator(case.target, framework.signature(case.target))
    names = () if operator is None else operator.names
    return next((listed[name] for name in names if name in listed), None)


class Difference(NamedTuple):
    """A difference of one framework."""

    text: str
    dtypes: tuple[str, ...] = ()
    """Dtypes that results may have, whatever the inputs have."""
    of_gradient: bool = False
    """Whether its gradient is not that of its results."""


IN_DOUBLE: Final = Difference("results are in double precision", ("float64", "complex128"))
OF_LOSS: Final = Difference("its gradient is that of a loss, whatever the heads", of_gradient=True)
OF_STORED: Final = Difference("its gradient is of stored elements alone", of_gradient=True)
SCALED: Final = Difference("its gradient is scaled by an argument", of_gradient=True)
