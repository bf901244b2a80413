"""The file of a session: a run file, which is begun, appended to, read and resumed; and one of
counts, as two runs that are compared, and whose profiles are explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.session import COUNTS, Session
from opperf.comparison.ab.session_plan import Group, SessionPlan
from opperf.comparison.compared import Change, ChangeKind, Side
from opperf.comparison.explaining.choosing import find_cases, listed
from opperf.comparison.files.reading import Measured, read_records
from opperf.errors import RunFileError, UsageError, suggest
from opperf.execution.execute import RunFile
from opperf.execution.run_header import make_header, read_selection
from opperf.model import Case, Check, Closing, Environment, Place, ProcessLine, Record, Run
from opperf.results.kept import display
from opperf.results.runfile import RunWriter, pool, read_visits
from opperf.sources.completing import distinguish
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, with_settings
from opperf.statistics.data import PHASES


class SessionWriter(AbstractContextManager["SessionWriter"]):
    """Appends to the locked file of a session, and keeps what is in it at hand."""

    def __init__(
        self,
        writer: RunWriter,
        session: Session,
        earlier: Run | None,
        node: str = "",
        environments: Mapping[str, Environment] | None = None,
    ) -> None:
        self.session = session
        self.node = node
        """Name of the node of a cluster that measures now; empty for this machine."""
        self._writer = writer
        self.earlier = earlier
        """The file's content when it was resumed; None for a new one."""
        self.store = RunFile(writer, earlier)
        """Stores the records of `execution.execute`."""
        for arm, environment in session.environments.items():
            for case in session.cases_of(arm).values():
                self.store.environment(case, environment)
        self.environments = {
            arm: writer.environment(environment)
            for arm, environment in (environments or session.environments).items()
        }
        """Ids of the arms' environments where it measures now."""

    @classmethod
    def create(cls, path: Path, session: Session, overwrite: bool, node: str = "") -> SessionWriter:
        """Returns the writer of a new file. Raises what `RunWriter.create` raises."""
        environments = session.environments.values()
        cases = session.cases.values()
        writer = RunWriter.create(path, session.header, cases, overwrite, environments)
        return cls(writer, session, None, node)

    @classmethod
    def resume(
        cls, path: Path, node: str = "", environments: Mapping[str, Environment] | None = None
    ) -> SessionWriter:
        """Returns the writer of a file that is there. `environments` are the arms' on a node of a
        cluster. Raises what `RunWriter.resume` raises."""
        writer = RunWriter.resume(path)
        try:
            run, _ = read_visits(path)
            session = session_of(path, run)
            session.omit_begun_blocks(node)
            return cls(writer, session, run, node, environments)
        except BaseException:
            writer.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        self._writer.__exit__()

    def plan(self, cases: Iterable[Case]) -> None:
        new = {case.id: case for case in cases if case.id not in self.session.cases}
        if new:
            self._writer.case(*new.values())
            self.session.cases.update(new)

    def add(self, line: ProcessLine, records: Iterable[Record]) -> None:
        """Appends that a process has measured its cases, whose records are stored."""
        self._writer.process(line)
        self.session.add(line, records)

    def close_session(self, closing: Closing) -> None:
        """Appends the closing line: the session is complete."""
        self._writer.close_run(closing)
        self.session.closing = closing


def group_cases(
    groups: Iterable[Sequence[Case | None]], arms: Mapping[str, ArmSpec]
) -> list[tuple[Case | None, ...]]:
    """Returns the cases of each group, in the order of the arms, as the file has them: none equals
    another, and those of an arm with its own interpreter name it."""
    listed_groups = list(groups)
    if not listed_groups:
        return []
    # Arm by arm, as equal cases are numbered.
    of_arms = [
        [case and with_settings(case, {"python": arm} if spec.python else {}) for case in own]
        for (arm, spec), own in zip(arms.items(), zip(*listed_groups, strict=True), strict=True)
    ]
    listed = iter(distinguish(case for own in of_arms for case in own if case is not None))
    return list(zip(*([case and next(listed) for case in own] for own in of_arms), strict=True))


def new_session(
    groups: Mapping[str, Sequence[Case | None]],
    arms: Mapping[str, ArmSpec],
    environments: Mapping[str, Environment],
    selection: Selection,
    command: str,
    excluded: Mapping[str, str],
    axes: Axes | None = None,
    names: Mapping[str, dict[str, dict[str, str]]] | None = None,
    **plan: Any,
) -> Session:
    """Returns a session without processes. `groups` have the compared cases by id, in the order of
    the arms, `names` arguments that arms' cases have by another name, `plan` other fields of
    `SessionPlan`."""
    cases = group_cases(groups.values(), arms)
    made = SessionPlan(
        arms=tuple(msgspec.structs.replace(arm, name=name) for name, arm in arms.items()),
        groups=tuple(
            Group(id, tuple(case.id if case else "" for case in own), (names or {}).get(id, {}))
            for id, own in zip(groups, cases, strict=True)
        ),
        environments={arm: environment.id for arm, environment in environments.items()},
        **plan,
    )
    interpreters = [
        msgspec.structs.replace(spec.interpreter, label=arm)
        for arm, spec in arms.items()
        if spec.interpreter is not None
    ]
    planned = Plan(cases=(), excluded=dict(excluded))
    header = make_header(planned, selection, command, axes, interpreters=interpreters)
    return Session(
        # As it is read again.
        msgspec.structs.replace(header, session=msgspec.json.decode(msgspec.json.encode(made))),
        made,
        {case.id: case for arm in zip(*cases, strict=True) for case in arm if case is not None},
        dict(environments),
        selection,
        axes or {},
    )


def read_session(path: Path) -> tuple[Session, list[str]]:
    """Returns a session, and warnings. Raises `RunFileError` for a damaged file or a run."""
    run, warnings = read_visits(path)
    return session_of(path, run), warnings


def session_of(path: Path, run: Run) -> Session:
    """Returns the session that a file has. Raises `RunFileError` for a run or an invalid plan."""
    if not run.header.session:
        raise RunFileError(f"{path}: it is a run, and no session of `opperf ab`")
    try:
        plan = msgspec.convert(run.header.session, SessionPlan)
    except msgspec.ValidationError as error:
        raise RunFileError(f"{path}: its plan is not valid: {error}") from error
    for fault in _faults(plan, run):
        raise RunFileError(f"{path}: its plan is not valid: {fault}")
    session = Session(
        run.header,
        plan,
        {case.id: case for case in run.cases},
        {arm: run.environments[id] for arm, id in plan.environments.items()},
        *read_selection(run),
        closing=run.closing,
    )
    of_place: dict[Place, list[Record]] = {}
    for record in run.records:
        if record.place is not None and record.place.phase == COUNTS:
            session.counts[record.id] = record
        elif record.place is not None:
            of_place.setdefault(record.place, []).append(record)
    # One that was measured again, by another node, has two lines.
    for line in {line.place: line for line in run.processes}.values():
        records = of_place.get(line.place, [])
        if not {record.id for record in records} <= session.group_of.keys():
            raise RunFileError(f"{path}: a record of {line.place} is of a case that no group has")
        session.add(line, records)
    return session


def _faults(plan: SessionPlan, run: Run) -> Iterator[str]:
    """Yields what a plan names, and its file does not have."""
    arms = [arm.name for arm in plan.arms]
    if len(arms) < 2:
        yield "it has fewer than two arms"
    for name in (name for name, number in Counter(arms).items() if number > 1):
        yield f"it has several arms {name}"
    for arm, id in plan.environments.items():
        if id not in run.environments:
            yield f"the environment of {arm} is {id}, which the file does not have"
    if run.processes and plan.environments.keys() != set(arms):
        yield f"it has environments of {', '.join(plan.environments) or 'no arm'}"
    cases = {case.id for case in run.cases}
    for group in plan.groups:
        if len(group.cases) != len(arms):
            yield f"the group {group.id} has not one case of each arm"
        for id in set(group.cases) - cases - {""}:
            yield f"the group {group.id} has the case {id}, which the file does not have"
    of_groups = {
        group.id: {arm for arm, id in zip(arms, group.cases, strict=False) if id}
        for group in plan.groups
    }
    for id, slow in plan.slow.items():
        if slow.arms.keys() != of_groups.get(id, set(arms)):
            yield f"the slow group {id} has not calls of each arm"
    for place in (line.place for line in run.processes):
        if place.phase not in (*PHASES, "coarse") or place.role not in arms:
            yield f"a process is of the phase {place.phase!r} and the arm {place.role!r}"


def read_arms(path: Path) -> tuple[Measured, Measured]:
    """Returns the counts of the first two arms. Raises `RunFileError` for any other file."""
    run, warnings = read_visits(path)
    session = session_of(path, run)
    base, new = session.arms[:2]
    a, b = (
        read_records(path, _run_of(arm, session, run), warnings, arm)
        if session.plan.groups
        else Measured(Side(display(path), run.header.started, arm=arm), None, (), (), {})
        for arm in (base, new)
    )
    checks: dict[int | None, Check] = {
        place: session.checks[group.id]
        for place, group in enumerate(session.plan.groups)
        if group.id in session.checks
    }
    return (
        a,
        b._replace(
            checks=checks if session.plan.tolerance else None,
            missing=tuple(
                Change(
                    ChangeKind.BROKEN,
                    absence.id,
                    absence.operator,
                    absence.inputs,
                    reason=absence.reason,
                )
                for absence in session.plan.absences
                if absence.is_missing
            ),
        ),
    )


def _run_of(arm: str, session: Session, run: Run) -> Run:
    cases = session.cases_of(arm)
    ids = {case.id for case in cases.values()}
    records = tuple(record for record in pool(run).records if record.id in ids)
    used = {record.environment for record in records}
    return msgspec.structs.replace(
        run,
        cases=tuple(cases.values()),
        records=records,
        environments={
            id: environment for id, environment in run.environments.items() if id in used
        },
    )


def find_pair(path: Path, session: Session, wanted: str | None) -> tuple[Case, Case]:
    """Returns the pair that an id or operator means. Raises `UsageError` for none or several."""
    first, *others = session.arms
    pairs = [(pair.a, pair.b) for arm in others for pair in session.pairs_of(first, arm).values()]
    every = [case for pair in pairs for case in pair]
    if wanted is None:
        raise UsageError(
            f"name a case, by id or operator: opperf explain {path} ID; the session has "
            f"{listed(every)}"
        )
    found = {case.id for case in find_cases(every, wanted)}
    meant = [pair for pair in pairs if found & {case.id for case in pair}]
    if not meant:
        near = suggest(wanted, [name for case in every for name in (case.label, case.id)])
        raise UsageError(
            f"{wanted}: no case of {path} has this id or operator"
            f"{near or f'; there are {listed(every)}'}"
        )
    if len(meant) > 1:
        raise UsageError(
            f"{wanted} is of {len(meant)} cases of {path}; name one by its id: "
            f"{listed([base for base, _ in meant])}"
        )
    return meant[0]
