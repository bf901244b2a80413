"""Contents with which PyTorch's operators return tensors of the shapes that a trace has."""

from __future__ import annotations

import math

from opperf.model import Fill, TensorSpec
from opperf.rules.dependencies import (
    Asked,
    Rules,
    Unfit,
    ascending,
    at,
    different,
    distinct_rows,
    is_possible,
    up_to,
)
from opperf.rules.torch.dependencies import (
    in_few,
    index_of_read,
    is_mask,
    pieces,
    repeats,
    sequence_lengths,
    set_at,
    times_of,
)
from opperf.rules.values import below


def selected(asked: Asked) -> Fill:
    """Returns a mask of as many elements as were returned."""
    return set_at(asked, math.prod(asked.result()), times_of(asked, "self"))


def nonzero(asked: Asked) -> Fill:
    """Returns as many elements that are not zero as places were returned."""
    return set_at(asked, at(asked.result(), 0))


def read_at(asked: Asked) -> Fill:
    """Returns a mask among indices that is set at as many places as were read."""
    indices = asked.arguments.get("indices")
    if not is_mask(asked.spec):
        return index_of_read(asked)
    if not isinstance(indices, tuple):
        raise Unfit
    left = list(asked.tensor("self").shape)
    axis = 0
    for index in indices:
        if isinstance(index, TensorSpec):
            del left[axis : axis + (len(index.shape) if is_mask(index) else 1)]
        else:
            axis += 1
    inner = math.prod(left)
    total = math.prod(asked.result())
    if not inner or total % inner:
        raise Unfit
    return set_at(asked, total // inner)


def unique(asked: Asked) -> Fill:
    """Returns as many different numbers as were returned."""
    return different(asked, at(asked.result(), 0))


def unique_runs(asked: Asked) -> Fill:
    """Returns as many runs of equal numbers as were returned."""
    axis, shape = asked.arguments.get("dim"), asked.spec.shape
    if isinstance(axis, int) and len(shape) > 1:
        if axis % len(shape) or at(asked.result(), 0) != shape[0]:
            raise Unfit
        return distinct_rows(asked.spec, shape[0])
    count = at(asked.result(), 0)
    if not is_possible(asked.spec, count):
        raise Unfit
    return ascending(0, count - 1)


def unique_rows(asked: Asked) -> Fill:
    """Returns as many different entries along the axis as were returned."""
    shape = asked.spec.shape
    if not shape or asked.number("dim") % len(shape):
        raise Unfit
    return distinct_rows(asked.spec, at(asked.result(), 0))


def bins(asked: Asked) -> Fill:
    """Returns numbers, the largest of which has the last of the bins that were returned."""
    count, least = at(asked.result(), 0), asked.number("minlength", 0)
    return up_to(asked, count - 1) if count > least else below(max(1, count))


def classes(asked: Asked) -> Fill:
    """Returns classes, the largest of which is the last that was returned."""
    if asked.number("num_classes", -1) >= 0:
        return below(max(1, asked.number("num_classes")))
    return up_to(asked, at(asked.result(), -1) - 1)


def unknown(asked: Asked) -> Fill:
    """Raises `Unfit`: how many results there are follows from more than one tensor."""
    raise Unfit


RESULTS: Rules = {
    **dict.fromkeys(("_unique", "_unique2"), {"self": unique}),
    "unique_consecutive": {"self": unique_runs},
    "unique_dim_consecutive": {"self": unique_runs},
    "unique_dim": {"self": unique_rows},
    "bincount": {"self": bins},
    "one_hot": {"self": classes},
    "repeat_interleave": {"repeats": repeats},
    **dict.fromkeys(("nonzero", "argwhere", "nonzero_numpy"), {"self": nonzero}),
    "where.default": {"condition": nonzero},
    "masked_select": {"mask": selected},
    **dict.fromkeys(("index", "_unsafe_index"), {"indices": read_at}),
    "_pack_padded_sequence": {"lengths": sequence_lengths},
    "_pad_packed_sequence": {"batch_sizes": in_few},
    "tensor_split": {"tensor_indices_or_sections": pieces},
    "torchvision::nms": {"dets": unknown},
}
"""By operator and argument: contents on which the shapes depend that a call returns."""
