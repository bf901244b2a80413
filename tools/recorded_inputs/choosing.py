"""Which inputs of an operator are its configurations: the most frequent and the most expensive."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tools.recorded_inputs.calling import Arguments, bind, elements, multiply_adds, run, tensors
from tools.recorded_inputs.kinds import within
from tools.recorded_inputs.reading import Call, Dtype, Layout, Tensor
from tools.recorded_inputs.scaling import Group, Limits, groups

FREQUENT, MOST = 3, 6
"""Most frequent inputs of an operator, and all of its inputs."""

ALIKE = 1.1
"""Largest ratio of two extents of inputs that count as alike. Lists of words or clicks differ a
little from one step of training to the next."""

FLOATING = ("float16", "bfloat16", "float32", "float64")


@dataclass
class Input:
    """A distinct input of an operator, dtype aside, and the runs that have it."""

    operator: str
    arguments: Arguments
    calls: Counter[str] = field(default_factory=Counter)
    """Number of calls, by model."""
    sizes: dict[Limits, Arguments | None] = field(default_factory=dict)
    """Its arguments within limits that were asked for."""

    @property
    def count(self) -> int:
        """Number of calls of all models."""
        return self.calls.total()

    @functools.cached_property
    def groups(self) -> list[Group]:
        """Its extents that scale together."""
        return groups(self.arguments, lambda tried: run(self.operator, tried) is not None)

    def within(self, limits: Limits) -> Arguments | None:
        """Returns its arguments, smaller if that takes it within the limits; None if that would be
        another kind of work."""
        if limits not in self.sizes:
            self.sizes[limits] = within(self.operator, self.arguments, self.groups, limits)
        return self.sizes[limits]

    def cost(self) -> tuple[int, int]:
        """Returns the multiply-adds, where they are known, and the elements read and written."""
        outputs = run(self.operator, self.arguments) or []
        work = multiply_adds(self.operator, self.arguments, outputs) if outputs else 0
        return work, elements(self.arguments, outputs)


def encode(value: Any) -> Any:
    """Returns an argument as the table has it."""
    if isinstance(value, Tensor):
        made: dict[str, Any] = {"shape": list(value.shape), "dtype": value.dtype}
        return made | ({"strides": list(value.strides)} if value.strides else {})
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    if isinstance(value, Layout):
        return {"layout": value.name}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"number": str(value)}
    return [encode(one) for one in value] if isinstance(value, tuple) else value


def key(arguments: Arguments) -> str:
    """Returns a text that is the same for inputs that differ by a floating dtype only."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, Tensor) and value.dtype in FLOATING:
            return replace(value, dtype="float")
        return value

    return json.dumps({name: encode(plain(value)) for name, value in arguments.items()})


def gather(calls: Iterable[Call]) -> dict[str, list[Input]]:
    """Returns the distinct inputs of each operator, in the order of their first calls. Those with
    an empty tensor are not among them: they measure no work."""
    found: dict[str, dict[str, Input]] = {}
    for call in calls:
        arguments = bind(call)
        if all(one.size for one in tensors(arguments)):
            inputs = found.setdefault(call.operator, {})
            one = inputs.setdefault(key(arguments), Input(call.operator, arguments))
            one.calls[call.model] += call.count
    return {operator: list(inputs.values()) for operator, inputs in found.items()}


def choose(inputs: list[Input], limits: Limits) -> list[Input]:
    """Returns the inputs that an operator's configurations are: the most frequent, then the most
    expensive, none of them much like one before, nor within the limits, nor another kind of work
    there."""
    costs = {id(one): one.cost() for one in inputs}
    texts = {id(one): key(one.arguments) for one in inputs}
    expensive = sorted(inputs, key=lambda one: (*(-n for n in costs[id(one)]), texts[id(one)]))
    frequent = sorted(expensive, key=lambda one: -one.count)
    chosen: list[tuple[Input, Arguments]] = []
    for candidates, most in ((frequent, FREQUENT), (expensive, MOST)):
        for one in candidates:
            if len(chosen) == most:
                break
            smaller = one.within(limits)
            if smaller is not None and not any(
                alike(one.arguments, other.arguments) or alike(smaller, reduced)
                for other, reduced in chosen
            ):
                chosen.append((one, smaller))
    return [one for one, _ in chosen]


def alike(one: Arguments, other: Arguments) -> bool:
    """Whether two inputs differ by nothing but tensors' extents, and by little in these."""
    (pattern, extents), (other_pattern, other_extents) = split(one), split(other)
    return pattern == other_pattern and all(
        max(a, b) <= ALIKE * min(a, b) for a, b in zip(extents, other_extents, strict=True)
    )


def split(arguments: Arguments) -> tuple[str, list[int]]:
    """Returns the inputs without extents, as text, and the extents."""
    extents = [extent for one in tensors(arguments) for extent in one.shape]

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            order = sorted(range(len(value.strides)), key=lambda axis: value.strides[axis])
            expanded = [step == 0 for step in value.strides]
            return ("tensor", len(value.shape), value.dtype in FLOATING, tuple(order), expanded)
        return tuple(map(plain, value)) if isinstance(value, tuple) else encode(value)

    return repr({name: plain(value) for name, value in arguments.items()}), extents
