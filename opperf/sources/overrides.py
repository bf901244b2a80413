"""Shapes and values of arguments that a user sets, in place of a rule's."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from opperf.dtypes import is_floating
from opperf.errors import UsageError, suggest
from opperf.frameworks import Framework
from opperf.model import Argument, Fill, Kind, Operator, Target, TensorSpec, iter_tensors
from opperf.ranges import UNNAMED, shape_text
from opperf.rules.engine import Inputs, inputs_for, rules_module
from opperf.rules.ranges import reshaped
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS, Preset
from opperf.rules.values import Arguments, rename_arguments
from opperf.sources.selecting import Selection
from opperf.sources.shapes import Shapes

VALUED = "+arg"
"""End of the origin of inputs with a user's values."""

OWN = "options:--shape,--arg"
"""Origin of inputs that a user's options define, without a rule."""

WHY_OWN = "the arguments of --shape and --arg"
"""Why an operator has inputs of that origin."""

LACKS = "it has no argument"
"""Beginning of the reason why an operator is excluded that lacks an argument of the user's."""

TENSORS = (Kind.TENSOR, Kind.TENSORS, Kind.OTHER)
"""Kinds of parameters that may take a tensor; what a Python function takes is unknown."""


class Overrides(NamedTuple):
    """Shapes and values that a user sets, by the name of the argument."""

    shapes: Shapes
    values: Mapping[str, Argument]

    @classmethod
    def of(cls, selection: Selection) -> Overrides:
        """Returns those of a selection."""
        return cls(selection.shapes, selection.values)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.shapes, *self.values)

    def renamed(self, names: Mapping[str, str]) -> Overrides:
        """Returns them with other names of some arguments."""
        if not names:
            return self
        return Overrides(
            {names.get(name, name): shape for name, shape in self.shapes.items()},
            {names.get(name, name): value for name, value in self.values.items()},
        )

    def aliases(self, operator: Operator) -> dict[str, str]:
        """Returns the operator's own names of those arguments that are named otherwise."""
        own = {name: operator.own_name(name) for name in self.names if name != UNNAMED}
        obvious = obvious_input(operator) if UNNAMED in self.names else None
        own |= {UNNAMED: obvious} if obvious is not None else {}
        for name, other in own.items():
            if name != other and list(own.values()).count(other) > 1:
                raise UsageError(f"{self.option(name)}: {name} is {other}; set it once")
        return {name: other for name, other in own.items() if name != other}

    def option(self, name: str) -> str:
        """Returns the beginning of the option that sets an argument."""
        if name == UNNAMED:
            return f"--shape {shape_text(name, self.shapes[name])}"
        return f"--{'shape' if name in self.shapes else 'arg'} {name}=..."

    def __str__(self) -> str:
        shapes = (f"--shape {shape_text(name, shape)}" for name, shape in self.shapes.items())
        values = (f"--arg {name}={_text(value)}" for name, value in self.values.items())
        return " ".join((*shapes, *values))


def _text(value: Argument) -> str:
    return value if isinstance(value, str) else repr(value)


class Accepted(NamedTuple):
    """The names of an operator's arguments: of its signature, and of its rule's inputs, which may
    have further ones. They are empty for a callable without a signature, which may take any."""

    all: tuple[str, ...]
    of_shapes: tuple[str, ...]
    """Those that may be tensors."""
    aliases: tuple[str, ...] = ()
    """Other names of some."""

    def of_a_users_function(self) -> Accepted:
        """Returns them for a function of the user's, of which no name says what an argument is."""
        return self._replace(of_shapes=self.all)

    def lacks(self, overrides: Overrides) -> list[str]:
        """Returns the names of the user's that an operator needs and that are not among them: one
        of the shapes, which may be for several operators, and all of the values."""
        shapes = [] if self.shapes(overrides) else list(overrides.shapes)
        return shapes + [n for n in overrides.values if self.all and n not in self.all]

    def shapes(self, overrides: Overrides) -> Shapes:
        """Returns the user's shapes that are for the operator."""
        own = self.of_shapes or tuple(overrides.shapes)
        return {name: shape for name, shape in overrides.shapes.items() if name in own}


def accepted(operator: Operator, made: list[Inputs] | NoInputs) -> Accepted:
    """Returns the names of an operator's arguments."""
    inputs = [] if isinstance(made, NoInputs) else made
    held = [item for candidate in inputs for item in candidate.arguments.items()]
    declared = [(p.name, p.kind in TENSORS) for p in operator.parameters]
    named = declared + [(name, any(iter_tensors(value))) for name, value in held]
    aliases = tuple(alias for parameter in operator.parameters for alias in parameter.aliases)
    return Accepted(
        tuple(dict.fromkeys(name for name, _ in named)),
        tuple(dict.fromkeys(name for name, is_tensor in named if is_tensor)),
        aliases if obvious_input(operator) is None else (*aliases, UNNAMED),
    )


LEARNT = re.compile(r"(weight|bias|gamma|beta|(running|moving)_(mean|var|inv_var))s?")
"""Names of tensors that a layer has learnt, beside its input."""


def obvious_input(operator: Operator) -> str | None:
    """Returns the only tensor that a call needs, besides what a layer has learnt, if any."""
    return only_input(p.name for p in operator.parameters if p.required and p.kind in TENSORS)


def only_input(names: Iterable[str]) -> str | None:
    """Returns the only one of required tensors that a layer has not learnt, if any."""
    needed = list(names)
    inputs = [name for name in needed if not LEARNT.fullmatch(name)] or needed
    return inputs[0] if len(inputs) == 1 else None


LISTED = 3
"""Most operators whose arguments an error lists: one or two lines of a terminal."""


def check_names(
    overrides: Overrides,
    arguments: Mapping[str, Accepted],
    partners: Iterable[tuple[Target, Operator]] = (),
) -> None:
    """Raises `UsageError` for a name that no operator has. `arguments` are those of each operator,
    by its label; errors name those of `partners` beside them."""
    for name in overrides.names:
        shaped = name in overrides.shapes
        names = {label: own.of_shapes if shaped else own.all for label, own in arguments.items()}
        is_known = name != UNNAMED and any(name in own or not own for own in names.values())
        if not names or is_known or any(name in own.aliases for own in arguments.values()):
            continue
        known = dict.fromkeys(each for listed in names.values() for each in listed)
        has = [
            f"{label} has {', '.join(own) or 'none'}" for label, own in list(names.items())[:LISTED]
        ]
        if name == UNNAMED:
            shape = overrides.shapes[name]
            raise UsageError(
                f"{overrides.option(name)}: which input has this shape? {'; '.join(has)}; "
                f"write --shape {shape_text(next(iter(known), 'NAME'), shape)}"
            )
        for target, operator in partners:
            own = ", ".join(parameter.name for parameter in operator.parameters)
            says = f"has {own}" if own else "says none"
            has.append(f"{target.label}, which it is compared with, {says}")
        whose = next(iter(names)) if len(names) == 1 else "no selected operator"
        kind = "tensor argument" if shaped else "argument"
        raise UsageError(
            f"{overrides.option(name)}: {whose} has {'no' if len(names) == 1 else 'the'} {kind} "
            f"{name!r}{suggest(name, known)} ({'; '.join(has)})"
        )


def own_inputs(
    framework: Framework,
    target: Target,
    operator: Operator,
    overrides: Overrides,
    preset: Preset,
    dtype: str,
) -> list[Inputs] | NoInputs:
    """Returns the inputs of an operator without a rule: what the user sets, and for other required
    arguments what a rule has by their names; or why that is not possible."""
    rest = tuple(p for p in operator.parameters if p.name not in overrides.names)
    required = [parameter.name for parameter in rest if parameter.required]
    base = [Inputs({}, OWN, why=WHY_OWN)]
    if required:
        others = msgspec.structs.replace(operator, name="", category="", parameters=rest)
        made = inputs_for(others, rules_module(framework.rules), preset, dtype)
        if isinstance(made, NoInputs):
            return NoInputs(
                f"no rule has a value for {', '.join(required)}; set each with --shape or --arg"
            )
        base = [dataclasses.replace(candidate, origin=OWN, why=WHY_OWN) for candidate in made[:1]]
    return with_tensors(framework, target, operator, base, overrides.shapes, dtype)


def with_tensors(
    framework: Framework,
    target: Target,
    operator: Operator,
    inputs: list[Inputs],
    shapes: Shapes,
    dtype: str,
) -> list[Inputs]:
    """Returns the inputs that have a tensor for each of the shapes. If none has, all of them, with
    the tensors that they lack added."""
    complete = [
        candidate
        for candidate in inputs
        if all(any(iter_tensors(candidate.arguments.get(name))) for name in shapes)
    ]
    if complete:
        return complete
    wrapped = framework.naming.wrapped_operator(target, operator)
    known = rule_tensors(framework, operator, wrapped, dtype)
    takes_gradient = framework.gradients.supported and is_floating(dtype)

    def added(own: Arguments) -> Arguments:
        lacking = {n: shape for n, shape in shapes.items() if not any(iter_tensors(own.get(n)))}
        return own | {
            name: reshaped(known[name], shape)
            if name in known
            else TensorSpec(shape, dtype, gradient=takes_gradient)
            for name, shape in lacking.items()
        }

    return [
        dataclasses.replace(candidate, arguments=_in_order(operator, added(candidate.arguments)))
        for candidate in inputs
    ]


def _in_order(operator: Operator, arguments: Arguments) -> Arguments:
    """Returns the arguments in the order of the operator's own, as some calls are positional."""
    order = [p.name for p in operator.parameters if p.name in arguments]
    return {name: arguments[name] for name in (*order, *arguments)}


def with_values(
    operator: Operator, inputs: list[Inputs], values: Mapping[str, Argument], dtype: str
) -> list[Inputs]:
    """Returns the inputs with the user's values. Those of a tensor are its data."""
    if not values:
        return inputs
    made = []
    for candidate in inputs:
        own = candidate.arguments
        set_here = {
            name: _value(operator, name, operator.expanded(name, value), own.get(name), dtype)
            for name, value in values.items()
        }
        arguments = _in_order(operator, {**own, **set_here})
        made.append(
            dataclasses.replace(
                candidate, arguments=arguments, origin=f"{candidate.origin}{VALUED}"
            )
        )
    return made


def _value(operator: Operator, name: str, value: Argument, own: Argument, dtype: str) -> Argument:
    parameter = operator.parameter(name)
    takes_tensor = parameter is not None and parameter.kind is Kind.TENSOR
    if not isinstance(value, tuple) or not (takes_tensor or isinstance(own, TensorSpec)):
        return value
    # The manager imports this module and needs no NumPy.
    import numpy as np

    try:
        data = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(
            f"--arg {name}={_text(value)}: the data of a tensor are numbers, in rows of one length"
        ) from None
    of = own.dtype if isinstance(own, TensorSpec) else dtype
    gradient = isinstance(own, TensorSpec) and own.gradient
    plain = np.array(value).tolist()
    return TensorSpec(tuple(data.shape), of, Fill("literal", data=plain), gradient=gradient)


def rule_tensors(
    framework: Framework, operator: Operator, wrapped: Operator | None, dtype: str
) -> dict[str, TensorSpec]:
    """Returns the tensors of the rule for the operator that a callable wraps, by the callable's own
    arguments: of a list the first, and each as `data.0` if they differ. For a callable that wraps
    none, only the names of its arguments count, as a user's function `sum` need not compute one."""
    known = wrapped or msgspec.structs.replace(operator, name="", category="")
    made = inputs_for(known, rules_module(framework.rules), PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    specs: dict[str, TensorSpec] = {}
    for inputs in reversed(made):
        for name, value in rename_arguments(operator, inputs.arguments).items():
            if isinstance(value, TensorSpec):
                specs[name] = value
            elif isinstance(value, tuple) and value and isinstance(value[0], TensorSpec):
                specs |= _listed(name, value, dtype)
    return specs


def _listed(name: str, value: tuple[Any, ...], dtype: str) -> dict[str, TensorSpec]:
    """The first, and each if they differ in more than their dtype."""
    listed = [element for element in value if isinstance(element, TensorSpec)]
    alike = [msgspec.structs.replace(spec, dtype=dtype) for spec in listed]
    # An operator that mixes dtypes, as amp_multicast, needs none of them.
    mixed = len({spec.dtype for spec in listed}) > 1
    specs = {name: alike[0] if mixed else listed[0]}
    if any(spec != alike[0] for spec in alike):
        specs.update((f"{name}.{i}", spec) for i, spec in enumerate(listed))
    return specs
