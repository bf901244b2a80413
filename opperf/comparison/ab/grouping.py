"""The groups of cases of a session, and the session of groups that has no process yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.session import Group, Session, SessionPlan
from opperf.execution.run_header import make_header
from opperf.model import Case, Environment
from opperf.sources.completing import distinguish
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, with_settings


def group_cases(
    groups: Sequence[Mapping[str, Case]], arms: Mapping[str, ArmSpec]
) -> list[tuple[Case, ...]]:
    """Returns the cases of each group as the file has them, in the order of the arms: none equals
    another, and those of an arm with its own interpreter name it."""
    named = {arm: {"python": arm} if spec.python else {} for arm, spec in arms.items()}
    # In the order of the arms, as equal cases are numbered.
    listed = distinguish(with_settings(group[arm], named[arm]) for arm in arms for group in groups)
    of_arm = [listed[place * len(groups) : (place + 1) * len(groups)] for place in range(len(arms))]
    return list(zip(*of_arm, strict=True))


def new_session(
    groups: Mapping[str, Mapping[str, Case]],
    arms: Mapping[str, ArmSpec],
    environments: Mapping[str, Environment],
    selection: Selection,
    command: str,
    excluded: Mapping[str, str],
    axes: Axes | None = None,
    names: Mapping[str, dict[str, dict[str, str]]] | None = None,
    **plan: Any,
) -> Session:
    """Returns a session without processes. `groups` have the compared cases by id, `names`
    arguments that arms' cases have by another name, `plan` other fields of
    `SessionPlan`."""
    cases = group_cases(list(groups.values()), arms)
    made = SessionPlan(
        arms=tuple(msgspec.structs.replace(arm, name=name) for name, arm in arms.items()),
        groups=tuple(
            Group(id, tuple(case.id for case in own), (names or {}).get(id, {}))
            for id, own in zip(groups, cases, strict=True)
        ),
        environments={arm: environment.id for arm, environment in environments.items()},
        **plan,
    )
    header = make_header(
        Plan(cases=(), excluded=dict(excluded)),
        selection,
        command,
        axes,
        interpreters=[
            msgspec.structs.replace(spec.interpreter, label=arm)
            for arm, spec in arms.items()
            if spec.interpreter is not None
        ],
    )
    return Session(
        # As it is read again.
        msgspec.structs.replace(header, session=msgspec.json.decode(msgspec.json.encode(made))),
        made,
        {case.id: case for arm in zip(*cases, strict=True) for case in arm},
        dict(environments),
        selection,
        axes or {},
    )
