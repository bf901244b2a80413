"""A user's objects: the arrays of a call as specs, each with its dtype, layout and memory, and
the inputs that a function returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import DTYPES, kind_of
from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.frameworks.user_inputs import (
    FUNCTION,
    OPTION,
    Configuration,
    configurations,
    entry_of,
    place_of,
)
from opperf.instruments.prepared import key_of
from opperf.model import (
    Argument,
    CallableTarget,
    Case,
    FileTarget,
    Fill,
    Operator,
    OperatorTarget,
    Settings,
    Target,
    TensorSpec,
    iter_tensors,
)
from opperf.rules.engine import Inputs
from opperf.rules.registering import NoInputs
from opperf.sources.base import call_dtype
from opperf.sources.overrides import LACKS, accepted
from opperf.sources.varying import in_dtype

Locate = Callable[[Any, TensorSpec], Fill]
"""Returns the fill of a tensor that is an array of the user's."""


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or of a framework; NumPy's scalars and types are not."""
    described = hasattr(value, "shape") and hasattr(value, "dtype")
    return described and not isinstance(value, (np.generic, type, TensorSpec))


def arrays_of(inputs: CallArguments) -> Iterator[tuple[str, Any]]:
    """Yields each array of a call with its place: `name`, or `name.index` in a list."""
    for name, value in inputs.items():
        if is_array(value):
            yield name, value
        elif isinstance(value, (list, tuple)):
            for index, element in enumerate(value):
                if is_array(element):
                    yield f"{name}.{index}", element


class GivenArrays:
    """The specs of a call's arrays, by place. One that occurs again is the same tensor, views of
    one memory share it, and gradients are as requested, if any is.

    `dtype` is that which the user asks for; an array of its kind is converted. Empty: all stay.

    Raises `UsageError` for an array that no case can have.
    """

    def __init__(
        self,
        framework: Framework,
        inputs: CallArguments,
        settings: Settings,
        dtype: str,
        locate: Locate | None = None,
    ) -> None:
        self.held: dict[Any, Any] = {}
        """The arrays by the key of their spec."""
        self.left: dict[str, str] = {}
        """Dtypes of the arrays that are not in the dtype asked for, by place."""
        self.specs: dict[str, TensorSpec] = {}
        self._framework, self._settings, self._dtype = framework, settings, dtype
        placed = list(arrays_of(inputs))
        described = {id(value): self._described(place, value) for place, value in placed}
        beside = {spec.dtype for spec in described.values()}
        for _, value in placed:
            own = described[id(value)]
            if isinstance(value, np.ndarray) and not own.fill.dtype:
                narrowed = framework.narrowed(own.dtype, beside, settings)
                described[id(value)] = in_dtype(own, narrowed)
        memories = _shared_memories(framework, placed)
        requested = any(framework.requires_gradient(value) for _, value in placed)
        first: dict[int, str] = {}
        for place, value in placed:
            spec = described[id(value)]
            if id(value) in first:
                self.specs[place] = _same(self.specs[first[id(value)]], first[id(value)])
                continue
            first[id(value)] = place
            self.held[key_of(spec)] = value
            fill = spec.fill
            if locate is not None:
                fill = msgspec.structs.replace(locate(value, spec), dtype=fill.dtype)
            self.specs[place] = msgspec.structs.replace(
                spec,
                fill=fill,
                storage=memories.get(id(value), ""),
                gradient=framework.requires_gradient(value) if requested else spec.gradient,
            )
        _check_storages(self.specs)

    def _described(self, place: str, value: Any) -> TensorSpec:
        """Returns the spec of an array in its dtype in the case."""
        try:
            spec = self._framework.describe(value)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from error
        if spec is None:
            raise UsageError(
                f"{self._framework.name} does not take arrays of type {type(value).__name__}"
            )
        if self._dtype and kind_of(spec.dtype) == kind_of(self._dtype):
            return in_dtype(spec, self._dtype)
        if self._dtype:
            self.left[place] = spec.dtype
        return spec

    @property
    def made_dtype(self) -> str:
        """The dtype of the tensors that are made beside the arrays: that asked for, or the
        arrays'."""
        return self._dtype or self.label(self.specs.values())

    def label(self, arguments: Iterable[Argument]) -> str:
        """Returns the dtype that a call with these arguments computes in."""
        listed = list(arguments)
        used = {spec.dtype for value in listed for spec in iter_tensors(value)}
        if not self.specs or self._dtype in used:
            return self._settings.dtype
        complex_ = [DTYPES[dtype] for dtype in used if kind_of(dtype) == "complex"]
        if complex_ and not any(kind_of(dtype) == "float" for dtype in used):
            return min(complex_, key=lambda dtype: dtype.bytes).name
        return call_dtype(listed)


def _same(spec: TensorSpec, place: str) -> TensorSpec:
    """Returns the spec of the tensor at a place, of which the spec is `spec`, once more."""
    fill = Fill("same", data=place, digest=spec.fill.digest)
    return msgspec.structs.replace(spec, fill=fill, gradient=False)


def _shared_memories(framework: Framework, placed: list[tuple[str, Any]]) -> dict[int, str]:
    """Returns the names of the memories that several arrays are views of, by the arrays' identity:
    each is the place of the first."""
    viewers: dict[int, dict[int, str]] = {}
    for place, value in placed:
        memory = framework.memory_of(value)
        if memory is not None:
            viewers.setdefault(memory, {}).setdefault(id(value), place)
    return {
        place: next(iter(places.values()))
        for places in viewers.values()
        if len(places) > 1
        for place in places
    }


def _check_storages(specs: Mapping[str, TensorSpec]) -> None:
    """Raises `UsageError` for arrays of different dtypes in one memory."""
    found: dict[str, str] = {}
    for place, spec in specs.items():
        if spec.storage and found.setdefault(spec.storage, spec.dtype) != spec.dtype:
            raise UsageError(
                f"{spec.storage} and {place} are {found[spec.storage]} and {spec.dtype} in one "
                "memory; return a copy of one of them"
            )


def inputs_by_function(
    framework: Framework, target: Target, operator: Operator, settings: Settings, dtype: str = ""
) -> list[Inputs] | NoInputs | None:
    """Returns the inputs of a target that the function of the settings returns, or that the target
    has no such argument; None where the settings name a table without inputs of the target. Arrays
    are in `dtype`, if that is asked for.

    Raises `UsageError` for a function that cannot be called, or that returns what no case can have
    or other arrays in each call.
    """
    # The manager imports this module and needs no NumPy.
    from opperf.sources.call import collect_lists

    reference = settings.input_function
    entry = entry_of(framework, settings, _names(target, operator))
    if entry is None:
        return None
    made, again = (configurations(framework, settings, entry) for _ in range(2))
    names = () if takes_any(framework, target, operator) else accepted(operator, NoInputs("")).all
    for configuration in made:
        element = _own_names(operator, configuration.arguments)
        lacking = [name for name in collect_lists(element, operator) if names and name not in names]
        if lacking:
            return NoInputs(
                f"{LACKS} {lacking[0]!r}, which {reference} returns; it has {', '.join(names)}"
            )
    found = [
        _cases(framework, target, operator, settings, dtype, entry, returned)
        for returned in (made, again)
    ]
    # Workers call it again.
    if [case.arguments for case in found[0]] != [case.arguments for case in found[1]]:
        raise UsageError(
            f"{OPTION} {reference}: the function returns other arrays in each call; seed its "
            "random numbers, for example with np.random.default_rng(0)"
        )
    return [
        Inputs(
            case.arguments,
            f"function:{reference}",
            case.settings.phase,
            f"{configuration.name} of {reference}",
            case.settings.dtype,
        )
        for configuration, case in zip(made, found[0], strict=True)
    ]


def _cases(
    framework: Framework,
    target: Target,
    operator: Operator,
    settings: Settings,
    dtype: str,
    entry: str,
    returned: Sequence[Configuration],
) -> list[Case]:
    """Returns the cases of what a user's function returned."""
    # The manager imports this module and needs no NumPy.
    from opperf.sources.call import UserCall

    reference = settings.input_function
    own = [_own_names(operator, arguments) for arguments, _ in returned]
    places = [
        _places(reference, entry, index, arguments) for index, (arguments, _) in enumerate(returned)
    ]

    def locate(position: int, value: Any, spec: TensorSpec) -> Fill:
        return Fill(FUNCTION, data=places[position][id(value)], digest=spec.fill.digest)

    function = framework.function(target)
    call = UserCall(framework, function, own, settings, target=target, dtype=dtype, locate=locate)
    cases = list(call.cases())
    for position, reason in call.excluded.items():
        raise UsageError(f"{OPTION} {reference}: {position}: {reason}")
    return cases


def _names(target: Target, operator: Operator) -> tuple[str, ...]:
    """Returns the full names of a target, by whose ends a table of inputs may call it."""
    if isinstance(target, FileTarget):
        return (f"{Path(target.file).resolve()}:{target.function}",)
    if isinstance(target, CallableTarget):
        return (target.path,)
    return (target.label, operator.name, *operator.aliases)


def takes_any(framework: Framework, target: Target, operator: Operator) -> bool:
    """Whether a function takes arguments of any name, as `**kwargs`, beside those of its signature
    `operator`; one that calls a registered operator takes that one's."""
    if isinstance(target, OperatorTarget) or framework.wrapped_operator(target, operator):
        return False
    try:
        declared = inspect.signature(framework.function(target)).parameters.values()
    except (TypeError, ValueError):
        # A function in C may have no signature.
        return False
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in declared)


def _own_names(operator: Operator, arguments: CallArguments) -> dict[str, Any]:
    """Returns arguments under the operator's own names."""
    return {operator.own_name(name): value for name, value in arguments.items()}


def _places(reference: str, entry: str, index: int, own: CallArguments) -> dict[int, str]:
    """Returns the places of a configuration's arrays, by identity; the first of one that occurs
    again."""
    found: dict[int, str] = {}
    for name, value in own.items():
        listed = isinstance(value, (list, tuple))
        for at, element in enumerate(value) if listed else ((None, value),):
            found.setdefault(id(element), place_of(reference, entry, index, name, at))
    return found
