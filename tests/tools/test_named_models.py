"""Configurations that name a model, held against recorded calls of it."""

import pytest

pytest.importorskip("torch")

from opperf.rules.values import fixed, literal, tensor
from tools.named_models.checking import Row, agrees, named_rows, nearest_calls
from tools.named_models.models import MODELS

CALLS = [
    {
        "operator": "convolution",
        "shapes": [[1, 64, 56, 56], [128, 64, 3, 3]],
        "results": [[1, 128, 56, 56]],
        "values": {"stride": [1, 1], "dilation": [1, 1], "groups": 1, "padding": [1, 1]},
    },
    {
        "operator": "avg_pool2d",
        "shapes": [[1, 64, 56, 56]],
        "results": [],
        "values": {"kernel_size": [2, 2], "stride": [2, 2]},
    },
    {"operator": "addmm", "shapes": [[768], [128, 768], [768, 768]], "results": [], "values": {}},
]


def row(operator, *shapes, why="Net, a layer"):
    arguments = {f"x{i}": tensor(*shape) for i, shape in enumerate(shapes)}
    if "conv" in operator:
        arguments["padding"] = "SAME"
    elif operator == "Convolution":
        arguments["pad"] = (1, 1)
    return Row(operator, why, "Net", arguments)


@pytest.mark.parametrize(
    ("operator", "shapes", "is_right"),
    [
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], True),
        # Channels last.
        ("lax.conv_general_dilated", [(8, 56, 56, 64), (3, 3, 64, 128)], True),
        ("conv2d", [(8, 64, 28, 28), (128, 64, 3, 3)], False),
        ("conv2d", [(8, 64, 56, 56), (64, 64, 3, 3)], False),
        ("avg_pool2d", [(2, 64, 56, 56)], True),
        ("avg_pool2d", [(2, 64, 112, 112)], False),
        ("linear", [(8, 512, 768), (768, 768)], True),
        ("linear", [(8, 512, 1000), (768, 1000)], False),
    ],
)
def test_a_row_agrees_with_a_call_of_its_shapes_but_for_batch_and_length(
    operator, shapes, is_right
):
    assert agrees(row(operator, *shapes), CALLS) == is_right


@pytest.mark.parametrize(
    ("operator", "shapes", "values", "is_right"),
    [
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"stride": (1, 1), "groups": 1}, True),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"stride": (2, 2)}, False),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"dilation": (2, 2)}, False),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"padding": (1,)}, True),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"padding": ((1, 1), (1, 1))}, True),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"padding": ((1, 1), (0, 2))}, False),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"padding": "VALID"}, False),
        ("conv2d", [(8, 64, 56, 56), (128, 64, 3, 3)], {"padding": 0}, False),
        # MXNet's names.
        ("Convolution", [(8, 64, 56, 56), (128, 64, 3, 3)], {"pad": (1, 1), "num_group": 1}, True),
        ("Convolution", [(8, 64, 56, 56), (128, 64, 3, 3)], {"pad": (2, 2)}, False),
        ("Convolution", [(8, 64, 56, 56), (128, 64, 3, 3)], {"dilate": (2, 2)}, False),
        ("Convolution", [(8, 64, 56, 56), (128, 64, 3, 3)], {"num_group": 2}, False),
        ("Pooling", [(8, 64, 56, 56)], {"kernel": (2, 2), "stride": (2, 2)}, True),
        ("Pooling", [(8, 64, 56, 56)], {"kernel": (3, 3), "stride": (2, 2)}, False),
        ("adamw_update", [(768,), (768,)], {}, True),
        ("lax.reduce_window", [(8, 56, 56, 64)], {"window_strides": (1, 2, 2, 1)}, True),
        ("lax.reduce_window", [(8, 56, 56, 64)], {"window_strides": (1, 3, 3, 1)}, False),
        # Nothing of the model's to compare.
        ("bernoulli", [(32, 128)], {}, False),
    ],
)
def test_a_row_agrees_only_with_a_call_of_its_window(operator, shapes, values, is_right):
    made = row(operator, *shapes)
    assert agrees(made._replace(arguments={**made.arguments, **values}), CALLS) == is_right


def test_options_lengths_and_what_each_of_a_batch_has_are_not_the_models():
    options = row("quantile", (8, 128, 768), (3,), (8,))
    options.arguments["x1"] = fixed(3, fill=literal((0.25, 0.5, 0.75)))
    assert agrees(options, CALLS)
    # All may be lengths, and no other call has one.
    assert not agrees(row("squeeze", (8, 2048, 1, 1)), CALLS)
    pooled = {"operator": "mean", "shapes": [], "results": [[1, 2048, 1, 1]], "values": {}}
    assert agrees(row("squeeze", (8, 2048, 1, 1)), [*CALLS, pooled])


def test_what_comes_nearest_is_of_the_same_kind():
    assert nearest_calls(row("avg_pool2d", (2, 64, 112, 112)), CALLS)[0].startswith("avg_pool2d")


def test_rows_are_found_by_the_longest_name():
    rows = {one.why: one.model for one in named_rows("torch", list(MODELS))}
    assert rows["MobileNetV3, first layer"] == "MobileNetV3"
    grouped = "ResNet-50 with group normalisation, stage 1: two channels a group"
    assert rows[grouped] == "ResNet-50 with group normalisation"
    assert "ResNet-50" in rows.values() and len(rows) > 100
