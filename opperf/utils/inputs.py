"""From the inputs a user writes to a case: shapes, lists of shapes, numbers, arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import is_floating
from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import Framework
from opperf.model import Argument, Case, Fill, Kind, Number, Operator, Settings, Target, TensorSpec
from opperf.rules.engine import (
    NoInputs,
    holds_tensors,
    inputs_for,
    rules_module,
    under_own_names,
    with_output,
)
from opperf.rules.ranges import Shape, in_range, is_shape, limit_at, shapes_by_place
from opperf.rules.sizes import PRESETS
from opperf.runner.prepared import Bound
from opperf.sources.registry import with_array_type
from opperf.utils.namespaces import registered

ORIGIN = "call:run_performance_test"

TENSOR_KINDS = (Kind.TENSOR, Kind.TENSORS, Kind.OTHER)
"""Kinds of parameter for which a tuple of whole numbers is a shape."""

LISTED = ("arg", "args")
"""What MXNet's documentation and its symbols call the tensors of an operator of any number of
them, each with its position behind: `args0`, `args1`."""


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or of a framework, and not a number."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic)


def plain(value: Any) -> Any:
    """A value as a case holds it: numbers, strings, tuples of them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(plain(element) for element in value)
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return Number.of(value)
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (type, np.dtype)):
        return np.dtype(value).name
    # A device, an enum: their text is what the framework reads back.
    return str(value)


@dataclass
class CaseBuilder:
    """Builds cases of one callable, and keeps the arrays that they stand for."""

    framework: Framework
    function: Callable[..., Any]
    target: Target
    settings: Settings
    run_backward: bool
    arrays: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = rules_module(self.framework.rules)
        self.operator = self.framework.signature(self.target, self.function)
        self.array_type = self.framework.array_type(self.target)
        self._reachable = leads_to(self.framework, self.target, self.function)
        behind = registered(self.framework, self.target, self.operator)
        self._names = {*self.operator.names, *(behind.names if behind else ())}
        self._known = known_specs(self.framework, self.operator, behind, self.settings.dtype)

    @property
    def bound(self) -> Bound:
        """The objects the cases refer to."""
        return Bound(arrays=self.arrays, function=None if self._reachable else self.function)

    def case(self, inputs: Mapping[str, Any]) -> Case:
        """The case of one set of inputs. Raises `UsageError` for what is no input."""
        if not isinstance(inputs, Mapping):
            raise UsageError(
                f"inputs of {self.target.label} are a dict of arguments, "
                f"not {type(inputs).__name__}"
            )
        inputs = with_lists(inputs, self.operator)
        shapes = shapes_by_place(inputs)
        arguments = {
            name: with_array_type(self._argument(name, value, shapes), self.array_type)
            for name, value in inputs.items()
        }
        return Case(
            target=self.target,
            arguments=with_output(self.operator, arguments, self._rules),
            settings=msgspec.structs.replace(self.settings, phase=self._phase()),
            passes=("forward", "backward") if self.run_backward else ("forward",),
            origin=ORIGIN,
            category=self.operator.category,
        )

    def _phase(self) -> Any:
        return "train" if self._names & self._rules.TRAIN_PHASE else "predict"

    def _argument(self, name: str, value: Any, shapes: Mapping[str, Shape]) -> Argument:
        parameter = self.operator.parameter(name)
        kind = parameter.kind if parameter is not None else Kind.OTHER
        if holds_tensors(value):
            return value  # type: ignore[no-any-return]
        if is_array(value):
            return self._given(value)
        if kind not in TENSOR_KINDS:
            made: Argument = plain(value)
            return made
        if is_shape(value) and (value or kind is Kind.TENSOR):
            return self._spec(name, value, limit_at(name, shapes))
        if isinstance(value, (list, tuple)) and any(
            is_shape(element) or is_array(element) for element in value
        ):
            return tuple(
                self._given(element)
                if is_array(element)
                else self._spec(place, element, limit_at(f"{name}.{i}", shapes))
                if is_shape(element)
                else plain(element)
                for i, (place, element) in enumerate(
                    zip(self._places(name, len(value)), value, strict=True)
                )
            )
        if isinstance(value, list) and kind is Kind.TENSOR:
            data = np.asarray(value)
            return TensorSpec(
                tuple(data.shape),
                self.settings.dtype,
                Fill("literal", data=data.tolist()),
                gradient=self._floating(),
            )
        return plain(value)  # type: ignore[no-any-return]

    def _places(self, name: str, count: int) -> list[str]:
        """Where the rule has what fills the elements of a list of so many: each has its own, as
        `data.0`, in a list of tensors of several kinds that is as long as the rule's."""
        places = [f"{name}.{i}" for i in range(count)]
        own = places[-1] in self._known and f"{name}.{count}" not in self._known
        return places if own else [name] * count

    def _floating(self) -> bool:
        return is_floating(self.settings.dtype)

    def _given(self, value: Any) -> TensorSpec:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and self._floating():
            # NumPy makes float64 unasked; the dtype asked for is the other tensors' too.
            value = value.astype(
                "float32" if self.settings.dtype == "bfloat16" else self.settings.dtype
            )
        spec = self.framework.describe(value)
        if spec is None:
            raise UsageError(f"{type(value).__name__} is no array that {self.framework.name} takes")
        self.arrays[spec.fill.digest] = value
        return spec

    def _spec(self, name: str, shape: Shape, limit: int | None) -> TensorSpec:
        """A tensor of this shape, filled as the operator's own rule fills that argument."""
        known = self._known.get(name)
        if known is None:
            return TensorSpec(shape, self.settings.dtype, gradient=self._floating())
        return in_range(known, shape, limit)


def leads_to(framework: Framework, target: Target, function: Callable[..., Any]) -> bool:
    """Whether a target alone leads to this very function."""
    try:
        return framework.function(target) is function
    except UnknownOperatorError:
        return False


def with_lists(inputs: Mapping[str, Any], operator: Operator) -> Mapping[str, Any]:
    """The inputs with `args0`, `args1`, ... as one list, in the order of their numbers, if the
    operator takes a list of tensors and has no arguments of such names."""
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


def known_specs(
    framework: Framework, operator: Operator, behind: Operator | None, dtype: str
) -> dict[str, TensorSpec]:
    """The tensors of the rule for the operator `behind` a callable, by the callable's own
    arguments: of a list the first, and each as `data.0` where they are of several kinds. A
    callable that is no operator's goes by the names of its arguments alone: a function of a
    user's called `sum` need not be one."""
    known = behind or msgspec.structs.replace(operator, name="", category="")
    made = inputs_for(known, rules_module(framework.rules), PRESETS["small"], dtype)
    if isinstance(made, NoInputs):
        return {}
    specs: dict[str, TensorSpec] = {}
    for inputs in reversed(made):
        for name, value in under_own_names(operator, inputs.arguments).items():
            if isinstance(value, TensorSpec):
                specs[name] = value
            elif isinstance(value, tuple) and value and isinstance(value[0], TensorSpec):
                specs |= _listed(name, value, dtype)
    return specs


def _listed(name: str, value: tuple[Any, ...], dtype: str) -> dict[str, TensorSpec]:
    """The tensors of a rule's list: the first, and each if they differ in more than their dtype."""
    listed = [one for one in value if isinstance(one, TensorSpec)]
    alike = [msgspec.structs.replace(one, dtype=dtype) for one in listed]
    # What mixes dtypes, as amp_multicast does, asks for none of them.
    mixed = len({one.dtype for one in listed}) > 1
    specs = {name: alike[0] if mixed else listed[0]}
    if any(one != alike[0] for one in alike):
        specs.update((f"{name}.{i}", one) for i, one in enumerate(listed))
    return specs
