"""Floating-point operations of a call: the sum over the operators that it makes, in any mode of
autograd. A multiplication and an addition are two. Products of matrices, convolutions, attention
and recurrent layers count; what works on each element alone, reductions, normalisation and copies
count as none. So does PyTorch's own counter, whose formulas these add to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import torch

from opperf.frameworks.base import CallArguments, Flops
from opperf.frameworks.torch import private
from opperf.frameworks.torch.functions import bind, function_of
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Case

Formula = Callable[[CallArguments], float]
"""Returns the operations of a call from its arguments by name."""


def _rows(tensor: Any) -> int:
    return int(prod(tensor.shape[:-1]))


def _products(data: Any, *weights: Any) -> float:
    """Products of each row with each matrix: those of a layer's input and hidden state."""
    return 2.0 * _rows(data) * int(sum(weight.numel() for weight in weights if weight.dim() == 2))


def _attention(query: Any, key: Any) -> float:
    """Both products of (batch, length, width)."""
    return 4.0 * int(query.numel()) * int(key.shape[1])


def _heads(of: CallArguments) -> float:
    query, key, square = of["query"], of["key"], of["proj_weight"]
    # The query and the output have a square matrix each, keys and values too.
    return 2 * _products(query, square) + 2 * _products(key, square) + _attention(query, key)


def _encoder_layer(of: CallArguments) -> float:
    names = ("qkv_weight", "proj_weight", "ffn_weight_1", "ffn_weight_2")
    return _products(of["src"], *map(of.__getitem__, names)) + _attention(of["src"], of["src"])


FORMULAS: Mapping[str, Formula] = {
    "mkldnn_rnn_layer": lambda of: _products(of["input"], of["weight0"], of["weight1"]),
    # The gradients of the input and of the weights take as much each.
    "mkldnn_rnn_layer_backward": lambda of: (
        2 * _products(of["input"], of["weight1"], of["weight2"])
    ),
    "_cudnn_rnn": lambda of: _products(of["input"], *of["weight"]),
    "_cudnn_rnn_backward": lambda of: 2 * _products(of["input"], *of["weight"]),
    "_native_multi_head_attention": _heads,
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "addbmm": lambda of: 2.0 * of["batch1"].numel() * of["batch2"].shape[-1],
    "mv": lambda of: 2.0 * of["self"].numel(),
    "addmv": lambda of: 2.0 * of["mat"].numel(),
    "dot": lambda of: 2.0 * of["self"].numel(),
    "vdot": lambda of: 2.0 * of["self"].numel(),
}
"""Formulas of operators of `aten` that PyTorch's counter lacks."""

ALIKE = {
    "_scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        "_scaled_dot_product_flash_attention_backward"
    ),
}
"""Operators with the shapes of one that PyTorch's counter has, by its name."""

COUNTING = re.compile(
    r"(^|_)(add|b|addb|baddb|hsp|s|int|sspadd)?(mm|mv|dot|vdot)(_|$)|matmul|mm_reduce|"
    r"(?<!reorder)(^|_)conv(_|\d|olution)|(?<!reorder_)conv2d|attention|multi_head|encoder_layer|"
    r"(?<!thnn_fused)(?<!thnn_differentiable)_(rnn|lstm|gru)(_(?!flatten)|$)|trilinear$|"
    r"(^|_)linear(_(?!quantize|combination|prepack)|$)|_fft_|"
    r"linalg_(?!vector_norm|cross|diagonal|_powsum|check)|cholesky|lu_solve|lu_with_info|triangular_solve|"
    r"geqrf|orm?qr|matrix_exp|cdist|euclidean_dist"
)
"""Names in `aten` of operators that count by the convention, with a formula or without."""

PLAIN = ("aten", "prim", "prims", "profiler", "c10d", "_c10d_functional", "inductor", "debugprims")
"""Namespaces of PyTorch's without further operators that count."""


def _registry() -> Mapping[Any, Any]:
    """Returns PyTorch's own formulas."""
    # It imports Triton, whose interpreter a user's file can only choose before that.
    from torch.utils import flop_counter

    return flop_counter.flop_registry


def count_call(operator: Any, args: Any, named: Any, result: Any) -> float | None:
    """Returns the operations of a call of an operator, 0 by convention; None without a formula."""
    if not private.is_overload(operator):
        formula = _registry().get(operator)
        return None if formula is None else float(formula(*args, **named, out_val=result))
    packet = operator.overloadpacket
    own = FORMULAS.get(packet.__name__) if operator.namespace == "aten" else None
    of_torch = _registry().get(_counted_as(operator, packet))
    # Nested tensors have no shape for a formula.
    if not any(tensor.is_nested for tensor in tensors([args, named])):
        if own is not None:
            names = (argument.name for argument in private.schema_of(operator).arguments)
            return own(dict(zip(names, args, strict=False)) | named)
        if of_torch is not None:
            return float(of_torch(*args, **named, out_val=result))
    if operator.namespace not in PLAIN:
        return 0.0 if operator.is_view else None
    return None if operator.namespace == "aten" and COUNTING.search(packet.__name__) else 0.0


def call_flops(case: Case, arguments: CallArguments, results: Any) -> Flops | None:
    """Returns the operations of a call of an overload, 0 of what makes views or copies; None
    without a formula. PyTorch's counter has no operations of functions of each element either."""
    called = function_of(case.target)
    if not private.is_overload(called):
        return None
    bound = bind(called, arguments, case.settings.device)
    count = count_call(called, bound.args, bound.keywords, results)
    return None if count is None or not (count or called.is_view) else Flops(count)


@contextmanager
def counting() -> Iterator[Callable[[], Flops]]:
    """Returns a context in which the operations of calls are counted."""
    with FlopCounter() as counter:
        yield lambda: counter.flops


def _counted_as(operator: Any, packet: Any) -> Any:
    """Returns the operator whose formula an operator has: of one in place the other's."""
    name = packet.__name__
    alike = ALIKE.get(name, name.removesuffix("_"))
    if operator.namespace != "aten" or alike == name:
        return packet
    return getattr(torch.ops.aten, alike, packet)


class FlopCounter(private.MODE.get()):  # type: ignore[misc]
    """Within it, the operations of the operators that are called are counted."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0.0
        self._uncounted: dict[str, None] = {}

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        is_overload = private.is_overload(operator)
        whole = is_overload and operator.overloadpacket not in _registry()
        # Parts of dense tensors: those of nested ones are others, which Python does not know.
        if whole and not any(getattr(value, "is_nested", False) for value in args):
            # What a program calls without autograd arrives whole.
            with self:
                parts = operator.decompose(*args, **named)
            if parts is not NotImplemented:
                return parts
        result = operator(*args, **named)
        count = count_call(operator, args, named, result)
        if count is None:
            packet = operator.overloadpacket if is_overload else operator
            prefix = f"{operator.namespace}::" if is_overload else ""
            self._uncounted[f"{prefix}{packet.__name__}"] = None
        self._count += count or 0.0
        return result

    @property
    def flops(self) -> Flops:
        """The operations so far."""
        return Flops(self._count, tuple(self._uncounted))
