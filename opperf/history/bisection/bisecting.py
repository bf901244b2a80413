"""Finds the commit that changed a figure: a function of the commits, a builder and a judge, which
measures a commit against GOOD."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from opperf.comparison.compared import Change, ChangeKind
from opperf.errors import OpperfError, OutputError, UsageError
from opperf.history.bisection.posterior import BUILD_SCATTER, CONFIDENCE, Search
from opperf.history.bisection.results import (
    BUILDS,
    RUNS,
    Bisection,
    Figure,
    Kind,
    OnError,
    Other,
    Outcome,
    State,
    Step,
)
from opperf.history.builds import Build, BuildError
from opperf.plurals import pluralize
from opperf.repository import Commit
from opperf.statistics.data import BOUND, Verdict

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)

LOW, HIGH = 1 / 3, 2 / 3
"""Shares of the loss between which a commit is neither as GOOD nor as BAD."""

COUNT_SCATTER = 0.0005
"""Scatter of the instructions of equal code, in log units: a tenth of the tolerance of counts."""

COUNT_FREEDOM = 1e6
"""Degrees of freedom of a count, whose scatter is known."""

INVALID_STEPS = 2
"""Sessions in which GOOD may differ from itself before the machine is at fault."""


class Ask(msgspec.Struct, frozen=True):
    """The question of a step."""

    number: int
    """Of the step, from 0; each has other orders of processes."""
    cases: tuple[str, ...] = ()
    """Ids; empty for all that the user selected."""
    operators: tuple[str, ...] = ()
    """As `--ops` takes them; empty for those of the user."""
    threshold: float | None = None
    same_within: float | None = None
    """Of the verdicts, as shares; None for those of the user."""
    loss: float = 0.0
    """Logarithm of the ratio that is looked for; zero while it is unknown."""
    longer: bool = False
    """Whether it is measured again because it was ambiguous."""


Judge = Callable[[Build, Build, Ask], Step]
"""Measures builds in turn: figures of the second against the first."""


@dataclass(frozen=True)
class Options:
    """How a bisection searches."""

    confidence: float = CONFIDENCE
    build_scatter: float = BUILD_SCATTER
    most_steps: int = 60
    """Steps after which it ends without an answer."""
    on_error: OnError | None = None
    """None: such a commit is skipped, unless BAD fails and it is looked for where that began."""


class Bisecting:
    """One bisection; every step is saved before the next one begins."""

    def __init__(
        self,
        state: State,
        build: Callable[[Commit], Build],
        judge: Judge,
        options: Options,
        save: Callable[[State], None],
        say: Callable[[str], None],
    ) -> None:
        self.state, self._judge, self._options = state, judge, options
        self._build, self._save, self._say = build, save, say
        self._builds: dict[int, Build] = {}

    def run(self) -> Bisection:
        """Returns what was found. Raises `UsageError` where GOOD or BAD cannot be built, and what
        the judge raises for them."""
        last = self.state.last
        ends = self._broken_end() or self._ends()
        failing = [of_failure(failure) for failure in ends.failures]
        if ends.broken:
            broken = Change(ChangeKind.BROKEN, "", "the build", "", reason=ends.broken)
            failing = [of_failure(broken, BUILDS)]
        figures = (*failing, *ends.figures)
        changed = [figure for figure in ends.figures if figure.verdict in CHANGED]
        if self._options.on_error != "skip":
            changed = [*failing, *changed]
        if not changed:
            return Bisection("same", self.state, figures, notes=_why_same(ends))
        figure = surest(changed)
        self._say(
            f"BAD against GOOD: {figure.operator} {figure.metric} {figure.shown}; "
            f"{pluralize(last, 'commit')} to choose from"
        )
        self._search(figure, sorted({change.id for change in changed if change.id}))
        return self._found(figure, figures, changed)

    def _broken_end(self) -> Step | None:
        """Returns the step of a BAD that does not build, if that is looked for. Raises `UsageError`
        for an end that does not build, if it is not."""
        for place, name in ((0, "GOOD"), (self.state.last, "BAD")):
            try:
                self.built(place)
            except BuildError as error:
                if place and self._options.on_error == "bad":
                    earlier = (step for step in self.state.steps if step.place == place)
                    return next(earlier, None) or self._add(_broken(place, error))
                hint = "; --on-error bad finds the commit that broke it" if place else ""
                raise UsageError(
                    f"{name}, {self.state.commits[place]}, does not build: {error}{hint}"
                ) from error
        return None

    def built(self, place: int) -> Build:
        """Returns the build of a commit. Raises `BuildError`."""
        if place not in self._builds:
            self._builds[place] = self._build(self.state.commits[place])
        return self._builds[place]

    def update(self, **changes: object) -> None:
        """Changes fields of the state, and saves it."""
        self.state = msgspec.structs.replace(self.state, **changes)
        self._save(self.state)

    def _ends(self) -> Step:
        last = self.state.last
        done = [step for step in self.state.steps if step.place == last]
        while not done or (self._is_open(done[-1]) and len(done) < 2):
            what = ", longer, as that was ambiguous" if done else ""
            self._say(f"measuring BAD, {self.state.commits[last]}, against GOOD{what}")
            done.append(self._measure(last, Ask(len(self.state.steps), longer=bool(done))))
        return done[-1]

    def _is_open(self, step: Step) -> bool:
        if step.failures and self._options.on_error != "skip":
            return False
        verdicts = {figure.verdict for figure in step.figures}
        return bool(step.reason) or not verdicts & {*CHANGED} and Verdict.AMBIGUOUS in verdicts

    def _measure(self, place: int, ask: Ask) -> Step:
        step = self._judge(self.built(0), self.built(place), ask)
        return self._add(msgspec.structs.replace(step, place=place))

    def _add(self, step: Step) -> Step:
        self.update(steps=(*self.state.steps, step))
        return step

    def _search(self, figure: Figure, cases: Sequence[str]) -> None:
        loss = abs(figure.effect)
        invalid = 0
        while len(self.state.steps) < self._options.most_steps:
            place = self.search(figure).choose()
            if place is None:
                return
            commit = self.state.commits[place]
            number = len(self.state.steps)
            ask = Ask(
                number,
                tuple(cases),
                threshold=math.expm1(LOW * loss),
                same_within=math.expm1(HIGH * loss),
                loss=figure.effect,
            )
            try:
                self.built(place)
                if figure.metric == BUILDS:
                    step = self._add(Step(place, ()))
                else:
                    self._say(f"step {number}: measuring {commit} against GOOD")
                    step = self._measure(place, ask)
            except OutputError:
                raise
            except OpperfError as error:
                if self._options.on_error != "bad":
                    self._skip(commit, str(error))
                    continue
                step = self._add(_broken(place, error))
            # What fails does so on a noisy machine, too.
            invalid = invalid + 1 if step.reason and not figure.fails else 0
            if invalid > INVALID_STEPS:
                raise UsageError(f"{step.reason}; resume it then with --resume")
            self._tell(step, figure)

    def _skip(self, commit: Commit, reason: str) -> None:
        self._say(f"skipped {commit}: {reason}")
        self.update(skipped={**self.state.skipped, commit.sha: reason})

    def _tell(self, step: Step, figure: Figure) -> None:
        seen = step.seen(figure)
        shares = self.search(figure).probabilities()
        place = max(shares, key=lambda place: shares[place])
        why = step.reason or step.why_not(figure.id) or "no figure"
        found = why if seen is None else seen.shown
        self._say(
            f"{self.state.commits[step.place].short}: {found}; now most probable: "
            f"{self.state.commits[place]}, {shares[place]:.0%}"
        )

    def search(self, figure: Figure) -> Search:
        """Returns the search for where one figure changed, with all steps so far."""
        state, sign = self.state, math.copysign(1.0, figure.effect)
        search = Search(state.last, self._options.build_scatter, self._options.confidence)
        search.skipped.update(
            place for place, commit in enumerate(state.commits) if commit.sha in state.skipped
        )
        for step in state.steps:
            seen = step.seen(figure)
            if seen is None and self._options.on_error == "bad" and step.why_not(figure.id):
                # As BAD is, as far as that can be said.
                seen = figure
            if seen is not None and (not step.reason or seen.fails):
                search.add(step.place, seen.estimate(sign))
            elif step.place != state.last and not step.reason:
                # The case fails there, which no further step changes.
                search.skipped.add(step.place)
        return search

    def _found(
        self, figure: Figure, ends: tuple[Figure, ...], changed: Sequence[Figure]
    ) -> Bisection:
        search = self.search(figure)
        answer, sign = search.answer(), math.copysign(1.0, figure.effect)
        outcome: Outcome = "found" if answer.first == answer.last else "range"
        effect, error = search.loss(answer.last)
        low, high = sorted(sign * (effect + side * BOUND * error) for side in (-1, 1))
        return Bisection(
            outcome=outcome if search.is_settled else "inconclusive",
            state=self.state,
            ends=ends,
            end=figure,
            first=answer.first,
            last=answer.last,
            probability=answer.probability,
            loss=None if figure.fails else (math.exp(sign * effect), math.exp(low), math.exp(high)),
            misfits=tuple(search.misfits(answer.last)),
            others=tuple(self._others(changed, figure)),
        )

    def _others(self, changed: Sequence[Figure], decided: Figure) -> Iterator[Other]:
        commits = self.state.commits
        for figure in changed:
            if figure is not decided:
                answer = self.search(figure).answer()
                first, last = commits[answer.first], commits[answer.last]
                yield Other(figure, first.sha, last.sha, answer.probability)

    def before(self, first: int) -> int:
        """Returns the last position before another one that can be measured."""
        skipped = self.state.skipped
        return next(
            place
            for place in range(first - 1, -1, -1)
            if self.state.commits[place].sha not in skipped
        )


def surest(changed: Collection[Figure]) -> Figure:
    """Returns the figure whose change is the largest against its standard error; regressed ones
    come first, as those are what a bisection is for."""
    return max(
        changed,
        key=lambda change: (
            change.verdict in (Verdict.MISSING, Verdict.REGRESSED),
            abs(change.effect) / change.error,
        ),
    )


def _broken(place: int, error: OpperfError) -> Step:
    what = "does not build: " if isinstance(error, BuildError) else ""
    return Step(place, (), broken=f"{what}{error}")


def of_failure(failure: Change, metric: str = RUNS) -> Figure:
    """Returns what BAD fails at as a figure, which is known exactly."""
    return Figure(
        id=failure.id,
        operator=failure.operator,
        inputs=failure.inputs,
        metric=metric,
        verdict=Verdict.MISSING,
        note=failure.reason,
        error=COUNT_SCATTER,
        freedom=COUNT_FREEDOM,
    )


def _why_same(ends: Step) -> tuple[str, ...]:
    if ends.reason:
        return (ends.reason,)
    if ends.failures:
        failure = ends.failures[0]
        return (
            f"{pluralize(len(ends.failures), 'case')}, e.g. {failure.operator}: {failure.reason}; "
            "--on-error bad finds the commit that broke it",
        )
    figures = ends.figures
    largest = max(figures, key=lambda figure: abs(figure.effect), default=None)
    if largest is None:
        return ("no figure was measured of both",)
    return (
        *filter(None, [ends.same_files]),
        f"the largest change is {largest.ratio:.3f} ({largest.low:.3f} to {largest.high:.3f}), of "
        f"{largest.operator} {largest.metric}, {largest.verdict.value}",
    )


def scatter_of(kind: Kind) -> float:
    """Returns what builds of equal code differ by, in log units."""
    return BUILD_SCATTER if kind == "times" else COUNT_SCATTER
