"""The arrays of one call of a user's, as specs: each with the dtype, layout and memory that it is
given with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from opperf.dtypes import DTYPES, kind_of
from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CallArguments
from opperf.instruments.prepared import key_of
from opperf.model import Argument, Fill, Settings, TensorSpec, iter_tensors
from opperf.sources.base import call_dtype
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
                narrowed = framework.arrays.narrowed(own.dtype, beside, settings)
                described[id(value)] = in_dtype(own, narrowed)
        memories = _shared_memories(framework, placed)
        requested = any(framework.arrays.requires_gradient(value) for _, value in placed)
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
                gradient=framework.arrays.requires_gradient(value) if requested else spec.gradient,
            )
        _check_storages(self.specs)

    def _described(self, place: str, value: Any) -> TensorSpec:
        try:
            spec = self._framework.arrays.describe(value)
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
        """The dtype of tensors that are made beside the arrays."""
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
    """Names of memories of several arrays, the place of the first, by the arrays' identity."""
    viewers: dict[int, dict[int, str]] = {}
    for place, value in placed:
        memory = framework.arrays.memory_of(value)
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
