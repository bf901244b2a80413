"""Contents that the other arguments of a call decide, and those that its results need."""

import numpy as np
import pytest

from opperf.frameworks import fill
from opperf.model import Fill, ObjectTarget, TensorSpec
from opperf.rules.contents import layer_contents
from opperf.rules.dependencies import Asked, Unfit, lengths_of, steps_of
from opperf.rules.torch.dependencies import DEPENDENCIES, MOST_LISTED
from opperf.rules.torch.results import RESULTS
from opperf.rules.values import BOOLEAN, below


def whole(*shape, dtype="int64"):
    return TensorSpec(shape, dtype)


def real(*shape):
    return TensorSpec(shape)


def mask(*shape):
    return TensorSpec(shape, "bool")


def numbers(spec, made):
    return np.asarray(fill.code(TensorSpec(spec.shape, spec.dtype, made), 0).run())


def made_by(table, operator, name, arguments, returned=()):
    """The numbers of a tensor of a call."""
    value = arguments[name]
    listed = list(enumerate(value)) if isinstance(value, tuple) else [(0, value)]
    position, spec = next((i, one) for i, one in listed if isinstance(one, TensorSpec))
    asked = Asked(arguments, spec, position, tuple(returned))
    return numbers(spec, table[operator][name](asked))


@pytest.mark.parametrize("bags", [4, 5, MOST_LISTED + 7])
@pytest.mark.parametrize("has_last", [False, True])
def test_bags_are_equally_long(bags, has_last):
    arguments = {"indices": whole(20 * bags + 1), "include_last_offset": has_last}
    arguments["offsets"] = whole(bags + has_last)
    begins = made_by(DEPENDENCIES, "embedding_bag", "offsets", arguments)
    lengths = np.diff(begins if has_last else [*begins, 20 * bags + 1])
    assert begins[0] == 0 and lengths.min() >= 19
    # The last one has what is left over.
    assert lengths.max() <= 20 + 2 or lengths[:-1].max() <= 21


BAGS = {"indices": whole(60), "num_weights": 9, "offsets": whole(20)}


@pytest.mark.parametrize(
    ("operator", "name", "arguments", "expected"),
    [
        ("_embedding_bag_backward", "bag_size", {**BAGS, "bag_size": whole(20)}, [3] * 20),
        (
            "_embedding_bag_backward",
            "offset2bag",
            {**BAGS, "offset2bag": whole(60)},
            [i // 3 for i in range(60)],
        ),
        ("segment_reduce", "lengths", {"data": real(12, 5), "lengths": whole(4)}, [3] * 4),
        ("segment_reduce", "offsets", {"data": real(12, 5), "offsets": whole(5)}, [0, 3, 6, 9, 12]),
        ("segment_reduce", "lengths", {"data": real(2, 6), "lengths": whole(2, 3)}, [2] * 6),
        (
            "_grouped_mm",
            "offs",
            {"self": real(12, 5), "mat2": real(3, 5, 7), "offs": whole(3)},
            [4, 8, 12],
        ),
        (
            "_grouped_mm",
            "offs",
            {"self": real(5, 12), "mat2": real(12, 7), "offs": whole(2)},
            [6, 12],
        ),
        (
            "_flash_attention_forward",
            "cum_seq_q",
            {"query": real(12, 2, 8), "cum_seq_q": whole(4)},
            [0, 4, 8, 12],
        ),
        ("ctc_loss", "target_lengths", {"targets": whole(8), "target_lengths": whole(4)}, [2] * 4),
        (
            "ctc_loss",
            "input_lengths",
            {"log_probs": real(50, 4, 9), "input_lengths": whole(4)},
            [50] * 4,
        ),
        (
            "_pack_padded_sequence",
            "lengths",
            {"input": real(30, 3, 2), "lengths": whole(3), "batch_first": False},
            [30, 22, 15],
        ),
        (
            "lstm",
            "batch_sizes",
            {"data": real(7, 2), "hx": (real(1, 3, 4), real(1, 3, 4)), "batch_sizes": whole(3)},
            [3, 3, 1],
        ),
        (
            "sparse_csr_tensor",
            "crow_indices",
            {"crow_indices": whole(4), "col_indices": whole(6)},
            [0, 2, 4, 6],
        ),
        (
            "sparse_csr_tensor",
            "col_indices",
            {"crow_indices": whole(4), "col_indices": whole(6)},
            [0, 1] * 3,
        ),
        (
            "sparse_csr_tensor",
            "col_indices",
            {"crow_indices": whole(4), "col_indices": whole(5)},
            [0, 0, 1, 0, 1],
        ),
        (
            "tensor_split",
            "tensor_indices_or_sections",
            {"self": real(12, 2), "tensor_indices_or_sections": whole(2)},
            [4, 8],
        ),
        (
            "repeat_interleave",
            "repeats",
            {"self": real(4), "repeats": whole(4), "output_size": 8},
            [2] * 4,
        ),
        ("_convert_indices_from_coo_to_csr", "self", {"self": whole(4), "size": 10}, [0, 3, 6, 9]),
    ],
)
def test_integers_follow_the_other_arguments(operator, name, arguments, expected):
    found = made_by(DEPENDENCIES, operator, name, arguments)
    assert found.ravel().tolist() == expected


@pytest.mark.parametrize(
    ("operator", "name", "arguments", "expected"),
    [
        ("embedding_bag", "indices", {"weight": real(30, 4), "indices": whole(5)}, below(30)),
        ("linalg_lu_solve", "pivots", {"LU": real(9, 9), "pivots": whole(9)}, below(10, start=1)),
        (
            "ctc_loss",
            "targets",
            {"log_probs": real(5, 2, 9), "targets": whole(8)},
            below(9, start=1),
        ),
        (
            "ctc_loss",
            "targets",
            {"log_probs": real(5, 2, 9), "targets": whole(8), "blank": 8},
            below(8),
        ),
        (
            "value_selecting_reduction_backward",
            "indices",
            {"sizes": (7, 9), "dim": 1, "indices": whole(7)},
            below(9),
        ),
        (
            "index_put",
            "indices",
            {"self": real(4, 5, 6), "indices": (None, whole(3)), "values": real(4, 3, 6)},
            below(5),
        ),
        (
            "index_put",
            "indices",
            {"self": real(4, 5, 6), "indices": (mask(4, 5),), "values": real()},
            BOOLEAN,
        ),
        ("index", "indices", {"self": real(4, 5, 6), "indices": (mask(4, 5), whole(3))}, BOOLEAN),
    ],
)
def test_numbers_are_drawn_below_what_bounds_them(operator, name, arguments, expected):
    value = arguments[name]
    position = next(i for i, one in enumerate(value) if one) if isinstance(value, tuple) else 0
    spec = value[position] if isinstance(value, tuple) else value
    assert DEPENDENCIES[operator][name](Asked(arguments, spec, position)) == expected


def test_an_index_after_a_mask_is_along_the_axis_after_those_of_the_mask():
    indices = (mask(4, 5), whole(3))
    asked = Asked({"self": real(4, 5, 6), "indices": indices}, indices[1], 1)
    assert DEPENDENCIES["index"]["indices"](asked) == below(6)


RETURNED = [
    ("_unique2", "self", {"self": whole(100)}, [(10,)], lambda x: len(set(x.tolist())) == 10),
    (
        "unique_consecutive",
        "self",
        {"self": whole(100)},
        [(7,)],
        lambda x: (np.diff(x) != 0).sum() == 6,
    ),
    (
        "unique_dim",
        "self",
        {"self": whole(9, 2), "dim": 0},
        [(4, 2)],
        lambda x: len(set(map(tuple, x.tolist()))) == 4,
    ),
    ("bincount", "self", {"self": whole(100)}, [(10,)], lambda x: x.max() == 9),
    ("bincount", "self", {"self": whole(3)}, [(10,)], lambda x: x.max() == 9),
    ("bincount", "self", {"self": whole(9), "minlength": 5}, [(5,)], lambda x: x.max() < 5),
    ("one_hot", "self", {"self": whole(9), "num_classes": -1}, [(9, 4)], lambda x: x.max() == 3),
    ("repeat_interleave", "repeats", {"repeats": whole(60)}, [(1000,)], lambda x: x.sum() == 1000),
    (
        "repeat_interleave",
        "repeats",
        {"self": real(4, 3), "repeats": whole(1), "dim": 1},
        [(4, 6)],
        lambda x: x.tolist() == [2],
    ),
    ("nonzero", "self", {"self": mask(9, 5)}, [(13, 2)], lambda x: x.sum() == 13),
    ("where.default", "condition", {"condition": mask(9)}, [(4,)], lambda x: x.sum() == 4),
    (
        "masked_select",
        "mask",
        {"self": real(9, 5), "mask": mask(5)},
        [(18,)],
        lambda x: x.sum() == 2,
    ),
    (
        "index",
        "indices",
        {"self": real(9, 5), "indices": (mask(9),)},
        [(4, 5)],
        lambda x: x.sum() == 4,
    ),
    (
        "index",
        "indices",
        {"self": real(3, 9), "indices": (None, mask(9))},
        [(3, 4)],
        lambda x: x.sum() == 4,
    ),
    (
        "_pack_padded_sequence",
        "lengths",
        {"input": real(9, 3, 2), "lengths": whole(3)},
        [(17, 2), (9,)],
        lambda x: x.sum() == 17 and x.max() == 9,
    ),
    (
        "tensor_split",
        "tensor_indices_or_sections",
        {"self": real(9), "tensor_indices_or_sections": whole(2)},
        [(2,), (3,), (4,)],
        lambda x: x.tolist() == [2, 5],
    ),
]
"""An operator, one of its arguments, a call, what it returned, and what its contents then are."""


@pytest.mark.parametrize(("operator", "name", "arguments", "returned", "suits"), RETURNED)
def test_contents_are_such_that_a_call_returns_what_it_was_seen_to_return(
    operator, name, arguments, returned, suits
):
    assert suits(made_by(RESULTS, operator, name, arguments, returned))


@pytest.mark.parametrize(
    ("operator", "name", "arguments", "returned"),
    [
        ("_unique2", "self", {"self": whole(5)}, [(6,)]),
        ("_unique2", "self", {"self": whole(999, dtype="int8")}, [(300,)]),
        ("unique_dim", "self", {"self": whole(9, 2), "dim": 1}, [(9, 2)]),
        ("masked_select", "mask", {"self": real(9, 5), "mask": mask(5)}, [(17,)]),
        ("nonzero", "self", {"self": mask(3)}, [(4, 1)]),
        ("torchvision::nms", "dets", {"dets": real(9, 4)}, [(3,)]),
    ],
)
def test_contents_that_cannot_give_a_result_are_none(operator, name, arguments, returned):
    with pytest.raises(Unfit):
        made_by(RESULTS, operator, name, arguments, returned)


def test_lengths_have_a_sum_and_a_maximum():
    assert lengths_of(17, 9, 3) == [9, 4, 4]
    assert steps_of(17, 9, 3) == [3, 3, 3, 3, 1, 1, 1, 1, 1]
    for impossible in ((5, 9, 3), (30, 9, 3)):
        with pytest.raises(Unfit):
            lengths_of(*impossible)


@pytest.mark.parametrize(
    ("build", "count", "expected"),
    [
        ({}, 8, Fill("sequence")),
        ({}, 4, Fill("ascending", 0.0, 6.0)),
        ({"include_last_offset": True}, 5, Fill("ascending", 0.0, 8.0)),
    ],
)
def test_bags_of_a_layer_are_equally_long(build, count, expected):
    target = ObjectTarget("torch", "torch.nn.EmbeddingBag", {"0": 30, **build})
    made = layer_contents(target, {"0": whole(8), "1": whole(count)})
    assert (made["0"].fill, made["1"].fill) == (below(30), expected)
