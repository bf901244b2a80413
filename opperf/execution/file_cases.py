"""The cases of a file: completed by their framework, with the settings that options set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.errors import UsageError
from opperf.execution.workers import Workers
from opperf.model import DECLARED, Case, Record, Settings
from opperf.plurals import pluralize
from opperf.sources.base import Source, SourceFile
from opperf.sources.completing import Completion, distinguish, merge
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection, as_operator, make_matcher
from opperf.sources.varying import Axes, Unite, deduplicate, vary, with_settings
from opperf.worker.client import Worker

Say = Callable[[str], None]

RULE_OPTIONS = {
    "size": "--size",
    "shapes": "--shape",
    "values": "--arg",
    "input_function": "--inputs",
    "sweeps": "--sweep",
    "int64_tensor": "--int64-tensor",
    "configurations": "--max-configs",
    "namespaces": "--namespace",
    "tags": "--tag",
    "variants": "--variants",
    "fuzz_shapes": "--fuzz-shapes",
}
"""Options for the inputs that rules make, which do not apply to the cases of a file."""


NAME_A_LOG = "name a log of operator inputs"


def check_rule_options(path: Path, given: Collection[str]) -> None:
    """Raises `UsageError` for an option on the inputs that rules make."""
    for option in RULE_OPTIONS:
        if option in given:
            raise UsageError(
                f"{RULE_OPTIONS[option]} does not apply to {path}, whose cases have inputs of "
                "their own; omit it, or name operators as well"
            )


def check_own_settings(path: Path, source: Source, given: Collection[str]) -> None:
    """Raises `UsageError` for an option on what the cases of a source decide themselves."""
    for name in getattr(source, "own_settings", ()):
        if name in given:
            raise UsageError(
                f"{DECLARED[name].option} does not apply to {path}, whose own code decides it; "
                "omit it"
            )


def framework_axes(axes: Axes) -> Axes:
    """Returns the axes whose values a framework checks: those of call scope, and its options."""
    return {
        name: values
        for name, values in axes.items()
        if name == "options" or not DECLARED[name].process
    }


def plan_file(
    workers: Workers,
    file: SourceFile,
    selection: Selection,
    axes: Axes,
    given: Collection[str],
    say: Say,
) -> Plan:
    """Returns the plan of a file's cases, with the settings among the options `given`."""
    path, source = file
    check_own_settings(path, source, given)
    workers.add_interpreters(getattr(source, "interpreters", ()))
    for warning in getattr(source, "warnings", ()):
        say(f"warning: {warning}")
    for remark in getattr(source, "remarks", ()):
        say(f"note: {remark}")
    if "batch_factor" in given and completion_of(source) != "each":
        raise UsageError(
            f"--scale-batch does not apply to {path}, whose cases have a batch of their own; "
            f"{NAME_A_LOG}"
        )
    plain = {
        name: getattr(selection.settings, name)
        for name, setting in DECLARED.items()
        # A case that is incomplete has no settings yet.
        if (name in given or is_incomplete(source))
        and not setting.axis
        and name not in RULE_OPTIONS
    }
    several = {name: values for name, values in axes.items() if name in given}
    found = list(source.cases())
    cases: list[Case] = []
    for framework in dict.fromkeys(case.target.framework for case in found):
        own = [case for case in found if case.target.framework == framework]
        if is_incomplete(source):
            label = axes.get("python", ("",))[0]
            worker = workers.of(framework, Settings(python=label, imports=plain["imports"]))
            own = complete_cases(worker, source, own, selection.batch_factor, say)
            # Beside the user's axes those that have the framework's own default.
            resolved = {**several, **worker.resolve(framework_axes(several)).axes}
        else:
            resolved = _resolve(workers, framework, several)
        own = select_cases(own, selection)
        with_plain = (with_settings(case, plain) for case in own)
        cases += vary(with_plain, resolved, unite_of(source))
    if "no_backward" in given:
        cases = [msgspec.structs.replace(case, passes=("forward",)) for case in cases]
    earlier: tuple[Record, ...] = getattr(source, "records", ())
    return Plan(cases=tuple(cases), excluded=dict(source.excluded), earlier=earlier)


def _resolve(workers: Workers, framework: str, axes: Axes) -> Axes:
    """Returns the axes with the framework's values filled in. Starts no worker if no axis needs
    it."""
    asked = framework_axes(axes)
    if not asked:
        return axes
    label = axes.get("python", ("",))[0]
    found = workers.of(framework, Settings(python=label)).resolve(asked).axes
    return {**axes, **{name: found[name] for name in asked}}


def completion_of(source: Source) -> Completion | None:
    """Returns how the framework completes the cases of a recording or configuration; None for a
    source whose cases are complete."""
    found: Completion | None = getattr(source, "completion", None)
    return found


def is_incomplete(source: Source) -> bool:
    """Whether the framework completes the cases of a source."""
    return completion_of(source) is not None


def complete_cases(
    worker: Worker,
    source: Source,
    cases: Sequence[Case],
    batch_factor: float = 1.0,
    say: Say = lambda text: None,
) -> list[Case]:
    """Returns the cases of a source as their framework calls them, with their batch scaled, equal
    ones united. Raises `UsageError` for one that it cannot call, if that is an error of the
    file."""
    if not is_incomplete(source):
        return list(cases)
    completed = worker.complete(cases, batch_factor)
    if completion_of(source) == "all" and all(call.refusal for call in completed):
        for call in completed[:1]:
            raise UsageError(f"{call.case.origin}: {call.refusal}")
    if batch_factor != 1.0:
        scaled = sum(call.scaled for call in completed)
        say(
            f"the batch of {scaled} of {pluralize(len(completed), 'call')} was scaled by "
            f"{batch_factor:g}; the others are as recorded"
        )
    return list(unite_of(source)(call.case for call in completed))


UNITE: Mapping[Completion | None, Unite] = {"each": merge, "all": distinguish, None: deduplicate}
"""Functions that unite equal cases, by how a source's are completed: calls of a recording add up,
each of a configuration is measured, and a run file's case with two values of a setting is one."""


def unite_of(source: Source) -> Unite:
    """Returns what makes one of equal cases of a source."""
    return UNITE[completion_of(source)]


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
