"""The operations and bytes of a case's call, by the formula of its operator's operation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from opperf.frameworks import Framework
from opperf.frameworks.base import CallExtents, distinct
from opperf.model import (
    Argument,
    Case,
    Number,
    Operator,
    Target,
    TensorSpec,
    iter_tensors,
    split_positional,
)
from opperf.operations.uses import Choice, ToRoles, Use
from opperf.operations.work.sizes import (
    COPY,
    CREATION,
    ELEMENTWISE,
    REDUCTION,
    UNWRITTEN,
    Formula,
    Sizes,
)
from opperf.operations.work.stand_ins import NoDataError, numpy_dtype, stand_in
from opperf.operations.work.table import FORMULAS
from opperf.rules.configurations import PHASE
from opperf.rules.engine import rules_module

FEW = 1024
"""Elements of a tensor of given numbers that are read."""


CATEGORIES: Mapping[str, Formula] = {
    **dict.fromkeys(("activation", "binary", "unary"), ELEMENTWISE),
    **dict.fromkeys(("cumulative", "reduction"), REDUCTION),
    **dict.fromkeys(("conversion", "joining"), COPY),
    "creation": CREATION,
    "query": UNWRITTEN,
}
"""Formulas of operators of a category that no table has. Of random numbers, which may take a
factorisation, and of choices, which read what they are made of, only operators of tables."""

OTHERWISE = (
    *("after_all", "fromiter", "fromfunction", "from_file", "gradient", "unwrap", "vq"),
    *("_shape_as_tensor", "meshgrid", "imag", "real", "positive", "conjugate"),
)
"""Last names of operators that are not what the others of their category are."""

REFUSALS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that a conversion to roles raises for arguments that it is not written for."""


class NoRolesError(Exception):
    """Raised where a conversion to roles refuses a call's arguments."""


class Amounts(NamedTuple):
    """The operations and bytes of a call by formula; None where there is none."""

    flops: float | None = None
    flops_backward: float | None = None
    bytes: int | None = None
    operation: str = ""
    """The canonical operation; empty if it is unknown."""


class Computed(NamedTuple):
    """The operation that an operator computes."""

    called: Operator
    operator: Operator
    entry: Use | Choice | Formula


# Signatures take milliseconds.
@functools.cache
def computed(framework: Any, target: Target) -> Computed | None:
    """Returns what a target computes; None if no table has it."""
    called = framework.signature(target)
    if called is None:
        # A framework that lists no such operator can call it all the same.
        return None
    operator = framework.naming.wrapped_operator(target, called)
    rules = rules_module(framework.rules)
    for name in () if operator is None else operator.names:
        found: Any = rules.OPERATIONS.get(name) or rules.WORK.get(name)
        if found is not None:
            return Computed(called, operator, found)
    if operator is None or operator.name.rpartition(".")[2] in OTHERWISE:
        return None
    of_category = CATEGORIES.get(operator.category)
    return of_category and Computed(called, operator, of_category)


def work_of(case: Case, framework: Framework, extents: CallExtents) -> Amounts:
    """Returns the operations and bytes of a call with these tensors. Those of sparse tensors depend
    on what they store, and have no formula. Raises what a formula raises that is wrong or not
    written for such extents."""
    specs = [spec for value in case.arguments.values() for spec in iter_tensors(value)]
    found = computed(framework, case.target)
    if found is None or any(spec.layout != "dense" for spec in specs):
        return Amounts()
    own = {own_name(found, name): value for name, value in named(found.called, case).items()}
    to_roles: ToRoles = dict
    operation = ""
    if isinstance(found.entry, Formula):
        formula = found.entry
    else:
        use = found.entry.of({**own, PHASE: case.settings.phase})
        operation, to_roles = use.operation, use.to_roles
        formula = FORMULAS[operation]
    differentiated = [spec for spec in specs if spec.gradient]
    writes_output = "out" in found.operator.variants

    def roles() -> Mapping[str, Any]:
        read = {
            name: array_of(value)
            for name, value in own.items()
            if not (writes_output and name == "out")
        }
        try:
            return to_roles(**read)
        except REFUSALS as error:
            raise NoRolesError from error

    sizes = Sizes(
        roles,
        tuple(extent.elements for extent in distinct(extents.read)),
        tuple(extent.elements for extent in extents.made),
        extents.moved,
        extents.made_bytes,
        0 if writes_output else extents.rewritten_bytes,
        len(differentiated),
    )
    flops = _number(lambda: formula.flops(sizes))
    backward = None
    if flops is not None and "backward" in case.passes:
        backward = _number(lambda: formula.backward(sizes, flops))
    moved = _number(lambda: formula.bytes(sizes))
    return Amounts(flops, backward, None if moved is None else int(moved), operation)


def _number(count: Callable[[], float | None]) -> float | None:
    """Returns what a formula gives; None where the conversion to roles refuses the arguments, or
    where data decide. What a formula itself raises is an error of the formula."""
    try:
        made = count()
    except (NoRolesError, NoDataError):
        return None
    return float(made) if made is not None and math.isfinite(made) and made >= 0 else None


def named(called: Operator, case: Case) -> dict[str, Argument]:
    """Returns a case's arguments by the names of its target's signature."""
    unnamed, others = split_positional(case.arguments)
    names = [parameter.name for parameter in called.parameters]
    return dict(zip(names, unnamed, strict=False)) | dict(others)


def own_name(found: Computed, name: str) -> str:
    """Returns an operator's name of a caller's argument: the same, an alias, or by its place."""
    own = found.operator.own_name(name)
    if found.operator.parameter(own) is not None:
        return own
    places = [parameter.name for parameter in found.called.parameters]
    place = places.index(name) if name in places else len(places)
    declared = found.operator.parameters
    return declared[place].name if place < len(declared) else name


def array_of(value: Argument) -> Any:
    """Returns an argument with arrays without data in place of tensors but of few given numbers."""
    if isinstance(value, tuple):
        return tuple(map(array_of, value))
    if isinstance(value, Number):
        return value.value
    if not isinstance(value, TensorSpec):
        return value
    dtype = numpy_dtype(value.dtype)
    if value.fill.distribution == "literal" and math.prod(value.shape) <= FEW:
        return np.broadcast_to(np.asarray(value.fill.data, dtype), value.shape)
    return stand_in(value.shape, dtype, value.gradient)
