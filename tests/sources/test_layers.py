"""Layers by path: what they are built with for the shapes of their inputs."""

import msgspec
import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import Framework
from opperf.frameworks.capabilities import Objects
from opperf.frameworks.user_code import call_parameters
from opperf.model import CallableTarget, FileTarget, ObjectTarget
from opperf.model.targets import canonical_target
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


class Plain:
    """Of no framework."""

    def __init__(self, scale=2.0):
        self.scale = scale

    def __call__(self, x, y=None):
        return x


class Uncalled:
    pass


class ClippedBase(Module):
    def __init__(self, hidden_size, clip, mode):
        self.clip = clip

    def forward(self, input):
        return input


class Clipped(ClippedBase):
    def __init__(self, hidden_size, clip=None, **named):
        super().__init__(hidden_size, clip, "clipped", **named)


class Built(Objects):
    def constructor(self, target):
        if target.file:
            return {"Norm": Norm, "Plain": Plain, "Uncalled": Uncalled, "add": sum}[target.path]
        return {"fake.Norm": Norm, "fake.Plain": Plain, "fake.add": sum}[target.path]

    def is_layer(self, built):
        return isinstance(built, type) and issubclass(built, Module)


class Fake(Framework):
    name = "fake"
    capabilities = (Built,)


def made(built, shapes, values=None):
    layer = Layer(f"fake.{built.__name__}", built, call_parameters(built))
    overrides = Overrides(shapes, values or {})
    target = layer_target(Fake(), layer, overrides)
    inputs = layer_inputs(layer, target, overrides, "float64").arguments
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
            {"in_channels": 48, "out_channels": 3, "kernel_size": 3, "num_groups": 16, "odd": 1},
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
    layer = Layer("fake.Attention", Attention, call_parameters(Attention))
    assert "--shape query=" in needs_shape(layer)


def test_layers_of_the_framework_and_all_classes_of_a_user_are_built_first():
    framework = Fake()
    found = {
        name: find_layer(framework, CallableTarget("fake", f"fake.{name}"))
        for name in ("Norm", "Plain", "add")
    }
    norm = Layer("fake.Norm", Norm, {"input": True})
    assert found == {"Norm": norm, "Plain": None, "add": None}
    assert norm.accepted.of_shapes == ("input",)
    assert norm.accepted.all == ("input", "normalized_shape", "eps")
    own = {
        name: find_layer(framework, FileTarget("fake", "dir/own.py", name))
        for name in ("Norm", "Plain", "Uncalled", "add")
    }
    assert own["Norm"].inputs == {"input": True}
    assert own["Plain"].inputs == {"x": True, "y": False}
    assert own["Uncalled"] is own["add"] is None
    target = layer_target(framework, own["Plain"], Overrides({"x": (2,)}, {"scale": 3.0}))
    assert target == ObjectTarget("fake", "Plain", {"scale": 3.0}, "dir/own.py")
    # The folder is no part of a case's id.
    moved = msgspec.structs.replace(target, file="elsewhere/own.py")
    assert canonical_target(moved) == canonical_target(target)
    assert target.key.namespace == "own.py" and target.label == "Plain(scale=3.0)"


def test_what_a_base_requires_is_set_by_a_class_that_passes_on_names_alone():
    assert made(Clipped, {"input": (8, 4)})[0] == {"hidden_size": 4}
