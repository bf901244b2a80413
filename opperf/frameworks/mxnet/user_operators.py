"""Operators that a user writes in Python and registers with `mx.operator.register`. MXNet calls all
of them by its operator `Custom` and keeps no list, so registrations are recorded from the import of
this module on. Each is an operator of the registry, by its own name.

`CustomAddOne`: a custom operator that adds one, to measure what a custom operator costs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import mxnet as mx

from opperf.errors import UsageError, one_line
from opperf.frameworks.base import CallArguments
from opperf.frameworks.mxnet.calls import Call, render_keywords
from opperf.frameworks.user_modules import PREFIX
from opperf.model import Kind, Operator, Parameter

CUSTOM = "Custom"
"""MXNet's operator that runs those of users, and the category of these."""

CATEGORY = "custom"

OWN = "opperf."
"""Beginning of the modules of this package, whose custom operator `Custom` is measured with."""

REGISTERED: dict[str, type] = {}
"""The class that declares each operator, by its registered name."""


def record_registrations() -> None:
    """Records what is registered with MXNet from now on."""
    register = mx.operator.register
    if hasattr(register, "records"):
        return

    def recorded(name: str) -> Callable[[type], type]:
        decorate = register(name)

        def add(declaration: type) -> type:
            if not declaration.__module__.startswith(OWN):
                REGISTERED[name] = declaration
            made: type = decorate(declaration)
            return made

        return add

    recorded.records = True  # type: ignore[attr-defined]
    mx.operator.register = recorded


def operators(known: Mapping[str, Operator], framework: str) -> tuple[Operator, ...]:
    """Returns the operators registered so far; `Custom:name` if the name is one of `known`."""
    return tuple(
        Operator(
            framework=framework,
            namespace=CATEGORY,
            namespaces=(CATEGORY,),
            name=f"{CUSTOM}:{name}" if name in known else name,
            aliases=() if name in known else (f"{CUSTOM}:{name}",),
            parameters=_parameters(declaration),
            category=CATEGORY,
            # It is in no namespace of MXNet's.
            public=False,
        )
        for name, declaration in sorted(REGISTERED.items())
    )


def type_of(operator: Operator) -> str:
    """Returns the name under which a user registered an operator; empty for MXNet's own."""
    return operator.name.removeprefix(f"{CUSTOM}:") if operator.category == CATEGORY else ""


def _parameters(declaration: type) -> tuple[Parameter, ...]:
    """Returns the tensors of an operator, then the arguments of its declaration, which are texts.
    One that requires arguments does not tell its tensors, and has the one that MXNet assumes."""
    plain = [
        parameter
        for parameter in list(inspect.signature(declaration).parameters.values())
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    tensors = ["data"]
    if all(parameter.default is not parameter.empty for parameter in plain):
        try:
            made = declaration()
            tensors = [*made.list_arguments(), *made.list_auxiliary_states()]
        except Exception as error:
            raise UsageError(
                f"{declaration.__name__}, registered with mx.operator.register, cannot be made: "
                f"{one_line(f'{type(error).__name__}: {error}')}"
            ) from error
    return (
        *(Parameter(name=name, kind=Kind.TENSOR, required=True) for name in tensors),
        *(
            Parameter(
                name=parameter.name,
                kind=Kind.STRING,
                required=parameter.default is parameter.empty,
                default=None if parameter.default is parameter.empty else str(parameter.default),
            )
            for parameter in plain
        ),
    )


def make(operator: Operator, places: Sequence[str], plain: CallArguments) -> Call:
    """Returns a call as users make it, and the lines of a script that register the operator."""
    name = type_of(operator)
    declaration = REGISTERED[name]
    words = f", op_type={name!r}" + (f", {render_keywords(plain)}" if plain else "")
    return Call(
        partial(mx.nd.Custom, op_type=name, **plain),
        _registering_lines(declaration),
        f"mx.nd.{CUSTOM}({{}}{words})",
    )


def symbol(operator: Operator) -> Callable[..., Any]:
    """Returns the function that makes a symbol of an operator."""
    return partial(mx.sym.Custom, op_type=type_of(operator))


def _registering_lines(declaration: type) -> tuple[str, ...]:
    module = declaration.__module__
    if module.startswith(PREFIX):
        file = inspect.getfile(declaration)
        return ("import runpy", f"runpy.run_path({file!r})  # registers the operator")
    return (f"import {module}  # registers the operator",)


NAME = "CustomAddOne"

Arrays = list[Any]


class CustomAddOne(mx.operator.CustomOp):  # type: ignore[misc]
    """Adds one to its input; passes the gradient on unchanged."""

    def forward(
        self, is_train: bool, req: list[str], in_data: Arrays, out_data: Arrays, aux: Arrays
    ) -> None:
        self._write(out_data[0], req[0], in_data[0])
        if req[0] != "null":
            out_data[0] += 1

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        self._write(in_grad[0], req[0], out_grad[0])

    def _write(self, target: Any, request: str, source: Any) -> None:
        """Copy in place: an array of its own would be freed by another thread, at any time, and
        the operator's peak of memory be a matter of chance."""
        if request in ("write", "inplace"):
            source.copyto(target)
        else:
            self.assign(target, request, source)


@mx.operator.register(NAME)
class CustomAddOneProp(mx.operator.CustomOpProp):  # type: ignore[misc]
    """The declaration of `CustomAddOne`: one input, one output of its shape."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=True)

    def list_arguments(self) -> list[str]:
        return ["data"]

    def list_outputs(self) -> list[str]:
        return ["output"]

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> CustomAddOne:
        return CustomAddOne()
