"""Arithmetic element by element: scalars, tensors, broadcasting, promotion of dtypes."""

from opperf.snippets import GroupedStmts
from opperf.snippets.standard.setups import MATRICES

BENCHMARKS = {
    "add": {
        "scalar": GroupedStmts("x + 2.0", "x + 2.0;", setup=MATRICES),
        "scalar, in place": GroupedStmts("x += 2.0", "x += 2.0;", setup=MATRICES),
        "tensor": GroupedStmts(
            "z = x + y",
            "auto z = x + y;",
            setup=MATRICES,
            signature="f(x, y) -> z",
            torchscript=True,
        ),
        "tensor, in place": GroupedStmts(
            "x.add_(y)",
            "x.add_(y);",
            setup=MATRICES,
            signature="f(x, y) -> None",
            torchscript=True,
        ),
        "two dtypes": GroupedStmts("x + whole", "x + whole;", setup=MATRICES),
        "two dtypes, in place": GroupedStmts("x += whole", "x += whole;", setup=MATRICES),
        "weighted": GroupedStmts(
            "torch.add(x, y, alpha=0.5)", "torch::add(x, y, 0.5);", setup=MATRICES
        ),
    },
    "broadcasting": {
        "over rows": GroupedStmts("x + row", "x + row;", setup=MATRICES),
        "over columns": GroupedStmts("x * column", "x * column;", setup=MATRICES),
        "outer": GroupedStmts("row * column", "row * column;", setup=MATRICES),
        "in place": GroupedStmts("x *= row", "x *= row;", setup=MATRICES),
        "shapes alone": GroupedStmts(
            "torch.broadcast_tensors(row, column)",
            "torch::broadcast_tensors({row, column});",
            setup=MATRICES,
        ),
    },
    "multiply": GroupedStmts("x * y", "x * y;", setup=MATRICES),
    "divide": GroupedStmts("x / y", "x / y;", setup=MATRICES),
    "power": GroupedStmts("x ** 2", "x.pow(2);", setup=MATRICES),
    "negate": GroupedStmts("-x", "-x;", setup=MATRICES),
    "compare": {
        "tensor": GroupedStmts("x == y", "x == y;", setup=MATRICES),
        "scalar": GroupedStmts("x == 0.5", "x == 0.5;", setup=MATRICES),
        "less": GroupedStmts("x < y", "x < y;", setup=MATRICES),
    },
    "select by condition": GroupedStmts(
        "torch.where(x > y, x, y)", "torch::where(x > y, x, y);", setup=MATRICES
    ),
    "clamp": GroupedStmts("x.clamp(0.2, 0.8)", "x.clamp(0.2, 0.8);", setup=MATRICES),
    "exp": GroupedStmts("x.exp()", "x.exp();", setup=MATRICES),
}
