"""Keeps the file of every run and session, and frees the default output's name for the next one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opperf.commands.run.request import Request
from opperf.errors import OutputError, RunFileError
from opperf.execution.run_header import cached_path, run_file_path
from opperf.folders import DATA, unfinished_folder
from opperf.results import run_files
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


def choose_run_file(request: Request) -> Path:
    """Returns the run file of a run: that of its output. A run whose output the user did not name
    has one of its own in the cache, so that it is in no other's way, and resumes the latest."""
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
    """Returns when a file was written; long ago if another process has just removed it."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def may_replace(request: Request) -> bool:
    """Returns whether the output has the default name and is as an earlier run wrote it, or a run
    file that was cut short, which can be kept."""
    path = request.output
    if not request.is_default_output or not path.is_file():
        return False
    return run_files.is_default_output(path) or _is_cut_short(path)


def _is_cut_short(path: Path) -> bool:
    return bool(id_of(path)) and not read_facts(path).is_finished


def keep_replaced(run_file: Path, request: Request) -> Iterable[str]:
    """Keeps the run file that was cut short where the default output is to be, unless it is that of
    this run, and yields a line about it. Raises `OutputError` if that fails: its records would be
    lost."""
    path = request.output
    if request.is_default_output and path != run_file and _is_cut_short(path):
        name = keep(path).name
        yield (
            f"{path} was interrupted, and is kept as {name}; finish it with: opperf run --resume "
            f"{name}"
        )


def keep_finished(run_file: Path, request: Request) -> tuple[KeptRun | None, str]:
    """Keeps the run file of a finished run whose output is written, and removes it if it was in the
    cache. Returns the kept run, or None, and a line if something failed: no run ends for it."""
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
    """Keeps a copy of the file of a run or session that was cut short, unless it is where kept ones
    are anyway, and returns a line if that failed."""
    if run_file.parent in (unfinished_folder(), runs_folder()) or not run_file.is_file():
        return ""
    return try_to_keep(run_file)[1]


def try_to_keep(file: Path) -> tuple[KeptRun | None, str]:
    """Keeps the file of a run or session. Returns the kept one, or None, and a line if that
    failed."""
    try:
        return keep(file), ""
    except (OutputError, RunFileError) as error:
        return None, f"warning: this run is not kept: {error}; {DATA} names another folder"
