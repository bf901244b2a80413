"""The state of a bisection, in a file that it is resumed from, and its result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from opperf.comparison.compared import Change, ComparedRow
from opperf.decoding import read_as
from opperf.errors import RunFileError
from opperf.history.bisection.posterior import Estimate
from opperf.history.builds import Recipe
from opperf.model import Struct
from opperf.repository import Commit
from opperf.results.output import replace
from opperf.statistics.data import Verdict

VERSION = 2
"""Version of the file; another is refused."""

Kind = Literal["times", "counts"]

OnError = Literal["bad", "skip"]
"""How a commit counts that does not build, or does not run a case that GOOD runs."""

MISSING = Verdict.MISSING

RUNS, BUILDS = "runs", "builds"
"""Metrics of what BAD fails at."""


class Figure(ComparedRow, frozen=True, kw_only=True):
    """The change of one metric of one case, of a commit against another. Bounds of the ratio are
    each wrong with a probability of 5 %; no blocks where single calls have decided; the note is why
    the commit fails."""

    error: float
    freedom: float
    """Standard error of the effect, and its degrees of freedom."""
    blocks: int = 1
    pattern: str = ""
    """The operator as `--ops` takes it."""

    @property
    def key(self) -> tuple[str, str]:
        """Case and metric, the same in all steps."""
        return self.id, self.metric

    @property
    def fails(self) -> bool:
        """Whether it says that commits fail, and not how long they take."""
        return self.metric in (RUNS, BUILDS)

    @property
    def effect(self) -> float:
        """Logarithm of the ratio; of what fails 1, and 0 where the commit does not."""
        return float(self.verdict is MISSING) if self.ratio is None else math.log(self.ratio)

    @property
    def shown(self) -> str:
        """The change in words."""
        if self.fails:
            return self.note or self.metric
        return f"{self.ratio:.3f}, {self.verdict.value}"

    def estimate(self, sign: float) -> Estimate:
        """Returns what the search takes of it; `sign` is that of BAD's effect."""
        return Estimate(sign * self.effect, self.error, self.freedom, max(1, self.blocks))


class Step(Struct, frozen=True):
    """A commit, measured against GOOD."""

    place: int
    """Position of the commit, from 0, GOOD."""
    figures: tuple[Figure, ...]
    reason: str = ""
    """Why it has no verdicts; empty where it has."""
    seconds: float = 0.0
    file: str = ""
    """Name of the session's file."""
    same_files: str = ""
    """That both commits have loaded the same files; empty where some differ."""
    ran: tuple[str, ...] = ()
    """Cases that both commits run."""
    failures: tuple[Change, ...] = ()
    """Cases that GOOD runs and this commit does not."""
    broken: str = ""
    """Why the commit runs nothing at all; empty where it does."""
    call_s: float = 0.0
    """Seconds of the slowest call of either commit, if it was longer than its time in a process."""

    def why_not(self, case: str) -> str:
        """Returns why the commit does not run a case that GOOD runs; empty if it does."""
        own = (failure.reason for failure in self.failures if failure.id == case)
        return self.broken or next(own, "")

    def seen(self, figure: Figure) -> Figure | None:
        """Returns a figure of BAD as this commit has it; None where it has none."""
        if not figure.fails:
            return next((own for own in self.figures if own.key == figure.key), None)
        reason = self.why_not(figure.id)
        if not reason and figure.metric == RUNS and figure.id not in self.ran:
            return None
        verdict = MISSING if reason else Verdict.SAME
        return msgspec.structs.replace(figure, verdict=verdict, note=reason)


class State(Struct, frozen=True):
    """The commits, steps and skipped commits of a bisection so far."""

    version: int
    repository: str
    commits: tuple[Commit, ...]
    """GOOD, and the commits up to BAD."""
    recipe: Recipe
    asked: dict[str, Any] = {}
    """The request, which a resumed one has again."""
    kind: Kind = "times"
    steps: tuple[Step, ...] = ()
    skipped: dict[str, str] = {}
    """Why commits cannot be measured, by hash."""
    confirmed: dict[str, Step] = {}
    """The answer against the commit before it, by the file of the session."""

    @property
    def slowest_call_s(self) -> float:
        """The largest `Step.call_s` of all steps."""
        return max((step.call_s for step in (*self.steps, *self.confirmed.values())), default=0.0)

    @property
    def last(self) -> int:
        """The position of BAD."""
        return len(self.commits) - 1


STATE = "bisection.json"
"""Name of the file in a bisection's folder."""


class _Version(Struct, frozen=True):
    version: int


def read_state(folder: Path) -> State:
    """Returns the state in a bisection's folder. Raises `RunFileError` if there is none."""
    path = folder / STATE
    try:
        version = read_as(path, _Version).version
        if version != VERSION:
            raise RunFileError(
                f"{path} is of version {version}, and this opperf reads {VERSION}; resume it with "
                "the opperf that began it"
            )
        return read_as(path, State)
    except OSError as error:
        raise RunFileError(
            f"{folder} has no bisection to resume: {path.name}: {error.strerror}"
        ) from error
    except msgspec.DecodeError as error:
        raise RunFileError(f"{path} is not the state of a bisection: {error}") from error


def write_state(folder: Path, state: State) -> None:
    """Writes the state in one step. Raises `OutputError`."""
    replace(folder / STATE, msgspec.json.format(msgspec.json.encode(state)) + b"\n")


Outcome = Literal["found", "range", "inconclusive", "same"]
"""`found`: one commit; `range`: several, of which all but the last cannot be measured;
`inconclusive`: several, and no further step would tell; `same`: GOOD and BAD do not differ."""


class Other(Struct, frozen=True):
    """Where the change of another figure began, by the same steps."""

    figure: Figure
    """Of BAD against GOOD."""
    first: str
    last: str
    """Hashes of the first and the last commit that it may have begun at."""
    probability: float


class Bisection(Struct, frozen=True):
    """The result of a bisection."""

    outcome: Outcome
    state: State
    ends: tuple[Figure, ...]
    """BAD against GOOD: all figures."""
    end: Figure | None = None
    """The one that decided: that of which the change is the surest."""
    first: int = 0
    last: int = 0
    """Positions between which the first bad commit is, both included."""
    probability: float = 0.0
    loss: tuple[float, float, float] | None = None
    """Ratio of the commits after to those before, and the bounds of its 90 % interval."""
    misfits: tuple[int, ...] = ()
    """Positions between both levels."""
    others: tuple[Other, ...] = ()
    builds: int = 0
    """Builds that were made, and not in the cache."""
    before: int | None = None
    """Position of the commit that the answer was confirmed against."""
    confirmed: tuple[Figure, ...] = ()
    """The answer against that commit, by time and by instructions."""
    notes: tuple[str, ...] = ()
    functions: dict[str, Any] | None = None
    """The values of `opperf explain` of the instructions of both."""

    @property
    def candidates(self) -> tuple[Commit, ...]:
        """The commits of which one is the first bad one."""
        return self.state.commits[self.first : self.last + 1] if self.first else ()

    @property
    def is_open(self) -> bool:
        """Whether BAD may differ from GOOD all the same, where no difference was found."""
        ends = [step for step in self.state.steps if step.place == self.state.last]
        decided = all(figure.verdict is Verdict.SAME for figure in self.ends)
        shared = any(step.same_files for step in ends[-1:])
        return self.outcome == "same" and (shared or not self.ends or not decided)

    @property
    def sessions(self) -> Iterator[tuple[str, str, str]]:
        """The files of the sessions that the answer rests on, with their commits: BAD against GOOD,
        and the commit that was found against the one before it."""
        state = self.state
        ends = [step.file for step in state.steps if step.place == state.last and step.file]
        if ends:
            yield ends[-1], state.commits[0].sha, state.commits[-1].sha
        if self.before is not None:
            for file in state.confirmed:
                yield file, state.commits[self.before].sha, state.commits[self.last].sha
