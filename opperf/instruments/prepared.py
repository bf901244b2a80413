"""A case's tensors, and the call that runs it once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import Gradient
from opperf.frameworks.fill import USERS, seed_at, storage_spec
from opperf.frameworks.user_inputs import FUNCTION, array_of, load_inputs
from opperf.instruments.bound import NOTHING_BOUND, Bound, key_of
from opperf.model import (
    Argument,
    Case,
    Device,
    DType,
    Function,
    Generator,
    Mapping,
    MemoryFormat,
    Number,
    ObjectTarget,
    TensorSpec,
    split_positional,
)

BUILD = "build"
"""Beginning of the names of the arguments that an object is built with."""


def compiles(case: Case, framework: Framework) -> bool:
    """Returns whether the first call of a case compiles it."""
    return case.settings.mode in framework.compiled_modes


@contextmanager
def case_scope(case: Case, framework: Framework) -> Iterator[None]:
    """Returns the scope of a case's calls. A user's function of inputs, which has a scope of its
    own, is called before. Raises the errors of `load_inputs`."""
    load_inputs(framework, case)
    with framework.scope(case):
        yield


class PreparedCase:
    """A case with its tensors and its call, to be made and used in the case's scope."""

    def __init__(self, case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> None:
        self.case, self.framework, self._bound = case, framework, bound
        self.differentiated: list[Any] = []
        """The tensors that need a gradient."""
        self.differentiated_places: list[str] = []
        """Their places in the arguments: `name` or `name.index`."""
        self._made: dict[str, Any] = {}
        self._storages: dict[str, Any] = {}
        self.arguments: dict[str, Any] = {}
        """Values of the call's arguments: tensors, lists of tensors, plain values."""
        for name, argument in case.arguments.items():
            self.arguments[name] = self._value(name, argument)
        self.call = framework.bind(case, self.arguments, bound.function or self._built())
        framework.record_forward(case, self.call, self.differentiated)
        self.gradient: Gradient | None = None
        """Its gradient, once it was made for compiling it."""

    def make_gradient(self) -> Gradient:
        """Returns the call's gradient, computed once. Raises `NoGradientError`."""
        return self.framework.gradient(self.case, self.call, self.differentiated)

    def copy(self) -> PreparedCase:
        """Returns a copy with its own tensors of the same contents."""
        return PreparedCase(self.case, self.framework, self._bound)

    def _built(self) -> Any:
        """Returns the object that the case calls; None for any other target."""
        target = self.case.target
        if not isinstance(target, ObjectTarget):
            return None
        made = {
            name: self._value(f"{BUILD}.{name}", argument)
            for name, argument in target.arguments.items()
        }
        unnamed, named = split_positional(made)
        built = self.framework.constructor(target)(*unnamed, **named)
        return self.framework.place_weights(built, self.case)

    def _value(self, place: str, argument: Argument) -> Any:
        """Returns the value of an argument or of an element; `place` is `name` or `name.index`."""
        if isinstance(argument, tuple):
            made = [self._value(f"{place}.{i}", element) for i, element in enumerate(argument)]
            return made if any(isinstance(e, TensorSpec) for e in argument) else tuple(made)
        if isinstance(argument, Number):
            return argument.value
        if isinstance(argument, Mapping):
            entries = argument.entries.items()
            return {name: self._value(f"{place}.{name}", element) for name, element in entries}
        if isinstance(argument, (DType, Device, MemoryFormat, Generator, Function)):
            return self.framework.constant(argument, self.case.settings.device)
        if not isinstance(argument, TensorSpec):
            return argument
        if argument.memory_format and argument.memory_format not in self.framework.memory_formats:
            raise UnsupportedError(
                f"{place}: {self.framework.name} has no memory format {argument.memory_format!r}"
            )
        device = argument.device or self.case.settings.device
        if argument.fill.distribution == "same":
            # The tensor of another place, which is made already.
            return self._made[argument.fill.data]
        if argument.fill.distribution in USERS:
            tensor = self._users(place, argument, device)
        else:
            seed = seed_at(self.case.settings.seed, argument.fill.of or place)
            tensor = self._filled(argument, device, seed)
        if argument.gradient:
            self.differentiated.append(tensor)
            self.differentiated_places.append(place)
        self._made[place] = tensor
        return tensor

    def _users(self, place: str, spec: TensorSpec, device: str) -> Any:
        """Returns a copy of an array of the user's, laid out and shared as it is."""
        if spec.fill.distribution == FUNCTION:
            held = array_of(self.framework, self.case.settings, spec)
        else:
            held = self._bound.arrays.get(key_of(spec))
        if held is None:
            raise UsageError(
                f"{place} is an array of the program that measured it, which only that has; "
                "measure it there again, or with --inputs"
            )
        if not spec.is_view:
            return self.framework.copy_to_device(held, spec, device)
        return self.framework.write(self._filled(spec, device, 0), held, spec)

    def _filled(self, spec: TensorSpec, device: str, seed: int) -> Any:
        """Returns a filled tensor, or a view of one if it shares its storage."""
        stored = storage_spec(self.case, spec)
        if stored is None:
            return self.framework.tensor(spec, device, seed)
        storage = self._storages.get(spec.storage)
        if storage is None:
            storage = self.framework.tensor(stored, device, seed)
        if spec.storage:
            self._storages[spec.storage] = storage
        return self.framework.view(storage, spec)
