"""Options of PyTorch's layers that no case has: the conversion to the operation's inputs, and its
reference, give what PyTorch gives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from opperf.operations import OPERATIONS  # noqa: E402
from opperf.operations.uses import ANYTHING, Use, Written  # noqa: E402
from opperf.rules.engine import rules_module  # noqa: E402

TABLE = rules_module("opperf.rules.torch").OPERATIONS


def random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape)


def outputs_of(name: str, arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The results of an operator and of its operation, in double precision."""
    packet, _, overload = name.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def converted(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [converted(one) for one in value]
        return torch.from_numpy(value) if isinstance(value, np.ndarray) else value

    made = function(**{key: converted(value) for key, value in arguments.items()})
    entry = (TABLE.get(name) or TABLE[packet]).of(arguments)
    assert isinstance(entry, Use)
    wanted = entry.apply(OPERATIONS[entry.operation].reference.compute, arguments)
    wanted = wanted.output if isinstance(wanted, Written) else wanted
    as_list = [list(one) if isinstance(one, tuple) else [one] for one in (made, wanted)]
    return [one.numpy() for one in as_list[0]], as_list[1]


def assert_same(name: str, arguments: dict[str, Any]) -> None:
    for actual, expected in zip(*outputs_of(name, arguments), strict=True):
        if expected is not ANYTHING:
            np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(("stride", "padding"), [([2], [1]), ([3, 2], [0, 1]), ([], [0])])
def test_pooling(ceil, stride, padding):
    window = {"kernel_size": [3, 2], "stride": stride, "padding": padding, "ceil_mode": ceil}
    data = random(2, 3, 11, 10)
    assert_same("max_pool2d_with_indices", {"self": data, **window})
    assert_same("max_pool2d", {"self": data, **window})
    assert_same("avg_pool2d", {"self": data, **window})
    assert_same("avg_pool2d", {"self": data, **window, "count_include_pad": False})
    assert_same("avg_pool2d", {"self": data, **window, "divisor_override": 5})


def test_dilated_pooling():
    window = {"kernel_size": [2], "stride": [1], "padding": [1], "dilation": [3]}
    assert_same("max_pool3d_with_indices", {"self": random(1, 2, 7, 8, 9), **window})


CHOICES = list(itertools.product((0, 1, 2), (False, True)))


@pytest.mark.parametrize(("padding", "align"), CHOICES)
def test_grids(padding, align):
    options = {"padding_mode": padding, "align_corners": align}
    maps, volume = random(2, 3, 5, 6), random(2, 3, 4, 5, 6)
    places, points = random(2, 4, 7, 2), random(2, 3, 4, 7, 3)
    for mode in (0, 1, 2):
        read = {"input": maps, "grid": places, "interpolation_mode": mode}
        assert_same("grid_sampler_2d", {**read, **options})
    for mode in (0, 1):
        read = {"input": volume, "grid": points, "interpolation_mode": mode}
        assert_same("grid_sampler_3d", {**read, **options})


@pytest.mark.parametrize("align", [False, True])
def test_affine_grids_of_one_row(align):
    assert_same(
        "affine_grid_generator",
        {"theta": random(2, 2, 3), "size": [2, 1, 1, 5], "align_corners": align},
    )


def test_convolution_of_any_border_and_direction():
    sizes = {"stride": [2], "padding": [1], "dilation": [2], "groups": 2}
    parts = {"input": random(2, 4, 9, 8), "bias": random(6), **sizes}
    further = {"transposed": False, "output_padding": [0]}
    assert_same("convolution", {**parts, **further, "weight": random(6, 2, 3, 3)})
    further = {"transposed": True, "output_padding": [1, 0]}
    assert_same("convolution", {**parts, **further, "weight": random(4, 3, 3, 3)})


def test_layers_of_several_axes_and_without_parameters():
    data = random(3, 4, 5, 6)
    assert_same("layer_norm", {"input": data, "normalized_shape": [5, 6]})
    assert_same(
        "native_layer_norm",
        {
            "input": data,
            "normalized_shape": [5, 6],
            "weight": random(5, 6),
            "bias": random(5, 6),
            "eps": 1e-3,
        },
    )
    assert_same("rms_norm", {"input": data, "normalized_shape": [5, 6], "eps": 1e-3})
    assert_same("group_norm", {"input": data, "num_groups": 2})


@pytest.mark.parametrize("has_biases", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrent_layers(has_biases, batch_first):
    units, width = 3, 2
    first = [random(4 * units, width), random(4 * units, units)]
    later = [random(4 * units, 2 * units), random(4 * units, units)]
    biases = [random(4 * units), -random(4 * units)] if has_biases else []
    assert_same(
        "lstm.input",
        {
            "input": random(4, 4, width),
            "hx": [random(4, 4, units), -random(4, 4, units)],
            "params": [*first, *biases, *first, *biases, *later, *biases, *later, *biases],
            "has_biases": has_biases,
            "num_layers": 2,
            "dropout": 0.0,
            "train": False,
            "bidirectional": True,
            "batch_first": batch_first,
        },
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_more_keys_than_queries(causal):
    query, key = random(1, 4, 3, 8), random(1, 2, 5, 8)
    parts = {"query": query, "key": key, "value": -key, "enable_gqa": True, "scale": 0.5}
    assert_same("scaled_dot_product_attention", {**parts, "is_causal": causal})


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_with_padding_and_an_empty_one(mode):
    assert_same(
        "embedding_bag.padding_idx",
        {
            "weight": random(7, 3),
            "indices": np.array([1, 2, 0, 4, 0]),
            "offsets": np.array([0, 2, 2, 5]),
            "scale_grad_by_freq": False,
            "mode": mode,
            "sparse": False,
            "per_sample_weights": None,
            "include_last_offset": True,
            "padding_idx": 0,
        },
    )
