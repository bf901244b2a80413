"""Cases of which the user chooses what is differentiated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from opperf.dtypes import kind_of
from opperf.errors import UsageError, suggest
from opperf.model import Case, TensorSpec, iter_tensors, map_tensors

OPTION = "--grad"

DIFFERENTIABLE = ("float", "complex")
"""Kinds of the dtypes of tensors that have a gradient."""

LISTED = 8
"""Most names that an error lists: a line or two of a terminal."""


def with_gradients(case: Case) -> Case:
    """Returns the case with a gradient of what its settings name, and of no other tensor."""
    wanted = case.settings.differentiated

    def asked(spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, gradient=kind_of(spec.dtype) in DIFFERENTIABLE)

    def others(spec: TensorSpec) -> TensorSpec:
        return msgspec.structs.replace(spec, gradient=False)

    arguments = {
        name: map_tensors(value, asked if name in wanted else others)
        for name, value in case.arguments.items()
    }
    return msgspec.structs.replace(case, arguments=arguments)


def differentiable(case: Case) -> tuple[str, ...]:
    """Returns the names of the arguments of a case that can have a gradient."""
    return tuple(
        name
        for name, value in case.arguments.items()
        if any(kind_of(spec.dtype) in DIFFERENTIABLE for spec in iter_tensors(value))
    )


def check_gradients(names: Iterable[str], known: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Raises `UsageError` for a name that no case has. `known` are, for each case, its label and
    what can be differentiated in it."""
    every = dict.fromkeys(name for _, of_case in known for name in of_case)
    labels = list(dict.fromkeys(label for label, _ in known))
    whose = f"{labels[0]} has no" if len(labels) == 1 else "no selected operator has the"
    for name in names:
        if known and name not in every:
            listed = ", ".join(list(every)[:LISTED]) or "nothing"
            raise UsageError(
                f"{OPTION} {name}: {whose} argument {name!r} that takes a gradient"
                f"{suggest(name, every)} (gradients are computed of {listed})"
            )
