"""Counts of instructions of both arms: one run of each, as load and order do not change a count,
and the comparison of the two run files."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.commands.ab.begin import ARMS, OTHER, SETTINGS, check_tolerance
from opperf.commands.ab.keeping import keep_finished, keep_interrupted, make_room
from opperf.commands.ab.planning import (
    Say,
    announce,
    case_table,
    check_have_cases,
    name_pairs,
    plan_arm,
    why_nothing,
)
from opperf.commands.ab.request import Options, arms_from, selection_from, tolerance_from
from opperf.commands.compare.running import report
from opperf.commands.run.resuming import check_same, check_selection
from opperf.comparison.ab.arms import ArmSpec, settings_of, worker_of
from opperf.comparison.ab.checking import check_results
from opperf.comparison.ab.choosing import choose_by_id
from opperf.comparison.ab.pairs import Pair, pair_cases
from opperf.comparison.ab.threads import with_threads
from opperf.comparison.files.comparison import Comparison
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.outcome import LOOKED_FOR, SOUND
from opperf.comparison.files.reading import read
from opperf.comparison.project_file import limits_from
from opperf.comparison.statistics.data import Arm, Verdict
from opperf.errors import INCONCLUSIVE, INTERRUPTED, OpperfError, RunFileError, UsageError
from opperf.execution.execute import execute_to_file
from opperf.execution.executor import LOCAL, Task, open_executor
from opperf.execution.lanes import lane_count
from opperf.execution.progress import make_progress
from opperf.execution.run_header import find_pending, make_header, read_selection
from opperf.execution.workers import Workers, build
from opperf.instruments.callgrind.valgrind import installed
from opperf.machine.pinning import cpus_arguments
from opperf.model import (
    DEFAULTS,
    INSTRUCTIONS,
    Case,
    Check,
    Checked,
    Interpreter,
    Run,
    Settings,
)
from opperf.plurals import pluralize
from opperf.results import kept_facts
from opperf.results.kept import profile_folder
from opperf.results.messages import tell
from opperf.results.output import check_output
from opperf.results.runfile import RunWriter, read_run
from opperf.sources.completing import distinguish
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from opperf.worker.client import Worker

OF_TIMES = {
    "same_within": "--same-within",
    "control_blocks": "--control-blocks",
    "blocks": "--blocks",
    "until_settled": "--until-settled",
    "max_time_s": "--case-time",
    "no_pace": "--no-pace",
    "budget": "--budget",
}
"""Options of `ab` that are for times only: a count does not scatter, and has one run."""

COMMON = {name: option for name, option in SETTINGS.items() if name != "profiler"}
"""Settings that a resumed session has to have, each with its option. Either the option or the arms
choose the profiler."""

ARM = "arm"
"""Key of the arm among a header's options."""


def counts_instructions(given: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
    """Returns whether the arms count instructions.

    Raises `UsageError` if only one does, and for options that are for times only.
    """
    common = selection_from(given).settings
    # A session that is resumed has its own arms.
    arms = () if given["resume"] else arms_from(given)
    found = {_counts(settings_of(arm, common)) for arm in arms}
    found = found or {_counts(common)}
    if len(found) > 1:
        raise UsageError("one arm counts instructions and the other measures times: set both")
    if not found.pop():
        if given["tolerances"]:
            raise UsageError(
                "--tolerance is for counts: set --threshold for times, or count with --profiler "
                "instructions"
            )
        return False
    for name, option in OF_TIMES.items():
        if name in changed:
            raise UsageError(
                f"{option} is for times: a count does not scatter, and is made once; omit it"
            )
    if "threads" in changed and given["threads"].coarse:
        raise UsageError(
            f"--threads {given['threads']}: counts have no coarse look; give one number"
        )
    return True


def _counts(settings: Settings) -> bool:
    """Returns whether cases of these settings count instructions."""
    return settings.profiler == INSTRUCTIONS


class Arms(NamedTuple):
    """The run files of both arms."""

    a: Path
    b: Path


def run_files(report_file: Path) -> Arms:
    """Returns the run files of a session's report: `s.A.jsonl` and `s.B.jsonl` of `s.jsonl`."""
    suffix = report_file.suffix or ".jsonl"
    return Arms(*(report_file.with_suffix(f".{name}{suffix}") for name in ARMS))


def compare_counts(
    given: Mapping[str, Any], changed: Mapping[str, Any], options: Options, say: Say
) -> int:
    """Counts both arms, or what a resumed session lacks, and prints the comparison; the exit code.

    Raises `OpperfError` if that cannot start or go on.
    """
    if not options.dry_run:
        # Before anything is planned.
        installed()
    files = run_files(options.report)
    if options.resume:
        _check_resumed(files, given, changed)
    elif not _begin(files, given, changed, options, say):
        return 0
    if options.dry_run:
        for path in files:
            run, _ = read_run(path)
            tell(f"{path}: {pluralize(len(find_pending(run)), 'case')} left", sys.stdout)
        return 0
    try:
        for name, path in zip(ARMS, files, strict=True):
            _measure(name, path, options, say)
    except KeyboardInterrupt:
        _keep_interrupted(files)
        tell(f"interrupted; {_resume_advice(options)}")
        return INTERRUPTED
    except OpperfError as error:
        _keep_interrupted(files)
        raise type(error)(f"{error}; {_resume_advice(options)}") from error
    words = tuple(one for one in options.fail_on if one in LOOKED_FOR)
    limits = limits_from(given)
    question = Question(
        fail_on=words,
        in_order=True,
        tolerances=limits.tolerances,
        limits_file=limits.path,
        weight=options.weight,
    )
    comparison = compare(read(files.a), read(files.b), question)
    code = report(comparison, options.outputs)
    names = " and ".join(map(keep_finished, files))
    say(
        f"the runs are {files.a} and {files.b}, kept as {names}; opperf compare --in-order reads "
        "them again"
    )
    return code or _undecided(comparison, options)


def _keep_interrupted(files: Arms) -> None:
    for path in files:
        keep_interrupted(path)


def _undecided(comparison: Comparison, options: Options) -> int:
    """Returns the exit code of counts without a verdict, if that is asked for or all are."""
    decided = [row.verdict in SOUND for row in comparison.rows]
    is_open = not all(decided) if Verdict.AMBIGUOUS.value in options.fail_on else not any(decided)
    return INCONCLUSIVE if is_open else 0


def _resume_advice(options: Options) -> str:
    words = ["opperf", "ab", "--resume", "--profiler", "instructions"]
    words += ["--report", str(options.report), *cpus_arguments(options.pinning.choice)]
    words += options.arguments
    files = " and ".join(map(str, run_files(options.report)))
    return f"the counts are in {files}. Resume with: {shlex.join(words)}"


def _begin(
    files: Arms,
    given: Mapping[str, Any],
    changed: Mapping[str, Any],
    options: Options,
    say: Say,
) -> bool:
    """Plans both arms and begins their run files, without records; False for a dry run.

    Raises `OpperfError` if it cannot; existing files are then unchanged.
    """
    arms = dict(zip(ARMS, arms_from(given), strict=True))
    threads = given["threads"].number if "threads" in changed else DEFAULTS["threads"]
    common = with_threads(selection_from(given), threads)
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(_unprofiled(arm, options, threads))
            for name, arm in arms.items()
        }
        return _begin_with(workers, arms, files, given, changed, common, options, say)


def _begin_with(
    workers: Mapping[Arm, Worker],
    arms: Mapping[Arm, ArmSpec],
    files: Arms,
    given: Mapping[str, Any],
    changed: Mapping[str, Any],
    common: Selection,
    options: Options,
    say: Say,
) -> bool:
    """Begins the run files with a worker of each arm, which plan and compare results."""
    plans = {
        name: plan_arm(
            workers[name], name, arm, common, options, changed, say, arms[OTHER[name]]
        ).plans
        for name, arm in arms.items()
    }
    if not options.dry_run:
        for path in files:
            check_output(path, options.may_replace(path))
    check_have_cases(arms, plans)
    pairing = pair_cases(plans["A"], plans["B"], positional=bool(arms["A"].operators))
    if not options.files:
        pairing = choose_by_id(pairing, common.ids)
    if not pairing.pairs:
        raise UsageError(why_nothing(pairing, plans["A"]))
    show = partial(tell, stream=sys.stdout) if options.dry_run else say
    for name, arm in arms.items():
        show(f"{name}: {arm}")
    show(announce(pairing, ", counted once in each arm"))
    for line in name_pairs(pairing):
        show(line)
    if options.dry_run:
        print(case_table(pairing))
        return False
    excluded = {**pairing.alone, **{k: v for plan in plans["A"] for k, v in plan.excluded.items()}}
    tolerance = tolerance_from(given)
    checks: dict[str, Check] = {}
    if tolerance is not None:
        say("comparing the results of A and B")
        shown = make_progress(sys.stderr, len(pairing.pairs), options.quiet)
        checks = check_results(pairing.pairs, workers, tolerance, shown)
    if options.is_default_report and not options.overwrite:
        for line in make_room(files):
            say(line)
    base = ""
    for name, path in zip(ARMS, files, strict=True):
        plan = Plan(cases=_cases(pairing.pairs, name, arms[name]), excluded=excluded)
        python = arms[name].python
        header = make_header(
            plan,
            common,
            {"command": options.command, ARM: str(arms[name]), kept_facts.ARM: name},
            interpreters=[Interpreter(path=python, label=name)] if python else (),
        )
        if base and tolerance is not None:
            checked = Checked(base, tolerance, tuple(checks[pair.id] for pair in pairing.pairs))
            header = msgspec.structs.replace(header, checked=checked)
        base = header.id
        RunWriter.create(path, header, plan.cases, options.overwrite).__exit__()
        profile_folder(path, is_new=True)
    return True


def _unprofiled(arm: ArmSpec, options: Options, threads: int) -> Worker:
    """Returns a worker that plans an arm and calls its cases: not under Valgrind, where that takes
    half a minute."""
    settings = {name: value for name, value in arm.settings.items() if name != "profiler"}
    arm = msgspec.structs.replace(arm, settings=settings)
    return worker_of(arm, options.framework, options.environment, threads)


def _cases(pairs: Iterable[Pair], name: Arm, arm: ArmSpec) -> tuple[Case, ...]:
    """Returns the cases of an arm, which its interpreter measures. One of several pairs is counted
    for each, as a run file has one record of a case."""
    own = {"python": name} if arm.python else {}
    return tuple(distinguish(with_settings(pair.of(name), own) for pair in pairs))


def _check_resumed(files: Arms, given: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    """Raises `RunFileError` if there is nothing to resume, and for options that contradict it."""
    arms = arms_from(given) if {"a", "b"} & set(changed) else (None, None)
    for option, path, arm in zip(("--a", "--b"), files, arms, strict=True):
        if not path.exists():
            raise RunFileError(f"{path}: there are no counts to resume; run without --resume")
        run, _ = read_run(path)
        before, _ = read_selection(run)
        check_selection(before, selection_from(given), changed, COMMON)
        if "framework" in changed:
            check_same("--framework", run.cases[0].target.framework, given["framework"])
        if "threads" in changed:
            check_same("--threads", before.settings.threads, given["threads"].number)
        if arm is not None:
            check_same(option, run.header.options.get(ARM), str(arm))
    # The second file has how its results compare with those of the first.
    checked = run.header.checked
    check_tolerance(checked.tolerance if checked else None, given, changed)


def _measure(name: Arm, path: Path, options: Options, say: Say) -> Run:
    """Counts the cases of an arm that have no record."""
    begun = time.monotonic()
    run, warnings = read_run(path)
    for warning in warnings:
        say(f"warning: {warning}")
    remaining = find_pending(run)
    if run.closing is not None and not remaining:
        return run
    pinning = options.pinning
    with Workers(run.header.interpreters, pinning) as workers:
        number = lane_count(remaining, pinning)
        beside = f", {number} workers side by side" if number > 1 else ""
        say(f"{name}: {pluralize(len(remaining), 'case')} to count{beside}, to {path}")
        build(workers, remaining, say)
        task = Task(remaining, run.header.interpreters, profile_folder(path))
        with open_executor(LOCAL, task, workers, pinning) as executor:
            return execute_to_file(
                path,
                run,
                run.cases,
                remaining,
                executor,
                make_progress(sys.stderr, len(remaining), options.quiet),
                lambda: time.monotonic() - begun,
            )
