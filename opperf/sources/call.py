"""A user's call as a source: a callable and its inputs: shapes, lists of shapes, numbers,
arrays."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import is_floating
from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.instruments.prepared import Bound, Key
from opperf.model import (
    Argument,
    Case,
    Fill,
    Kind,
    Number,
    Operator,
    OperatorTarget,
    Settings,
    Target,
    TensorSpec,
)
from opperf.rules.bounds import NOTHING
from opperf.rules.callables import bounds_of
from opperf.rules.engine import rules_module, with_output
from opperf.rules.ranges import Limit, Shape, is_shape, limit_of, reshaped, shapes_by_place
from opperf.rules.values import Arguments, holds_tensors
from opperf.sources.given import GivenArrays, is_array
from opperf.sources.overrides import rule_tensors
from opperf.sources.shapes import with_decided, within_range
from opperf.sources.varying import with_array_type

ORIGIN = "call:run_performance_test"

TENSOR_KINDS = (Kind.TENSOR, Kind.TENSORS, Kind.OTHER)
"""Kinds of parameters for which a tuple of integers is a shape."""

LISTED = ("arg", "args")
"""Names, beside the parameter's own, under which users may pass the tensors of a list one by one,
with their positions: `args0`, `args1`."""


def to_plain(value: Any) -> Any:
    """Returns a value in the form that cases have: numbers, strings, tuples of them.

    Raises `UsageError` for what a run file cannot hold: a function, bytes, and an array anywhere
    but in an argument or a list.
    """
    held = value.values() if isinstance(value, Mapping) else ()
    if any(map(is_array, (value, *held))):
        raise UsageError(
            "a case cannot hold an array inside a dict or a list of lists; pass it as an argument, "
            "and put it together in the measured function"
        )
    if isinstance(value, (bytes, bytearray)):
        raise UsageError("a case cannot hold bytes; pass np.frombuffer(them, np.uint8)")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(to_plain(element) for element in value)
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return Number.of(value)
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (type, np.dtype)):
        return np.dtype(value).name
    if inspect.isroutine(value):
        raise UsageError(
            f"a case cannot hold the function {value.__name__!r}; measure a function of your own "
            "that passes it on"
        )
    # The framework parses the text of a device or an enum.
    return str(value)


class UserCall:
    """The cases of one callable, one for each dict of inputs, in their order.

    `target` replaces the target that the framework finds for the callable. `dtype` is that which
    the user asks for, to which arrays are converted; empty to measure them as they are. `locate`
    returns the place of the array of inputs of that number.
    """

    def __init__(
        self,
        framework: Framework,
        function: Callable[..., Any],
        inputs: Iterable[Mapping[str, Any]],
        settings: Settings,
        backward: bool = True,
        target: Target | None = None,
        dtype: str = "",
        locate: Callable[[int, Any, TensorSpec], Fill] | None = None,
    ) -> None:
        self.excluded: dict[str, str] = {}
        """Inputs without a case, as `relu, inputs 0`, each with the reason."""
        self.target = target or framework.naming.target_of(function)
        self._framework, self._function, self._inputs = framework, function, inputs
        self._settings, self._backward = settings, backward and framework.gradients.supported
        self._dtype, self._locate = dtype, locate
        self.left: dict[str, str] = {}
        """Dtypes of the arrays that the user's could not be applied to, by place."""
        self._arrays: dict[Key, Any] = {}
        self._rules = rules_module(framework.rules)
        self._operator = framework.signature(self.target, function)
        self._array_type = framework.arrays.array_type(self.target)
        self._resolves_back = resolves_to(framework, self.target, function)
        wrapped = framework.naming.wrapped_operator(self.target, self._operator)
        self._names = {*self._operator.names, *(wrapped.names if wrapped else ())}
        self._known_in = functools.cache(
            lambda dtype: rule_tensors(framework, self._operator, wrapped, dtype)
        )

    @property
    def bound(self) -> Bound:
        """The user's objects of the cases yielded so far."""
        return Bound(arrays=self._arrays, function=None if self._resolves_back else self._function)

    def cases(self) -> Iterator[Case]:
        """Yields the cases; inputs without one are added to `excluded`."""
        for position, inputs in enumerate(self._inputs):
            try:
                yield self._case(position, inputs)
            except UsageError as error:
                self.excluded[f"{self.target.label}, inputs {position}"] = str(error)

    def _case(self, position: int, inputs: CallArguments) -> Case:
        if not isinstance(inputs, Mapping):
            raise UsageError(f"inputs are a dict of arguments, not {type(inputs).__name__}")
        inputs = collect_lists(inputs, self._operator)
        if isinstance(self.target, OperatorTarget):
            inputs = {self._operator.own_name(name): value for name, value in inputs.items()}
        locate = self._locate and functools.partial(self._locate, position)
        given = GivenArrays(self._framework, inputs, self._settings, self._dtype, locate)
        self._arrays |= given.held
        self.left |= given.left
        known: dict[str, TensorSpec] = {}
        made = {name: self._argument(name, value, known, given) for name, value in inputs.items()}
        arguments = with_array_type(self._within_range(made, known), self._array_type)
        arguments = with_output(self._operator, arguments, self._rules)
        dtype = given.label(arguments.values())
        return Case(
            target=self.target,
            arguments=arguments,
            settings=msgspec.structs.replace(self._settings, phase=self._phase(), dtype=dtype),
            passes=("forward", "backward") if self._backward else ("forward",),
            origin=ORIGIN,
            category=self._operator.category,
        )

    def _phase(self) -> Any:
        return "train" if self._names & self._rules.TRAIN_PHASE else "predict"

    def _within_range(self, made: Arguments, known: Mapping[str, TensorSpec]) -> Arguments:
        """Returns the arguments with indices in range, in the tensors that are `known`."""
        bounds = NOTHING
        if self._resolves_back:
            bounds = bounds_of(self._framework, self.target, self._operator)
        # Bounds are by the operator's own names.
        own_names = {name: self._operator.own_name(name) for name in made}
        named = {own_names[name]: value for name, value in made.items()}
        shapes = shapes_by_place(named)

        def limit(place: str) -> Limit:
            name, dot, position = place.partition(".")
            return limit_of(f"{own_names[name]}{dot}{position}", named, shapes, bounds)

        limited = within_range(known, made, limit)
        if not self._resolves_back:
            return limited
        arrays = [name for name in limited if not known.keys() & {name, f"{name}.0"}]
        return with_decided(self._framework, self.target, limited, arrays)

    def _argument(
        self, name: str, value: Any, known: dict[str, TensorSpec], given: GivenArrays
    ) -> Argument:
        """Returns an argument, and adds to `known` the tensors of a rule, by place."""
        parameter = self._operator.parameter(name)
        kind = parameter.kind if parameter is not None else Kind.OTHER
        if holds_tensors(value):
            return value  # type: ignore[no-any-return]
        if is_array(value):
            return given.specs[name]
        if kind not in TENSOR_KINDS:
            made: Argument = to_plain(value)
            is_operator = isinstance(self.target, OperatorTarget)
            return self._operator.expanded(name, made) if is_operator else made
        dtype = given.made_dtype
        if is_shape(value) and (value or kind is Kind.TENSOR):
            return self._shape_spec(name, name, value, known, dtype)
        if isinstance(value, (list, tuple)) and any(
            is_shape(element) or is_array(element) for element in value
        ):
            return tuple(
                given.specs[f"{name}.{i}"]
                if is_array(element)
                else self._shape_spec(place, f"{name}.{i}", element, known, dtype)
                if is_shape(element)
                else to_plain(element)
                for i, (place, element) in enumerate(
                    zip(self._places(name, len(value), dtype), value, strict=True)
                )
            )
        if isinstance(value, list) and kind is Kind.TENSOR:
            data = np.asarray(value)
            return TensorSpec(
                tuple(data.shape),
                dtype,
                Fill("literal", data=data.tolist()),
                gradient=self._takes_gradient(dtype),
            )
        return to_plain(value)  # type: ignore[no-any-return]

    def _places(self, name: str, count: int, dtype: str) -> list[str]:
        """Returns the keys in `_known_in` of the tensors of a list with `count` elements: `data.0`,
        `data.1` ... if the rule's list is as long and has different tensors, else `data`."""
        known = self._known_in(dtype)
        places = [f"{name}.{i}" for i in range(count)]
        own = places[-1] in known and f"{name}.{count}" not in known
        return places if own else [name] * count

    def _takes_gradient(self, dtype: str) -> bool:
        return self._framework.gradients.supported and is_floating(dtype)

    def _shape_spec(
        self, key: str, place: str, shape: Shape, known: dict[str, TensorSpec], dtype: str
    ) -> TensorSpec:
        """Returns a tensor of this shape, filled as by the operator's rule for that argument."""
        name, dot, position = key.partition(".")
        own = self._known_in(dtype).get(f"{self._operator.own_name(name)}{dot}{position}")
        if own is None:
            return TensorSpec(shape, dtype, gradient=self._takes_gradient(dtype))
        known[place] = own
        return reshaped(own, shape)


def resolves_to(framework: Framework, target: Target, function: Callable[..., Any]) -> bool:
    """Whether the target's path leads to this function."""
    try:
        return framework.function(target) is function
    except UnknownOperatorError:
        return False


def collect_lists(inputs: CallArguments, operator: Operator) -> CallArguments:
    """Returns the inputs with `args0`, `args1`, ... as one list, in the order of their numbers, if
    the operator takes a list of tensors and has no arguments of such names."""
    lists = [parameter.name for parameter in operator.tensors if parameter.kind is Kind.TENSORS]
    if len(lists) != 1 or lists[0] in inputs:
        return inputs
    pattern = re.compile(rf"(?:{'|'.join((*LISTED, re.escape(lists[0])))})(\d+)")
    numbers = {
        name: int(found.group(1))
        for name in inputs
        if operator.parameter(name) is None and (found := pattern.fullmatch(name))
    }
    if not numbers:
        return inputs
    listed = [inputs[name] for name in sorted(numbers, key=lambda name: numbers[name])]
    return {lists[0]: listed} | {n: value for n, value in inputs.items() if n not in numbers}
