"""Contents of PyTorch's tensors that are valid only beside others, or return what a trace has."""

from __future__ import annotations

import math
from collections.abc import Mapping

from opperf.model import Fill, TensorSpec
from opperf.rules.dependencies import (
    Asked,
    Rule,
    Rules,
    Unfit,
    along,
    always,
    ascending,
    at,
    below_extent,
    below_number,
    chosen,
    ends,
    extent_of,
    from_one_to_extent,
    last_ends,
    lengths_of,
    own_rank,
    parts,
    steps_of,
    sums_to,
)
from opperf.rules.torch.maxima import MAXIMA
from opperf.rules.values import BOOLEAN, below, between, literal, repeated

MOST_LISTED = 1024
"""Most numbers that a case lists one by one: a file of a run has them all."""


def bags(asked: Asked) -> Fill:
    """Returns where bags of equal length begin, and where the last ends if the call wants it."""
    count, size = asked.tensor("indices").size, asked.spec.size
    if asked.arguments.get("include_last_offset"):
        return ascending(0, count)
    if size > MOST_LISTED:
        return ascending(0, (size - 1) * count // size)
    return literal([bag * count // size for bag in range(size)])


def bag_of_index(asked: Asked) -> Fill:
    """Returns the bag of each index."""
    count, size = asked.tensor("offsets").size, asked.spec.size
    return ascending(0, count - 1) if size % count else repeated(size // count)


def bag_size(asked: Asked) -> Fill:
    """Returns the number of indices in each bag."""
    count = asked.tensor("indices").size
    return parts(count) if count % asked.spec.size else Fill("constant", count // asked.spec.size)


BAGS: Mapping[str, Rule] = {"indices": below_extent("weight"), "offsets": bags}

BAG_GRADIENTS: Mapping[str, Rule] = {
    **dict.fromkeys(("indices", "maximum_indices"), below_number("num_weights")),
    **{"offsets": bags, "offset2bag": bag_of_index, "bag_size": bag_size},
}


def symbols(asked: Asked) -> Fill:
    """Returns labels, none of which is the blank between them."""
    blank, classes = asked.number("blank", 0), asked.extent("log_probs", -1)
    return below(max(2, classes), start=1) if blank == 0 else below(max(1, blank))


def label_lengths(asked: Asked) -> Fill:
    """Returns the number of labels of each sequence: of all in one row, parts of them."""
    targets = asked.tensor("targets")
    if len(targets.shape) == 1 and asked.spec.shape:
        return parts(targets.size)
    return Fill("constant", float(at(targets.shape, -1)))


ALIGNED: Mapping[str, Rule] = {
    "targets": symbols,
    # Every sequence has all steps.
    "input_lengths": lambda asked: Fill("constant", float(asked.extent("log_probs", 0))),
    "target_lengths": label_lengths,
}


def in_packed(asked: Asked) -> Fill:
    """Returns how many sequences each step of packed ones has, with a state of each."""
    states = asked.arguments.get("hx")
    first = states[0] if isinstance(states, tuple) else states
    if not isinstance(first, TensorSpec):
        raise Unfit
    return literal(steps_of(asked.extent("data", 0), asked.spec.size, at(first.shape, 1)))


def in_few(asked: Asked) -> Fill:
    """Returns how many packed sequences each step has, of as few as fit or as were returned."""
    total, steps = asked.extent("data", 0), asked.spec.size
    sequences = -(-total // max(1, steps))
    if asked.returned:
        sequences = at(asked.result(), 0 if asked.arguments.get("batch_first") else 1)
    return literal(steps_of(total, steps, sequences))


def sequence_lengths(asked: Asked) -> Fill:
    """Returns lengths from the longest to half of it, or of the sum of the returned elements."""
    if asked.returned:
        total, steps = at(asked.result(), 0), at(asked.result(1), 0)
        return literal(lengths_of(total, steps, asked.spec.size))
    longest = asked.extent("input", 1 if asked.arguments.get("batch_first") else 0)
    return ascending(longest, -(-longest // 2))


def compressed(pointers: str, others: str, axis: int) -> Mapping[str, Rule]:
    """Returns the rules of a compressed sparse matrix: where each row begins, and its columns,
    along the axis of its size: different ones in each row, in ascending order."""

    def columns(asked: Asked) -> Fill:
        rows, count = asked.extent(pointers, -1) - 1, at(asked.spec.shape, -1)
        if rows < 1:
            raise Unfit
        if count == rows:
            values = asked.tensor("values").shape[1:]
            block = values[axis] if len(values) > 1 else 1
            size = asked.arguments.get("size")
            return below(asked.numbers("size")[axis] // block if size is not None else rows)
        if count % rows == 0:
            return Fill("sequence", 1.0, float(count // rows))
        if count > MOST_LISTED:
            raise Unfit
        begins = [row * count // rows for row in range(rows + 1)]
        return literal([i for row in range(rows) for i in range(begins[row + 1] - begins[row])])

    return {pointers: ends(extent_of(others, -1)), others: columns}


def grouped(asked: Asked) -> int:
    """Returns how many rows or columns the groups of a product share."""
    first, second = asked.tensor("self"), asked.tensor("mat2")
    if len(first.shape) == 2:
        return first.shape[-2] if len(second.shape) > 2 else first.shape[-1]
    return at(second.shape, -1)


def in_jagged(asked: Asked) -> int:
    """Returns how many rows the sequences of padded ones have together."""
    total = asked.arguments.get("total_L")
    if isinstance(total, int):
        return total
    return asked.extent("dense", 0) * asked.extent("dense", 1) // 2


def pieces(asked: Asked) -> Fill:
    """Returns where parts of a tensor but the first begin: equal ones, or those returned."""
    axis = asked.number("dim", 0)
    if not asked.spec.shape:
        raise Unfit
    if asked.returned:
        extents = [at(shape, axis) for shape in asked.returned]
        return literal([sum(extents[: place + 1]) for place in range(len(extents) - 1)])
    extent, count = asked.extent("self", axis), asked.spec.size + 1
    return ascending(extent // count, extent * (count - 1) // count)


def repeats(asked: Asked) -> Fill:
    """Returns how often each entry is repeated, for as many as the call names or returned."""
    total = asked.arguments.get("output_size")
    data = asked.arguments.get("self")
    axis = asked.arguments.get("dim")
    if not isinstance(total, int):
        total = at(asked.result(), axis) if isinstance(axis, int) else math.prod(asked.result())
    if asked.spec.size == 1 and isinstance(data, TensorSpec):
        entries = at(data.shape, axis) if isinstance(axis, int) else data.size
        if not entries or total % entries:
            raise Unfit
        return Fill("constant", float(total // entries))
    return parts(total)


def times_of(asked: Asked, data: str) -> int:
    """Returns to how many elements each of a mask is broadcast by a tensor. Raises `Unfit`."""
    other, own = asked.tensor(data).shape, asked.spec.shape
    axes = max(len(other), len(own))
    pairs = zip((1,) * (axes - len(other)) + other, (1,) * (axes - len(own)) + own, strict=True)
    if not asked.spec.size:
        raise Unfit
    return math.prod(max(pair) for pair in pairs) // asked.spec.size


def set_at(asked: Asked, count: int, times: int = 1) -> Fill:
    """Returns a mask that is set at so many elements of what it is broadcast to."""
    if count % max(1, times) or not 0 <= count // max(1, times) <= asked.spec.size:
        raise Unfit
    return chosen(count // max(1, times))


def is_mask(spec: object) -> bool:
    """Whether an index is a mask, which has as many axes as what it selects from."""
    return isinstance(spec, TensorSpec) and spec.dtype in ("bool", "uint8")


def indexed_axis(asked: Asked) -> int:
    """Returns the axis of one of a list of indices, of which a mask has several."""
    indices = asked.arguments["indices"]
    assert isinstance(indices, tuple)
    axis = 0
    for index in indices[: asked.position]:
        axis += len(index.shape) if isinstance(index, TensorSpec) and is_mask(index) else 1
    return axis


def index_of_write(asked: Asked) -> Fill:
    """Returns indices along the axis of their position, or a mask of as many places as values."""
    if not is_mask(asked.spec):
        return index_of_read(asked)
    inner = len(asked.tensor("self").shape) - indexed_axis(asked) - len(asked.spec.shape)
    shape = asked.tensor("values").shape
    count = shape[-1 - inner] if len(shape) > inner else 1
    return set_at(asked, count) if count > 1 else BOOLEAN


def index_of_read(asked: Asked) -> Fill:
    """Returns indices along the axis of their position, or a mask."""
    if is_mask(asked.spec):
        return BOOLEAN
    return below(max(1, asked.extent("self", indexed_axis(asked))))


def from_source(asked: Asked) -> Fill:
    """Returns a mask of no more elements than there are to copy."""
    most = asked.tensor("source").size // max(1, times_of(asked, "self"))
    return BOOLEAN if most >= asked.spec.size else chosen(most)


def usual_bins(asked: Asked) -> Fill:
    """Returns numbers of the bins that there are at least."""
    least = asked.number("minlength")
    if least < 1:
        raise Unfit
    return below(least)


def rising(edges: str) -> Mapping[str, Rule]:
    """Returns the rules of edges, and of the numbers between them."""
    return {
        edges: lambda asked: ascending(0, asked.extent(edges, -1) - 1),
        "self": lambda asked: between(0, asked.extent(edges, -1)),
    }


BY_NAMES: Rules = {
    "embedding_bag _embedding_bag _embedding_bag_forward_only": BAGS,
    "quantized::embedding_bag_byte quantized::embedding_bag_4bit "
    "quantized::embedding_bag_byte_rowwise_offsets quantized::embedding_bag_4bit_rowwise_offsets "
    "quantized::embedding_bag_2bit_rowwise_offsets": {"offsets": bags},
    "_embedding_bag_backward _embedding_bag_dense_backward "
    "_embedding_bag_sparse_backward": BAG_GRADIENTS,
    "ctc_loss _ctc_loss _cudnn_ctc_loss _use_cudnn_ctc_loss miopen_ctc_loss "
    "_use_miopen_ctc_loss _ctc_loss_backward": ALIGNED,
    "gru lstm rnn_relu rnn_tanh": {"batch_sizes": in_packed},
    "_pack_padded_sequence": {"lengths": sequence_lengths},
    "_pad_packed_sequence": {"batch_sizes": in_few},
    "segment_reduce _segment_reduce_backward": {
        "lengths": sums_to(own_rank("data")),
        "offsets": ends(own_rank("data")),
    },
    "linalg_lu_solve": {"pivots": from_one_to_extent("LU", -2)},
    "linalg_ldl_solve": {"pivots": from_one_to_extent("LD", -2)},
    "lu_solve lu_unpack": {"LU_pivots": from_one_to_extent("LU_data", -2)},
    "sparse_csr_tensor sparse_bsr_tensor _sparse_csr_tensor_unsafe": compressed(
        "crow_indices", "col_indices", 1
    ),
    "sparse_csc_tensor sparse_bsc_tensor": compressed("ccol_indices", "row_indices", 0),
    "_convert_indices_from_csr_to_coo": {"crow_indices": ends(extent_of("col_indices", -1))},
    "_convert_indices_from_coo_to_csr": {
        "self": lambda asked: ascending(0, asked.number("size") - 1)
    },
    "_grouped_mm _scaled_grouped_mm _scaled_grouped_mm_v2": {"offs": last_ends(grouped)},
    "_flash_attention_forward _flash_attention_backward": {
        "cum_seq_q": ends(extent_of("query")),
        "cum_seq_k": ends(extent_of("key")),
    },
    "_efficient_attention_forward _efficient_attention_backward": {
        "cu_seqlens_q": ends(extent_of("query", 1)),
        "cu_seqlens_k": ends(extent_of("key", 1)),
    },
    "_jagged_to_padded_dense_forward": {"offsets": ends(extent_of("values"))},
    "_padded_dense_to_jagged_forward": {"offsets": ends(in_jagged)},
    "_nested_view_from_jagged": {"offsets": ends(extent_of("self"))},
    "tensor_split": {"tensor_indices_or_sections": pieces},
    "repeat_interleave": {"repeats": repeats},
    "bincount": {"self": usual_bins},
    "bucketize": rising("boundaries"),
    "searchsorted": rising("sorted_sequence"),
    "multilabel_margin_loss_backward": {"is_target": always(BOOLEAN)},
    "value_selecting_reduction_backward": {"indices": along("sizes")},
    "index_put _index_put_impl _unsafe_index_put": {"indices": index_of_write},
    "index _unsafe_index": {"indices": index_of_read},
    "masked_scatter": {"mask": from_source},
    # As many elements are set as there are gradients.
    "masked_select_backward": {
        "mask": lambda asked: set_at(asked, asked.tensor("grad").size, times_of(asked, "input"))
    },
}

DEPENDENCIES: Rules = {
    **{name: rules for names, rules in BY_NAMES.items() for name in names.split()},
    **MAXIMA,
}
"""By operator without overload and argument: what is valid beside the others only."""
