"""Reads the run files that are ranked, and checks that their figures can be added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.reports.hotspots.times import basis_of
from opperf.reports.model import RunOnPage, Section
from opperf.reports.run_page import beside_the_results
from opperf.results.runfile import read_run
from opperf.results.text import inputs_text


def on_pages_only(runs: Sequence[RunOnPage]) -> Iterator[Section]:
    """Yields what a page of runs has besides the ranking, under the runs' names if several."""
    for own in runs:
        for section in beside_the_results(own.run):
            title = f"{section.title} ({own.name})" if len(runs) > 1 else section.title
            yield section._replace(title=title, is_extra=True)


def read_ranked(files: Sequence[Path], say: Callable[[str], None]) -> list[Run]:
    """Returns the runs of files. Raises `RunFileError` for a file of no use."""
    runs: list[Run] = []
    for index, path in enumerate(files):
        run, warnings = read_run(path)
        for warning in warnings:
            say(f"warning: {warning}")
        if any(path.samefile(earlier) for earlier in files[:index]):
            raise RunFileError(f"{path} is named twice; its calls would count twice")
        if basis_of([run]) is None:
            raise RunFileError(f"{path}: no case of the run was measured; there is nothing to rank")
        _check_numbers(path, run)
        _check_program(path, run, dict(zip(files, runs, strict=False)))
        runs.append(run)
    return runs


MOST = 2**53
"""Most calls of a case, and nanoseconds: a hundred days of them, and the integers of a float."""


def _check_numbers(path: Path, run: Run) -> None:
    """Raises `RunFileError` for a number of calls or steps, or a time, that no program has."""

    def refuse_unless(is_possible: bool, what: str) -> None:
        if not is_possible:
            raise RunFileError(f"{path}: {what}; the file is damaged")

    program = run.header.program
    if program is not None:
        steps = filter(None, (program.step, program.recorded_step))
        times = [program.recorded_ns or 0, *(t for step in steps for t in (step.median, step.mean))]
        is_possible = 0 < program.steps < MOST
        refuse_unless(is_possible, "the program has an impossible number of steps")
        is_possible = all(0 <= time < MOST for time in times)
        refuse_unless(is_possible, "a step of the program has an impossible time")
    for case in run.cases:
        counts = [case.count, *(site.count for site in case.sites)]
        is_possible = all(0 < count < MOST for count in counts)
        refuse_unless(is_possible, f"the case {case.id} has an impossible number of calls")
        known = (site.time_ns for site in case.sites if site.time_ns is not None)
        is_possible = all(0 <= time < MOST for time in (*case.recorded, *known))
        refuse_unless(is_possible, f"a call of the case {case.id} has an impossible time")


def _check_program(path: Path, run: Run, earlier: Mapping[Path, Run]) -> None:
    """Raises `RunFileError` if an earlier file has calls of the same recording."""
    recording = _recording_of(run)
    for other, before in earlier.items():
        # Settings, which a run chooses, are in the ids of cases.
        is_same = recording is not None and recording == _recording_of(before)
        if is_same and _called(run) & _called(before):
            raise RunFileError(
                f"{path} has calls of {other}, which would count twice; name the one that was "
                "measured, as it has the recorded times too"
            )


def _recording_of(run: Run) -> tuple[object, ...] | None:
    """Returns what tells a recording from others; None of a run of no program."""
    program = run.header.program
    if program is None:
        return None
    return program.command, program.step, program.recorded_step, program.recorded_ns


def _called(run: Run) -> set[tuple[str, str]]:
    return {(case.label, inputs_text(case)) for case in run.cases}
