"""Quantised weights as PyTorch's kernels take them, packed once before a model runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opperf.frameworks.fill import Code
from opperf.model import TensorSpec

SCALE = 0.05
"""Of a quantised weight's first channel; that of the last is twice as large. Eight bits then reach
beyond plus and minus 6, which most normal random numbers are in."""

BY_CHANNEL = (
    f"torch.quantize_per_channel({{made}}.float(), torch.linspace({SCALE}, {2 * SCALE}, "
    "{channels}, dtype=torch.float64), "
    "torch.zeros({channels}, dtype=torch.int64), 0, torch.qint8)"
)
BY_TENSOR = f"torch.quantize_per_tensor({{made}}.float(), {SCALE}, 0, torch.qint8)"
"""As transposed convolutions take it."""
REAL = "{made}.float()"
CENTRED = f"torch.quantize_per_tensor({{made}}.float(), {SCALE}, 128, torch.quint8)"
"""Unsigned activations of either sign: their zero is the middle of eight bits."""


def by_row(bits: int, dtype: str) -> str:
    """Returns the expression of a table's rows, each with a real scale and zero point, such that
    they reach beyond plus and minus 6, whatever the number of bits."""
    step = SCALE * 2 ** (8 - bits)
    scales = f"torch.linspace({step}, {2 * step}, {{channels}})"
    zeros = f"torch.full(({{channels}},), {2.0 ** (bits - 1)})"
    return f"torch.quantize_per_channel({{made}}.float(), {scales}, {zeros}, 0, torch.{dtype})"


WHOLE = "{made}"
"""Integers as oneDNN's kernels take them, with scales beside them."""

NAMESPACE, ONEDNN = "torch.ops.quantized.", "torch.ops.onednn."


class Packing(NamedTuple):
    """How a weight is packed: the expression that quantises it, and that which packs the result."""

    quantise: str
    pack: str
    stride: int = 1


def _dense(name: str, quantise: str) -> Packing:
    return Packing(quantise, f"{NAMESPACE}{name}({{made}}, torch.linspace(-1, 1, {{channels}}))")


def _convolution(name: str) -> Packing:
    options = "{strides}, {paddings}, {ones}, 1"
    bias = "torch.linspace(-1, 1, {channels})"
    return Packing(BY_CHANNEL, f"{NAMESPACE}{name}_prepack({{made}}, {bias}, {options})")


def _transposed(name: str) -> Packing:
    options = "{strides}, {paddings}, {zeros}, {ones}, 1"
    # The second axis is that of the outputs.
    bias = "torch.linspace(-1, 1, {inputs})"
    return Packing(BY_TENSOR, f"{NAMESPACE}{name}_prepack({{made}}, {bias}, {options})", stride=2)


def _table(bits: int, dtype: str) -> Packing:
    return Packing(by_row(bits, dtype), f"{NAMESPACE}embedding_bag_prepack({{made}})")


PACKED: Mapping[str, Packing] = {
    "packed_linear": _dense("linear_prepack", BY_CHANNEL),
    "packed_linear_fp16": _dense("linear_prepack_fp16", REAL),
    **{f"packed_{name}": _convolution(name) for name in ("conv1d", "conv2d", "conv3d")},
    **{
        f"packed_conv_transpose{axes}d": _transposed(f"conv_transpose{axes}d") for axes in (1, 2, 3)
    },
    "packed_table_8bit": _table(8, "quint8"),
    "packed_table_4bit": _table(4, "quint4x2"),
    **{
        f"rows_{kind}": Packing(REAL, f"{NAMESPACE}embedding_bag_{kind}_prepack({{made}})")
        for kind in ("byte", "4bit", "2bit")
    },
    "onednn_linear": Packing(WHOLE, f"{ONEDNN}qlinear_prepack({{made}}, None)"),
    "onednn_linear_fp16": Packing(REAL, f"{ONEDNN}linear_prepack_fp16({{made}}, None)"),
    "onednn_conv": Packing(
        WHOLE,
        f"{ONEDNN}qconv_prepack({{made}}, torch.ones({{channels}}), {SCALE}, 128, "
        "{strides}, {paddings}, {ones}, 1, None)",
    ),
}
"""Layouts of packed weights. Convolutions have a border that keeps the extents; transposed ones
double them. `rows` are bytes, each row of which ends in its scale and its minimum."""


def packed(dense: Code, spec: TensorSpec, seed: int) -> Code:
    """Returns the code of a packed weight; the spec has the shape before it is packed."""
    packing = PACKED[spec.layout]
    channels, *further = spec.shape
    kernel = further[1:]
    values: dict[str, Any] = {
        "channels": channels,
        "inputs": further[0],
        "strides": (packing.stride,) * len(kernel),
        "paddings": tuple((extent - 1) // 2 for extent in kernel),
        "ones": (1,) * len(kernel),
        "zeros": (0,) * len(kernel),
    }
    return dense.within(packing.quantise).within(packing.pack, **values)
