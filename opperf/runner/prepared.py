"""A case made real: its tensors and the call that runs it once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opperf.frameworks import Framework
from opperf.model import Argument, Case, TensorSpec


@dataclass(frozen=True)
class Bound:
    """Objects a caller holds, that a case alone cannot make.

    `arrays` by the digest of the `given` tensor they stand for; `function` the callable
    itself, where the target's path may not lead to it (a lambda, a local function).
    """

    arrays: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None


NOTHING_BOUND = Bound()


def seed_at(seed: int, place: str) -> int:
    """The seed of the tensor at a place among a case's arguments: two tensors of one shape and
    fill hold different data, or `subtract` would give zeros."""
    return zlib.crc32(f"{seed} {place}".encode())


class Prepared:
    """The tensors of a case and its call. Make it, and use it, in the case's scope."""

    def __init__(self, case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> None:
        self.case, self.framework, self._bound = case, framework, bound
        self.differentiated: list[Any] = []
        """The tensors that want a gradient."""
        self._made: dict[str, Any] = {}
        self.arguments: dict[str, Any] = {}
        """What the call is given, by argument: tensors, lists of them, plain values."""
        for name, argument in case.arguments.items():
            self.arguments[name] = self._value(name, argument)
        self.call = framework.bind(case, self.arguments, bound.function)

    def another(self) -> Prepared:
        """The same once more, with tensors of its own of the same contents."""
        return Prepared(self.case, self.framework, self._bound)

    def _value(self, place: str, argument: Argument) -> Any:
        """The value of an argument, or of an element of one: `place` is `name` or `name.index`."""
        if isinstance(argument, tuple):
            made = [self._value(f"{place}.{i}", element) for i, element in enumerate(argument)]
            return made if any(isinstance(e, TensorSpec) for e in argument) else tuple(made)
        if not isinstance(argument, TensorSpec):
            return argument
        settings = self.case.settings
        if argument.fill.distribution == "same":
            # The tensor itself, which is in its own place already.
            return self._made[argument.fill.data]
        if argument.fill.distribution == "given":
            held = self._bound.arrays[argument.fill.digest]
            tensor = self.framework.adopt(held, argument, settings.device)
        else:
            seed = seed_at(settings.seed, argument.fill.of or place)
            tensor = self.framework.tensor(argument, settings.device, seed)
        if argument.gradient:
            self.differentiated.append(tensor)
        self._made[place] = tensor
        return tensor
