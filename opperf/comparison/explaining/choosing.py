"""Which two dumps are compared: those of a case in two run files, or two files as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from opperf.comparison.explaining.callgrind import is_dump
from opperf.comparison.results import ResultsRow
from opperf.errors import CallgrindError, UsageError, one_line, suggest
from opperf.model import Case, Run, Status
from opperf.results.kept import profile_folder
from opperf.results.runfile import read_run
from opperf.results.text import inputs_text

SHOWN = 5
"""Most cases that a message lists."""

SHOWN_INPUTS = 60
"""Most characters of a case's inputs in a message."""


class Chosen(NamedTuple):
    """The two dumps to compare."""

    base: Path
    new: Path
    title: str = ""
    """The case and its pass; empty for two files as they are."""
    warnings: tuple[str, ...] = ()
    results: tuple[ResultsRow, ...] = ()
    """How the results of the case compare, of a session that compared them."""


def choose(base: Path, new: Path, wanted: str | None, measured_pass: str) -> Chosen:
    """Returns the dumps of a case in two run files, or the files themselves if both are dumps.
    `wanted` is the case's id, a prefix of that, or the name of an operator with one case. Raises
    `OpperfError` for a case that is not there or is not unique, and for one without a dump."""
    dumps = [path for path in (base, new) if is_dump(path)]
    if len(dumps) == 1:
        raise UsageError(
            f"{dumps[0]} is a file of callgrind's and the other one is not; name two of a kind"
        )
    if dumps:
        if wanted is not None:
            raise UsageError(
                f"{wanted}: files of callgrind's have no cases; name a case with run files, or "
                "omit it"
            )
        return Chosen(base, new)
    runs, warnings = _read(base, new)
    if wanted is None:
        raise UsageError(
            f"name a case, by id or operator: opperf explain {base} {new} ID; the files have "
            f"{listed(_cases(runs[1]))}"
        )
    pair = _pair(runs, (base, new), wanted)
    return choose_dumps((base, new), runs, pair, measured_pass, warnings)


def choose_dumps(
    paths: Sequence[Path],
    runs: Sequence[Run],
    cases: Sequence[Case],
    measured_pass: str,
    warnings: Iterable[str],
) -> Chosen:
    """Returns the dumps of two cases. Raises `CallgrindError` where one was not kept."""
    base, new = (
        _dump_of(path, run, case, measured_pass)
        for path, run, case in zip(paths, runs, cases, strict=True)
    )
    names = " | ".join(dict.fromkeys(case.label for case in cases))
    title = f"{names} ({inputs_text(cases[1])}), {measured_pass}"
    return Chosen(base, new, title, tuple(warnings))


def _read(*paths: Path) -> tuple[list[Run], list[str]]:
    runs, warnings = [], []
    for path in paths:
        run, found = read_run(path)
        runs.append(run)
        warnings += found
    return runs, warnings


def _cases(run: Run) -> list[Case]:
    return [record.case for record in run.records]


def _pair(runs: Sequence[Run], paths: Sequence[Path], wanted: str) -> tuple[Case, Case]:
    """Returns the wanted case in both runs, by the same call where only one has this id."""
    everything = [_cases(run) for run in runs]
    found = [find_cases(cases, wanted) for cases in everything]
    where = " and ".join(map(str, paths))
    if not any(found):
        names = [name for cases in everything for case in cases for name in (case.label, case.id)]
        known = [case for cases in everything for case in cases]
        near = suggest(wanted, names) or f"; there are {listed(known)}"
        raise UsageError(f"{wanted}: no case of {where} has this id or operator{near}")
    for place, path in enumerate(paths):
        if not found[place]:
            others = found[1 - place]
            found[place] = [
                case for case in everything[place] if any(_is_same_call(case, o) for o in others)
            ]
        if not found[place]:
            raise UsageError(f"{path} has no case {wanted}, which {paths[1 - place]} has")
        if len(found[place]) > 1:
            raise UsageError(
                f"{wanted} is of {len(found[place])} cases of {path}; name one by its id: "
                f"{listed(found[place])}"
            )
    (base,), (new,) = found
    if not _is_same_call(base, new):
        raise UsageError(
            f"{wanted} is {_text(base)} in {paths[0]} and {_text(new)} in {paths[1]}; name one of "
            "them by its id"
        )
    return base, new


def find_cases(cases: Sequence[Case], wanted: str) -> list[Case]:
    """Returns the cases of an id, else of a beginning of ids, else of an operator."""
    found = (list(filter(is_meant(wanted), cases)) for is_meant in MEANINGS)
    return next(filter(None, found), [])


MEANINGS: tuple[Callable[[str], Callable[[Case], bool]], ...] = (
    lambda word: lambda case: word == case.id or word in case.source_ids,
    lambda word: lambda case: case.id.startswith(word.casefold()),
    lambda word: lambda case: word.casefold() in (case.label.casefold(), case.pattern.casefold()),
)
"""Meanings of a word, the most exact first."""


def _is_same_call(one: Case, other: Case) -> bool:
    return one.target == other.target and one.arguments == other.arguments


def listed(cases: Sequence[Case]) -> str:
    """Returns the first few cases, by id, operator and inputs."""
    distinct = list({case.id: case for case in cases}.values())
    more = f" and {len(distinct) - SHOWN} more" if len(distinct) > SHOWN else ""
    return ", ".join(map(_text, distinct[:SHOWN])) + more


def _text(case: Case) -> str:
    return f"{case.id} ({one_line(f'{case.label} {inputs_text(case)}', SHOWN_INPUTS)})"


def _dump_of(path: Path, run: Run, case: Case, measured_pass: str) -> Path:
    """Returns the dump of a case. Raises `CallgrindError` if none was kept."""
    folder = profile_folder(path)
    dump = folder / f"{case.id}.{measured_pass}.callgrind"
    if dump.is_file():
        return dump
    record = next(record for record in run.records if record.case.id == case.id)
    if record.status is not Status.OK:
        why = f"it was {record.status.value}: {one_line(record.reason)}"
        raise CallgrindError(f"{path}: {case.label} has no profile; {why}")
    others = sorted(path.name.split(".")[1] for path in folder.glob(f"{case.id}.*.callgrind"))
    if others:
        raise CallgrindError(
            f"{path}: {case.label} has no profile of its {measured_pass} pass, only of "
            f"{', '.join(others)}; there is no {dump}"
        )
    raise CallgrindError(
        f"{path}: no profile of {case.label} was kept, as there is no {dump}; measure again with "
        f"opperf run --profiler instructions -o {path.name}"
    )
