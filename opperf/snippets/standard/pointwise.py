"""Arithmetic element by element: scalars, tensors, broadcasting, promotion of dtypes."""

from functools import partial

from opperf.snippets import GroupedSetup, GroupedStmts

MATRICES = GroupedSetup(
    py_setup="""
        torch.manual_seed(1)
        x = torch.rand((4, 4))
        y = torch.rand((4, 4))
        row = torch.rand((4,))
        column = torch.rand((4, 1))
        whole = torch.arange(16).reshape(4, 4)
    """,
    cpp_setup="""
        torch::manual_seed(1);
        auto x = torch::rand({4, 4});
        auto y = torch::rand({4, 4});
        auto row = torch::rand({4});
        auto column = torch::rand({4, 1});
        auto whole = torch::arange(16).reshape({4, 4});
    """,
)
"""Two square matrices, vectors to broadcast over them, and a matrix of integers."""

on_matrices = partial(GroupedStmts, setup=MATRICES)

BENCHMARKS = {
    "add": {
        "scalar": on_matrices("x + 2.0", "x + 2.0;"),
        "scalar, in place": on_matrices("x += 2.0", "x += 2.0;"),
        "tensor": on_matrices(
            "z = x + y", "auto z = x + y;", signature="f(x, y) -> z", torchscript=True
        ),
        "tensor, in place": on_matrices(
            "x.add_(y)", "x.add_(y);", signature="f(x, y) -> None", torchscript=True
        ),
        "two dtypes": on_matrices("x + whole", "x + whole;"),
        "two dtypes, in place": on_matrices("x += whole", "x += whole;"),
        "weighted": on_matrices("torch.add(x, y, alpha=0.5)", "torch::add(x, y, 0.5);"),
    },
    "broadcasting": {
        "over rows": on_matrices("x + row", "x + row;"),
        "over columns": on_matrices("x * column", "x * column;"),
        "outer": on_matrices("row * column", "row * column;"),
        "in place": on_matrices("x *= row", "x *= row;"),
        "shapes alone": on_matrices(
            "torch.broadcast_tensors(row, column)", "torch::broadcast_tensors({row, column});"
        ),
    },
    "multiply": on_matrices("x * y", "x * y;"),
    "divide": on_matrices("x / y", "x / y;"),
    "power": on_matrices("x ** 2", "x.pow(2);"),
    "negate": on_matrices("-x", "-x;"),
    "compare": {
        "tensor": on_matrices("x == y", "x == y;"),
        "scalar": on_matrices("x == 0.5", "x == 0.5;"),
        "less": on_matrices("x < y", "x < y;"),
    },
    "select by condition": on_matrices("torch.where(x > y, x, y)", "torch::where(x > y, x, y);"),
    "clamp": on_matrices("x.clamp(0.2, 0.8)", "x.clamp(0.2, 0.8);"),
    "exp": on_matrices("x.exp()", "x.exp();"),
}
