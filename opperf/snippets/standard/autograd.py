"""Autograd: what recording costs, and backward passes, on one thread and on two."""

from functools import partial

from opperf.snippets import GroupedSetup, GroupedStmts, parse_stmts

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

BENCHMARKS = {
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
