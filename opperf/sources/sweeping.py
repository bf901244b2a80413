"""Sweeps: a selection is planned at every combination of the values of its swept variables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from opperf.errors import UsageError, suggest
from opperf.model import Argument, Case, ObjectTarget, TargetKey
from opperf.ranges import shape_text
from opperf.sources.plain import is_plain
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection

Point = dict[str, int]
"""A value of each swept variable."""

MAX_POINTS = 1000
"""Most combinations of values: each is planned on its own, which takes some milliseconds for an
operator."""

MAX_CASES = 5000
"""Most cases of a sweep: at a tenth of a second each, the minimum that a case is timed for, they
take some ten minutes, and no table or image shows more."""


def check_sweeps(selection: Selection) -> None:
    """Raises `UsageError` for a swept variable that no shape and no value uses, a variable without
    a sweep, an extent of zero, and too many points."""
    sweeps = selection.sweeps
    in_values = {word for value in selection.values.values() for word in _words(value)}
    used: dict[str, str] = {}
    for name, shape in selection.swept_shapes.items():
        text = f"--shape {shape_text(name, shape)}"
        for variable in _variables(shape):
            used.setdefault(variable, text)
            if variable not in sweeps:
                raise UsageError(
                    f"{text}: {variable!r} is neither a number nor a swept variable"
                    f"{suggest(variable, sweeps)}; add --sweep {variable}=128..2048:x2, or write "
                    "a number"
                )
    for variable, values in sweeps.items():
        if variable not in used and variable not in in_values:
            raise UsageError(
                f"--sweep {variable}=...: no shape and no value uses {variable}; write it as an "
                f"extent, e.g. --shape data=16x{variable}, or as a value, --arg axis={variable}"
            )
        if variable in used and min(values) < 1:
            raise UsageError(
                f"--sweep {variable}=...: {min(values)} is not an extent of {used[variable]}; "
                "begin at 1 or more"
            )
    points = math.prod(map(len, sweeps.values()))
    if points > MAX_POINTS:
        raise UsageError(
            f"--sweep: {' and '.join(sweeps)} have {points} values together, and at most "
            f"{MAX_POINTS} are measured; take larger steps"
        )


def check_size(plan: Plan, selection: Selection) -> None:
    """Raises `UsageError` for a sweep of too many cases."""
    if selection.sweeps and len(plan.cases) > MAX_CASES:
        raise UsageError(
            f"--sweep: {len(plan.cases)} cases, and a sweep has at most {MAX_CASES}; select fewer "
            "operators, or take larger steps"
        )


def points_of(selection: Selection) -> Iterator[Point]:
    """Yields every combination of swept values; without any, one empty point."""
    for values in itertools.product(*selection.sweeps.values()):
        yield dict(zip(selection.sweeps, values, strict=True))


def at_point(selection: Selection, point: Mapping[str, int]) -> Selection:
    """Returns the selection with the point's values in place of its variables."""
    shapes = {
        name: tuple(point[extent] if isinstance(extent, str) else extent for extent in shape)
        for name, shape in selection.swept_shapes.items()
    }
    values = {name: _replace(value, point) for name, value in selection.values.items()}
    return msgspec.structs.replace(
        selection, shapes={**selection.shapes, **shapes}, values=values, swept_shapes={}, sweeps={}
    )


def _replace(value: Argument, point: Mapping[str, int]) -> Argument:
    if isinstance(value, tuple):
        return tuple(_replace(element, point) for element in value)  # type: ignore[misc]
    return point.get(value, value) if isinstance(value, str) else value


def _words(value: Argument) -> set[str]:
    if isinstance(value, tuple):
        return {word for element in value for word in _words(element)}
    return {value} if isinstance(value, str) else set()


def join_points(plans: Iterable[tuple[Point, Plan]], selection: Selection) -> Plan:
    """Returns the plan of all points, in which a case may be several times. A case carries the
    values that its own inputs have, and a tag of its place among its target's configurations, which
    are those of a line in a plot. Cases are in the order of targets, configurations and points."""
    listed = list(plans)
    plain = {case.target.key for _, plan in listed for case in plan.cases if is_plain(case)}
    groups: dict[TargetKey, dict[int, list[Case]]] = {}
    for point, plan in listed:
        own: dict[TargetKey, list[Case]] = {}
        for case in plan.cases:
            own.setdefault(case.target.key, []).append(case)
        for key, cases in own.items():
            own_names = plan.renamed.get(cases[0].label, {})
            # The plain one may fit at some points alone.
            first = 0 if is_plain(cases[0]) else int(key in plain)
            for place, case in enumerate(cases, first):
                groups.setdefault(key, {}).setdefault(place, []).append(
                    _marked(case, point, selection, place, own_names)
                )
    joined = tuple(
        case for places in groups.values() for cases in places.values() for case in cases
    )
    labels = {case.label for case in joined}
    plan = listed[0][1]
    return msgspec.structs.replace(
        plan,
        cases=joined,
        excluded={
            name: reason
            for _, planned in listed
            for name, reason in planned.excluded.items()
            if name not in labels
        },
    )


def _marked(
    case: Case, point: Point, selection: Selection, place: int, own_names: Mapping[str, str]
) -> Case:
    """Returns the case with the values of the point that its inputs, or the arguments of what it
    builds, have. `own_names` are the operator's of arguments that the user names otherwise."""
    built = case.target.arguments if isinstance(case.target, ObjectTarget) else {}
    used = {
        variable
        for name, shape in selection.swept_shapes.items()
        if any(own_names.get(name, name) == argument for argument, _ in case.tensors())
        for variable in _variables(shape)
    } | {
        word
        for name, value in selection.values.items()
        if own_names.get(name, name) in (case.arguments if not built else built | case.arguments)
        for word in _words(value)
    }
    own = {variable: value for variable, value in point.items() if variable in used}
    if not own:
        return case
    return msgspec.structs.replace(case, point=own, tags=(*case.tags, configuration_tag(place)))


def configuration_tag(place: int) -> str:
    """Returns the tag of a case that has its operator's configuration of this place."""
    return f"configuration {place}"


def _variables(shape: Iterable[int | str]) -> list[str]:
    return [extent for extent in shape if isinstance(extent, str)]
