"""Calls that no function of MXNet's makes: a function for them, and what a script has to say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mxnet as mx

from opperf.model import Operator


@dataclass(frozen=True)
class Call:
    """A call whose plain values are decided: it takes the tensors, and nothing else."""

    run: Callable[..., Any]
    lines: tuple[str, ...]
    """What a script does before it makes the tensors."""
    text: str
    """The call as a script has it, with `{}` for the tensors."""

    def __call__(self, *tensors: Any) -> Any:
        return self.run(*tensors)


Maker = Callable[[Operator, Sequence[str], Mapping[str, Any]], Call]
"""Makes the call of an operator, from what its tensors are called and from its plain values."""


class Function:
    """A function of an operator. It takes everything by keyword: tensors and lists of them, in
    the order in which the operator has them, and plain values."""

    def __init__(self, operator: Operator, make: Maker) -> None:
        self.operator, self._make = operator, make
        self.__name__ = self.__qualname__ = operator.name

    def bind(self, arguments: Mapping[str, Any]) -> partial[Any]:
        """A call with these arguments, decided once so that the call itself is bare."""
        tensors, plain = flattened(arguments)
        return partial(self._make(self.operator, list(tensors), plain), *tensors.values())

    def __call__(self, **arguments: Any) -> Any:
        return self.bind(arguments)()


def flattened(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors among the arguments, those of a list as `data0`, `data1` ..., and the rest."""
    tensors: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, mx.nd.NDArray):
            tensors[name] = value
        elif isinstance(value, list):
            tensors.update((f"{name}{i}", element) for i, element in enumerate(value))
        else:
            plain[name] = value
    return tensors, plain


def words(values: Mapping[str, Any]) -> str:
    """Plain values as keywords in a script."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


REMARK = re.compile(r"  # type: ignore\S*")
"""What a type checker is told in a line."""


def source(*defined: Callable[..., Any]) -> list[str]:
    """Functions or classes as a script has them: as they are, each behind an empty line."""
    lines = ["from typing import Any"]
    for one in defined:
        lines += ["", *REMARK.sub("", inspect.getsource(one)).splitlines()]
    return [*lines, ""]
