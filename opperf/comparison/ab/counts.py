"""A session of counts, as two runs that are compared, and whose profiles are explained."""

from __future__ import annotations

from pathlib import Path

import msgspec

from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import session_of
from opperf.comparison.explaining.choosing import find_cases, listed
from opperf.comparison.files.reading import Measured, read_records
from opperf.errors import UsageError, suggest
from opperf.model import Case, Check, Run
from opperf.results.merging import pool
from opperf.results.runfile import read_visits


def read_arms(path: Path) -> tuple[Measured, Measured]:
    """Returns the counts of the first two arms of a session, whose cases have the places of their
    groups. Raises `RunFileError` for any other file."""
    run, warnings = read_visits(path)
    session = session_of(path, run)
    base, new = session.arms[:2]
    a, b = _run_of(base, session, run), _run_of(new, session, run)
    checks: dict[int | None, Check] = {
        place: session.plan.checks[group.id]
        for place, group in enumerate(session.plan.groups)
        if group.id in session.plan.checks
    }
    return (
        read_records(path, a, warnings, base),
        read_records(path, b, warnings, new)._replace(
            checks=checks if session.plan.tolerance else None
        ),
    )


def _run_of(arm: str, session: Session, run: Run) -> Run:
    """Returns the run of an arm."""
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
    """Returns the cases of the first two arms that a word means: an id of either, or an operator.
    Raises `UsageError` for a word that means none, or several."""
    pairs = [(pair.a, pair.b) for pair in session.pairs]
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
