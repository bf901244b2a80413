"""Plans a run: from a selection, axes and files to the cases that are measured, in their order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from opperf.environments.building import restore
from opperf.errors import UsageError
from opperf.execution.case_source import Asked, Planned, Say, filter_by_id
from opperf.execution.refitting import fit_cases, with_random_shapes
from opperf.execution.searching import search_inputs
from opperf.execution.workers import Workers
from opperf.frameworks.user_modules import SEARCHED
from opperf.model import DECLARED, Case, Settings
from opperf.plurals import pluralize
from opperf.sources.base import Completion, Source, SourceFile
from opperf.sources.chains import largest
from opperf.sources.completing import distinguish, merge
from opperf.sources.registry import Found, Plan
from opperf.sources.selecting import Selection, as_operator, make_matcher
from opperf.sources.sweeping import at_point, check_size, join_points, points_of
from opperf.sources.varying import (
    Axes,
    Unite,
    deduplicate,
    dtype_options,
    unconverted,
    vary,
    with_settings,
)
from opperf.worker.client import Worker

SMALL = "small"
"""Size of the inputs whose extents are replaced by random ones: the quickest to try."""


@dataclass(frozen=True)
class RegistrySource:
    """The registry of a framework, and files, whose cases keep settings that are not overriding."""

    framework: str
    program = "run"
    groups = True
    compiles_ahead = True
    is_forecast = True
    repeats = False

    def find(self, asked: Asked) -> Planned:
        """Returns the cases of the selected operators, by default all without a file, and of
        files."""
        plans: list[Plan] = []
        selection, axes = asked.selection, asked.axes
        if selection.patterns or not asked.files:
            for here in _by_modules(axes):
                plan, found = _plan_registry(asked, self.framework, here)
                plans.append(plan)
                axes = {**found, **axes, **{name: found[name] for name in framework_axes(found)}}
        plan = _unite(plans, [plan_file(asked, file, axes) for file in asked.files])
        check_size(plan, selection)
        return Planned(plan, axes)


def _by_modules(axes: Axes) -> Iterator[Axes]:
    for label in axes.get("python", ("",)):
        here = {**axes, **({"python": (label,)} if label else {})}
        groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for env in axes.get("env", ()):
            groups.setdefault(tuple(env.get(name, "") for name in SEARCHED), []).append(env)
        yield from ({**here, "env": tuple(own)} for own in groups.values())
        if not groups:
            yield here


def process_of(axes: Axes, imports: tuple[str, ...] = ()) -> Settings:
    """Returns the settings of a process that finds the modules of the axes' first case."""
    env = axes.get("env", ({},))[0]
    return Settings(
        python=axes.get("python", ("",))[0],
        imports=imports,
        env={name: value for name, value in env.items() if name in SEARCHED},
    )


def plan_cases(worker: Worker, framework: str, selection: Selection, say: Say) -> Plan:
    """Returns the plan of a selection of the registry with one value of each setting. Raises
    `UsageError` for a selection that is not possible, and for an id that no case has."""
    return filter_by_id(_plan_points(worker, framework, selection, say), selection)


def framework_axes(axes: Axes) -> Axes:
    """Returns the axes whose values a framework checks."""
    return {
        name: values
        for name, values in axes.items()
        if name == "options" or not DECLARED[name].process
    }


def check_names(workers: Workers, framework: str, selection: Selection, axes: Axes) -> None:
    """Raises the error of an unknown operator, group or value, without making inputs."""
    groups = (selection.categories, selection.namespaces, selection.tags, selection.variants)
    if not any((selection.patterns, selection.exclude, *groups, axes)):
        return
    worker = workers.of(framework, process_of(axes, selection.settings.imports))
    usable = worker.resolve({"dtype": (selection.settings.dtype,), **framework_axes(axes)}).usable
    settings = {name: values[0] for name, values in usable.items()} | {"input_function": ""}
    worker.plan(
        msgspec.structs.replace(
            selection,
            configurations=1,
            fuzz=None,
            settings=msgspec.structs.replace(selection.settings, **settings),
        )
    )


def _plan_registry(asked: Asked, framework: str, axes: Axes) -> tuple[Plan, Axes]:
    """Returns the plan of the registry's cases, and the axes. A dtype that the framework lacks gets
    the first one's cases, whose records say so."""
    workers, selection = asked.workers, asked.selection
    process = process_of(axes, selection.settings.imports)
    worker = workers.of(framework, process)
    resolved = worker.resolve({"dtype": (selection.settings.dtype,), **framework_axes(axes)})
    found = {**axes, **resolved.axes}
    usable = {name: values[0] for name, values in resolved.usable.items()}
    decisive = ("dtype", *(UNDER if selection.settings.input_function else ()))
    made = {name: values for name, values in found.items() if name in decisive}
    plans: list[Plan] = []
    lacking: list[dict[str, Any]] = []
    for values in itertools.product(*made.values()):
        own = dict(zip(made, values, strict=True))
        if any(own[name] not in resolved.usable.get(name, (own[name],)) for name in own):
            lacking.append(own)
            continue
        settings = msgspec.structs.replace(selection.settings, **{**usable, **own})
        if selection.settings.input_function:
            worker = workers.of(framework, making_process(framework, process, settings))
        one = msgspec.structs.replace(selection, settings=settings)
        plans.append(_plan_points(worker, framework, one, asked.say))
    first = plans[0]
    others = {name: values for name, values in found.items() if name not in made}
    cases = [case for plan in plans for case in plan.cases]
    cases += (with_settings(case, own) for own in lacking for case in first.cases)
    excluded = {name: why for plan in plans for name, why in plan.excluded.items()}
    plan = msgspec.structs.replace(first, cases=vary(cases, others), excluded=excluded)
    return plan, found


def _plan_points(worker: Worker, framework: str, selection: Selection, say: Say) -> Plan:
    if selection.sweeps:
        plans = [
            (point, _plan_inputs(worker, framework, at_point(selection, point), say))
            for point in points_of(selection)
        ]
        plan = join_points(plans, selection)
    else:
        plan = _plan_inputs(worker, framework, selection, say)
    dtype = selection.settings.dtype
    left = unconverted(plan.cases, dtype) if selection.dtype_given else ()
    if left:
        say(f"--dtype {dtype} leaves as they are: {', '.join(left)}, which are of another kind")
    # Of few random shapes, or of inputs that are the same at two points, several cases may be one.
    return msgspec.structs.replace(plan, cases=deduplicate(plan.cases))


def _plan_inputs(worker: Worker, framework: str, selection: Selection, say: Say) -> Plan:
    fuzz = selection.fuzz
    asked = selection if fuzz is None else msgspec.structs.replace(selection, size=SMALL)
    plan = worker.plan(asked)
    if plan.faults and plan.cases:
        # Without a case the reason is that of an error.
        first, *others = plan.faults
        listed = f"; opperf list prints why for all {len(plan.faults)}" if others else ""
        say(
            f"warning: {pluralize(len(plan.faults), 'operator')} excluded, as opperf failed to "
            f"make inputs: {first}: {plan.excluded[first]}{listed}"
        )
    found: Found = {}
    if plan.searchable:
        found, reasons = search_inputs(worker, framework, plan.searchable, asked, say)
        plan = worker.plan(asked, found)
        plan = msgspec.structs.replace(plan, excluded={**plan.excluded, **reasons})
    if fuzz is None:
        if not (asked.shapes or asked.values):
            return plan
        return fit_cases(worker, plan, asked, found, say)
    say("trying which extents of the inputs can change")
    return with_random_shapes(worker, plan, fuzz, selection.settings.seed)


UNDER = ("device", *(name for name, one in DECLARED.items() if one.process and one.axis))
"""Axes on which depends, beside the dtype, what a user's function of inputs makes."""


def making_process(framework: str, process: Settings, settings: Settings) -> Settings:
    """Returns the settings of the process in which a user's function makes inputs: that which
    measures them. Under Valgrind the numbers are the same."""
    own = {name: getattr(settings, name) for name in UNDER if DECLARED[name].process}
    needed = {**dtype_options(framework, settings.dtype), **settings.options}
    return msgspec.structs.replace(process, **{**own, "options": needed, "python": process.python})


def _unite(registry: Sequence[Plan], files: Sequence[Plan]) -> Plan:
    plans = [*registry, *files]
    # A call in two files was seen as often as in both.
    seen = merge(case for plan in files for case in plan.cases)
    return Plan(
        cases=deduplicate([*(case for plan in registry for case in plan.cases), *seen]),
        excluded={name: reason for plan in plans for name, reason in plan.excluded.items()},
        aliases={alias: name for plan in plans for alias, name in plan.aliases.items()},
        earlier=tuple(record for plan in plans for record in plan.earlier),
        # Calls of several programs are those of none.
        program=plans[0].program if len(plans) == 1 else None,
    )


def plan_file(asked: Asked, file: SourceFile, axes: Axes) -> Plan:
    """Returns the plan of a file's cases, with the settings among the options `overriding`."""
    workers, selection, say, source = asked.workers, asked.selection, asked.say, file.source
    workers.add_interpreters(restore(source.interpreters, say))
    for warning in source.warnings:
        say(f"warning: {warning}")
    for remark in source.remarks:
        say(f"note: {remark}")
    plain = {
        name: getattr(selection.settings, name)
        for name, setting in DECLARED.items()
        # A case that is incomplete has no settings yet.
        if (name in asked.overriding or source.completion is not None)
        and not setting.axis
        and name != "input_function"
    }
    several = {name: values for name, values in axes.items() if name in asked.overriding}
    found = list(source.cases())
    cases: list[Case] = []
    chains = largest(source.program.chains if source.program else (), selection.chains)
    refused: dict[str, str] = {}
    for framework in dict.fromkeys(case.target.framework for case in found):
        own = [case for case in found if case.target.framework == framework]
        if source.completion is not None:
            worker = workers.of(framework, process_of(axes, plain["imports"]))
            factor, skip_views = selection.batch_factor, selection.skip_views
            own = complete_cases(worker, source, own, factor, skip_views, say)
            # Beside the user's axes those that have the framework's own default.
            resolved = {**several, **worker.resolve(framework_axes(several)).axes}
        else:
            resolved, checked = several, framework_axes(several)
            # No worker starts if no axis needs it.
            if checked:
                imports = plain.get("imports", own[0].settings.imports)
                worker = workers.of(framework, process_of(several, imports))
                found_axes = worker.resolve(checked).axes
                resolved = {**several, **{name: found_axes[name] for name in checked}}
        of_chains: Sequence[Case] = ()
        if chains:
            imports = plain.get("imports", own[0].settings.imports)
            made = workers.of(framework, process_of(axes, imports)).chains(chains, own)
            of_chains, refused = made.cases, {**refused, **made.refused}
        own = select_cases(own, selection)
        with_plain = (with_settings(case, plain) for case in own)
        cases += vary(with_plain, resolved, unite_of(source))
        # Each is in two modes, which are its own.
        others = {name: values for name, values in resolved.items() if name != "mode"}
        cases += vary((with_settings(case, plain) for case in of_chains), others)
    if "no_backward" in asked.overriding:
        cases = [msgspec.structs.replace(case, passes=("forward",)) for case in cases]
    return Plan(
        cases=tuple(cases),
        excluded={**source.excluded, **refused},
        earlier=source.records,
        program=source.program,
    )


def complete_cases(
    worker: Worker,
    source: Source,
    cases: Sequence[Case],
    batch_factor: float = 1.0,
    skip_views: bool = False,
    say: Say = lambda text: None,
) -> list[Case]:
    """Returns the cases of a source as their framework calls them, equal ones united, and without
    those that only make views if these are to be skipped. Raises `UsageError` for one that it
    cannot call, if that is an error of the file."""
    if source.completion is None:
        return list(cases)
    completed = worker.complete(cases, batch_factor)
    if source.completion == "all" and all(call.refusal for call in completed):
        for call in completed[:1]:
            raise UsageError(f"{call.case.origin}: {call.refusal}")
    if batch_factor != 1.0:
        scaled = sum(call.scaled for call in completed)
        say(
            f"the batch of {scaled} of {pluralize(len(completed), 'call')} was scaled by "
            f"{batch_factor:g}; the others are as recorded"
        )
    if skip_views:
        views = [call.case for call in completed if call.only_views]
        calls = pluralize(sum(case.count for case in views), "call")
        say(
            f"{calls} of {pluralize(len({case.label for case in views}), 'operator')} that only "
            "make views skipped"
        )
        completed = tuple(call for call in completed if not call.only_views)
    return list(unite_of(source)(call.case for call in completed))


UNITE: Mapping[Completion | None, Unite] = {"each": merge, "all": distinguish, None: deduplicate}
"""Functions that unite equal cases, by how a source's are completed: calls of a recording add up,
each of a configuration is measured, and a run file's case with two values of a setting is one."""


def unite_of(source: Source) -> Unite:
    """Returns what makes one of equal cases of a source."""
    return UNITE[source.completion]


def select_cases(cases: Iterable[Case], selection: Selection) -> list[Case]:
    """Returns the cases that are in the selected categories and not excluded."""
    found = list(cases)
    operators = {case.label: as_operator(case) for case in found}
    excluders = [make_matcher(pattern, operators.values()) for pattern in selection.exclude]
    return [
        case
        for case in found
        if (not selection.categories or case.category in selection.categories)
        and not any(matches(operators[case.label]) for matches in excluders)
    ]
