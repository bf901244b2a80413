"""Fields of requests on a history: where it is, and what of it is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from opperf.errors import UsageError, suggest
from opperf.history.model import CommitsOf
from opperf.history.store.opening import Store as Opened
from opperf.history.store.opening import default_store
from opperf.model import Operator
from opperf.model.declaring import integer_from
from opperf.repository import project_name
from opperf.requests.declaring import Group, Option, argument
from opperf.requests.operators import Store, names_option
from opperf.sources.selecting import make_matcher

if TYPE_CHECKING:
    from opperf.history.model import Project, StoredSeries

# What reads and writes a store is imported once one is open: opening says what to install.


class Stored(Group, frozen=True, kw_only=True):
    """A project of a history."""

    store: Store = ""
    project: Annotated[
        str, Option("Project.  [default: the only one]", metavar="NAME", section="History")
    ] = ""

    def opened_store(self) -> Opened:
        """Returns the store. Raises `OpperfError` if there is none."""
        return Opened(self.store or default_store(), must_exist=True)

    @contextmanager
    def opened(self) -> Iterator[tuple[Opened, Project]]:
        """The store and the project. Raises `OpperfError` if there is none."""
        with self.opened_store() as store:
            from opperf.history.store.reading import find_project

            yield store, find_project(store, self.project)


class OfCommits(Group, frozen=True, kw_only=True):
    """A project of a history, of a repository's commits."""

    store: Store = ""
    project: Annotated[
        str,
        Option(
            "Project that the commits are of.  [default: the name of the repository]",
            metavar="NAME",
            section="History",
        ),
    ] = ""
    repository: Annotated[
        Path,
        Option(
            "Git repository that the commits are of.  [default: that of the current folder]",
            metavar="FOLDER",
            section="History",
        ),
    ] = Path()

    @property
    def name(self) -> str:
        """The project's name. Raises `UsageError` without one, and without a repository."""
        return self.project or project_name(self.repository)

    def opened(self, must_exist: bool = False) -> Opened:
        """Returns the store, which is made unless it has to be there."""
        return Opened(self.store or default_store(), must_exist)


AskedOf = Annotated[
    Literal["code", "framework"] | None,
    Option(
        "What the project's commits are of: your own code, for which another version of a "
        "framework is another environment, or the framework that is measured.  [default: code; of "
        "a project that is there, as it was made]",
        section="History",
        spellings="--commits-of",
    ),
]


def read_commits_of(store: Opened, project: str, asked: str | None) -> CommitsOf:
    """Returns what a project's commits are of. Raises `UsageError` for one that is there and was
    made otherwise than asked."""
    from opperf.history.store.reading import read_projects

    known = {found.name: found.commits_of for found in read_projects(store)}
    wanted = CommitsOf(asked or known.get(project, CommitsOf.CODE))
    if known.get(project, wanted) is not wanted:
        raise UsageError(
            f"--commits-of {wanted.value}: {project} was made with --commits-of "
            f"{known[project].value}, and its series have keys of that; name another project"
        )
    return wanted


Branch = Annotated[
    str, Option("Only runs of this branch.  [default: all]", metavar="NAME", section="History")
]

Why = Annotated[str, Option("Reason, for those who ask later.", metavar="TEXT", section="History")]

Event = Annotated[int, argument("EVENT", integer_from(1))]
"""The number of a change."""


NUMBER = "#"
"""Beginning of a series' number, as tables print it."""


class ChosenSeries(Group, frozen=True, kw_only=True):
    """Series, by operator, metric and environment."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR|#SERIES]...")] = ()
    metrics: Annotated[
        tuple[str, ...],
        names_option(
            "Only these metrics, e.g. forward,memory.", section="History", spellings="--metric"
        ),
    ] = ()
    environment: Annotated[
        str,
        Option(
            "Only this environment: its key, or the beginning of it.",
            metavar="KEY",
            section="History",
        ),
    ] = ""

    def choose(self, series: Sequence[StoredSeries]) -> list[StoredSeries]:
        """Returns the series that are named, or all. Raises `UsageError` for a name, a metric or an
        environment that none has."""
        found = [stored for stored in series if stored.key.metric]
        for word, kept in (
            (self.environment, {stored.key.environment for stored in found}),
            *((metric, {stored.key.metric for stored in found}) for metric in self.metrics),
        ):
            if word and not any(key.startswith(word) for key in kept):
                raise UsageError(f"no series is of {word!r}{suggest(word, kept)}")
        found = [
            stored
            for stored in found
            if stored.key.environment.startswith(self.environment)
            and (not self.metrics or stored.key.metric in self.metrics)
        ]
        wanted: set[int] = set()
        operators = [Operator(framework="", namespace="", name=each.facts.name) for each in found]
        for name in self.names:
            if name.startswith(NUMBER):
                chosen = {stored.id for stored in found if f"{NUMBER}{stored.id}" == name}
            else:
                matches = make_matcher(name, operators)
                pairs = zip(found, operators, strict=True)
                chosen = {stored.id for stored, operator in pairs if matches(operator)}
            if not chosen:
                known = {stored.facts.name for stored in found}
                raise UsageError(f"no series is of {name!r}{suggest(name, known)}")
            wanted |= chosen
        return [stored for stored in found if not self.names or stored.id in wanted]
