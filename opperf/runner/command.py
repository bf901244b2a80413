"""What the command `run` does, from the options a user gave to the exit code."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tabulate import tabulate

from opperf.errors import FOUND, INTERRUPTED, OutputError, UsageError
from opperf.metrics import registered
from opperf.model import DECLARED, DEFAULTS, Case, Run, Settings, Status
from opperf.results import output
from opperf.results.lines import check_free
from opperf.results.settings import value_text
from opperf.results.summary import summarise
from opperf.results.table import LEGEND, render_table
from opperf.results.text import counted, cut, inputs_text, terminal_width, wrapped
from opperf.runner.assembling import assemble
from opperf.runner.frameworks_command import report_choice
from opperf.runner.options import (
    Options,
    apply_quick,
    build_axes,
    build_options,
    build_selection,
    check_shape_options,
    split_sources,
)
from opperf.runner.planning import limit_case_times
from opperf.runner.progress import make_progress
from opperf.runner.resuming import check_axes, check_same, check_selection, read_unfinished
from opperf.runner.rounds import plan_visits
from opperf.runner.session import (
    CutShortError,
    execute,
    find_pending,
    make_header,
    read_selection,
    run_file_path,
)
from opperf.runner.workers import Workers
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

TABLE_LIMIT = 60
"""Records shown as a table after a run; more are in the file, and would bury the summary."""


def run_command(given: Mapping[str, Any], changed: Mapping[str, Any]) -> int:
    """Run what was asked for; the exit code.

    `changed` are the options the user gave, by name. Raises `OpperfError` for everything
    that keeps the run from starting.
    """
    begun = time.monotonic()
    check_shape_options(changed)
    names, files = split_sources(given["names"])
    given = {**apply_quick(given, changed), "names": names}
    options = build_options(given, changed)
    # A package's broken metric has to fail before hours are spent, and not after.
    registered()
    selection = build_selection(given)
    run_file = options.resume or run_file_path(options.output, options.output_format)
    if not options.list_only and run_file.is_file():
        check_free(run_file)
    earlier: Run | None = None
    if options.resuming:
        earlier, warnings = read_unfinished(run_file, options)
        for warning in warnings:
            _say(options, f"warning: {warning}", error=True)
    if not options.list_only and not (options.resuming and options.output == run_file):
        output.check_output(options.output, options.overwrite)
        _check_unfinished(run_file, options)
    interpreters = given["python"]
    if earlier:
        interpreters = interpreters or earlier.header.interpreters
    with Workers(interpreters) as workers:
        if earlier:
            selection, plan = _earlier_plan(earlier, workers, selection, build_axes(given), changed)
            todo = find_pending(earlier, options.retry, selection.rounds, selection.settings.seed)
            head = None
        else:
            tell = partial(_tell, options)
            if selection.patterns or not files:
                report_choice(options.framework, changed, tell)
            plan, axes = assemble(
                workers,
                options.framework,
                selection,
                build_axes(given),
                files,
                set(changed),
                tell,
            )
            _check_plan(plan)
            plan = limit_case_times(plan)
            todo = plan_visits(plan.cases, selection.rounds, selection.settings.seed)
            head = make_header(
                plan,
                selection,
                {"command": options.command},
                axes,
                given["labels"],
                workers.interpreters,
            )
        for asked, name in plan.aliases.items():
            _say(options, f"{asked} is another name of {name}, and reported as that")
        if options.list_only:
            print(list_of(plan, terminal_width()))
            return 0
        announcement = _announcement(plan, todo, selection, options)
        width = terminal_width()
        _say(options, announcement if width is None else wrapped(announcement, width))
        if options.dry_run:
            return 0
        try:
            result = execute(
                run_file,
                head,
                plan.cases,
                todo,
                workers,
                make_progress(sys.stderr, len(todo), options.quiet),
                lambda: time.monotonic() - begun,
            )
        except KeyboardInterrupt:
            _say(options, f"interrupted; {_going_on(run_file, options)}", error=True)
            return INTERRUPTED
        except CutShortError as error:
            raise OutputError(f"{error}; {_going_on(run_file, options)}") from error
    return _finish(result, run_file, options, time.monotonic() - begun)


def _earlier_plan(
    earlier: Run, workers: Workers, selection: Selection, axes: Axes, changed: Mapping[str, Any]
) -> tuple[Selection, Plan]:
    """The selection and the plan of a run that is gone on with, as its file has them.

    Raises `RunFileError` if an option that is given now contradicts it.
    """
    frameworks = dict.fromkeys(case.target.framework for case in earlier.cases)
    if "framework" in changed:
        for framework in frameworks:
            check_same("framework", framework, changed["framework"])
    before, axes_before = read_selection(earlier)
    check_selection(before, selection, changed)
    if set(axes) & set(changed):
        found = workers.of(next(iter(frameworks))).resolve(axes).axes
        check_axes(axes_before, {**axes, **found}, changed)
    return before, Plan(cases=earlier.cases, excluded=earlier.header.excluded)


def _check_unfinished(run_file: Path, options: Options) -> None:
    """Refuse to replace the records of a run that was cut short, unless told to.

    Raises `OutputError`.
    """
    if not options.resuming and not options.overwrite and run_file.exists():
        raise OutputError(
            f"a run into {options.output} was cut short, its records are in {run_file}; go on "
            "with it by --resume, or start anew by --overwrite"
        )


def _check_plan(plan: Plan) -> None:
    if plan.cases:
        return
    if not plan.excluded:
        raise UsageError(
            "no operator is left by --category, --namespace and --exclude; see opperf --list"
        )
    name, reason = next(iter(plan.excluded.items()))
    raise UsageError(
        f"nothing to run: none of the {len(plan.excluded)} operators chosen "
        f"has a benchmark, e.g. {name}: {reason}"
    )


def list_of(plan: Plan, width: int | None = None) -> str:
    """A table of the cases, the rules that made them and their inputs, which come last as they
    may be long; cut to the width of a terminal."""
    rows = [
        (case.label, case.category, case.origin, case.id, inputs_text(case)) for case in plan.cases
    ]
    headers = ("Operator", "Category", "Rule", "Id", "Inputs")
    # An id may look like a number, and has to stay as it is.
    table = tabulate(rows, headers=headers, disable_numparse=True)
    text = "\n".join(cut(line.rstrip(), width) for line in table.splitlines())
    operators = len({case.label for case in plan.cases})
    cases = counted(len(plan.cases), "case")
    lines = [text, "", f"{cases} of {counted(operators, 'operator')}"]
    if plan.excluded:
        lines.append(
            f"No benchmark for {counted(len(plan.excluded), 'operator')}: "
            + ", ".join(sorted(plan.excluded))
        )
    return "\n".join(lines)


def _announcement(
    plan: Plan, todo: tuple[Case, ...], selection: Selection, options: Options
) -> str:
    operators = len({case.target.key for case in plan.cases})
    wanted = selection.rounds * len(plan.cases)
    done = wanted - len(todo)
    visited = "them" if selection.rounds == 1 else f"{wanted} visits"
    already = f", {done} of {visited} done already" if done else ""
    rounds = f", {selection.rounds} rounds" if selection.rounds > 1 else ""
    return (
        f"{counted(len(plan.cases), 'case')} of {counted(operators, 'operator')}{rounds}{already}: "
        f"{', '.join(_in_use(plan.cases))}, {_effort(plan.cases[0].settings)}, "
        f"to {options.output}"
    )


ALWAYS = ("device", "dtype", "profiler")
"""Settings that are named before a run, whatever their values; others where they are not usual."""


def _in_use(cases: Sequence[Case]) -> list[str]:
    """The settings that the cases are part of their ids, each with every value in use."""
    found = []
    for name in (name for name, setting in DECLARED.items() if setting.identity):
        values = {value_text(getattr(case.settings, name)): None for case in cases}
        if name in ALWAYS:
            found.append(f"{' and '.join(values)}{' profiler' if name == 'profiler' else ''}")
        elif len(values) > 1:
            found.append(f"{name} {' and '.join(values)}")
        elif next(iter(values)) != value_text(DEFAULTS[name]):
            found.append(f"{name} {next(iter(values))}")
    return found


def _effort(settings: Settings) -> str:
    """How long each case is measured, in words."""
    parts = [
        "" if settings.warmup is None else f"{settings.warmup} warm-up",
        f"medians to {settings.precision:.1%}"
        if settings.runs is None
        else counted(settings.runs, "timed call"),
        "" if settings.max_time_s is None else f"{settings.max_time_s:g} s a case at most",
    ]
    return ", ".join(part for part in parts if part)


def _going_on(run_file: Path, options: Options) -> str:
    """Where the records of a run that ends early are, and the command that finishes it."""
    words = ["opperf", "run", "--resume"]
    if options.resume or options.output == run_file:
        words.append(str(run_file))
    if options.output != run_file or run_file.suffix != ".jsonl":
        words += ["-f", options.output_format]
    if options.output != run_file:
        words += ["-o", str(options.output)]
    return f"what was measured is in {run_file}. Go on with: {shlex.join(words)}"


def _finish(result: Run, run_file: Path, options: Options, elapsed_s: float) -> int:
    """Write the output, tell what came out, and give the exit code."""
    if options.output != run_file:
        try:
            output.write(result, options.output, options.output_format)
        except OutputError as error:
            raise OutputError(f"{error}; {_going_on(run_file, options)}") from error
        if options.resume is None:
            run_file.unlink(missing_ok=True)
    records = result.records
    if len(records) <= TABLE_LIMIT:
        _say(options, f"\n{render_table(records, terminal_width())}\n\n{LEGEND}")
    _say(options, "\n" + summarise(result, elapsed_s, terminal_width()))
    _say(options, f"\nwritten to {options.output}")
    broken = any(
        record.status in (Status.FAILED, Status.CRASHED, Status.TIMEOUT) for record in records
    )
    return FOUND if options.strict and broken else 0


def _tell(options: Options, text: str) -> None:
    """Say what is being done, beside what is printed."""
    if not options.quiet:
        print(text, file=sys.stderr, flush=True)


def _say(options: Options, text: str, error: bool = False) -> None:
    if error or not options.quiet:
        print(text, file=sys.stderr if error else sys.stdout, flush=True)
