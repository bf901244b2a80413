"""Reductions, sorting and products of small matrices."""

from opperf.snippets import Benchmarks, GroupedStmts, GroupedVariants
from opperf.snippets.standard.setups import MATRICES

BENCHMARKS: Benchmarks = {
    **GroupedVariants(
        """
        Python                                | C++
        # @Setup
        torch.manual_seed(1)                  | torch::manual_seed(1);
        x = torch.rand((4, 4))                | auto x = torch::rand({4, 4});

        # @sum
        x.sum()                               | x.sum();
        # @sum of an axis
        x.sum(1)                              | x.sum(1);
        # @mean
        x.mean()                              | x.mean();
        # @max
        x.max()                               | x.max();
        # @max of an axis
        x.max(1)                              | x.max(1);
        # @argmax
        x.argmax()                            | x.argmax();
        # @var
        x.var(1)                              | x.var(1);
        # @norm
        x.norm()                              | x.norm();
        # @any
        (x > 2).any()                         | (x > 2).any();
        # @cumsum
        x.cumsum(0)                           | x.cumsum(0);
        # @softmax
        x.softmax(-1)                         | x.softmax(-1);
        # @sort
        x.sort()                              | x.sort();
        # @topk
        x.topk(2)                             | x.topk(2);
        """
    ),
    "products": {
        "mm": GroupedStmts("torch.mm(x, y)", "torch::mm(x, y);", setup=MATRICES),
        "matmul": GroupedStmts(
            "z = torch.matmul(x, y)",
            "auto z = torch::matmul(x, y);",
            setup=MATRICES,
            signature="f(x, y) -> z",
            torchscript=True,
        ),
        "matmul, broadcasting": GroupedStmts(
            "torch.matmul(x.expand(3, 4, 4), y)",
            "torch::matmul(x.expand({3, 4, 4}), y);",
            setup=MATRICES,
        ),
        "matrix and vector": GroupedStmts("x @ row", "x.matmul(row);", setup=MATRICES),
        "dot": GroupedStmts("row.dot(row)", "row.dot(row);", setup=MATRICES),
        "addmm": GroupedStmts("torch.addmm(row, x, y)", "torch::addmm(row, x, y);", setup=MATRICES),
    },
}
