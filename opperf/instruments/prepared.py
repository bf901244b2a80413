"""A prepared case: its tensors, and the call that runs it once; and a visit of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from opperf.errors import OpperfError, UnsupportedError, UsageError, one_line
from opperf.frameworks import Framework
from opperf.frameworks.base import Gradient
from opperf.frameworks.fill import USERS, seed_at, storage_spec
from opperf.frameworks.models import RunnableModel
from opperf.frameworks.user_inputs import FUNCTION, array_of, load_inputs
from opperf.model import (
    Argument,
    Case,
    Device,
    DType,
    Function,
    Generator,
    MemoryFormat,
    Number,
    ObjectTarget,
    TensorSpec,
    split_positional,
)
from opperf.model import Mapping as MappingValue

Key = tuple[str, tuple[int, ...], str]


def key_of(spec: TensorSpec) -> Key:
    """Returns the key of an array's contents: its digest, its shape and its own dtype."""
    return spec.fill.digest, spec.shape, spec.fill.dtype or spec.dtype


@dataclass(frozen=True)
class Bound:
    """A user's objects that cannot be made from the case alone: `arrays` by the key of the tensor
    with the fill `given`; `function`, the callable, if no path may lead to it (a lambda, a local
    function)."""

    arrays: Mapping[Key, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None
    make: Callable[[Case], Callable[..., Any]] | None = None
    """Makes `function` of another case of its target; None if it is the same for all."""

    def of(self, case: Case) -> Bound:
        """Returns the objects for another case of the target."""
        return self if self.make is None else replace(self, function=self.make(case))


NOTHING_BOUND = Bound()


BUILD = "build"
"""Beginning of the names of the arguments that an object is built with."""


def compiles(case: Case, framework: Framework) -> bool:
    """Returns whether the first call of a case compiles it."""
    return framework.modes.compiles(case.settings.mode)


def reason_of(error: Exception, framework: Framework) -> str:
    """Returns why a call failed, in one line."""
    text = str(error) if isinstance(error, OpperfError) else framework.refusal(error)
    return one_line(text or f"{type(error).__name__}: {error}")


@contextmanager
def case_scope(case: Case, framework: Framework) -> Iterator[None]:
    """Returns the scope of a case's calls. A user's function of inputs, which has a scope of its
    own, is called before. Raises the errors of `load_inputs`."""
    load_inputs(framework, case)
    with framework.scope(case):
        yield


class PreparedCase:
    """A case with its tensors and its call, to be made and used in the case's scope."""

    def __init__(
        self,
        case: Case,
        framework: Framework,
        bound: Bound = NOTHING_BOUND,
        like: PreparedCase | None = None,
    ) -> None:
        """`like` is one whose inputs it has too."""
        self.case, self.framework, self.bound = case, framework, bound
        self._seed = case.settings.seed
        self.differentiated: list[Any] = []
        self.differentiated_places: list[str] = []
        """Their places in the arguments: `name` or `name.index`."""
        self._made: dict[str, Any] = {}
        self._storages: dict[str, Any] = {}
        self.arguments: dict[str, Any] = {}
        if like is not None:
            self.arguments = like.arguments
        else:
            for name, argument in case.arguments.items():
                self.arguments[name] = self._value(name, argument)
        self.called = bound.function or self._built()
        """The object that is called, if it is not found by the target alone."""
        self.call: Callable[[], Any]
        if isinstance(self.called, RunnableModel):
            self.call = self.called
        else:
            self.call = framework.bind(case, self.arguments, self.called)
            framework.gradients.record_forward(case, self.call, self.differentiated)
        self.gradient: Gradient | None = None
        """Its gradient, once it was made for compiling it."""

    def make_gradient(self) -> Gradient:
        """Returns the call's gradient. Raises `NoGradientError`."""
        if isinstance(self.called, RunnableModel):
            return self.called.gradient()
        return self.framework.gradients.gradient(self.case, self.call, self.differentiated)

    def copy(self) -> PreparedCase:
        return PreparedCase(self.case, self.framework, self.bound)

    def redrawn(self, seed: int) -> dict[str, Any]:
        """Returns arguments like its own, with the contents that another seed draws."""
        other = copy.copy(self)
        other._seed, other._made, other._storages = seed, {}, {}
        other.differentiated, other.differentiated_places = [], []
        return {name: other._value(name, value) for name, value in self.case.arguments.items()}

    def replace(self, tensor: Any, other: Any) -> None:
        """Has another tensor in the place of one, where a framework cannot write to it."""
        self.differentiated = [other if given is tensor else given for given in self.differentiated]

    def _built(self) -> Any:
        target = self.case.target
        if not isinstance(target, ObjectTarget):
            return None
        made = {
            name: self._value(f"{BUILD}.{name}", argument)
            for name, argument in target.arguments.items()
        }
        unnamed, named = split_positional(made)
        built = self.framework.objects.constructor(target)(*unnamed, **named)
        return self._placed(built)

    def _placed(self, built: Any) -> Any:
        """Returns an object with its weights on the device and in the dtype of the case."""
        return self.framework.objects.place_weights(built, self.case)

    def _finished(self, tensor: Any, spec: TensorSpec, device: str) -> Any:
        return tensor

    def _value(self, place: str, argument: Argument) -> Any:
        """Returns the value of an argument or of an element; `place` is `name` or `name.index`."""
        if isinstance(argument, tuple):
            made = [self._value(f"{place}.{i}", element) for i, element in enumerate(argument)]
            return made if any(isinstance(e, TensorSpec) for e in argument) else tuple(made)
        if isinstance(argument, Number):
            return argument.value
        if isinstance(argument, MappingValue):
            entries = argument.entries.items()
            return {name: self._value(f"{place}.{name}", element) for name, element in entries}
        if isinstance(argument, (DType, Device, MemoryFormat, Generator, Function)):
            return self.framework.arrays.constant(argument, self.case.settings.device)
        if not isinstance(argument, TensorSpec):
            return argument
        if (
            argument.memory_format
            and argument.memory_format not in self.framework.arrays.memory_formats
        ):
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
            seed = seed_at(self._seed, argument.fill.of or place)
            tensor = self._filled(argument, device, seed)
        tensor = self._finished(tensor, argument, device)
        if argument.gradient:
            self.differentiated.append(tensor)
            self.differentiated_places.append(place)
        self._made[place] = tensor
        return tensor

    def _users(self, place: str, spec: TensorSpec, device: str) -> Any:
        if spec.fill.distribution == FUNCTION:
            held = array_of(self.framework, self.case.settings, spec)
        else:
            held = self.bound.arrays.get(key_of(spec))
        if held is None:
            raise UsageError(
                f"{place} is an array of the program that measured it, which only that has; "
                "measure it there again, or with --inputs"
            )
        if not spec.is_view:
            return self.framework.arrays.copy_to_device(held, spec, device)
        return self.framework.arrays.write(self._filled(spec, device, 0), held, spec)

    def _filled(self, spec: TensorSpec, device: str, seed: int) -> Any:
        stored = storage_spec(self.case, spec)
        if stored is None:
            return self.framework.tensor(spec, device, seed)
        storage = self._storages.get(spec.storage)
        if storage is None:
            storage = self.framework.tensor(stored, device, seed)
        if spec.storage:
            self._storages[spec.storage] = storage
        return self.framework.arrays.view(storage, spec)
