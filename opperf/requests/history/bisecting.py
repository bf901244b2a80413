"""Finds the commit behind a change of a history, by `opperf bisect`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opperf.errors import OpperfError, UsageError
from opperf.repository import sha_text
from opperf.requests.bisecting.request import BisectRequest
from opperf.requests.declaring import Request, Say
from opperf.requests.history.adding import destination, read_session
from opperf.requests.history.fields import Event, Stored

if TYPE_CHECKING:
    from opperf.history.bisection.results import Bisection
    from opperf.history.events import Event as Change
    from opperf.history.events import State
    from opperf.history.model import Project
    from opperf.history.store.opening import Store


class Decided(NamedTuple):
    """The bisection of a change, and the state that it gives it."""

    bisection: Bisection | None
    """None if it was interrupted."""
    state: State | None = None
    """None where nothing was decided."""
    why: str = ""


class ChangeBisectRequest(Request, frozen=True, kw_only=True):
    """Finds the commit behind a change, which it confirms or refutes."""

    event: Event
    of: Stored = Stored()
    words: tuple[str, ...] = ()
    """Options of `opperf bisect`."""
    build: tuple[str, ...] = ()
    """Those of the command that builds a commit."""

    def run(
        self,
        say: Say,
        read: Callable[[list[str]], BisectRequest],
        bisect: Callable[[BisectRequest], Bisection | None],
    ) -> Decided:
        """Has `bisect` do what `opperf bisect` does, with a request that `read` makes of words, and
        returns the state that the change has then."""
        with self.of.opened() as (store, project):
            from opperf.history.events import Kind
            from opperf.history.store.events import find_event, set_state

            found = find_event(store, project, self.event)
            words = _case_words(store, project, found)
            ends = (found.last_good, found.first_bad)
            asked = read([*ends, *words, *self.words, *PRINTED, "--", *self.build])
            if found.kind is Kind.STOPPED:
                say(f"event {self.event} is a failure: the first commit that fails is looked for")
            answer = bisect(asked)
            if answer is None:
                return Decided(answer)
            _add_verdicts(store, project, asked.folder, answer, say)
            state, why = _decide(answer)
            if state is not None:
                set_state(store, project, found, state, why, who="opperf history bisect")
        return Decided(answer, state, why)


PRINTED = ("-o", "-")
"""The report is printed, whatever files it is written to as well."""


def _case_words(store: Store, project: Project, event: Change) -> list[str]:
    from opperf.history.events import Kind
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


def _add_verdicts(
    store: Store, project: Project, folder: Path, answer: Bisection, say: Say
) -> None:
    """Adds the verdicts of the sessions that the answer rests on; of what is no verdict says why
    not, as a bisection is not lost for that."""
    from opperf.history.store.adding import add_all

    to, repository = destination(store, project), Path(answer.state.repository)
    sessions = []
    for file, *named in answer.sessions:
        try:
            sessions.append(read_session(folder / file, to, (named[0], named[1]), repository, say))
        except OpperfError as error:
            say(f"warning: its verdicts are not added: {error}")
    add_all(store, project.name, (), sessions, project.commits_of)


def _decide(answer: Bisection) -> tuple[State | None, str]:
    from opperf.history.events import State

    if answer.outcome == "same" and not answer.is_open:
        return State.NOISE, "measured again in turn: both commits are the same"
    if answer.outcome not in ("found", "range"):
        return None, ""
    return State.CONFIRMED, f"measured again in turn: {', '.join(map(str, answer.candidates))}"
