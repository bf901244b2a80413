"""Calls: layers as modules, dispatch, calls of several operators, autograd."""

from functools import partial
from typing import NamedTuple

from opperf.snippets import (
    Benchmarks,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    parse_stmts,
)
from opperf.snippets.standard.tensors import on_matrices


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

MODULES = {
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


DISPATCH: Benchmarks = {
    **GroupedVariants(
        """
        Python                                | C++
        # @Setup
        x = torch.zeros((4, 4))               | auto x = torch::zeros({4, 4});
        y = torch.zeros((4, 4))               | auto y = torch::zeros({4, 4});
        z = torch.zeros((4, 4))               | auto z = torch::zeros({4, 4});
        scalar = torch.tensor(1.0)            | auto scalar = torch::tensor(1.0);

        # @to a result of the caller
        torch.add(x, y, out=z)                | torch::add_out(z, x, y);
        # @operator of the dispatcher
        torch.ops.aten.add.Tensor(x, y)       | at::_ops::add_Tensor::call(x, y, 1);
        # @past autograd
        torch.ops.aten.add.Tensor(x, y)       | at::AutoDispatchBelowAutograd guard; x.add(y);
        # @tensor without axes
        x + scalar                            | x + scalar;
        # @reversed operands
        1.0 - x                               | 1.0 - x;
        # @no work
        x.numel()                             | volatile auto found = x.numel();
        # @handle
        torch.is_tensor(x)                    | auto copy = x;
        """
    ),
    "no_grad": on_matrices("with torch.no_grad():\n    x + y", "torch::NoGradGuard guard;\nx + y;"),
    "inference_mode": on_matrices(
        "with torch.inference_mode():\n    x + y", "c10::InferenceMode guard;\nx + y;"
    ),
    "list of tensors": on_matrices(
        "torch._foreach_add([x, y], 1.0)", "torch::_foreach_add({x, y}, 1.0);"
    ),
}


HEADS = GroupedSetup(
    py_setup="""
        torch.manual_seed(1)
        q = torch.rand((2, 4, 8))
        k = torch.rand((2, 4, 8))
        v = torch.rand((2, 4, 8))
    """,
    cpp_setup="""
        torch::manual_seed(1);
        auto q = torch::rand({2, 4, 8});
        auto k = torch::rand({2, 4, 8});
        auto v = torch::rand({2, 4, 8});
    """,
)

COMPOSITE = {
    "product, bias and ReLU": on_matrices(
        *parse_stmts(
            """
            Python                    | C++
            h = torch.mm(x, y) + row  | auto h = torch::mm(x, y) + row;
            z = torch.relu(h)         | auto z = torch::relu(h);
            """
        ),
        signature="f(x, y, row) -> z",
        torchscript=True,
    ),
    "places off the diagonal": on_matrices(
        *parse_stmts(
            """
            Python                               | C++
            places = torch.arange(x.numel())     | auto places = torch::arange(x.numel());
            eye = torch.eye(x.size(0))           | auto eye = torch::eye(x.size(0));
            z = places[eye.flatten() == 0]       | auto z = places.index({eye.flatten() == 0});
            """
        ),
        signature="f(x) -> z",
        torchscript=True,
    ),
    "normalisation of rows": on_matrices(
        *parse_stmts(
            """
            Python                               | C++
            mean = x.mean(1, keepdim=True)       | auto mean = x.mean(1, true);
            spread = x.std(1, keepdim=True)      | auto spread = x.std(1, true, true);
            z = (x - mean) / (spread + 1e-5)     | auto z = (x - mean) / (spread + 1e-5);
            """
        ),
        signature="f(x) -> z",
        torchscript=True,
    ),
    "attention": GroupedStmts(
        *parse_stmts(
            """
            Python                               | C++
            a = q @ k.transpose(1, 2) / 8.0      | auto a = q.matmul(k.transpose(1, 2)) / 8.0;
            z = torch.softmax(a, -1) @ v         | auto z = torch::softmax(a, -1).matmul(v);
            """
        ),
        setup=HEADS,
        signature="f(q, k, v) -> z",
        torchscript=True,
    ),
}


WEIGHTS = GroupedSetup(
    py_setup="""
        torch.manual_seed(1)
        x = torch.rand((4, 4))
        w = torch.rand((4, 4), requires_grad=True)
        b = torch.rand((4,), requires_grad=True)
        slope = torch.rand((1,), requires_grad=True)
    """,
    cpp_setup="""
        torch::manual_seed(1);
        auto x = torch::rand({4, 4});
        auto w = torch::rand({4, 4}, torch::requires_grad());
        auto b = torch::rand({4}, torch::requires_grad());
        auto slope = torch::rand({1}, torch::requires_grad());
    """,
)

on_weights = partial(GroupedStmts, setup=WEIGHTS)

THREADS = (1, 2)
"""A backward pass hands its work to a queue, which is another one with several threads."""

AUTOGRAD = {
    "recording": {
        "detached": on_weights("w.detach()", "w.detach();"),
        "paused": on_weights(
            "with torch.no_grad():\n    x * w", "torch::NoGradGuard guard;\nx * w;"
        ),
        "view": on_weights("w.view(-1)", "w.view({-1});"),
        "leaf": on_weights("x.detach().requires_grad_()", "x.detach().requires_grad_(true);"),
    },
    "product": on_weights(
        "y = x * w", "auto y = x * w;", signature="f(x, w) -> y", torchscript=True, autograd=True
    ),
    "sum": on_weights(
        "y = w.sum()", "auto y = w.sum();", signature="f(w) -> y", torchscript=True, autograd=True
    ),
    "views in a row": on_weights(
        "y = w.t().reshape(2, 8).narrow(1, 0, 4)",
        "auto y = w.t().reshape({2, 8}).narrow(1, 0, 4);",
        signature="f(w) -> y",
        autograd=True,
    ),
    "layer": on_weights(
        *parse_stmts(
            """
            Python                           | C++
            h = torch.mm(x, w) + b           | auto h = torch::mm(x, w) + b;
            y = torch.relu(h).sum()          | auto y = torch::relu(h).sum();
            """
        ),
        signature="f(x, w, b) -> y",
        torchscript=True,
        autograd=True,
        num_threads=THREADS,
    ),
    "branches": on_weights(
        *parse_stmts(
            """
            Python                           | C++
            left = torch.tanh(x * w)         | auto left = torch::tanh(x * w);
            right = torch.prelu(x - b, slope) | auto right = torch::prelu(x - b, slope);
            y = torch.cat([left, right])     | auto y = torch::cat({left, right});
            y = y.pow(2).mean()              | y = y.pow(2).mean();
            """
        ),
        signature="f(x, w, b, slope) -> y",
        torchscript=True,
        autograd=True,
        num_threads=THREADS,
    ),
}
