"""Layers as modules, of which TorchScript makes programs."""

from typing import NamedTuple

from opperf.snippets import GroupedModules, GroupedSetup


def _input(shape: str) -> GroupedSetup:
    return GroupedSetup(
        py_setup=f"torch.manual_seed(1)\nx = torch.rand(({shape}))",
        cpp_setup=f"torch::manual_seed(1);\nauto x = torch::rand({{{shape}}});",
    )


WORDS = GroupedSetup(
    py_setup="x = torch.tensor([1, 0, 2])",
    cpp_setup="auto x = torch::tensor({1, 0, 2}, torch::kInt64);",
)
"""Numbers of rows of a table."""

MATRIX, SEQUENCE, IMAGE = _input("4, 4"), _input("3, 4, 4"), _input("2, 4, 4, 4")


class Layer(NamedTuple):
    """A layer, and what it is called with."""

    python: str
    setup: GroupedSetup
    cpp: str = ""
    """Its construction in C++; empty if it is that in Python."""
    torchscript: bool = True


LAYERS = (
    Layer("Linear(4, 4)", MATRIX),
    Layer("ReLU()", MATRIX),
    Layer("Sigmoid()", MATRIX),
    Layer("GELU()", MATRIX),
    Layer("Softmax(1)", MATRIX),
    Layer("Dropout()", MATRIX),
    Layer("Embedding(4, 8)", WORDS),
    Layer("Conv1d(4, 4, 1)", SEQUENCE),
    Layer("Conv2d(4, 4, 3)", IMAGE),
    Layer("MaxPool2d(2)", IMAGE),
    Layer("BatchNorm2d(4)", IMAGE),
    Layer("GroupNorm(2, 4)", IMAGE),
    Layer("LayerNorm(4)", IMAGE, "LayerNorm(torch::nn::LayerNormOptions({4}))"),
    # TorchScript takes more of it than the layer: the checks of its lengths.
    Layer("LSTM(4, 4)", SEQUENCE, torchscript=False),
)

BENCHMARKS = {
    layer.python.partition("(")[0]: GroupedModules(
        f"model = torch.nn.{layer.python}",
        f"auto model = torch::nn::{layer.cpp or layer.python};",
        setup=layer.setup,
        signature="f(x) -> y",
        torchscript=layer.torchscript,
    )
    for layer in LAYERS
} | {
    "Sequential": GroupedModules(
        """
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
        """,
        """
        auto model = torch::nn::Sequential(
            torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 4));
        """,
        setup=MATRIX,
        signature="f(x) -> y",
        torchscript=True,
    )
}
