"""Inputs of callables by dotted path, by what they compute and not by the last word of the path."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from opperf.frameworks import Framework, load
from opperf.model import Argument, CallableTarget, Operator, OperatorTarget, Target, iter_tensors
from opperf.rules.bounds import NOTHING, Bounds, find_bounds
from opperf.rules.callers import inputs_of_callers
from opperf.rules.engine import Inputs, RulesModule, inputs_for, make_inputs, rules_module
from opperf.rules.faults import guarded
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS, Preset
from opperf.rules.values import Arguments

NOWHERE_TO_WRITE = NoInputs("its result fits in none of the tensors that its rule has for it")
"""Why an operator that writes to an argument has no inputs, though its rule makes some."""

NUMPY = "numpy"
"""The framework whose functions other frameworks' NumPy interfaces offer."""


def inputs_for_target(
    framework: Framework,
    target: Target,
    called: Operator,
    preset: Preset,
    dtype: str,
    found: Arguments | None = None,
) -> list[Inputs] | NoInputs:
    """Returns the inputs of a target with the signature `called`, or why there are none.

    A registered operator has those of its rule, or those that its callers give it; one that writes
    to a tensor of the caller has those of the operator that returns it. A function of
    the framework has its own by its place, else those of the operator that it calls or wraps, else
    those of NumPy's function if it is one of the framework's NumPy interface. Any other callable
    has inputs by the names of its arguments, whatever its own name: a user's `sum` need not compute
    a sum. `found` are a search's inputs. Where the code of a rule fails, the reason says so.
    """
    # Rules that cannot be registered are no fault of one operator.
    rules = rules_module(framework.rules)
    return guarded(lambda: _inputs_for(framework, rules, target, called, preset, dtype, found))


def _inputs_for(
    framework: Framework,
    rules: RulesModule,
    target: Target,
    called: Operator,
    preset: Preset,
    dtype: str,
    found: Arguments | None,
) -> list[Inputs] | NoInputs:
    if isinstance(target, OperatorTarget):
        callers = framework.inference.callers(called)
        if callers is not None:
            return inputs_of_callers(framework, called, callers, preset, dtype)
        alike = None if rules.FAMILIES.has_users(called) else framework.inference.returning(called)
        if alike is not None:
            made = inputs_for(alike, rules, preset, dtype)
            if isinstance(made, list):
                return made
        made = inputs_for(called, rules, preset, dtype, found)
        if isinstance(made, NoInputs):
            return made
        fitting = [
            inputs for inputs in made if framework.inference.fits_in_place(called, inputs.arguments)
        ]
        return fitting if fitting or not made else NOWHERE_TO_WRITE
    if called.namespace:
        made = inputs_for(called, rules, preset, dtype, found)
        return made if isinstance(made, NoInputs) else _of_array_type(framework, target, made)
    place = framework.naming.place(target)
    own = rules.FUNCTIONS.get(place)
    if isinstance(own, str):
        return NoInputs(own)
    if own is not None:
        return make_inputs(called, rules, own, preset, dtype)
    translated = [
        _translate(framework, operator, called, made)
        for operator, owner in _equals(framework, rules, target, called, place)
        if not isinstance(made := inputs_for(operator, owner, preset, dtype), NoInputs)
    ]
    # First those that lose no argument: without its axes, `tensordot` takes other tensors.
    for is_complete in (True, False):
        for pairs in translated:
            inputs = [one for one, complete in pairs if complete or not is_complete]
            if inputs := _of_array_type(framework, target, inputs):
                return inputs
    nameless = msgspec.structs.replace(called, name="", category="")
    by_name = inputs_for(nameless, rules, preset, dtype)
    if isinstance(by_name, NoInputs) and not place and needs_no_arguments(framework, target):
        return [Inputs({}, WITHOUT, why="a function that needs no argument")]
    return by_name


WITHOUT = "call:without arguments"
"""Origin of the inputs of a function that needs no argument."""


def needs_no_arguments(framework: Framework, target: Target) -> bool:
    """Whether a callable's signature says that it can be called without arguments."""
    try:
        declared = inspect.signature(framework.function(target)).parameters.values()
    except (TypeError, ValueError):
        # A function written in C may have no signature.
        return False
    return all(
        item.kind is item.VAR_KEYWORD
        or (item.kind is not item.VAR_POSITIONAL and item.default is not item.empty)
        for item in declared
    )


SIZES = (
    *(PRESETS[name] for name in ("small", "default", "large")),
    dataclasses.replace(PRESETS["small"], matrix=(40, 72)),
)
"""Sizes at which the bounds of indices are looked for: in the last, no matrix is square."""


def bounds_of(framework: Framework, target: Target, called: Operator | None = None) -> Bounds:
    """Returns what bounds the integers in a target's inputs, with its signature if it is known."""
    if not isinstance(target, (OperatorTarget, CallableTarget)):
        return NOTHING
    # A protocol has no hash that mypy knows of.
    known: Any = framework
    return _bounds(known, target, called or _signature(known, target))


# Both take milliseconds, and each case of a target asks.
@functools.cache
def _signature(framework: Any, target: Target) -> Operator:
    made: Operator = framework.signature(target)
    return made


@functools.cache
def _bounds(framework: Any, target: Target, called: Operator) -> Bounds:
    sizes = [inputs_for_target(framework, target, called, size, "float32") for size in SIZES]
    listed = [inputs.arguments for made in sizes if isinstance(made, list) for inputs in made]
    return find_bounds(listed, called)


def _of_array_type(framework: Framework, target: Target, made: list[Inputs]) -> list[Inputs]:
    """Returns the inputs that a function's type of arrays has; the default one has all layouts."""
    is_other = framework.arrays.array_type(target)
    return [inputs for inputs in made if inputs.is_dense or not is_other]


def _equals(
    framework: Framework, rules: RulesModule, target: Target, called: Operator, place: str
) -> Iterator[tuple[Operator, RulesModule]]:
    """Yields the operators that compute what a callable does, each with its framework's rules."""
    wrapped = framework.naming.wrapped_operator(target, called)
    if wrapped is not None:
        yield wrapped, rules
    prefix = rules.NUMPY_INTERFACE
    if prefix and place.startswith(prefix):
        numpy = load(NUMPY)
        function = numpy.resolve(place.removeprefix(prefix))
        if function is not None:
            yield function, rules_module(numpy.rules)


def _translate(
    framework: Framework, operator: Operator, called: Operator, made: Iterable[Inputs]
) -> list[tuple[Inputs, bool]]:
    """Returns an operator's inputs under a callable's names, and if they have all arguments."""
    pairs = []
    for inputs in made:
        arguments = own_arguments(operator, called, inputs.arguments)
        if arguments is None or not _has_dtypes(framework, arguments):
            continue
        same = dataclasses.replace(inputs, arguments=arguments)
        pairs.append((same, len(arguments) == len(inputs.arguments)))
    return pairs


def _has_dtypes(framework: Framework, arguments: Arguments) -> bool:
    """Whether a framework has the dtypes of all tensors."""
    specs = (spec for value in arguments.values() for spec in iter_tensors(value))
    return all(spec.dtype in framework.dtypes for spec in specs)


def own_arguments(operator: Operator, called: Operator, arguments: Arguments) -> Arguments | None:
    """Returns an operator's arguments under the names of a callable that computes the same. None if
    the callable requires another argument, or has no place for a tensor.

    An argument keeps its name where the callable has it. Another has the callable's name at its
    place in the signature: `x1` of `_npi_lcm` is `a` elsewhere. A plain value moves so only to an
    argument that is required, as optional ones have another order, and is otherwise left to the
    callable.
    """
    accepted = {parameter.name: parameter for parameter in called.parameters}
    if not accepted:
        return arguments
    names, declared = list(accepted), [parameter.name for parameter in operator.parameters]
    made: dict[str, Argument] = {}
    for name, value in arguments.items():
        place = declared.index(name) if name in declared else len(names)
        other = names[place] if place < len(names) and names[place] not in arguments else ""
        is_tensor = any(iter_tensors(value))
        if name in accepted:
            made[name] = value
        elif other and (is_tensor or accepted[other].required):
            made[other] = value
        elif is_tensor:
            return None
    required = {parameter.name for parameter in called.parameters if parameter.required}
    if not required <= made.keys():
        return None
    # A function that takes any arguments gets them in this order.
    return {name: made[name] for name in accepted if name in made}
