"""Operators whose results may have NaN or infinity, which is no fault of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
    """Returns whether the results of a case may have NaN or infinity, by a framework's list, which
    has the operators that functions call too."""
    found = _entry(case, framework, listed)
    return found is not None and found.arguments.items() <= case.arguments.items()


def is_unwritten(case: Case, framework: Framework, listed: Mapping[str, NotFinite]) -> bool:
    """Returns whether the results of a case are memory that it does not write, by the same list."""
    return _entry(case, framework, listed) == UNWRITTEN


def _entry(case: Case, framework: Framework, listed: Mapping[str, NotFinite]) -> NotFinite | None:
    """Returns the entry of a case's operator in a framework's list."""
    operator = framework.wrapped_operator(case.target, framework.signature(case.target))
    names = () if operator is None else operator.names
    return next((listed[name] for name in names if name in listed), None)
