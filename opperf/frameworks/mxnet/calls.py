"""Calls of operators without a function in MXNet, and their lines in a script."""

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
    """A call with its plain values bound, which takes only tensors."""

    run: Callable[..., Any]
    lines: tuple[str, ...]
    """Lines of a script before the tensors are made."""
    text: str
    """The call in a script, with `{}` for the tensors."""

    def __call__(self, *tensors: Any) -> Any:
        return self.run(*tensors)


Maker = Callable[[Operator, Sequence[str], Mapping[str, Any]], Call]
"""Makes the call of an operator from the names of its tensors and its plain values."""


class Function:
    """A function of an operator. It takes everything by keyword: tensors and lists of them, in
    the order in which the operator has them, and plain values."""

    def __init__(self, operator: Operator, make: Maker) -> None:
        self.operator, self._make = operator, make
        self.__name__ = self.__qualname__ = operator.name

    def bind(self, arguments: Mapping[str, Any]) -> partial[Any]:
        """Returns a call with these arguments, bound in advance so that the call itself has no
        overhead."""
        tensors, plain = split_arguments(arguments)
        return partial(self._make(self.operator, list(tensors), plain), *tensors.values())

    def __call__(self, **arguments: Any) -> Any:
        return self.bind(arguments)()


def split_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the tensors among the arguments, those of a list as `data0`, `data1` ..., and the
    rest."""
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


def render_keywords(values: Mapping[str, Any]) -> str:
    """Returns the plain values as keywords in a script."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


REMARK = re.compile(r"  # type: ignore\S*")
"""A type checker's directive at the end of a line."""


def source(*defined: Callable[..., Any]) -> list[str]:
    """Returns the source of functions or classes, each after an empty line."""
    lines = ["from typing import Any"]
    for function in defined:
        lines += ["", *REMARK.sub("", inspect.getsource(function)).splitlines()]
    return [*lines, ""]
