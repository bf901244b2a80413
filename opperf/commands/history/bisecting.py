"""The command `history bisect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opperf.commands.commit_builds import BUILD, SEPARATOR, TAKES_OTHERS, WithBuild
from opperf.commands.history.options import project, store
from opperf.parameters import debug

if TYPE_CHECKING:
    from opperf.history.events import State
    from opperf.history.store.opening import Store
    from opperf.history.store.rows import Project


@click.command(
    "bisect",
    cls=WithBuild,
    context_settings=TAKES_OTHERS,
    examples={
        "The commit behind a change": "opperf history bisect 12 -- make",
        "With options of opperf bisect, whose wheels need NumPy 1": (
            "opperf history bisect 12 --with 'numpy<2' -- python -m build --wheel"
        ),
    },
)
@click.argument("event", type=click.IntRange(min=1), metavar="EVENT")
@store
@project
@debug
@click.pass_context
def bisect(ctx: click.Context, /, event: int, store: str | None, project: str, **_: Any) -> None:
    """Find the commit behind a change, by `opperf bisect` of its last good and its first bad commit
    on the case that changed. A change that is found again is confirmed, one that is not is noise,
    and the verdicts are kept beside those of `opperf history add`.
    Options of `opperf bisect` may follow EVENT, and the command that builds a commit follows
    `--`."""
    ctx.exit(_bisect(event, store, project, ctx.args, ctx.meta[BUILD]))


def _bisect(
    event: int, store: str | None, project: str, options: list[str], build: tuple[str, ...]
) -> int:
    # Help and completion do without the imports.
    import json
    import tempfile

    from opperf.commands.bisect import bisect as command
    from opperf.history.events import Kind
    from opperf.history.store.opening import Store, default_store
    from opperf.results.messages import tell

    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.store.events import find_event, set_state
        from opperf.history.store.reading import find_project

        of = find_project(opened, project)
        found = find_event(opened, of, event)
        words = [found.last_good, found.first_bad, *_case_words(opened, of, found), *options]
        if found.kind is Kind.STOPPED:
            tell(f"event {event} is a failure: the first commit that fails is looked for")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "bisection.json"
            code = int(
                command.main(
                    [*words, "-o", "-", "-o", str(report), SEPARATOR, *build],
                    prog_name="opperf bisect",
                    standalone_mode=False,
                )
            )
            if report.exists():
                result = json.loads(report.read_text(encoding="utf-8"))
                _add_verdicts(opened, of, result)
                state, why = _decide(result)
                if state is not None:
                    set_state(opened, found, state, why, who="opperf history bisect")
                    print(f"event {event} is {state.value}: {why}")
    return code


def _case_words(store: Any, project: Any, event: Any) -> list[str]:
    """Returns the words by which `opperf bisect` measures the case of an event. Raises `UsageError`
    for one that no words name, and for one without a figure and a failure to look for."""
    import shlex

    from opperf.errors import UsageError
    from opperf.history.events import Kind
    from opperf.history.reports.values import sha_text
    from opperf.history.stopped import Stop
    from opperf.history.store.reading import read_series

    if event.series is None:
        raise UsageError(
            f"event {event.id} is of a machine: all of its series changed together, and no commit "
            "did that"
        )
    series = {stored.id: stored for stored in read_series(store, project)}[event.series]
    if event.kind is Kind.STOPPED and event.method != Stop.FAILS.value:
        raise UsageError(
            f"event {event.id}: {series.facts.name} is {event.method} since "
            f"{sha_text(event.first_bad)}, and has no figure to bisect by; look at that commit, or "
            f"opperf history bless {event.id} --why TEXT"
        )
    words = shlex.split(series.facts.command)
    if words[:2] != ["opperf", "run"]:
        raise UsageError(
            f"event {event.id} is of {series.facts.name}, which no command of opperf measures; "
            "name its function: opperf bisect GOOD BAD --ops FUNCTION -- BUILD"
        )
    return ["--ops", *words[2:]]


def _add_verdicts(store: Store, project: Project, report: dict[str, Any]) -> None:
    """Adds the verdicts of the sessions that the answer rests on; of what is no verdict says why
    not, as a bisection is not lost for that."""
    from opperf.commands.history.adding import destination
    from opperf.errors import OpperfError
    from opperf.history.intake.sessions import read_judged
    from opperf.history.repository import read_commit
    from opperf.history.store.verdicts import add_all
    from opperf.results.messages import tell

    to = destination(store, project)
    sessions = []
    for found in report["sessions"]:
        try:
            session, _ = read_judged(
                Path(found["file"]),
                to,
                (found["a"], found["b"]),
                lambda revision: read_commit(Path(report["repository"]), revision),
            )
        except OpperfError as error:
            tell(f"warning: its verdicts are not added: {error}")
        else:
            sessions.append(session)
    add_all(store, project.name, (), sessions, project.commits_of)


def _decide(report: dict[str, Any]) -> tuple[State | None, str]:
    """Returns the state of an event after a bisection, and why; None where nothing was decided."""
    from opperf.history.events import State
    from opperf.history.reports.values import sha_text

    outcome = report["outcome"]
    if outcome == "same" and not report.get("is_open"):
        return State.NOISE, "measured again in turn: both commits are the same"
    if outcome not in ("found", "range"):
        return None, ""
    commits = ", ".join(
        f"{sha_text(commit['sha'])} ({commit['subject']})" for commit in report["first_bad"]
    )
    return State.CONFIRMED, f"measured again in turn: {commits}"
