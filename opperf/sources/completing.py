"""Completes the cases of sources that know no framework, as recordings and configurations.

Such a case has its target by a name that users know, some arguments by position, and tensors of
which only shape and dtype are known. In the framework's process they become the target under its
canonical name, arguments by name, and contents that suit the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from opperf.errors import UnknownOperatorError, UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.model import (
    CallableTarget,
    CallSite,
    Case,
    ObjectTarget,
    Operator,
    OperatorTarget,
    Struct,
    Target,
    split_positional,
)
from opperf.plurals import pluralize
from opperf.rules.contents import as_by_rule, layer_contents
from opperf.rules.engine import rules_module
from opperf.rules.shapes import Shape
from opperf.rules.values import Arguments, without_gradients
from opperf.sources.batch import find_batch, scale
from opperf.sources.shapes import under_operator_names
from opperf.sources.varying import with_array_type


class Completed(Struct, frozen=True):
    """A case as the framework calls it, or as far as it is known, and why it cannot be called."""

    case: Case
    refusal: str = ""
    scaled: bool = False
    """Whether its batch was scaled."""
    only_views: bool = False
    """Whether it only makes a view of an argument."""


def complete(
    framework: Framework, cases: Sequence[Case], batch_factor: float = 1.0
) -> tuple[Completed, ...]:
    """Returns the cases as the framework calls them, with their batch scaled.

    Raises `UsageError` if it is to be scaled and the cases have none.
    """
    known: Known = {}
    made = [_named(framework, case, known) for case in cases]
    if batch_factor != 1.0:
        made = list(_in_batch(framework, made, batch_factor))
    return tuple(
        completed if completed.refusal else _called(framework, completed, known)
        for completed in made
    )


def _named(framework: Framework, case: Case, known: Known) -> Completed:
    try:
        case = with_names(framework, case, known)
    except UnsupportedError:
        # A package that is not installed, as the case's record will say.
        return Completed(case)
    except UnknownOperatorError as error:
        return Completed(case, str(error))
    return Completed(case, only_views=framework.inference.only_views(case.target))


def _called(framework: Framework, completed: Completed, known: Known) -> Completed:
    try:
        return msgspec.structs.replace(completed, case=as_called(framework, completed.case, known))
    except UnsupportedError:
        return completed
    except (UnknownOperatorError, UsageError) as error:
        return msgspec.structs.replace(completed, refusal=str(error))


def _in_batch(
    framework: Framework, cases: Sequence[Completed], factor: float
) -> Iterator[Completed]:
    """Yields the cases with their batch scaled, where they have one. Raises `UsageError`."""
    batch = find_batch(completed.case for completed in cases)
    if batch is None:
        raise UsageError("--scale-batch: no call has a tensor of several axes")
    for completed in cases:
        made = (
            completed.case
            if completed.refusal
            else scale(completed.case, batch, factor, framework.inference.output_shapes)
        )
        yield msgspec.structs.replace(completed, case=made, scaled=made != completed.case)


class Called(NamedTuple):
    """A target as a framework knows it."""

    target: Target
    """Under its canonical name."""
    function: Callable[..., Any]
    signature: Operator
    operator: Operator | None
    """The operator that it is or calls."""


Known = dict[Target, Called]
"""Targets as the framework knows them, which takes it milliseconds to find."""


def look_up(framework: Framework, target: Target, known: Known) -> Called:
    """Returns what a target is, and adds it to `known`; of a class of layers, an object built
    without arguments. Raises `UnknownOperatorError`, and `UnsupportedError` for a package that is
    not installed."""
    if target in known:
        return known[target]
    found = _target(framework, target)
    function = framework.function(found)
    signature = framework.signature(found, function)
    operator = None
    if framework.objects.is_layer(function):
        assert isinstance(found, CallableTarget)
        found = ObjectTarget(found.framework, found.path)
    else:
        operator = framework.naming.wrapped_operator(found, signature)
    return known.setdefault(target, Called(found, function, signature, operator))


def with_names(framework: Framework, case: Case, known: Known) -> Case:
    """Returns a case with its target under the framework's own name, and the arguments of an
    operator by name, as far as it has such. Raises the errors of `look_up`."""
    if isinstance(case.target, ObjectTarget):
        return case
    if isinstance(case.target, OperatorTarget) and not case.target.overload:
        case = framework.recordings.with_overload(case)
    target, _, signature, _ = look_up(framework, case.target, known)
    case = msgspec.structs.replace(case, target=target, category=signature.category)
    if not isinstance(target, OperatorTarget):
        return case
    try:
        arguments = _by_name(target.path, signature, case.arguments)
    except UsageError:
        # What is wrong is said of the whole call.
        return case
    return msgspec.structs.replace(case, arguments=arguments)


def as_called(framework: Framework, case: Case, known: Known) -> Case:
    """Returns a case that has its names as the framework calls it. Raises `UsageError` for
    arguments that the target lacks, and the errors of `look_up`."""
    if isinstance(case.target, ObjectTarget):
        return _completed_object(framework, case, case.target)
    target, function, signature, operator = look_up(framework, case.target, known)
    arguments = with_array_type(case.arguments, framework.arrays.array_type(target))
    own = rules_module(framework.rules).RECORDED
    missed: list[str] = []

    def contents(operator: Operator, arguments: Arguments) -> Arguments:
        made = as_by_rule(framework, operator, own(operator, arguments), case.returned)
        missed.extend(made.missed)
        return made.arguments

    if isinstance(target, OperatorTarget):
        arguments = contents(signature, _by_name(target.path, signature, arguments))
    elif operator is not None:
        arguments = under_operator_names(operator, function, arguments, contents)
    unlike = (
        f"it returned {', '.join(map(str, case.returned))}, and with other contents may not here"
    )
    why = "; ".join(filter(None, (case.why, unlike if missed else "")))
    case = msgspec.structs.replace(case, arguments=arguments, returned=(), why=why)
    return _with_passes(framework, case)


def _completed_object(framework: Framework, case: Case, target: ObjectTarget) -> Case:
    """Returns the case of an object, in the phase in which layers do all that they do."""
    constructor = framework.objects.constructor(target)
    if not isinstance(constructor, type) and framework.naming.place(
        CallableTarget(target.framework, target.path)
    ):
        raise UsageError(f"{target.path} is a function, which is not built: omit its `build`")
    arguments = with_array_type(case.arguments, framework.arrays.array_type(target))
    arguments = layer_contents(target, arguments)
    settings = msgspec.structs.replace(case.settings, phase="train")
    case = msgspec.structs.replace(
        case, target=target, arguments=arguments, settings=settings, category=LAYER
    )
    return _with_passes(framework, case)


LAYER = "layer"
"""Category of objects that are built before they are called."""


def _with_passes(framework: Framework, case: Case) -> Case:
    """Without backward pass and gradients, where the framework has none."""
    if framework.gradients.supported:
        return case
    arguments = without_gradients(case.arguments)
    return msgspec.structs.replace(case, arguments=arguments, passes=("forward",))


def _target(framework: Framework, target: Target) -> Target:
    if isinstance(target, CallableTarget):
        return framework.naming.callable_target(target.path)
    if not isinstance(target, OperatorTarget):
        return target
    found = framework.resolve(target.path)
    return framework.naming.callable_target(target.path) if found is None else found.target


def _by_name(path: str, signature: Operator, arguments: Arguments) -> Arguments:
    """In the order of its parameters, if it declares any. Raises `UsageError`."""
    if not signature.parameters:
        # Its registry declares none, as those of primitives.
        return arguments
    names = [parameter.name for parameter in signature.parameters]
    unnamed, named = split_positional(arguments)
    if len(unnamed) > len(names):
        raise UsageError(f"{path} takes {pluralize(len(names), 'argument')}, not {len(unnamed)}")
    made = dict(zip(names, unnamed, strict=False))
    for name, value in named.items():
        name = signature.own_name(name)
        if name not in names:
            raise UsageError(f"{path} has no argument {name!r}")
        if name in made:
            raise UsageError(f"{path} has two values of the argument {name!r}")
        made[name] = value
    return {name: signature.expanded(name, made[name]) for name in names if name in made}


def merge(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases, calls of those of one id that returned the same added up."""
    found: dict[tuple[str, tuple[Shape, ...]], Case] = {}
    for case in cases:
        key = case.id, case.returned
        earlier = found.get(key)
        if earlier is not None:
            case = msgspec.structs.replace(
                earlier,
                count=earlier.count + case.count,
                sites=merge_sites((*earlier.sites, *case.sites)),
                recorded=(*earlier.recorded, *case.recorded),
            )
        found[key] = case
    return list(found.values())


def merge_sites(sites: Iterable[CallSite]) -> tuple[CallSite, ...]:
    """Returns each place once, with the number and time of all its calls."""
    found: dict[CallSite, CallSite] = {}
    for site in sites:
        place = msgspec.structs.replace(site, count=1, time_ns=None)
        earlier = found.get(place)
        if earlier is not None:
            timed = [time for time in (earlier.time_ns, site.time_ns) if time is not None]
            site = msgspec.structs.replace(
                site, count=earlier.count + site.count, time_ns=sum(timed) if timed else None
            )
        found[place] = site
    return tuple(found.values())


def distinguish(cases: Iterable[Case]) -> list[Case]:
    """Returns the cases, each that equals earlier ones with their number."""
    seen: Counter[str] = Counter()
    made = []
    for case in cases:
        plain = msgspec.structs.replace(case, repeat=0)
        made.append(msgspec.structs.replace(case, repeat=seen[plain.id]))
        seen[plain.id] += 1
    return made
