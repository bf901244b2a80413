"""Keeps the file of every run and session, frees the default output's name for the next one, and
reads and checks the file of a run to resume."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from opperf.errors import OutputError, RunFileError
from opperf.execution.benches import Benches
from opperf.execution.experiments import MATRIX, Models
from opperf.execution.planning import framework_axes, process_of
from opperf.execution.run_header import cached_path, read_selection, run_file_path
from opperf.execution.workers import Workers
from opperf.folders import DATA, unfinished_folder
from opperf.machine.pinning import cpus_arguments
from opperf.model import DECLARED, Run, Wrapping
from opperf.model.runs import REQUEST
from opperf.reports.formats import RUN, format_named
from opperf.reports.writing import check_folder
from opperf.requests.declaring import Say, declared, fixed_values, told
from opperf.requests.measuring import ResolvedRun
from opperf.results import output, run_files
from opperf.results.kept import (
    BESIDE,
    BESIDE_ANY,
    KeptRun,
    display,
    is_being_written,
    keep,
    new_id,
    place_profiles,
    remove,
    runs_folder,
)
from opperf.results.kept_facts import id_of, read_facts
from opperf.results.output import STDOUT
from opperf.results.run_files import check_is_run
from opperf.results.runfile import is_run_file, read_run
from opperf.sources.selecting import Selection


def choose_run_file(request: ResolvedRun) -> Path:
    """Returns the run file of a run: that of its output. Without a named output it is one of its
    own in the cache, so that it is in no other's way; such a run resumes the latest."""
    if request.resume:
        return request.resume
    if not (request.is_default_output or request.output == STDOUT):
        return run_file_path(request.output, request.output_format)
    path = cached_path(request.output)
    if not request.resuming:
        return path.with_stem(f"{path.stem}-{new_id()}")
    earlier = sorted(path.parent.glob(f"{path.stem}*{path.suffix}"), key=_written)
    free = [path for path in earlier if not is_being_written(path)]
    # Without one, a run file of the default name may have been cut short.
    named = run_file_path(request.output, request.output_format)
    return next(reversed(free or earlier), named)


def _written(path: Path) -> float:
    """Returns when a file was written; 0 if another process has just removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def may_replace(request: ResolvedRun) -> bool:
    """Returns whether the output has the default name and is as an earlier run wrote it, or is a
    run file that was cut short, which can be kept."""
    path = request.output
    if not request.is_default_output or not path.is_file():
        return False
    return run_files.is_default_output(path) or _is_cut_short(path)


def _is_cut_short(path: Path) -> bool:
    return bool(id_of(path)) and not read_facts(path).is_finished


def check_output(run_file: Path, request: ResolvedRun) -> None:
    """Raises `OutputError` for an output that could not be written after the run, or that would
    replace an unfinished run."""
    if request.asked.list_only or (request.resuming and request.output == run_file):
        return
    if format_named(request.output_format, RUN).folder is not None:
        check_folder(request.output)
    may_overwrite = request.asked.overwrite or may_replace(request)
    output.check_output(request.output, may_overwrite, request.paths)
    is_replaced = request.asked.overwrite or run_file == request.output
    if not request.resuming and not is_replaced and run_file.exists():
        raise OutputError(
            f"an earlier run to {output.display_path(request.output)} was interrupted, and its "
            f"records are in {run_file}; finish it with --resume, or replace it with --overwrite"
        )


def keep_replaced(run_file: Path, request: ResolvedRun) -> Iterable[str]:
    """Keeps the run file that was cut short where the default output is to be, unless it is of this
    run, and yields a line about it. Raises `OutputError` if that fails: records would be lost."""
    path = request.output
    if request.is_default_output and path != run_file and _is_cut_short(path):
        name = keep(path).name
        yield (
            f"{path} was interrupted, and is kept as {name}; finish it with: opperf run --resume "
            f"{name}"
        )


def keep_finished(run_file: Path, request: ResolvedRun) -> tuple[KeptRun | None, str]:
    """Keeps the run file of a finished run, and removes it if it was in the cache. Returns the kept
    run, or None, and a line if something failed: no run ends for it."""
    kept, problem = try_to_keep(run_file)
    if kept is not None and request.output != STDOUT and display(request.output) != kept.name:
        try:
            run_files.remember(request.output, kept.id, request.is_default_output)
        except OutputError as error:
            problem = f"warning: {request.output} will not be known as this run's: {error}"
    if request.output not in (run_file, STDOUT):
        folders = BESIDE if request.output_format == "jsonl" else BESIDE_ANY
        try:
            place_profiles(kept.path if kept else run_file, request.output, folders)
        except OutputError as error:
            problem = f"warning: {error}"
    if run_file.parent == unfinished_folder() and (kept is not None or request.resume is None):
        remove(run_file)
    return kept, problem


def keep_cut_short(run_file: Path) -> str:
    """Keeps a copy of a file that was cut short, if there is none; a line if that failed."""
    if run_file.parent in (unfinished_folder(), runs_folder()) or not run_file.is_file():
        return ""
    return try_to_keep(run_file)[1]


def try_to_keep(file: Path) -> tuple[KeptRun | None, str]:
    """Keeps the file of a run or session. Returns it, or None and a line if that failed."""
    try:
        return keep(file), ""
    except (OutputError, RunFileError) as error:
        return None, f"warning: this run is not kept: {error}; {DATA} names another folder"


def read_unfinished(run_file: Path, request: ResolvedRun, warn: Say) -> Run:
    """Returns the run to resume, and warns of its file. Raises `RunFileError`."""
    if not run_file.exists():
        path = request.resume or request.output
        if path.is_file() and is_run_file(path):
            raise RunFileError(f"{path} is a run file: resume it with --resume {path}")
        raise RunFileError(f"{path}: there is no unfinished run to resume; run without --resume")
    check_is_run(run_file)
    return told(read_run(run_file), warn)


def check_same_programs(before: Wrapping | None, asked: Wrapping) -> None:
    """Raises `RunFileError` if the cases of the run to resume are profiled in another way."""
    if before != asked:
        named = [" ".join(wrapper.words) for wrapper in before.wrappers] if before else []
        raise RunFileError(
            f"the run to resume was profiled under {' and '.join(named) or 'no program'}, with "
            "other options; omit those of profiling, or replace the run with --overwrite"
        )


def check_same(option: str, before: object, after: object) -> None:
    """Raises `RunFileError` if an option has another value than in the run to resume."""
    if before != after:
        raise RunFileError(
            f"the run to resume was made with {option} {before!r}, not {after!r}; omit the option, "
            "or replace the run with --overwrite"
        )


def check_resumed(run: Run, workers: Workers, request: ResolvedRun) -> Selection:
    """Returns the selection of the run to resume. Raises `RunFileError` if a field that the user
    set contradicts it."""
    explicit, options = request.explicit, run.header.options
    frameworks = dict.fromkeys(case.target.framework for case in run.cases)
    if isinstance(request.source, Models):
        if MATRIX not in options:
            raise RunFileError("the run to resume is not of experiments; resume it with opperf run")
    elif request.framework.is_named:
        for framework in frameworks:
            check_same("--framework", framework, request.framework.name)
    selection, axes = read_selection(run)
    begun, fields = options.get(REQUEST, {}), declared(type(request.asked))
    if not isinstance(begun, Mapping):
        raise RunFileError("the run file has no valid request; replace it with --overwrite")
    for name, (asked, default) in fixed_values(request.asked).items():
        if name in explicit:
            both = begun.get(name, default), asked
            # As Python shows the values of an option that may be repeated.
            shown = (tuple(own) if isinstance(own, list) else own for own in both)
            check_same(fields[name].shown, *shown)
    # Of files and models they are kept as they were set, of operators under canonical names.
    others = {
        name: values
        for name, values in request.axes.items()
        if name in explicit and axes.get(name) != values
    }
    if others:
        process = process_of(axes, selection.settings.imports)
        found = workers.of(next(iter(frameworks)), process).resolve(framework_axes(others)).axes
        for name, values in others.items():
            both = axes.get(name, ()), found.get(name, values)
            check_same(DECLARED[name].option, *(", ".join(map(str, some)) for some in both))
    if request.wrapping is not None:
        check_same_programs(run.header.wrapping, request.wrapping)
    return selection


def resume_advice(run_file: Path, request: ResolvedRun) -> str:
    """Returns where the records of a run that was cut short are, and what resumes it."""
    if isinstance(request.source, Benches):
        # Its file and options say which benches there are.
        words = [word for word in shlex.split(request.command) if word != "--overwrite"]
        if not any(word.startswith("--resume") for word in words):
            words.append("--resume")
        return f"the records are in {run_file}. Resume with: {shlex.join(words)}"
    words = ["opperf", request.source.program, "--resume"]
    is_unnamed = request.is_default_output and request.output != run_file
    if is_unnamed:
        words.append(display(run_file))
    elif request.resume or request.output == run_file:
        words.append(str(run_file))
    if request.output != run_file or run_file.suffix != ".jsonl":
        words += ["-f", request.output_format]
    if request.output != run_file and not is_unnamed:
        words += ["-o", str(request.output)]
    words += cpus_arguments(request.asked.cpus)
    return f"the records are in {run_file}. Resume with: {shlex.join(words)}"
