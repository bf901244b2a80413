"""Findings that are no faults: tables of them, and what in a table no longer occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from opperf.model import Argument, Case
from opperf.rules.values import SEQUENCE
from tests.conformance.judging import Finding

Given = Callable[[Case], bool]
"""Whether a case has the arguments of which a finding is no fault."""


def given(**arguments: Argument) -> Given:
    """Returns whether a case has these arguments."""

    def has(case: Case) -> bool:
        return all(case.arguments.get(name) == value for name, value in arguments.items())

    return has


def any_case(case: Case) -> bool:
    """Returns True."""
    return True


def is_expanded(case: Case) -> bool:
    """Returns whether one number is all elements of a tensor."""
    return any(spec.size > 1 and spec.reach == 1 for _, spec in case.tensors())


def is_sequence(case: Case) -> bool:
    """Returns whether a tensor has numbers that rise one by one."""
    return any(spec.fill == SEQUENCE for _, spec in case.tensors())


class Exempt(NamedTuple):
    """Operators of which a kind of finding is no fault."""

    kind: str
    reason: str
    operators: str
    """Names as in `opperf list`, with spaces between."""
    place: str = "*"
    """Pattern of the places."""
    given: Given = any_case
    """Of the operators' cases, which."""
    sometimes: bool = False
    """Whether it depends on the machine, or on random numbers that no seed governs."""

    def covers(self, found: Found) -> bool:
        """Returns whether a finding of one of the operators is such a one."""
        return (
            self.kind == found.finding.kind
            and fnmatchcase(found.finding.place, self.place)
            and self.given(found.case)
        )


class Found(NamedTuple):
    """A finding, and the case that it is of."""

    case: Case
    finding: Finding

    def __str__(self) -> str:
        return f"{self.finding} ({self.case.why})"


class Remaining(NamedTuple):
    """What is wrong after the exceptions."""

    faults: Mapping[str, Sequence[str]]
    """Findings that no exception covers, by operator."""
    stale: Sequence[str]
    """Exceptions that cover nothing, as `operator: kind: reason`."""


def without_exceptions(
    found: Iterable[Found], table: Sequence[Exempt], operators: Iterable[str]
) -> Remaining:
    """Returns what remains of the findings of some operators' cases."""
    listed: dict[str, list[Exempt]] = {}
    for one in table:
        for operator in one.operators.split():
            listed.setdefault(operator, []).append(one)
    used: set[tuple[str, Exempt]] = set()
    faults: dict[str, list[str]] = {}
    for each in found:
        operator = each.case.label
        covering = [one for one in listed.get(operator, ()) if one.covers(each)]
        used |= {(operator, one) for one in covering}
        if not covering:
            faults.setdefault(operator, []).append(str(each))
    stale = [
        f"{operator}: {one.kind}: {one.reason}"
        for operator in sorted(set(operators) & listed.keys())
        for one in listed[operator]
        if not one.sometimes and (operator, one) not in used
    ]
    return Remaining(faults, stale)
