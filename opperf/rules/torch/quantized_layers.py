"""Families of PyTorch's layers whose quantised weights are packed, of namespace `quantized`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from opperf.model import Fill, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.dependencies import ascending
from opperf.rules.image_shapes import feature_maps, network_maps
from opperf.rules.registering import Families, Rows
from opperf.rules.sizes import Preset
from opperf.rules.torch.layers import BAGS
from opperf.rules.torch.operations.layers import INDEX, KINDS
from opperf.rules.torch.quantization import BLOCK, HALF, NIBBLES, layers
from opperf.rules.values import POSITIVE, Arguments, below, call, fixed, literal
from opperf.rules.variants import Variants, add_offered

FAMILIES = Families()

UNSIGNED, SIGNED = "quint8", "qint8"
"""Dtypes of quantised activations and of quantised weights."""
CENTRED = "centred"
"""Layout of unsigned activations of either sign."""
SCALE, MIDDLE = 0.05, 128
"""Of the activations that PyTorch's module of this framework makes; the middle of eight bits."""
RESULT: Arguments = {
    **dict.fromkeys(("scale", "output_scale", "Y_scale_i"), 0.5),
    **dict.fromkeys(("zero_point", "output_zero_point", "Y_zero_point_i"), MIDDLE),
}
"""Range of a layer's results, sums of some hundred products: 64 on each side of zero."""


def activations(*shape: int, order: str = "") -> TensorSpec:
    """Quantised activations, none of them negative, as behind a ReLU."""
    return TensorSpec(shape, UNSIGNED, memory_format=order)


def centred(*shape: int, order: str = "") -> TensorSpec:
    """Quantised activations of either sign."""
    return TensorSpec(shape, UNSIGNED, layout=CENTRED, memory_format=order)


def real(*shape: int) -> TensorSpec:
    """Real numbers."""
    return fixed(*shape, dtype="float32")


def packed(layout: str, *shape: int, dtype: str = SIGNED) -> TensorSpec:
    """Packed weights."""
    return TensorSpec(shape, dtype, layout=layout)


def parameters(count: int, fill: Fill = POSITIVE) -> TensorSpec:
    """A real parameter of each channel."""
    return fixed(count, fill=fill, dtype="float32")


def dense(
    size: Preset, weights: str = "packed_linear", quantised: bool = False
) -> Iterable[Arguments]:
    """A dense layer's tokens and weights, packed before or in each call."""
    for tokens, inputs, outputs, why in layers(size):
        yield {
            "X": centred(tokens, inputs) if quantised else real(tokens, inputs),
            "W_prepack": packed(weights, outputs, inputs),
            **{"weight": real(outputs, inputs), "bias": parameters(outputs, Fill()), **RESULT},
            **{"X_scale": SCALE, "X_zero_point": MIDDLE, "negative_slope": 0.01, WHY: why},
        }


ONCE = "BERT-base, the weights of a feed-forward block, once before it serves"


def weights(size: Preset, layout: str = "") -> Rows:
    """A dense layer's weights, packed or before they are."""
    _, inputs, outputs, _ = next(iter(layers(size)))
    weight = packed(layout, outputs, inputs) if layout else real(outputs, inputs)
    return {ONCE: call(W=weight, W_prepack=weight, B=parameters(outputs, Fill()))}


def cell(size: Preset, gates: int, states: int = 1, layout: str = "packed_linear") -> Rows:
    """A step of a recurrent layer, whose weights are packed."""
    samples, width = size.batch, size.extent(512)
    state = real(samples, width)
    weight = packed(layout, gates * width, width) if layout else real(gates * width, width)
    bias = parameters(gates * width, Fill())
    return {
        "a recurrent layer of 512 units at the default size, one step of a batch": call(
            input=state,
            hx=(state,) * states if states > 1 else state,
            **dict.fromkeys(("w_ih", "w_hh"), weight),
            **dict.fromkeys(("b_ih", "b_hh", "bias_ih", "bias_hh"), bias),
        )
    }


LAST = {2: "channels_last", 3: "channels_last_3d"}
"""Order of axes in which quantised convolutions compute, by the number of spatial axes."""


def maps(size: Preset, axes: int) -> tuple[tuple[int, ...], str]:
    """The shape of a convolution's data, by the number of its spatial axes, and what they are."""
    return {
        1: (network_maps(size, 512, 1600), "512 channels of sound over time"),
        2: (feature_maps(size), "ResNet's first stage, a 3 x 3 layer, channels last"),
        3: (network_maps(size, 64, 16, 56, 56, samples=1), "R3D-18's first stage, channels last"),
    }[axes]


def convolution(
    size: Preset, axes: int, transposed: bool, dynamic: bool = False, weights: str = ""
) -> Rows:
    """A convolution's data and weights of three elements along each axis; of four if it is
    transposed, which then doubles the extents. Or the weights alone, in this layout."""
    shape, why = maps(size, axes)
    if transposed:
        why = "a decoder's layer, which doubles the extents"
    channels, order = shape[1], LAST.get(axes, "")
    data = activations(*shape, order=order)
    if dynamic:
        data = TensorSpec(shape, "float32", memory_format=order)
    layout = weights or f"packed_conv{'_transpose' * transposed}{axes}d"
    weight = packed(layout, channels, channels, *(3 + transposed,) * axes)
    return {
        f"weights of {channels} maps from as many" if weights else why: call(
            **dict.fromkeys(("qx", "qaccum"), data),
            **dict.fromkeys(("weight", "packed_weight", "packed_weights"), weight),
            **dict.fromkeys(("padding", "dilation"), (1,) * axes),
            bias=parameters(channels, Fill()),
            stride=(1 + transposed,) * axes,
            output_padding=(0,) * axes,
            groups=1,
            **RESULT,
        )
    }


READ = ("dilation", "groups", "output_padding", "padding", "stride", "transpose", "unpack")
"""Properties of a convolution's packed weights that operators read."""

FORMS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "conv1d": (1, ("", "_relu"), ("unpack",)),
    "conv2d": (2, ("", "_relu", "_add", "_add_relu"), (*READ, "unpack_sizes")),
    "conv3d": (3, ("", "_relu"), READ),
    "conv_transpose1d": (1, ("",), ("unpack",)),
    "conv_transpose2d": (2, ("",), READ),
    "conv_transpose3d": (3, ("",), READ),
}
"""Spatial axes of convolutions, what is computed with them, and what is read of their weights."""


def _convolutions() -> dict[str, Variants]:
    found: dict[str, Variants] = {}
    for name, (axes, fused, read) in FORMS.items():
        transposed = "transpose" in name
        layer = partial(convolution, axes=axes, transposed=transposed)
        found |= {
            **{f"{name}{form}": layer for form in fused},
            f"{name}_dynamic": partial(layer, dynamic=True),
            f"{name}_prepack": partial(layer, weights="dense" if transposed else "per_channel"),
            **{f"{name}_{what}": partial(layer, weights=f"packed_{name}") for what in read},
        }
    return found


def table(size: Preset, layout: str) -> Rows:
    """Bags of rows of a quantised table, of which there are no maxima."""
    words = size.extent(100_000)
    return {
        why: call(
            weight=packed(layout, words, width, dtype=UNSIGNED),
            indices=fixed((bags := size.extent(count)) * each, fill=drawn(words), dtype=INDEX),
            offsets=fixed(bags, fill=literal(tuple(range(0, bags * each, each))), dtype=INDEX),
            mode=KINDS.index(kind),
        )
        for why, kind, count, each, width, drawn in BAGS
        if kind != "max"
    }


def _rows(size: Preset, layout: str) -> Rows:
    words = size.extent(100_000)
    return {
        "a recommender, single rows of a table": call(
            weight=packed(layout, words, 64, dtype=UNSIGNED),
            indices=fixed(size.extent(2048), fill=below(words), dtype=INDEX),
        )
    }


def whole_table(size: Preset, layout: str = "") -> Rows:
    """A whole table, quantised or before it is."""
    words = size.extent(100_000)
    spec = packed(layout, words, 64, dtype=UNSIGNED) if layout else real(words, 64)
    extremes = fixed(words, 2, fill=ascending(-4, 4), dtype="float32")
    why = "a recommender's table, once before it serves"
    return {why: call(weight=spec, W_prepack=spec, rowwise_min_max=extremes)}


def _tables() -> dict[str, Variants]:
    found: dict[str, Variants] = {
        "embedding_bag_prepack": partial(whole_table, layout="table"),
        "embedding_bag_unpack": partial(whole_table, layout="packed_table_8bit"),
        "embedding_byte": partial(_rows, layout="packed_table_8bit"),
        "embedding_4bit": partial(_rows, layout="packed_table_4bit"),
        "embedding_bag_byte": partial(table, layout="packed_table_8bit"),
        "embedding_bag_4bit": partial(table, layout="packed_table_4bit"),
    }
    for kind in ("byte", "4bit", "2bit"):
        name = f"embedding_bag_{kind}"
        found |= {
            f"{name}_prepack": whole_table,
            f"{name}_prepack_with_rowwise_min_max": whole_table,
            f"{name}_unpack": partial(whole_table, layout=f"rows_{kind}"),
            f"{name}_rowwise_offsets": partial(table, layout=f"rows_{kind}"),
        }
    return found


CONVOLUTIONS = _convolutions()
QUANTISED = partial(dense, quantised=True)
FULL_HALF = partial(dense, weights="packed_linear_fp16")

BY_NAME: dict[str, Variants] = {
    **dict.fromkeys(("linear", "linear_relu", "linear_leaky_relu", "linear_tanh"), QUANTISED),
    **dict.fromkeys(
        (
            *("linear_dynamic", "linear_relu_dynamic", "linear_dynamic_fp16_unpacked_weight"),
            "linear_with_input_q_dq_qweight_dq_output_fp32",
            "linear_with_input_q_dq_qweight_dq_relu_output_fp32",
        ),
        dense,
    ),
    **dict.fromkeys(("linear_dynamic_fp16", "linear_relu_dynamic_fp16"), FULL_HALF),
    "linear_prepack": partial(weights, layout="per_channel"),
    "linear_prepack_fp16": weights,
    "linear_unpack": partial(weights, layout="packed_linear"),
    "linear_unpack_fp16": partial(weights, layout="packed_linear_fp16"),
    "int4mm_packed_weight_cpu": lambda size: {
        why: call(
            self=fixed(tokens, inputs, dtype=HALF),
            mat2=fixed(outputs, inputs // 2, fill=NIBBLES, dtype="uint8"),
            qGroupSize=fixed(fill=literal(BLOCK), dtype="int64"),
            qScaleAndZeros=fixed(inputs // BLOCK, outputs, 2, fill=POSITIVE, dtype=HALF),
        )
        for tokens, inputs, outputs, why in layers(size)
    },
    "quantized_gru_cell_dynamic": partial(cell, gates=3),
    "quantized_lstm_cell_dynamic": partial(cell, gates=4, states=2),
    "quantized_rnn_relu_cell_dynamic": partial(cell, gates=1),
    "quantized_rnn_tanh_cell_dynamic": partial(cell, gates=1),
    "make_quantized_cell_params": partial(cell, gates=4, layout=""),
    "make_quantized_cell_params_dynamic": partial(cell, gates=4),
    "make_quantized_cell_params_fp16": partial(cell, gates=4, layout="packed_linear_fp16"),
    **CONVOLUTIONS,
    "conv_prepack": CONVOLUTIONS["conv2d_prepack"],
    "conv_unpack": CONVOLUTIONS["conv2d_unpack"],
    **_tables(),
}
"""Configurations by the operator's name in its namespace."""

add_offered(FAMILIES.add, {f"quantized::{name}": made for name, made in BY_NAME.items()})


LEGACY = "PyTorch says that models of an outdated version alone call it, and refuses it"

NOT_BENCHMARKED = {
    f"quantized::linear_{name}": LEGACY
    for name in ("prepack_fp16_legacy", "prepack_legacy", "unpack.legacy", "unpack_fp16.legacy")
}
