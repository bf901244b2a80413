"""Contents of recorded inputs: indices in range, masks, and numbers that operators can take."""

from __future__ import annotations

import msgspec

from opperf.dtypes import kind_of
from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.contents import INDICES
from opperf.rules.dependencies import (
    Asked,
    Rule,
    Rules,
    Unfit,
    along,
    always,
    at,
    below_extent,
    below_number,
)
from opperf.rules.image_shapes import CLASSES
from opperf.rules.torch.dependencies import DEPENDENCIES, bags
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    WARPED,
    Arguments,
    below,
    between,
)


def with_fills(operator: str, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments with the fills of their tensors: where nothing is known,
    normal numbers, and in tensors of integers such as `numbers`. `operator` is without namespace
    and overload: `embedding`."""
    of_integers = WHOLE.get(operator, numbers)
    rules = CONTENTS.get(operator, {})

    def fill(name: str, spec: TensorSpec, position: int = 0) -> TensorSpec:
        asked = Asked(arguments, spec, position)
        if name in rules:
            made = rules[name](asked)
        elif spec.dtype == "bool":
            made = BOOLEAN
        elif kind_of(spec.dtype) == "integer" and name not in INDICES:
            made = of_integers(asked)
        else:
            made = NORMAL
        return msgspec.structs.replace(spec, fill=made)

    def change(name: str, value: Argument) -> Argument:
        if isinstance(value, TensorSpec):
            return fill(name, value)
        if isinstance(value, tuple):
            parts = enumerate(value)
            return tuple(fill(name, x, i) if isinstance(x, TensorSpec) else x for i, x in parts)
        return value

    return {name: change(name, value) for name, value in arguments.items()}


def in_size(asked: Asked) -> Fill:
    """Returns the indices of a sparse tensor's rows."""
    return below(at(asked.numbers("size"), 0))


def targets(asked: Asked) -> Fill:
    """Returns the sum of the targets' weights, each of which is one."""
    return Fill("constant", float(asked.tensor("target").size))


def probabilities(asked: Asked) -> Fill:
    """Returns a softmax's output: with sums of one along the last axis, else of probabilities."""
    # Tensors with strides can only have fills that draw each number for itself.
    last = asked.number("dim") in (-1, len(asked.spec.shape) - 1)
    return SIMPLEX if last and not asked.spec.strides else PROBABILITY


def exponent_domain(asked: Asked) -> Fill:
    """Returns any base of a whole exponent, and a positive one of others."""
    exponent = asked.arguments.get("exponent")
    if not isinstance(exponent, (int, float)):
        raise Unfit
    return NORMAL if exponent == int(exponent) else POSITIVE


def compared(asked: Asked) -> Fill:
    """Returns integers of which a quarter equals the compared number or those of such a tensor."""
    number = asked.arguments.get("other")
    first = int(number) if isinstance(number, (int, float)) else 0
    return below(first + 4, start=first)


def numbers(asked: Asked) -> Fill:
    """Returns zeros and ones for bytes, which are masks, and numbers of classes for others."""
    return BOOLEAN if asked.spec.dtype == "uint8" else below(CLASSES)


def positions(asked: Asked) -> Fill:
    """Returns positions in a sequence of as many as there are."""
    return below(max(1, asked.spec.size))


def padding(asked: Asked) -> Fill:
    """Returns a mask of what each row has before its text, or draws of a tensor with strides."""
    return BOOLEAN if asked.spec.strides else Fill("padded", 0.0, 0.5)


def causal(asked: Asked) -> Fill:
    """Returns the mask of each token and those before it, where there is one of all pairs."""
    length = asked.spec.shape[-1]
    square = asked.spec.shape[-2:] == (length, length) and not asked.spec.strides
    return Fill("band", 0.0, float(length)) if square else BOOLEAN


def chosen(asked: Asked) -> Fill:
    """Returns places in any order; of as many relative positions as XLNet has, those it shifts."""
    made = along("self")(asked)
    positions = 2 * asked.spec.size - 1
    return Fill("sequence", 1.0, made.high) if made.high == positions > 1 else made


LOG_PROBABILITY = between(-11.0, -1.0)
"""Logarithms of probabilities of a class, down to one in the words of a vocabulary."""
UNIT = between(0.0, 1.0)
"""Exponents of the wavelengths of a sinusoidal encoding of positions."""

CONTENTS: Rules = {
    **DEPENDENCIES,
    "_embedding_bag_per_sample_weights_backward": {
        "indices": below_extent("weight"),
        "offsets": bags,
        # A model's are in ascending order, which as literal data would fill a run file.
        "offset2bag": below_extent("offsets"),
    },
    "_log_softmax_backward_data": {"output": always(LOG_PROBABILITY)},
    "_softmax_backward_data": {"output": probabilities},
    "_sparse_coo_tensor_with_dims_and_tensors": {"indices": in_size},
    "div": {"other": always(POSITIVE)},
    "embedding": {"indices": below_extent("weight")},
    **{
        f"embedding_{kind}backward": {"indices": below_number("num_weights")}
        for kind in ("", "dense_", "sparse_")
    },
    **dict.fromkeys(("eq", "ne"), {"self": compared, "other": compared}),
    **dict.fromkeys(("gather", "scatter", "scatter_add"), {"index": along("self")}),
    **dict.fromkeys(("index_add", "index_select"), {"index": chosen}),
    **dict.fromkeys(("grid_sampler_2d", "grid_sampler_2d_backward"), {"grid": always(WARPED)}),
    **dict.fromkeys(("masked_fill", "masked_fill_"), {"mask": padding}),
    "native_batch_norm": {"running_var": always(POSITIVE)},
    "native_batch_norm_backward": dict.fromkeys(("running_var", "save_invstd"), always(POSITIVE)),
    "native_layer_norm_backward": {"rstd": always(POSITIVE)},
    "nll_loss_backward": {"target": below_extent("self", 1), "total_weight": targets},
    "nll_loss_forward": {"target": below_extent("self", 1)},
    "pow": {"self": exponent_domain, "exponent": always(UNIT)},
    **dict.fromkeys(("reciprocal", "rsqrt"), {"self": always(POSITIVE)}),
    "sigmoid_backward": {"output": always(PROBABILITY)},
    "tanh_backward": {"output": always(OPEN_UNIT)},
    "where": {"condition": causal},
}
"""Fills by operator and argument; normal numbers elsewhere, and whole ones in tensors of these."""

WHOLE: dict[str, Rule] = {
    # The memory of a forward pass, which only the operator reads.
    "_cudnn_rnn_backward": always(below(256)),
    "cumsum": always(BOOLEAN),
    "floor_divide": positions,
    "lt": positions,
}
"""Fills of tensors of integers by operator, where those of `numbers` would mean nothing."""
