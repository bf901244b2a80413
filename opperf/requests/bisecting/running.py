"""Bisects in a folder, which has the state and the sessions."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

import msgspec

from opperf.comparison.ab.arms import read_threads
from opperf.errors import OpperfError, OutputError, RunFileError, UsageError
from opperf.execution.progress import PLAIN_EVERY_S, Live, Pace, Progress
from opperf.folders import part_folder
from opperf.history.bisection.bisecting import Ask, Bisecting, Options, scatter_of
from opperf.history.bisection.results import (
    STATE,
    VERSION,
    Bisection,
    Figure,
    Kind,
    State,
    read_state,
    write_state,
)
from opperf.history.builds import Builder
from opperf.instruments.callgrind.valgrind import installed
from opperf.metrics import check_instruments, counts
from opperf.model import Record, Settings
from opperf.repository import SHORT, Repository
from opperf.requests.ab.resolving import Watch, Work, chosen_profiler
from opperf.requests.bisecting.request import BisectRequest
from opperf.requests.bisecting.steps import Sessions
from opperf.requests.declaring import Say, declared, unsaid
from opperf.results.output import unwritable
from opperf.results.text import duration

OF_THIS_CALL = frozenset(
    {"resume", "folder", "output_files", "output_format", "overwrite", "quiet"}
)
"""Fields that a resumed bisection is given anew; the others are as they were."""


def run(request: BisectRequest, say: Say, watch: Callable[[str], Watch]) -> Bisection | None:
    """Bisects, and returns what is found; None if interrupted. Of a commit, by its hash, `watch`
    returns what shows the progress. Raises `OpperfError`."""
    folder = request.folder
    _restore_earlier(folder)
    request.check_outputs()
    if request.resume:
        state, asked = _resumed(request)
    else:
        state, asked = _begun(request), request
        _check_folder(folder, request.overwrite)
    try:
        with nullcontext() if request.resume else _new_folder(folder, state):
            return _bisect(state, asked, unsaid if request.quiet else say, watch)
    except KeyboardInterrupt:
        return None


def _bisect(
    state: State, request: BisectRequest, say: Say, watch: Callable[[str], Watch]
) -> Bisection:
    builder = Builder(Repository(Path(state.repository)), state.recipe, say)
    judge = Sessions(request, state.kind, watch)
    options = Options(
        request.confidence, scatter_of(state.kind), request.most_steps, request.on_error
    )

    def save(state: State) -> None:
        write_state(request.folder, state)

    bisecting = Bisecting(state, builder.build, judge, options, save, say)
    found = msgspec.structs.replace(bisecting.run(), builds=builder.made)
    if found.end is None or found.end.fails or request.no_confirm:
        return found
    return _confirmed(found, bisecting, judge, say)


def _begun(request: BisectRequest) -> State:
    if not (request.good and request.bad):
        raise UsageError("name two commits, GOOD and BAD: opperf bisect GOOD BAD -- BUILD")
    if read_threads(request.threads).coarse:
        raise UsageError(f"--threads {request.threads}: a step has one number of threads")
    repository = Repository(request.git_folder)
    good, bad = map(repository.commit, (request.good, request.bad))
    commits = repository.between(good, bad, request.builds.all_parents)
    recipe = request.builds.recipe(request.build)
    recipe = msgspec.structs.replace(recipe, keeps_worktrees=request.keep)
    profiler = chosen_profiler(request)
    kind: Kind = "counts" if counts(profiler) else "times"
    if kind == "counts":
        check_instruments([Settings(profiler=profiler)])
    asked = msgspec.to_builtins(request, enc_hook=str)
    return State(VERSION, str(repository.path), (good, *commits), recipe, asked=asked, kind=kind)


def _resumed(request: BisectRequest) -> tuple[State, BisectRequest]:
    for name, field in declared(BisectRequest).items():
        if name in request.given - OF_THIS_CALL:
            raise UsageError(
                f"{field.shown}: a bisection is resumed as it was begun; give --folder and the "
                "output only"
            )
    state = read_state(request.folder)
    try:
        begun = msgspec.convert(state.asked, BisectRequest, dec_hook=_made)
    except (ValueError, TypeError) as error:
        raise RunFileError(
            f"{request.folder / STATE}: what the bisection was begun with cannot be read: {error}; "
            "begin it again in another folder"
        ) from error
    return state, msgspec.structs.replace(begun, folder=request.folder, quiet=request.quiet)


def _made(kind: type, value: str) -> object:
    """Returns a value of a type that JSON does not have, of its text."""
    return kind(value)


def _check_folder(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is no folder; name another with --folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / STATE).exists():
            raise OutputError(f"{folder} has other files; name another with --folder")
        if not overwrite:
            raise OutputError(
                f"{folder} has a bisection already; --resume goes on with it, and --overwrite "
                "replaces it"
            )


def _earlier(folder: Path) -> Path:
    """Returns where a bisection is until the one that replaces it has made a step."""
    return folder.with_name(f"{folder.name}.earlier")


def _restore_earlier(folder: Path) -> None:
    """Puts an earlier bisection back, if the one in its place was killed before it was there."""
    try:
        if (_earlier(folder) / STATE).exists() and not (folder / STATE).exists():
            _earlier(folder).rename(folder)
        elif _earlier(folder).is_dir():
            shutil.rmtree(_earlier(folder))
    except OSError as error:
        raise unwritable(folder, error) from error


@contextmanager
def _new_folder(folder: Path, state: State) -> Iterator[None]:
    """Makes the folder of a new bisection, in place of an earlier one. An error before the first
    step leaves what was there."""
    earlier = _earlier(folder) if (folder / STATE).exists() else None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with part_folder(folder.parent) as part:
            made = part / folder.name
            made.mkdir()
            write_state(made, state)
            if earlier is not None:
                folder.rename(earlier)
            # An empty folder is replaced.
            made.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield
    except OpperfError:
        if not (folder / STATE).exists() or not read_state(folder).steps:
            shutil.rmtree(folder)
            if earlier is not None:
                earlier.rename(folder)
        raise
    finally:
        if earlier is not None and earlier.exists():
            shutil.rmtree(earlier)


LONGEST_COUNTED_S = 2.0
"""Seconds of a call from which the answer is not confirmed by instructions: counting makes some
five calls in either commit, most of them a dozen to a hundred times as long under Valgrind."""

TOO_LONG = "a call takes {}, and under Valgrind many times as long"


def _confirmed(
    found: Bisection, bisecting: Bisecting, judge: Sessions, say: Callable[[str], None]
) -> Bisection:
    end = found.end
    assert end is not None, "a bisection with an answer has a figure"
    before, after = bisecting.before(found.first), found.last
    builds = bisecting.built(before), bisecting.built(after)
    commits = found.state.commits
    # Not by its id, of which the profiler is a part.
    ask = Ask(len(found.state.steps), operators=(end.pattern,) if end.pattern else ())
    figures: list[Figure] = []
    notes: list[str] = []
    functions = None
    kinds: tuple[Kind, ...] = ("times", "counts")
    for kind in kinds:
        what = "by time" if kind == "times" else "by instructions"
        call_s = bisecting.state.slowest_call_s
        if (bisecting.state.kind, kind) == ("times", "counts") and call_s > LONGEST_COUNTED_S:
            notes.append(f"not measured {what}: {TOO_LONG.format(duration(call_s))}")
            continue
        try:
            if kind == "counts":
                installed()
            name = f"{commits[before].sha[:8]}-{commits[after].sha[:8]}-{kind}.jsonl"
            step = bisecting.state.confirmed.get(name)
            if step is None:
                say(f"measuring {commits[after].short} against {commits[before].short} {what}")
                step = judge.compare(*builds, ask, name, kind)
                bisecting.update(confirmed={**bisecting.state.confirmed, name: step})
            own = [
                figure
                for figure in step.figures
                if (figure.operator, figure.inputs) == (end.operator, end.inputs)
            ]
            figures += own
            notes += [f"{what}: {step.reason}"] if step.reason else []
            if kind == "counts" and own:
                functions = judge.functions(step, own[0]).data
        except OutputError:
            raise
        except OpperfError as error:
            notes.append(f"not measured {what}: {error}")
    return msgspec.structs.replace(
        found,
        state=bisecting.state,
        before=before,
        confirmed=tuple(figures),
        notes=(*found.notes, *notes),
        functions=functions,
    )


def watch_of(commit: str) -> Watch:
    """Returns what shows the progress of a commit, by its hash: on a terminal the line of every
    measurement; elsewhere, where each line stays, none of a step that is quick."""

    def watch(total: int, pace: Pace | None, work: Work) -> Progress:
        if not total:
            return Progress()
        short, pace = commit[:SHORT], pace or Pace(total)
        if sys.stderr.isatty():
            return Live(sys.stderr, total, pace, f"{short} ")
        return SlowSteps(sys.stderr, f"{short}: {work.name}", work.visits, pace)

    return watch


class SlowSteps(Progress):
    """Prints a line once the one before, or the beginning, is some seconds old. `visits` are those
    of a process."""

    def __init__(
        self,
        stream: TextIO,
        heading: str,
        visits: int,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._heading, self._visits = stream, heading, visits
        self._pace, self._clock = pace, clock
        self._last = clock()

    def extend(self, number: int) -> None:
        self._pace.extend(number)

    def end(self, record: Record) -> None:
        pace, now = self._pace, self._clock()
        pace.end(record)
        if now - self._last < PLAIN_EVERY_S:
            return
        self._last = now
        done, total = (-(-number // self._visits) for number in (pace.done, pace.total))
        line = f"{self._heading} {done} of {total}, {record.case.label}, {pace.text()}"
        print(line, file=self._stream, flush=True)
