"""Findings that are no faults: tables of them, and what in a table no longer occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.conformance.judging import Finding


class Exempt(NamedTuple):
    """Operators of which a kind of finding is no fault."""

    kind: str
    reason: str
    operators: str
    """Names as in `opperf list`, with spaces between."""
    place: str = "*"
    """Pattern of the places."""
    why: str = "*"
    """Pattern of the cases' lines of why."""
    sometimes: bool = False
    """Whether it depends on the machine, or on random numbers that no seed governs."""

    def covers(self, finding: Finding, why: str) -> bool:
        """Returns whether a finding of one of the operators is such a one."""
        return (
            self.kind == finding.kind
            and fnmatchcase(finding.place, self.place)
            and fnmatchcase(why, self.why)
        )


class Found(NamedTuple):
    """A finding, and the case that it is of."""

    operator: str
    why: str
    finding: Finding


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
    for operator, why, finding in found:
        covering = [one for one in listed.get(operator, ()) if one.covers(finding, why)]
        used |= {(operator, one) for one in covering}
        if not covering:
            faults.setdefault(operator, []).append(f"{finding} ({why})")
    stale = [
        f"{operator}: {one.kind}: {one.reason}"
        for operator in sorted(set(operators) & listed.keys())
        for one in listed[operator]
        if not one.sometimes and (operator, one) not in used
    ]
    return Remaining(faults, stale)
