"""Calls of PyTorch's operators on its `meta` device, which has shapes and no data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tools.recorded_inputs.reading import Call, Dtype, Layout, Tensor

Arguments = dict[str, Any]
"""A call's arguments by the names of the operator's schema."""

META = "meta"
NOT_STRIDED = "sparse_coo"

RENAMED = {
    "aten.sum.SymInt": "aten.sum.dim_IntList",
    "aten.col2im_backward.default": "aten.im2col.default",
    "aten.im2col_backward.default": "aten.col2im.default",
    "aten.upsample_bilinear2d_backward.vec": "aten.upsample_bilinear2d_backward.default",
}
"""Overloads that PyTorch no longer has, and those that do their work."""

SUPPORTED = {"complex32": "complex64"}
"""Dtypes in place of those that few of PyTorch's operators support."""

REFUSALS = (AssertionError, IndexError, RuntimeError, TypeError, ValueError)
"""Errors that operators raise for inputs that do not fit."""

PLACEMENT = ("device", "pin_memory")
"""Arguments that say where a result is, which is the case's own device."""


def overload(name: str) -> Any:
    """Returns the operator's overload; `name` is as `aten.add.Tensor`."""
    namespace, packet, own = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), own)


def modernize(call: Call) -> Call:
    """Returns a recorded call as one of an overload that PyTorch still has."""
    args = call.args
    if call.operator == "aten.upsample_bilinear2d_backward.vec":
        gradient, _, size, corners, scales = args
        args = (gradient, gradient.shape[2:], size, corners, *scales)
    return call._replace(operator=RENAMED.get(call.operator, call.operator), args=args)


def bind(call: Call) -> Arguments:
    """Returns a recorded call's arguments by name, in the schema's order, without those that are
    None by default or say where the result is."""
    schema = overload(call.operator)._schema
    names = [one.name for one in schema.arguments if one.name not in PLACEMENT]
    optional = {one.name for one in schema.arguments if one.has_default_value()}
    made = dict(zip(names, call.args, strict=False)) | call.kwargs
    usual = (None, Layout("strided"))
    return {
        name: made.get(name)
        for name in names
        if name not in optional or made.get(name) not in usual
    }


def tensors(arguments: Arguments) -> Iterator[Tensor]:
    """Yields a call's tensors."""
    for value in arguments.values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Tensor):
                yield one


def to_torch(value: Any) -> Any:
    """Returns an argument as PyTorch takes it, tensors on the meta device."""
    if isinstance(value, Tensor):
        dtype = getattr(torch, SUPPORTED.get(value.dtype, value.dtype))
        if value.strides:
            return torch.empty_strided(value.shape, value.strides, dtype=dtype, device=META)
        return torch.empty(value.shape, dtype=dtype, device=META)
    if isinstance(value, (Dtype, Layout)):
        return getattr(torch, SUPPORTED.get(value.name, value.name))
    return [to_torch(one) for one in value] if isinstance(value, tuple) else value


def run(operator: str, arguments: Arguments) -> list[torch.Tensor] | None:
    """Returns the outputs of a call, or None if PyTorch refuses it or its shapes do not agree."""
    made = {name: to_torch(value) for name, value in arguments.items()}
    called = overload(operator)
    if arguments.get("layout") == Layout(NOT_STRIDED):
        made["device"] = META
    try:
        outputs = called(**made)
        agrees = AGREES.get(called._opname, lambda one: True)(made)
    except REFUSALS:
        return None
    if not agrees:
        return None
    found = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [one for one in found if isinstance(one, torch.Tensor)]


def _forward(name: str, *inputs: str, axis: str = "grad_output") -> Callable[[Arguments], bool]:
    """Returns a check that the gradient has the shape of the forward operator's first output."""

    def agrees(made: Arguments) -> bool:
        outputs = getattr(torch.ops.aten, name)(*(made[one] for one in inputs))
        first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
        return bool(first.shape == made[axis].shape)

    return agrees


NO_BIAS = [0]
"""The sizes of a bias that autograd passes for a convolution without one."""


def _channels(made: Arguments) -> bool:
    """Whether a convolution's filters are of all its groups, and each has a bias."""
    filters, inner = made["weight"].shape[:2]
    biases = inner * made["groups"] if made["transposed"] else filters
    return filters % made["groups"] == 0 and _have((biases,), made["bias"])


def _convolution(made: Arguments) -> bool:
    biases = made["bias_sizes"]
    outputs = torch.ops.aten.convolution(
        made["input"],
        made["weight"],
        None,
        *(made[one] for one in ("stride", "padding", "dilation", "transposed", "output_padding")),
        made["groups"],
    )
    channels = outputs.shape[1]
    return bool(
        outputs.shape == made["grad_output"].shape and biases in (None, NO_BIAS, [channels])
    )


def _part(name: str, *where: str) -> Callable[[Arguments], bool]:
    """Returns a check that a gradient has the shape of a part of the input."""

    def agrees(made: Arguments) -> bool:
        whole = torch.empty(made["input_sizes"], device=META)
        part = getattr(torch.ops.aten, name)(whole, *(made[one] for one in where))
        return bool(part.shape == made["grad_output"].shape)

    return agrees


def _have(shape: Sequence[int], *several: torch.Tensor | None) -> bool:
    """Whether the tensors that are there have the shape."""
    return all(one is None or tuple(one.shape) == tuple(shape) for one in several)


def _layer_norm(made: Arguments) -> bool:
    data, normalized = made["input"].shape, made["normalized_shape"]
    rows = (*data[: -len(normalized)], *(1 for _ in normalized))
    return (
        _have(data[-len(normalized) :], torch.empty(normalized, device=META))
        and _have(normalized, made["weight"], made["bias"])
        and _have(rows, made["mean"], made["rstd"])
    )


def _index_add(made: Arguments) -> bool:
    shape = list(made["self"].shape)
    shape[made["dim"]] = len(made["index"])
    return _have(shape, made["source"])


def _rnn(made: Arguments) -> bool:
    """Weights of the data and of the state, for the gates of an LSTM."""
    data, state, *biases = made["weight"]
    batch, _, features = made["input"].shape
    units = made["hidden_size"]
    gates = 4 * units
    return (
        _have((gates, features), data)
        and _have((gates, units), state)
        and _have((gates,), *biases)
        and _have((1, batch, units), made["hx"], made["cx"])
    )


_max_pool = _forward(
    "max_pool2d_with_indices",
    *("self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
)

AGREES: dict[str, Callable[[Arguments], bool]] = {
    "_cudnn_rnn": _rnn,
    "_embedding_bag": lambda made: len(made["indices"]) >= len(made["offsets"]),
    "convolution": _channels,
    "index_add": _index_add,
    "native_layer_norm_backward": _layer_norm,
    "native_batch_norm_backward": lambda made: _have(
        made["input"].shape[1:2],
        *(made[one] for one in ("weight", "running_mean", "running_var")),
        *(made[one] for one in ("save_mean", "save_invstd")),
    ),
    "convolution_backward": _convolution,
    "avg_pool2d_backward": _forward(
        "avg_pool2d",
        *("self", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"),
    ),
    "max_pool2d_with_indices_backward": lambda made: (
        made["grad_output"].shape == made["indices"].shape and _max_pool(made)
    ),
    "grid_sampler_2d_backward": _forward(
        "grid_sampler_2d", *("input", "grid", "interpolation_mode", "padding_mode", "align_corners")
    ),
    "embedding_dense_backward": lambda made: (
        made["grad_output"].shape[:-1] == made["indices"].shape
    ),
    "_embedding_bag_per_sample_weights_backward": lambda made: (
        made["offset2bag"].shape == made["indices"].shape
        and made["grad"].shape == (len(made["offsets"]), made["weight"].shape[1])
        and len(made["indices"]) >= len(made["offsets"])
    ),
    "scatter": lambda made: made["index"].shape == made["src"].shape,
    "scatter_add": lambda made: made["index"].shape == made["src"].shape,
    "index_put": lambda made: (
        torch.ops.aten.index(made["self"], made["indices"]).shape == made["values"].shape
    ),
    "slice_backward": _part("slice", "dim", "start", "end", "step"),
    "select_backward": _part("select", "dim", "index"),
    "upsample_bilinear2d_backward": lambda made: (
        made["output_size"]
        == [
            int(extent * scale)
            for extent, scale in zip(
                made["input_size"][2:], (made["scales_h"], made["scales_w"]), strict=True
            )
        ]
    ),
    "_sparse_coo_tensor_with_dims_and_tensors": lambda made: (
        made["indices"].shape[1] == made["values"].shape[0]
        and made["values"].shape[1:] == torch.Size(made["size"][1:])
    ),
}
"""Checks of shapes that operators make only where there is data, by the operator's name."""


def elements(arguments: Arguments, outputs: list[torch.Tensor]) -> int:
    """Returns the number of elements that a call reads and writes."""
    return sum(one.stored for one in tensors(arguments)) + sum(one.numel() for one in outputs)


def multiply_adds(operator: str, arguments: Arguments, outputs: list[torch.Tensor]) -> int:
    """Returns the number of multiply-adds of a product of matrices or a convolution, and zero for
    other operators."""
    rule = MULTIPLY_ADDS.get(operator.split(".")[1])
    return rule(arguments, outputs) if rule is not None else 0


def _product(arguments: Arguments, outputs: list[torch.Tensor]) -> int:
    """The last tensor is the right-hand matrix, or a batch of them."""
    *_, right = tensors(arguments)
    return outputs[0].numel() * int(right.shape[-2])


def _convolved(arguments: Arguments, large: int) -> int:
    weight: Tensor = arguments["weight"]
    return large * math.prod(weight.shape[1:])


def _convolution_forward(arguments: Arguments, outputs: list[torch.Tensor]) -> int:
    """Each output is a sum over the weights of its channel; if transposed, each input goes into as
    many outputs."""
    transposed = arguments["transposed"]
    return _convolved(arguments, arguments["input"].size if transposed else int(outputs[0].numel()))


def _convolution_backward(arguments: Arguments, outputs: list[torch.Tensor]) -> int:
    """As many as forward, for the gradients of the data and of the weights each."""
    side = "input" if arguments["transposed"] else "grad_output"
    return sum(arguments["output_mask"][:2]) * _convolved(arguments, arguments[side].size)


MULTIPLY_ADDS: dict[str, Callable[[Arguments, list[torch.Tensor]], int]] = {
    "mm": _product,
    "bmm": _product,
    "addmm": _product,
    "convolution": _convolution_forward,
    "convolution_backward": _convolution_backward,
}
