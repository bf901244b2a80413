"""A case made real: its tensors and the call that runs it once."""

from __future__ import annotations

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


class Prepared:
    """The tensors of a case and its call. Make it, and use it, in the case's scope."""

    def __init__(self, case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> None:
        self.case, self.framework, self._bound = case, framework, bound
        self.differentiated: list[Any] = []
        """The tensors that want a gradient."""
        self._made: dict[str, Any] = {}
        arguments = {name: self._named(name, value) for name, value in case.arguments.items()}
        self.call = framework.bind(case, arguments, bound.function)

    def _named(self, name: str, argument: Argument) -> Any:
        """The value of an argument, kept under its name for arguments that are the same."""
        made = self._made[name] = self._value(argument)
        if isinstance(made, list):
            self._made.update((f"{name}.{i}", element) for i, element in enumerate(made))
        return made

    def _value(self, argument: Argument) -> Any:
        if isinstance(argument, tuple):
            made = [self._value(element) for element in argument]
            return made if any(isinstance(e, TensorSpec) for e in argument) else tuple(made)
        if not isinstance(argument, TensorSpec):
            return argument
        settings = self.case.settings
        if argument.fill.distribution == "same":
            return self._made[argument.fill.data]
        if argument.fill.distribution == "given":
            held = self._bound.arrays[argument.fill.digest]
            tensor = self.framework.adopt(held, argument, settings.device)
        else:
            tensor = self.framework.tensor(argument, settings.device, settings.seed)
        if argument.gradient:
            self.differentiated.append(tensor)
        return tensor
