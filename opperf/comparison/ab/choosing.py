"""Cases of an arm from files, and pairs by the ids of `--id`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from opperf.comparison.ab.pairs import Pair, Pairing
from opperf.errors import UsageError
from opperf.execution.planning import complete_cases, select_cases, unite_of
from opperf.model import DECLARED, Case, Settings
from opperf.sources.base import SourceFile, check_own_settings, is_incomplete
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker

OF_THE_SESSION = frozenset(
    name for name, setting in DECLARED.items() if setting.process or not setting.identity
) - {"seed"}
"""Settings that the session decides for a file's cases too: those of the process, of which an arm
has one, and how long a case is measured. Their contents are those of the file."""


OF_THE_CALL = frozenset({"dtype", "phase", "memory_format", "input_function"})
"""Settings that a case of a recording or a configuration has of its own."""


def plans_of_files(
    worker: Worker,
    files: Sequence[SourceFile],
    framework: str,
    selection: Selection,
    forward_only: bool,
    assigned: Collection[str],
) -> list[Plan]:
    """Returns the plans of an arm, one for each file. Cases keep their settings, except
    `OF_THE_SESSION` and those `assigned` by an option or the arm. The worker of the arm completes
    those of a recording or a configuration, which have of their own `OF_THE_CALL` only.

    Raises `UsageError` for cases of another framework, and the errors of the sources.
    """
    names = OF_THE_SESSION | set(assigned) & DECLARED.keys()
    plans = []
    known: list[str] = []
    for path, source in files:
        check_own_settings(path, source, assigned)
        in_file = list(source.cases())
        here = names
        if is_incomplete(source):
            _check_framework(path, in_file, framework)
            in_file = complete_cases(worker, source, in_file)
            here = names | DECLARED.keys() - OF_THE_CALL
        settings = {name: getattr(selection.settings, name) for name in here}
        known += [case.id for case in in_file]
        cases = select_cases(in_file, selection)
        _check_framework(path, cases, framework)
        # Ids are of the case as it is in the file.
        chosen = [case for case in cases if not selection.ids or case.id.startswith(selection.ids)]
        made = tuple(unite_of(source)(with_settings(case, settings) for case in chosen))
        if forward_only:
            made = tuple(msgspec.structs.replace(case, passes=("forward",)) for case in made)
        plans.append(Plan(cases=made, excluded=dict(source.excluded)))
    for wanted in selection.ids:
        if not any(name.startswith(wanted) for name in known):
            listed = " and ".join(str(path) for path, _ in files)
            raise UsageError(f"--id {wanted}: no case of {listed} has this id")
    return plans


def _check_framework(path: Path, cases: Iterable[Case], framework: str) -> None:
    for case in cases:
        if case.target.framework != framework:
            raise UsageError(
                f"{path} has cases of {case.target.framework}, and {framework} is measured; "
                f"add --framework {case.target.framework}"
            )


def usual_id(case: Case) -> str:
    """Returns the id that the case has in `opperf run --list`: with the usual process."""
    usual = Settings()
    own = {name: getattr(usual, name) for name, setting in DECLARED.items() if setting.process}
    return with_settings(case, own).id


def choose_by_id(pairing: Pairing, ids: tuple[str, ...]) -> Pairing:
    """Returns the pairs of which either case has one of the ids, or an id that begins so.

    Raises `UsageError` for an id that no pair has.
    """
    if not ids:
        return pairing
    known = {pair.id: _ids(pair) for pair in pairing.pairs}
    for wanted in ids:
        if not any(id.startswith(wanted) for own in known.values() for id in own):
            raise UsageError(
                f"--id {wanted}: no pair of cases has this id; see opperf run --list for the ids, "
                "or name the run file that has it"
            )
    pairs = tuple(
        pair for pair in pairing.pairs if any(id.startswith(ids) for id in known[pair.id])
    )
    return Pairing(pairs, {})


def _ids(pair: Pair) -> set[str]:
    return {
        pair.id,
        *(case_id for case in (pair.a, pair.b) for case_id in (case.id, usual_id(case))),
    }
