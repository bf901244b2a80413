"""Layers by path: what they are built with for the shapes of their inputs."""

import pytest

from opperf.errors import UnsupportedError
from opperf.model import CallableTarget
from opperf.sources.layers import Layer, find_layer, layer_inputs, layer_target, needs_shape
from opperf.sources.overrides import Overrides


class Module:
    def __call__(self, *arguments, **named):
        return self.forward(*arguments, **named)


class Norm(Module):
    def __init__(self, normalized_shape, eps=1e-5):
        self.shape = normalized_shape

    def forward(self, input):
        return input


class RecurrentBase(Module):
    def __init__(self, mode, input_size, hidden_size, num_layers=1):
        self.mode = mode

    def forward(self, input, state=None):
        return input


class Recurrent(RecurrentBase):
    def __init__(self, *arguments, **named):
        super().__init__("LSTM", *arguments, **named)


class Attention(Module):
    def __init__(self, embed_dim, num_heads):
        self.width = embed_dim

    def forward(self, query, key, value, need_weights=True):
        return query


class Picture(Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups, odd):
        self.odd = odd

    def forward(self, input):
        return input


class Positional:
    """Called with arguments by their places alone."""

    def __call__(self, *arguments):
        return self.forward(*arguments)

    def forward(self, x):
        return x


class Framework:
    name = "fake"

    def constructor(self, target):
        return {"fake.Norm": Norm, "fake.Positional": Positional, "fake.add": sum}[target.path]


def made(built, shapes, values=None):
    layer = Layer(f"fake.{built.__name__}", built)
    overrides = Overrides(shapes, values or {})
    target = layer_target(Framework(), layer, overrides)
    inputs = layer_inputs(layer, overrides, "float64").arguments
    return target.arguments, {name: getattr(one, "shape", one) for name, one in inputs.items()}


@pytest.mark.parametrize(
    "built, shapes, values, arguments",
    [
        (Norm, {"input": (8, 4, 6)}, {}, {"normalized_shape": (6,)}),
        (
            Norm,
            {"input": (8, 4, 6)},
            {"normalized_shape": (4, 6), "eps": 0.1},
            {"normalized_shape": (4, 6), "eps": 0.1},
        ),
        (Recurrent, {"input": (8, 4, 6)}, {}, {"input_size": 6, "hidden_size": 6}),
        (
            Recurrent,
            {"input": (8, 4, 6)},
            {"hidden_size": 5, "num_layers": 2},
            {"input_size": 6, "hidden_size": 5, "num_layers": 2},
        ),
        (Attention, {"query": (8, 4, 12)}, {}, {"embed_dim": 12, "num_heads": 4}),
        (
            Picture,
            {"input": (2, 48, 7, 7)},
            {"odd": 1, "out_channels": 3},
            {
                "in_channels": 48,
                "out_channels": 3,
                "kernel_size": 3,
                "num_groups": 16,
                "odd": 1,
            },
        ),
    ],
)
def test_the_shape_says_what_a_layer_is_built_with(built, shapes, values, arguments):
    assert made(built, shapes, values)[0] == arguments


def test_required_inputs_have_the_shape_of_the_first():
    _, inputs = made(Attention, {"query": (8, 4, 12), "value": (8, 4, 5)}, {"need_weights": False})
    assert inputs == {
        "query": (8, 4, 12), "key": (8, 4, 12), "value": (8, 4, 5), "need_weights": False,
    }  # fmt: skip


def test_what_no_shape_says_is_asked_for():
    with pytest.raises(UnsupportedError, match="fake.Picture is built with odd, .* --arg odd=VAL"):
        made(Picture, {"input": (2, 48, 7, 7)})
    assert "--shape query=" in needs_shape(Layer("fake.Attention", Attention))


def test_only_classes_that_are_called_by_name_are_layers():
    found = {
        name: find_layer(Framework(), CallableTarget("fake", f"fake.{name}"))
        for name in ("Norm", "Positional", "add")
    }
    assert found == {"Norm": Layer("fake.Norm", Norm), "Positional": None, "add": None}
    assert found["Norm"].accepted.of_shapes == ("input",)
    assert found["Norm"].accepted.all == ("input", "normalized_shape", "eps")
