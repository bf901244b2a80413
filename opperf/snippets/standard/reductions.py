"""Reductions, sorting and products of small matrices."""

from opperf.snippets import Benchmarks, GroupedVariants
from opperf.snippets.standard.pointwise import on_matrices

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
        "mm": on_matrices("torch.mm(x, y)", "torch::mm(x, y);"),
        "matmul": on_matrices(
            "z = torch.matmul(x, y)",
            "auto z = torch::matmul(x, y);",
            signature="f(x, y) -> z",
            torchscript=True,
        ),
        "matmul, broadcasting": on_matrices(
            "torch.matmul(x.expand(3, 4, 4), y)", "torch::matmul(x.expand({3, 4, 4}), y);"
        ),
        "matrix and vector": on_matrices("x @ row", "x.matmul(row);"),
        "dot": on_matrices("row.dot(row)", "row.dot(row);"),
        "addmm": on_matrices("torch.addmm(row, x, y)", "torch::addmm(row, x, y);"),
    },
}
