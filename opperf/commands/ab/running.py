"""The command `ab`, from its options to the exit code."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from opperf.commands.ab.begin import ARMS, begin, resume, starter
from opperf.commands.ab.counting import compare_counts, counts_instructions
from opperf.commands.ab.keeping import (
    keep_finished,
    keep_interrupted,
    locate_report,
    resume_words,
)
from opperf.commands.ab.request import Options, arms_from, options_from
from opperf.commands.frameworks import read_choice, report_choice
from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.forecast import forecast_of, processes
from opperf.comparison.ab.measure import cases_at, measure
from opperf.comparison.ab.procedure import Stage, next_stage
from opperf.comparison.ab.report import report_of
from opperf.comparison.ab.reports import report_for
from opperf.comparison.ab.session import Session, SessionClosing, SessionWriter, read_session
from opperf.comparison.ab.spending import spent
from opperf.comparison.ab.workers import BlockWorkers
from opperf.comparison.statistics.blocks import BLOCK
from opperf.comparison.statistics.data import Analysis, Arm, Thresholds, Verdict
from opperf.comparison.statistics.verdicts import analyse
from opperf.comparison.weighted import check_format
from opperf.errors import FOUND, INCONCLUSIVE, INTERRUPTED, OpperfError, UsageError
from opperf.execution.progress import make_progress
from opperf.execution.run_header import utc_now
from opperf.execution.time_left import Pace
from opperf.machine.pinning import cpus_arguments
from opperf.model import DIFFERENT
from opperf.plurals import pluralize
from opperf.reports.output import write_reports
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import Output, check_output, outputs_from
from opperf.results.text import duration


def ab_command(given: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Compares two arms; the exit code.

    `changed` are the options without those at their defaults. Raises `OpperfError` if the session
    cannot start or go on.
    """
    given, changed = locate_report(given, changed)
    options = options_from(given, changed)
    with options.pinning:
        return _run_session(given, changed, options)


def _run_session(given: Mapping[str, Any], changed: Mapping[str, Any], options: Options) -> int:
    """Starts or resumes a session, measures it to its end and prints its report; the exit code."""
    say = partial(_say, options)
    if not options.resume:
        choice = read_choice(given, changed)
        elsewhere = choice.elsewhere or any(arm.python for arm in arms_from(given))
        report_choice(replace(choice, elsewhere=elsewhere), say)
    if counts_instructions(given, changed):
        return compare_counts(given, changed, options, say)
    writer = (
        resume(given, changed, options, say)
        if options.resume
        else begin(
            given,
            changed,
            options,
            say,
            lambda total: make_progress(sys.stderr, total, options.quiet),
        )
    )
    if writer is None:
        return 0
    with writer:
        try:
            _measure(writer, options)
        except KeyboardInterrupt:
            keep_interrupted(options.report)
            done = processes(len(writer.session.lines))
            hint = _resume_hint(options)
            tell(f"interrupted; {done} measured, in {hint}")
            return INTERRUPTED
        except OpperfError as error:
            keep_interrupted(options.report)
            raise type(error)(
                f"{error}; the measurements are in {_resume_hint(options)}"
            ) from error
        session = writer.session
        analysis = analyse(session.replicates, session.header.thresholds)
        counts = Counter(one.verdict.value for one in analysis.verdicts)
        writer.close_session(SessionClosing(finished=utc_now(), counts=dict(counts)))
        session = writer.session
    name = display(options.report)
    kept = keep_finished(options.report)
    say(f"all measurements are in {name}{'' if kept == name else f', kept as {kept}'}")
    for line in filter(None, [spent(session.lines)]):
        say(line)
    _show(session, analysis, options.outputs, options.fail_on, options.weight)
    return exit_code(analysis, options.fail_on, session.has_different_results)


def from_ab(path: Path, options: Mapping[str, Any]) -> int:
    """Makes the verdicts of a session again from its file, without measuring; the exit code.

    `options` are those of `compare`, of which the format, the output, `weight` and `fail_on` apply.
    Raises `RunFileError` for any other file, `UsageError` for a verdict that a session does not
    have or a format without totals, and `OutputError` for an output that cannot be written.
    """
    for word in options["fail_on"]:
        if word not in EXIT_CODES:
            raise UsageError(f"--fail-on {word}: a session can fail on {', '.join(EXIT_CODES)}")
    outputs = outputs_from(options)
    for output in outputs:
        check_format(options["weight"], output.format, "ab")
    fail_on: tuple[str, ...] = options["fail_on"] or (Verdict.REGRESSED.value,)
    for output in outputs:
        check_output(output.path, options["overwrite"], [path])
    session, warnings = read_session(path)
    for warning in warnings:
        tell(f"warning: {warning}")
    analysis = analyse(session.replicates, session.header.thresholds)
    _show(session, analysis, outputs, fail_on, options["weight"])
    return exit_code(analysis, fail_on, session.has_different_results)


EXIT_CODES = {
    Verdict.REGRESSED.value: FOUND,
    Verdict.IMPROVED.value: FOUND,
    Verdict.AMBIGUOUS.value: INCONCLUSIVE,
    DIFFERENT: FOUND,
}
"""What a session can fail on, each with its exit code."""


def exit_code(analysis: Analysis, fail_on: tuple[str, ...], has_different_results: bool) -> int:
    """The exit code for the findings among `fail_on`, the shift of all operators together included:
    found before undecided, else 0. Undecided where no case has a verdict, unless results differ,
    which no noise hides."""
    if has_different_results and DIFFERENT in fail_on:
        return EXIT_CODES[DIFFERENT]
    decided = {one.verdict for one in analysis.verdicts} - {Verdict.AMBIGUOUS}
    if not analysis.valid or not decided:
        return INCONCLUSIVE
    verdicts = {one.verdict.value for one in analysis.verdicts}
    if analysis.shift is not None:
        verdicts.add(analysis.shift.verdict.value)
    codes = [EXIT_CODES[one] for one in fail_on if one in verdicts]
    return min(codes, default=0)


def _show(
    session: Session,
    analysis: Analysis,
    outputs: Iterable[Output],
    fail_on: tuple[str, ...],
    weight: str | None = None,
) -> None:
    """Prints the report, or writes it."""
    write_reports(report_for(report_of(session, analysis, fail_on, weight)), outputs)


def _measure(writer: SessionWriter, options: Options) -> None:
    """Measures the rest of the session; each replicate is in the file before the next begins."""
    header = writer.session.header
    arms: dict[Arm, ArmSpec] = {"A": header.a, "B": header.b}
    threads, reference_work = header.threads.number, header.reference_work
    start = starter(arms, header.framework, options, threads, reference_work)
    start_coarse = starter(arms, header.framework, options)
    while True:
        session = writer.session
        stage = next_stage(session.replicates, header.thresholds, session.ended)
        if stage is None:
            return
        places = list(stage.places(header.seed, session.replicates))
        begin = start_coarse if stage.phase == "coarse" else start
        visits = {arm: len(cases_at(stage, session, arm)) for arm in ARMS}
        _say(options, _stage_text(stage, len(places), visits["A"], session))
        total = sum(visits[place.arm] for place in places)
        pace = _pace(stage, total, share=len(places) / (BLOCK * stage.n_blocks), session=session)
        with make_progress(sys.stderr, total, options.quiet, pace) as shown:
            for _, of_block in groupby(places, lambda place: place.block):
                with BlockWorkers(begin) as workers:
                    for place in of_block:
                        cases = cases_at(stage, writer.session, place.arm)
                        writer.add(measure(place, cases, header.seed, workers, shown))


def _pace(stage: Stage, total: int, share: float, session: Session) -> Pace:
    """Returns the pace of a stage of `total` visits, a share of its processes; what is left is that
    of the session, as far as every session goes."""
    expected = forecast_of(session.header, session.lines)
    left_s = share * expected.stage_s(stage)
    later_s = expected.later_s(stage, session.header.thresholds)
    return Pace(total, left_s, lambda case: left_s / max(1, total), later_s, starts=True)


def _stage_text(stage: Stage, count: int, cases: int, session: Session) -> str:
    """A line on the next stage, and how long it takes."""
    share = count / (BLOCK * stage.n_blocks)
    left = share * forecast_of(session.header, session.lines).stage_s(stage)
    work = f"{processes(count)}, {pluralize(cases, 'case')} each"
    return f"{_stage_name(stage, session.header.thresholds)}: {work}, about {duration(left)}"


def _stage_name(stage: Stage, thresholds: Thresholds) -> str:
    """The phase of a stage, and its blocks if the phase has other stages."""
    if stage.phase == "control":
        return "A against A"
    if stage.phase == "coarse":
        return "A against B with all threads"
    last = stage.first_block + stage.n_blocks
    return (
        f"A against B, blocks {stage.first_block + 1} to {last} of at most {thresholds.block_cap}"
    )


def _resume_hint(options: Options) -> str:
    words = [*resume_words(options.report), *cpus_arguments(options.pinning.choice)]
    words += options.arguments
    return f"{display(options.report)}. Resume with: {shlex.join(words)}"


def _say(options: Options, text: str) -> None:
    """Prints a message to standard error."""
    if not options.quiet:
        tell(text)
