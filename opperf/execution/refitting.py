"""Fits cases to the shapes and values that a user sets, or to random shapes, by trying them in a
worker: which extents of the rule's small inputs change only together, where the framework's own
inference of shapes is not enough."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from opperf.errors import one_line
from opperf.execution.searching import TRIAL_TIMEOUT_S
from opperf.model import (
    UNKNOWN,
    Argument,
    Case,
    ObjectTarget,
    TensorSpec,
    iter_tensors,
    map_tensors,
)
from opperf.plurals import pluralize
from opperf.rules.extents import FIXED_FILLS, Fuzz, Group, Place, draw, groups, places, with_extents
from opperf.rules.ranges import Shape, reshaped
from opperf.rules.values import Arguments, without_gradients
from opperf.sources.overrides import LACKS, Overrides
from opperf.sources.plain import contiguous, is_plain, why_plain
from opperf.sources.registry import Found, Plan
from opperf.sources.selecting import Selection
from opperf.sources.shapes import SHAPED
from opperf.sources.sweeping import configuration_tag
from opperf.sources.varying import by_label
from opperf.worker.client import Worker
from opperf.worker.protocol import Trial

SMALL = "small"
"""Size of the inputs whose extents are tried: the quickest."""

REASON = 120
"""Most characters of a refusal that is quoted with others: a line of a terminal."""

SHOWN = 3
"""Most operators that a note names."""

Key = tuple[str, str]
"""Operator, and why it has a configuration, which differs between its configurations."""


class Misfit(NamedTuple):
    """A case that the framework refuses with the user's shapes and values."""

    label: str
    reason: str


def fit_cases(
    worker: Worker, plan: Plan, selection: Selection, found: Found, say: Callable[[str], None]
) -> Plan:
    """Returns the plan with each case fitted to the user's shapes and values, and without those
    that do not fit, which `say` reports; one that is refused as its rule makes it stays. Of the
    plain forms of an operator's inputs, the first that fits stays, before the others."""
    overrides = Overrides.of(selection)
    if not plan.cases:
        return plan
    lacking = sorted(name for name, why in plan.excluded.items() if why.startswith(LACKS))
    if lacking:
        say(f"excluded, without an argument of {overrides}: {_named(lacking)}")
    fitter = _Fitter(worker, selection, found)
    fitted: list[Case] = []
    misfits: list[Misfit] = []
    plain = by_label(plan.plain)
    for label, listed in by_label(plan.cases).items():
        own = overrides.renamed(plan.renamed.get(label, {}))
        cases, refused = _fit_operator(fitter, plain.get(label, ()), listed, own)
        fitted += cases[: selection.configurations]
        misfits += refused
    if not misfits:
        return msgspec.structs.replace(plan, cases=tuple(fitted))
    left = {case.label for case in fitted}
    reasons = {
        misfit.label: f"no configuration fits {overrides}: {misfit.reason}"
        for misfit in reversed(misfits)
        if misfit.label not in left
    }
    if left:
        say(_describe(misfits, len(plan.cases), overrides))
    excluded = {**plan.excluded, **reasons}
    return msgspec.structs.replace(
        plan, cases=tuple(fitted), excluded=excluded, misfits=tuple(reasons)
    )


def _fit_operator(
    fitter: _Fitter, plain: Iterable[Case], cases: Iterable[Case], overrides: Overrides
) -> tuple[list[Case], list[Misfit]]:
    """Returns the cases that fit, the first plain form before the others, and those that do not."""
    found: dict[str, Case] = {}
    known = ""
    for case in plain:
        fitted = fitter.fit(case, overrides)
        if isinstance(fitted, Case):
            found[fitted.id] = msgspec.structs.replace(fitted, why=why_plain(fitted))
            known = case.id
            break
    # A case may be plain as its rule makes it.
    others = [fitter.fit(case, overrides) for case in cases if case.id != known]
    for other in others:
        if isinstance(other, Case):
            found.setdefault(other.id, other)
    return list(found.values()), [other for other in others if isinstance(other, Misfit)]


def _describe(misfits: list[Misfit], count: int, overrides: Overrides) -> str:
    labels = list(dict.fromkeys(misfit.label for misfit in misfits))
    verb = "does" if len(misfits) == 1 else "do"
    return (
        f"{len(misfits)} of {pluralize(count, 'configuration')} {verb} not fit {overrides} and "
        f"will not be measured ({_named(labels)}): {one_line(misfits[0].reason, REASON)}"
    )


def _named(labels: list[str]) -> str:
    others = len(labels) - SHOWN
    return ", ".join(labels[:SHOWN]) + (f" and {pluralize(others, 'other')}" if others > 0 else "")


class _Fitter:
    def __init__(self, worker: Worker, selection: Selection, found: Found) -> None:
        self._worker, self._found = worker, found
        self._unshaped = msgspec.structs.replace(
            selection, shapes={}, values={}, configurations=None
        )
        self._plans: dict[str, dict[Key, Case]] = {}

    def fit(self, case: Case, overrides: Overrides) -> Case | Misfit:
        """Returns the case as the framework accepts it with what the user sets, or why not."""
        trial = self._try(case)
        if is_plain(case) and trial.ended:
            return Misfit(case.label, trial.refusal)
        # What ends a process is measured, so that its record shows that.
        if trial.ended or not (trial.refusal or self._changes_more_than_asked(case, overrides)):
            return case
        for arguments in self._candidates(case, overrides):
            accepted = self._try(msgspec.structs.replace(case, arguments=arguments))
            if not accepted.refusal:
                origin = case.origin if case.origin.endswith(SHAPED) else f"{case.origin}{SHAPED}"
                return msgspec.structs.replace(case, arguments=accepted.arguments, origin=origin)
        # A plain form is none of the rule's.
        own = None if is_plain(case) else self._template(case, self._unshaped.size)
        if not trial.refusal or (own is not None and self._try(own).refusal):
            return case
        return Misfit(case.label, trial.refusal)

    def _changes_more_than_asked(self, case: Case, overrides: Overrides) -> bool:
        """Whether the framework accepts the rule's other tensors beside the user's, though the case
        has others: extents may be equal by chance."""
        own = self._template(case, self._unshaped.size)
        if own is None or not overrides.shapes:
            return False
        kept = {
            name: case.arguments[name] if name in overrides.names else value
            for name, value in own.arguments.items()
        }
        return kept != case.arguments and self._accepts(case, kept)

    def _try(self, case: Case) -> Trial:
        return self._worker.try_call(case, TRIAL_TIMEOUT_S)

    def _accepts(self, case: Case, arguments: Arguments) -> bool:
        return not self._try(msgspec.structs.replace(case, arguments=arguments)).refusal

    def _template(self, case: Case, size: str) -> Case | None:
        """Returns a case's configuration as its rule makes it at a size; None if it has no rule."""
        if size not in self._plans:
            plain = msgspec.structs.replace(self._unshaped, size=size)
            planned = self._worker.plan(plain, self._found).cases
            self._plans[size] = {(case.label, case.why): case for case in planned}
        found = self._plans[size].get((case.label, case.why))
        if found is None or not is_plain(case):
            return found
        own = {name: contiguous(value) for name, value in found.arguments.items()}
        kept = {name: value for name, value in own.items() if name in case.arguments}
        return msgspec.structs.replace(found, arguments=kept)

    def _candidates(self, case: Case, overrides: Overrides) -> Iterator[Arguments]:
        if isinstance(case.target, ObjectTarget):
            # The input of a network takes none, and only such a one may be written to.
            yield without_gradients(case.arguments)
        inferred = _from_first(case.arguments, overrides)
        if inferred is not None:
            yield inferred
        small, own = self._template(case, SMALL), self._template(case, self._unshaped.size)
        if small is None or own is None:
            return
        for changes_all in (False, True):
            change = partial(_with_rank, overrides=overrides, changes_all=changes_all)
            tried, wanted = change(small.arguments), change(own.arguments)
            if places(tried).keys() != places(wanted).keys():
                wanted = tried
            if self._accepts(small, tried):
                free = groups(tried, partial(self._accepts, small), least=1)
                fitted = _apply(wanted, free, overrides)
                # The values are the user's even where the rule's are of another kind.
                if fitted is not None:
                    yield {**fitted, **{n: case.arguments[n] for n in overrides.values}}


def _from_first(arguments: Arguments, overrides: Overrides) -> Arguments | None:
    names = [name for name, value in arguments.items() if any(iter_tensors(value))]
    others = [name for name in names[1:] if name not in overrides.names]
    listed = any(isinstance(arguments[name], tuple) for name in names)
    if not others or listed:
        return None
    return {
        name: msgspec.structs.replace(value, shape=UNKNOWN)
        if name in others and isinstance(value, TensorSpec)
        else value
        for name, value in arguments.items()
    }


def _with_rank(arguments: Arguments, overrides: Overrides, changes_all: bool) -> Arguments:
    """Returns the arguments with as many axes as the user's shapes have: leading axes are added to
    the tensors of as many axes, as batches have them in common, or to all; or removed likewise."""
    for name, shape in overrides.shapes.items():
        rank = next((len(spec.shape) for spec in iter_tensors(arguments.get(name))), len(shape))
        more, fewer = shape[: max(0, len(shape) - rank)], max(0, rank - len(shape))
        if more or fewer:
            ranks = range(fewer + 1, MOST_AXES) if changes_all else (rank,)
            arguments = {n: _lead(value, ranks, more, fewer) for n, value in arguments.items()}
    return arguments


MOST_AXES = 33
"""One more than the axes of any array: NumPy's limit, the largest of the frameworks', was 32."""


def _lead(value: Argument, ranks: Container[int], more: Shape, fewer: int) -> Argument:
    """Returns an argument with `more` extents for the first `fewer`, of tensors of these ranks."""

    def lead(spec: TensorSpec) -> TensorSpec:
        if len(spec.shape) not in ranks or spec.fill.distribution in FIXED_FILLS:
            return spec
        return reshaped(spec, (*more, *spec.shape[fewer:]))

    return map_tensors(value, lead)


def _apply(arguments: Arguments, free: list[Group], overrides: Overrides) -> Arguments | None:
    """Returns the arguments with the user's extents, and those that follow, if they agree."""
    wanted = dict(_wanted(arguments, overrides))
    extents = dict(wanted)
    for group in free:
        asked = {wanted[place] for place in group if place in wanted}
        if len(asked) > 1:
            return None
        extents.update(dict.fromkeys(group, *asked) if asked else {})
    return with_extents(arguments, extents)


def _wanted(arguments: Arguments, overrides: Overrides) -> Iterator[tuple[Place, int]]:
    for place in places(arguments):
        value: object = overrides.values.get(place.argument)
        if place.shape:
            shape = overrides.shapes.get(place.argument, ())
            if place.axis is not None and place.axis < len(shape):
                yield place, shape[place.axis]
        elif isinstance(value, tuple) and place.axis is not None:
            if place.axis < len(value) and isinstance(value[place.axis], int):
                yield place, value[place.axis]
        elif isinstance(value, int) and place.axis is None:
            yield place, value


DRAWS = 20
"""Random shapes tried for each one needed. Most are accepted; an operator that refuses so many has
a constraint that random shapes do not meet."""


def with_random_shapes(worker: Worker, plan: Plan, fuzz: Fuzz, seed: int) -> Plan:
    """Returns the plan with cases of random shapes in place of each operator's own."""
    cases: list[Case] = []
    missing = dict(plan.excluded)
    for label, own in by_label(plan.cases).items():
        drawn_cases = list(_draw_cases(worker, own, fuzz, seed))
        cases += drawn_cases
        if not drawn_cases:
            missing[label] = (
                "no random shape was accepted: every extent depends on others, or none gives "
                f"{fuzz.least} to {fuzz.most} elements"
            )
    return msgspec.structs.replace(plan, cases=tuple(cases), excluded=missing)


def _draw_cases(worker: Worker, templates: list[Case], fuzz: Fuzz, seed: int) -> Iterator[Case]:
    tagged = [
        msgspec.structs.replace(case, tags=(*case.tags, configuration_tag(index)))
        for index, case in enumerate(templates)
    ]
    sources = [
        (case, draws)
        for case in tagged
        if (draws := _draw_arguments(worker, case, fuzz, seed)) is not None
    ]
    taken = attempts = 0
    while sources and taken < fuzz.count and attempts < DRAWS * fuzz.count:
        attempts += 1
        case, draws = sources[attempts % len(sources)]
        arguments = next(draws, None)
        if arguments is None:
            sources.remove((case, draws))
            continue
        made = msgspec.structs.replace(case, arguments=arguments, origin=f"{case.origin}+fuzz")
        trial = worker.try_call(made, TRIAL_TIMEOUT_S)
        if not trial.refusal and trial.output_bytes <= OUTPUT_BYTES * fuzz.most:
            taken += 1
            # Those of the trial have indices in range of the new extents.
            yield msgspec.structs.replace(made, arguments=trial.arguments or arguments)


OUTPUT_BYTES = 8
"""Largest size of an element, which turns the limit on elements into one on an output's bytes."""


def _draw_arguments(
    worker: Worker, case: Case, fuzz: Fuzz, seed: int
) -> Iterator[Arguments] | None:
    """Returns arguments with random shapes for one configuration; None if no extent can change."""

    def accepts(arguments: Arguments) -> bool:
        changed = msgspec.structs.replace(case, arguments=arguments)
        return not worker.try_call(changed, TRIAL_TIMEOUT_S).refusal

    free = groups(case.arguments, accepts)
    return draw(case.arguments, free, fuzz, seed, f"{case.label} {case.tags}") if free else None
