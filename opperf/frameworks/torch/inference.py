"""Shapes of a case's outputs, by PyTorch's own inference on the device `meta`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from opperf.errors import OpperfError, UnsupportedError
from opperf.frameworks.torch import functions, registry, schemas, tensors
from opperf.frameworks.torch.devices import dtype_of, name_of
from opperf.frameworks.torch.messages import REFUSALS, refusal
from opperf.model import (
    Argument,
    Case,
    DType,
    Fill,
    Kind,
    MemoryFormat,
    Number,
    Operator,
    OperatorTarget,
    TensorSpec,
)

Shape = tuple[int, ...]


def on_meta(argument: Argument) -> Any:
    """Returns an argument with tensors without data. Raises `UnsupportedError` for some layouts."""
    if isinstance(argument, TensorSpec):
        return tensors.tensor(argument, tensors.META, 0)
    if isinstance(argument, tuple):
        return [on_meta(element) for element in argument]
    if isinstance(argument, DType):
        return dtype_of(argument.name)
    if isinstance(argument, MemoryFormat):
        return tensors.MEMORY_FORMATS[argument.name]
    return argument.value if isinstance(argument, Number) else argument


def call_on_meta(target: OperatorTarget, arguments: Mapping[str, Argument]) -> Any:
    """Returns an operator's results for tensors without data. Raises what PyTorch raises."""
    function = functions.function_of(target)
    made = {name: on_meta(value) for name, value in arguments.items()}
    return functions.bind(function, made, tensors.META)()


def outputs(target: OperatorTarget, arguments: Mapping[str, Argument]) -> list[torch.Tensor] | None:
    """Returns an operator's results as tensors without data; None if only a call can show them."""
    try:
        return list(tensors.tensors(call_on_meta(target, arguments)))
    except (OpperfError, *REFUSALS):
        return None


def output_shapes(case: Case) -> list[Shape] | None:
    """Returns the shapes of a case's outputs; None if only a call can show them."""
    if not isinstance(case.target, OperatorTarget):
        return None
    found = outputs(case.target, case.arguments)
    return None if found is None else [tuple(output.shape) for output in found]


def with_outputs(operator: Operator, arguments: Mapping[str, Argument]) -> dict[str, Argument]:
    """Returns the arguments with tensors for the results, inferred. Raises `UnsupportedError`."""
    if schemas.OUT not in operator.variants:
        return dict(arguments)
    registered = registry.at(operator.target)
    assert registered is not None
    outs = [argument.name for argument in registered.schema.arguments if argument.is_out]
    if outs[0] in arguments:
        return dict(arguments)
    found = _functional_outputs(operator, arguments)
    accepted = {parameter.name for parameter in operator.parameters}
    # The form that makes its result may take a dtype, which here is that of the tensor.
    arguments = {name: value for name, value in arguments.items() if name in accepted}
    if found is None or len(found) < len(outs):
        raise UnsupportedError(
            f"the shapes of {', '.join(outs)} depend on the contents of its inputs, or are not "
            "inferred by PyTorch"
        )
    specs = [
        TensorSpec(tuple(output.shape), name_of(output.dtype), Fill("constant", 0.0))
        for output in found
    ]
    kinds = {parameter.name: parameter.kind for parameter in operator.parameters}
    if kinds[outs[0]] is Kind.TENSORS:
        return {**arguments, outs[0]: tuple(specs)}
    return {**arguments, **dict(zip(outs, specs, strict=False))}


def _functional_outputs(
    operator: Operator, arguments: Mapping[str, Argument]
) -> list[torch.Tensor] | None:
    for name in operator.names:
        found = registry.find(name)
        if found is not None and not schemas.written_to(found.schema):
            made = outputs(found.operator.target, arguments)
            if made is not None:
                return made
    return None


UNKNOWABLE = re.compile(
    r"meta|data[- ]dependent|Could not run|not implemented for|no kernel|item\(\)|fake|"
    r"does not support|unbacked|FBGEMM|fbgemm|mkldnn|sparse|quantiz",
    re.IGNORECASE,
)
"""Refusals by the device `meta` that are its own, and say nothing of other devices."""


def foreseen_refusal(case: Case) -> str:
    """Returns why a case's call would be refused; empty if it would not, as far as is known."""
    if not isinstance(case.target, OperatorTarget):
        return ""
    return refused_on_meta(case.target, case.arguments)


RESHAPES = "inplace_view"
"""PyTorch's tag of operators that change a tensor's own shape, and write no element."""


COMPRESSED = ("csr", "csc", "bsr", "bsc")


def keeps_elements(operator: Operator, written: TensorSpec, arguments: Iterable[Argument]) -> bool:
    """Whether a tensor that stores its elements by row or column has as many after the call,
    without which the next call cannot be given what it had before."""
    if written.layout not in COMPRESSED:
        return True
    several = [
        argument
        for argument in arguments
        if isinstance(argument, TensorSpec) and argument.layout in COMPRESSED
    ]
    return len(several) == 1 and RESHAPES not in operator.tags


def fits_in_place(operator: Operator, arguments: Mapping[str, Argument]) -> bool:
    """Whether the result of an operator fits in the argument that it is written to: this is of its
    shape, has a place in memory for each element, and a dtype that takes the result's."""
    found = registry.at(operator.target)
    assert found is not None
    written = arguments.get(schemas.written_to(found.schema)[0])
    if isinstance(written, TensorSpec) and not keeps_elements(
        operator, written, arguments.values()
    ):
        return False
    if isinstance(written, TensorSpec) and RESHAPES not in operator.tags:
        steps = zip(written.strides, written.shape, strict=False)
        if any(step == 0 and extent > 1 for step, extent in steps):
            return False
        alike = registry.returning(operator)
        made = None if alike is None else outputs(alike.target, arguments)
        if made and not (
            tuple(made[0].shape) == written.shape
            and torch.can_cast(made[0].dtype, dtype_of(written.dtype))
        ):
            return False
    return not refused_on_meta(operator.target, arguments)


def refused_on_meta(target: OperatorTarget, arguments: Mapping[str, Argument]) -> str:
    """Returns why an operator refuses tensors without data, if others are refused too."""
    try:
        call_on_meta(target, arguments)
    except (NotImplementedError, OpperfError):
        return ""
    except REFUSALS as error:
        reason = refusal(error) or ""
        return "" if UNKNOWABLE.search(reason) else reason
    return ""
