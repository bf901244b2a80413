"""The command `bisect`, from its options to the exit code."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import msgspec

from opperf.commands.bisect.measuring import Sessions
from opperf.commands.options import take
from opperf.comparison.weighted import check_format
from opperf.errors import INCONCLUSIVE, INTERRUPTED, OpperfError, OutputError, UsageError
from opperf.folders import part_folder
from opperf.history.bisection.bisecting import Ask, Bisecting, Options, scatter_of
from opperf.history.bisection.report import report_for
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
from opperf.history.builds import Build, Builder
from opperf.instruments.callgrind.valgrind import installed
from opperf.metrics import check_instruments, counts
from opperf.model import Settings
from opperf.parameters import explicit_options
from opperf.reports.writing import write_reports
from opperf.repository import Commit, Repository
from opperf.requests.commit_builds import CommitBuilds
from opperf.results.messages import tell
from opperf.results.output import check_output, outputs_from, unwritable
from opperf.results.text import duration

Given = Mapping[str, Any]

OF_THIS_CALL = (
    *("resume", "folder", "output_files", "output_formats", "overwrite", "quiet", "debug"),
    "framework",
)
"""Options that a resumed bisection is given anew; the others are as they were."""

EXIT_CODES = {"found": 0, "range": 0, "inconclusive": INCONCLUSIVE, "same": INCONCLUSIVE}
"""By outcome."""


def bisect_command(
    command: click.Command, arguments: tuple[str, ...], given: Given, changed: Given
) -> int:
    """Bisects commits, and reports that; the exit code. `arguments` are the words of the command.
    Raises `OpperfError` if it cannot."""
    folder: Path = given["folder"]
    _restore_earlier(folder)
    outputs = outputs_from(given)
    for output in outputs:
        check_format(None, output.format, "bisect")
        check_output(output.path, given["overwrite"])
    if given["resume"]:
        state, given, changed = _resumed(command, folder, given, changed)
    else:
        state = _begun(given, arguments)
        _check_folder(folder, given["overwrite"])
    say = (lambda text: None) if given["quiet"] else tell
    try:
        with nullcontext() if given["resume"] else _new_folder(folder, state):
            found = bisect_commits(state, given, changed, folder, say)
    except KeyboardInterrupt:
        tell(f"interrupted; resume with: {shlex.join(_resume_words(folder))}")
        return INTERRUPTED
    write_reports(report_for(found, folder), outputs)
    return EXIT_CODES[found.outcome]


def bisect_commits(
    state: State, given: Given, changed: Given, folder: Path, say: Callable[[str], None]
) -> Bisection:
    """Returns what a bisection finds; `given` are the options of the command, of which the user
    set those of `changed`. State and sessions are in `folder`. Raises `OpperfError`."""
    builder = Builder(Repository(Path(state.repository)), state.recipe, say)
    judge = Sessions(given, changed, folder, state.kind)
    options = Options(
        given["confidence"], scatter_of(state.kind), given["most_steps"], given["on_error"]
    )

    def build(commit: Commit) -> Build:
        return builder.build(commit)

    def save(state: State) -> None:
        write_state(folder, state)

    bisecting = Bisecting(state, build, judge, options, save, say)
    found = bisecting.run()
    found = msgspec.structs.replace(found, builds=builder.made)
    if found.end is None or found.end.fails or given["no_confirm"]:
        return found
    return _confirmed(found, bisecting, judge, say)


def _begun(given: Given, arguments: tuple[str, ...]) -> State:
    """Returns the state of a new bisection. Raises `UsageError` for commits that are none."""
    if given["good"] is None or given["bad"] is None:
        raise UsageError("name two commits, GOOD and BAD: opperf bisect GOOD BAD -- BUILD")
    if given["threads"].coarse:
        raise UsageError(f"--threads {given['threads']}: a step has one number of threads")
    repository = Repository(given["git_folder"])
    good, bad = map(repository.commit, (given["good"], given["bad"]))
    commits = repository.between(good, bad, given["all_parents"])
    recipe = msgspec.structs.replace(
        take(CommitBuilds, given).recipe(given["build"]), keeps_worktrees=given["keep"]
    )
    profiler = given["profiler"] or ""
    kind: Kind = "counts" if counts(profiler) else "times"
    if kind == "counts":
        check_instruments([Settings(profiler=profiler)])
    return State(
        VERSION, str(repository.path), (good, *commits), recipe, arguments=arguments, kind=kind
    )


def _resumed(
    command: click.Command, folder: Path, given: Given, changed: Given
) -> tuple[State, Given, Given]:
    """Returns the state in the folder, and the options that it was begun with. Raises `UsageError`
    for others."""
    for name in changed:
        if name not in OF_THIS_CALL and changed[name] not in ((), None):
            raise UsageError(
                f"{name.upper() if name in ('good', 'bad', 'build') else name}: a bisection is "
                "resumed as it was begun; give --folder and the output only"
            )
    state = read_state(folder)
    with command.make_context("bisect", list(state.arguments)) as ctx:
        earlier, before = dict(ctx.params), explicit_options(ctx, ctx.params)
    own = {name: given[name] for name in OF_THIS_CALL if name != "framework"}
    return state, {**earlier, **own}, before


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


def _resume_words(folder: Path) -> Sequence[str]:
    return ["opperf", "bisect", "--resume", "--folder", str(folder)]


LONGEST_COUNTED_S = 2.0
"""Seconds of a call from which the answer is not confirmed by instructions: counting makes some
five calls in either commit, most of them a dozen to a hundred times as long under Valgrind."""

TOO_LONG = "a call takes {}, and under Valgrind many times as long"


def _confirmed(
    found: Bisection, bisecting: Bisecting, judge: Sessions, say: Callable[[str], None]
) -> Bisection:
    """Returns the result with the answer measured against the commit before it, by time and by
    instructions."""
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
                functions = judge.functions(step, own[0].id).data
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
