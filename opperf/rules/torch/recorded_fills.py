"""Contents of recorded inputs: indices in range, masks, and numbers that operators can take."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from opperf.dtypes import kind_of
from opperf.model import Argument, Fill, TensorSpec
from opperf.rules.values import (
    BOOLEAN,
    NORMAL,
    OPEN_UNIT,
    POSITIVE,
    PROBABILITY,
    SIMPLEX,
    Arguments,
    below,
    between,
    literal,
    spread,
)

Rule = Callable[[Arguments, TensorSpec], Fill]
"""Returns the fill of a tensor, by the other arguments of the call. Raises `Unfit`."""


class Unfit(Exception):
    """The arguments of a call lack one that a rule needs, or have another value there."""


def with_all_fills(operator: str, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments as `with_fills` does, with integers in the tensors of
    integers of which that knows nothing."""
    return _filled(operator, arguments, WHOLE.get(operator, numbers))


def with_fills(operator: str, arguments: Arguments) -> Arguments:
    """Returns an operator's arguments with the fills of their tensors: normal numbers where nothing
    is known. `operator` is without namespace and overload: `embedding`."""
    return _filled(operator, arguments, always(NORMAL))


def _filled(operator: str, arguments: Arguments, of_integers: Rule) -> Arguments:
    rules = FILLS.get(operator, {})

    def fill(name: str, position: int, spec: TensorSpec) -> TensorSpec:
        if spec.dtype == "bool":
            made = BOOLEAN
        elif name == "indices" and operator in INDEXED_BY_POSITION:
            made = below(_extent(arguments, "self", position))
        elif name in rules:
            made = rules[name](arguments, spec)
        elif kind_of(spec.dtype) == "integer" and name not in INDICES:
            made = of_integers(arguments, spec)
        else:
            made = NORMAL
        return msgspec.structs.replace(spec, fill=made)

    def change(name: str, value: Argument) -> Argument:
        if isinstance(value, TensorSpec):
            return fill(name, 0, value)
        if isinstance(value, tuple):
            return tuple(
                fill(name, position, one) if isinstance(one, TensorSpec) else one
                for position, one in enumerate(value)
            )
        return value

    return {name: change(name, value) for name, value in arguments.items()}


def _tensor(arguments: Arguments, name: str) -> TensorSpec:
    value = arguments.get(name)
    if not isinstance(value, TensorSpec):
        raise Unfit
    return value


def _number(arguments: Arguments, name: str) -> int:
    value = arguments.get(name)
    if not isinstance(value, int):
        raise Unfit
    return value


def _extent(arguments: Arguments, name: str, axis: int) -> int:
    shape = _tensor(arguments, name).shape
    if not -len(shape) <= axis < len(shape):
        raise Unfit
    return shape[axis]


def always(fill: Fill) -> Rule:
    """Returns the rule of a fill that depends on no argument."""
    return lambda arguments, spec: fill


def below_extent(name: str, axis: int = 0) -> Rule:
    """Returns the rule of indices along an axis of a tensor."""
    return lambda arguments, spec: below(_extent(arguments, name, axis))


def below_number(name: str) -> Rule:
    """Returns the rule of indices below a plain argument."""
    return lambda arguments, spec: below(_number(arguments, name))


def along_dim(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns indices along the axis `dim` of `self`."""
    return below(_extent(arguments, "self", _number(arguments, "dim")))


def in_map(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns indices of elements of a feature map, counted row by row, near their windows; any of
    a tensor with strides, whose neighbours in memory are other channels'."""
    count = _extent(arguments, "self", -2) * _extent(arguments, "self", -1)
    return below(count) if spec.strides else spread(count)


def bags(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns the first index of each bag, of bags that are equally long."""
    count = _tensor(arguments, "indices").size
    return literal([bag * count // spec.size for bag in range(spec.size)])


def in_size(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns the indices of a sparse tensor's rows."""
    match arguments.get("size"):
        case (int() as rows, *_):
            return below(rows)
    raise Unfit


def targets(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns the sum of the targets' weights, each of which is one."""
    return Fill("constant", float(_tensor(arguments, "target").size))


def probabilities(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns a softmax's output: with sums of one along the last axis, else of probabilities."""
    # Tensors with strides can only have fills that draw each number for itself.
    last = _number(arguments, "dim") in (-1, len(spec.shape) - 1)
    return SIMPLEX if last and not spec.strides else PROBABILITY


def exponent_domain(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns any base of a whole exponent, and a positive one of others."""
    exponent = arguments.get("exponent")
    if not isinstance(exponent, (int, float)):
        raise Unfit
    return NORMAL if exponent == int(exponent) else POSITIVE


def compared(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns integers of which a quarter is equal: to the number that a tensor is compared
    with, or to those of another such tensor."""
    number = arguments.get("other")
    first = int(number) if isinstance(number, (int, float)) else 0
    return below(first + 4, start=first)


def numbers(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns zeros and ones for bytes, which are masks, and numbers of classes or tokens for other
    integers."""
    return BOOLEAN if spec.dtype == "uint8" else below(CLASSES)


def positions(arguments: Arguments, spec: TensorSpec) -> Fill:
    """Returns positions in a sequence of as many as there are."""
    return below(max(1, spec.size))


CLASSES = 1000
"""Classes of ImageNet, and less than the words of any vocabulary."""
INDICES = frozenset({"index", "indices"})
"""Arguments that index another, whatever the operator."""
LOG_PROBABILITY = between(-11.0, -1.0)
"""Logarithms of probabilities of a class, down to one in the words of a vocabulary."""
UNIT = between(0.0, 1.0)
"""Exponents of the wavelengths of a sinusoidal encoding of positions."""

INDEXED_BY_POSITION = (
    "index",
    "index_put",
    "_index_put_impl",
    "_unsafe_index",
    "_unsafe_index_put",
)
"""Operators whose list `indices` has the indices of an axis each."""

FILLS: dict[str, dict[str, Rule]] = {
    "_embedding_bag": {"indices": below_extent("weight"), "offsets": bags},
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
    "embedding_backward": {"indices": below_number("num_weights")},
    "embedding_dense_backward": {"indices": below_number("num_weights")},
    "embedding_sparse_backward": {"indices": below_number("num_weights")},
    "eq": {"self": compared, "other": compared},
    "gather": {"index": along_dim},
    "grid_sampler_2d": {"grid": always(OPEN_UNIT)},
    "grid_sampler_2d_backward": {"grid": always(OPEN_UNIT)},
    "index_add": {"index": along_dim},
    "index_select": {"index": along_dim},
    "max_pool2d_with_indices_backward": {"indices": in_map},
    "native_batch_norm": {"running_var": always(POSITIVE)},
    "native_batch_norm_backward": {
        "running_var": always(POSITIVE),
        "save_invstd": always(POSITIVE),
    },
    "native_layer_norm_backward": {"rstd": always(POSITIVE)},
    "ne": {"self": compared, "other": compared},
    "nll_loss_backward": {"target": below_extent("self", 1), "total_weight": targets},
    "nll_loss_forward": {"target": below_extent("self", 1)},
    "pow": {"self": exponent_domain, "exponent": always(UNIT)},
    "reciprocal": {"self": always(POSITIVE)},
    "rsqrt": {"self": always(POSITIVE)},
    "scatter": {"index": along_dim},
    "scatter_add": {"index": along_dim},
    "sigmoid_backward": {"output": always(PROBABILITY)},
    "tanh_backward": {"output": always(OPEN_UNIT)},
}
"""Fills by operator and argument; normal numbers elsewhere, and whole ones in tensors of these."""

WHOLE: dict[str, Rule] = {
    # The memory of a forward pass, which only the operator reads.
    "_cudnn_rnn_backward": always(below(256)),
    "cumsum": always(BOOLEAN),
    "floor_divide": positions,
    "lt": positions,
}
"""Fills of tensors of integers by operator, where those of `numbers` would mean nothing: masks of
tokens that are counted, positions."""
