"""The rows of a comparison of implementations as cases of each arm, planned by its own worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from opperf.comparison.ab.arms import ArmSpec, selection_of
from opperf.comparison.ab.session_plan import Lacking
from opperf.errors import FrameworkError, OpperfError, UsageError, WorkerError
from opperf.execution.refitting import with_random_shapes
from opperf.model import Case, OperatorTarget, Settings, TensorSpec, map_tensors
from opperf.results.text import inputs_text
from opperf.rules.values import in_requested_dtype
from opperf.sources.operation_cases import OperationCases
from opperf.sources.operation_rows import Row
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.sweeping import configuration_tag
from opperf.worker.client import Worker

COMPILED = ("compile", "jit")
"""Names of a framework's compiled mode, of which `compile` stands for any."""


class Group(NamedTuple):
    """The cases of a row, by arm, with one value of each axis."""

    row: Row
    inputs: str
    """Those by role, as text."""
    cases: dict[str, Case]
    """Of two arms at least."""

    @property
    def first(self) -> Case:
        return next(iter(self.cases.values()))

    @property
    def id(self) -> str:
        """That of the first arm's case, and how many arms' are with it."""
        return "-".join(dict.fromkeys(case.id for case in self.cases.values()))


def describe(row: Row, dtype: str) -> str:
    """Returns the inputs of a row by role, in a requested dtype, as text."""

    def shown(spec: TensorSpec) -> TensorSpec:
        fill = msgspec.structs.replace(spec.fill, of="")
        return msgspec.structs.replace(in_requested_dtype(spec, dtype), fill=fill)

    roles = {role: map_tensors(value, shown) for role, value in row.roles.items()}
    return inputs_text(Case(OperatorTarget("", row.operation), roles, Settings(dtype=dtype)))


def plan_groups(
    workers: Mapping[str, Worker],
    arms: Mapping[str, ArmSpec],
    rows: Sequence[Row],
    combinations: Sequence[Selection],
) -> tuple[dict[str, Group], list[Lacking]]:
    """Returns the groups of rows with each combination of settings, by id, and what is not
    measured. Raises `UsageError` for a mode
    or namespace that an arm lacks."""
    groups: dict[str, Group] = {}
    lacking: dict[Lacking, None] = {}
    for common in combinations:
        of_arms = {
            name: cases_of_arm(workers[name], arm, rows, common) for name, arm in arms.items()
        }
        for place, row in enumerate(rows):
            inputs = describe(row, common.settings.dtype)
            cases = {name: own.cases[place] for name, own in of_arms.items() if place in own.cases}
            reasons = {
                name: own.reasons[place] for name, own in of_arms.items() if name not in cases
            }
            if len(cases) > 1:
                group = Group(row, inputs, cases)
                groups.setdefault(group.id, group)
            else:
                reasons |= dict.fromkeys(cases, "no other arm has it")
            for name, reason in reasons.items():
                lacking[Lacking(row.operation, inputs, name, reason)] = None
    return groups, list(lacking)


def random_rows(
    workers: Mapping[str, Worker],
    arms: Mapping[str, ArmSpec],
    rows: Sequence[Row],
    common: Selection,
) -> list[Row]:
    """Returns rows in random shapes in place of their own, which the first arm that has the
    operation accepts."""
    assert common.fuzz is not None
    found: list[Row] = []
    left = list(rows)
    for name, arm in arms.items():
        made = cases_of_arm(workers[name], arm, left, common).cases
        own = {case.id: left[place] for place, case in made.items()}
        operations = dict.fromkeys(row.operation for row in own.values())
        for operation in operations:
            cases = [case for place, case in made.items() if left[place].operation == operation]
            plan = Plan(cases=tuple(cases), excluded={})
            seed = common.settings.seed
            drawn = with_random_shapes(workers[name], plan, common.fuzz, seed).cases
            found += (_reshaped(own, cases, case) for case in drawn[: common.fuzz.count])
        left = [row for row in left if row.operation not in operations]
    return found


def _reshaped(rows: Mapping[str, Row], templates: Sequence[Case], case: Case) -> Row:
    """Returns the row of which a case has other shapes."""
    made = {spec.fill.of: spec for _, spec in case.tensors()}
    tag = case.tags[-1]
    alike = [own for own in templates if own.label == case.label]
    row = rows[next(own.id for n, own in enumerate(alike) if configuration_tag(n) == tag)]

    def shaped(spec: TensorSpec) -> TensorSpec:
        own = made[spec.fill.of]
        return msgspec.structs.replace(spec, shape=own.shape, fill=own.fill)

    roles = {role: map_tensors(value, shaped) for role, value in row.roles.items()}
    return msgspec.structs.replace(row, roles=roles)


def cases_of_arm(
    worker: Worker, arm: ArmSpec, rows: Sequence[Row], common: Selection
) -> OperationCases:
    """Returns the calls of rows in an arm. Raises `UsageError` for a mode or namespace that it
    lacks."""
    selection = selection_of(arm, common)
    dtype = selection.settings.dtype
    try:
        choices = worker.choices()
        if dtype not in choices["dtype"]:
            reason = f"{arm.framework} has no {dtype}"
            return OperationCases({}, dict.fromkeys(range(len(rows)), reason))
        resolved = worker.resolve_selection(_with_mode(selection, choices["mode"]))
        return worker.operation_cases(rows, resolved, arm.namespace)
    except (WorkerError, FrameworkError):
        raise
    except OpperfError as error:
        raise UsageError(f"--among {arm.name}: {error}") from error


def _with_mode(selection: Selection, modes: Sequence[str]) -> Selection:
    """Returns a selection with the framework's own compiled mode where any is asked for."""
    mode = selection.settings.mode
    if mode != COMPILED[0] or mode in modes:
        return selection
    own = next((name for name in COMPILED if name in modes), mode)
    settings = msgspec.structs.replace(selection.settings, mode=own)
    return msgspec.structs.replace(selection, settings=settings)
