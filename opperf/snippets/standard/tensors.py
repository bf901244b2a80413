"""Tensors: new ones, pointwise arithmetic, copies, indexing, views, reductions."""

from functools import partial

from opperf.snippets import Benchmarks, GroupedSetup, GroupedStmts, GroupedVariants, parse_stmts

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

POINTWISE = {
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


CREATION = GroupedVariants(
    """
    Python                                    | C++
    # @Setup
    like = torch.zeros((4, 4))                | auto like = torch::zeros({4, 4});

    # @empty without elements
    torch.empty((0,))                         | torch::empty({0});
    # @empty of one element
    torch.empty((1,))                         | torch::empty({1});
    # @empty of a page
    torch.empty((1024,))                      | torch::empty({1024});
    # @empty of a dtype
    torch.empty((1,), dtype=torch.int64)      | torch::empty({1}, torch::kInt64);
    # @empty_like
    torch.empty_like(like)                    | torch::empty_like(like);
    # @new_empty
    like.new_empty((4,))                      | like.new_empty({4});
    # @zeros
    torch.zeros((4, 4))                       | torch::zeros({4, 4});
    # @ones
    torch.ones((4, 4))                        | torch::ones({4, 4});
    # @full
    torch.full((4, 4), 2.0)                   | torch::full({4, 4}, 2.0);
    # @arange
    torch.arange(16)                          | torch::arange(16);
    # @scalar
    torch.tensor(1.0)                         | torch::tensor(1.0);
    # @from a list
    torch.tensor([1.0, 2.0, 3.0, 4.0])        | torch::tensor({1.0, 2.0, 3.0, 4.0});
    # @random
    torch.rand((4, 4))                        | torch::rand({4, 4});
    """
)


MOVEMENT: Benchmarks = {
    **GroupedVariants(
        """
        Python                                | C++
        # @Setup
        torch.manual_seed(1)                  | torch::manual_seed(1);
        x = torch.rand((4, 4))                | auto x = torch::rand({4, 4});
        y = torch.rand((4, 4))                | auto y = torch::rand({4, 4});

        # @contiguous, as it is
        x.contiguous()                        | x.contiguous();
        # @contiguous, by a copy
        x.t().contiguous()                    | x.t().contiguous();
        # @clone
        x.clone()                             | x.clone();
        # @copy_
        x.copy_(y)                            | x.copy_(y);
        # @copy_, transposed
        x.copy_(y.t())                        | x.copy_(y.t());
        # @zero_
        x.zero_()                             | x.zero_();
        # @fill_
        x.fill_(0.5)                          | x.fill_(0.5);
        # @uniform_
        x.uniform_()                          | x.uniform_();
        # @normal_
        x.normal_()                           | x.normal_();
        # @to the same dtype
        x.to(torch.float32)                   | x.to(torch::kFloat32);
        # @to another dtype
        x.to(torch.float64)                   | x.to(torch::kFloat64);
        # @cat
        torch.cat([x, y])                     | torch::cat({x, y});
        # @stack
        torch.stack([x, y])                   | torch::stack({x, y});
        # @repeat
        x.repeat(2, 1)                        | x.repeat({2, 1});
        # @item
        x[0, 0].item()                        | x[0][0].item<float>();
        """
    ),
    "resize_": on_matrices(
        *parse_stmts(
            """
            Python            | C++
            x.resize_((0,))   | x.resize_({0});
            x.resize_((4, 4)) | x.resize_({4, 4});
            """
        )
    ),
}


SETUP = GroupedSetup(
    py_setup="""
        torch.manual_seed(1)
        x = torch.rand((3, 4, 5))
        y = torch.rand((3, 4, 5))
        rows = torch.tensor([2, 0])
        mask = torch.tensor([True, False, True])
    """,
    cpp_setup="""
        using namespace torch::indexing;
        torch::manual_seed(1);
        auto x = torch::rand({3, 4, 5});
        auto y = torch::rand({3, 4, 5});
        auto rows = torch::tensor({2, 0}, torch::kInt64);
        auto mask = torch::tensor({true, false, true});
    """,
)

on_cubes = partial(GroupedStmts, setup=SETUP)

INDICES = {
    "0": "0",
    "0, 0": "0, 0",
    "0, 0, 0": "0, 0, 0",
    "-1": "-1",
    "...": '"..."',
    "..., 0": '"...", 0',
    ":": "Slice()",
    "1:": "Slice(1)",
    "::2": "Slice(None, None, 2)",
    ":, 1:3": "Slice(), Slice(1, 3)",
    "None": "None",
    "True": "true",
    "False": "false",
    "rows": "rows",
    "rows, None, ...": 'rows, None, "..."',
    "mask": "mask",
}
"""An index in Python, and in C++."""

INDEXING = {
    "read": {
        f"[{python}]": on_cubes(f"x[{python}]", f"x.index({{{cpp}}});")
        for python, cpp in INDICES.items()
    },
    "write": {
        f"[{python}]": on_cubes(
            f"x[{python}] = 1\nx[{python}] = y[{python}]",
            f"x.index_put_({{{cpp}}}, 1);\nx.index_put_({{{cpp}}}, y.index({{{cpp}}}));",
        )
        for python, cpp in INDICES.items()
    },
    "by a tensor": on_cubes(
        "x[rows, None, ...] = 1",
        "x.index_put_({rows, None, Ellipsis}, 1);",
        signature="f(x, rows) -> None",
        torchscript=True,
    ),
    "gather": on_cubes(
        "z = x.index_select(0, rows)",
        "auto z = x.index_select(0, rows);",
        signature="f(x, rows) -> z",
        torchscript=True,
    ),
    "mask": on_cubes(
        "z = x[mask]", "auto z = x.index({mask});", signature="f(x, mask) -> z", torchscript=True
    ),
}


VIEWS = GroupedVariants(
    """
    Python                                | C++
    # @Setup
    x = torch.zeros((4, 4))               | auto x = torch::zeros({4, 4});
    cube = torch.zeros((2, 1, 4))         | auto cube = torch::zeros({2, 1, 4});

    # @size
    x.size()[0]                           | volatile auto found = x.size(0);
    # @shape
    x.shape                               | auto found = x.sizes().vec();
    # @stride
    x.stride(0)                           | volatile auto found = x.stride(0);
    # @dim
    x.dim()                               | volatile auto found = x.dim();
    # @numel
    x.numel()                             | volatile auto found = x.numel();
    # @is_contiguous
    x.is_contiguous()                     | volatile auto found = x.is_contiguous();
    # @data_ptr
    x.data_ptr()                          | void* volatile found = x.data_ptr();
    # @as_strided
    torch.as_strided(x, (3, 2), (4, 1), 1) | torch::as_strided(x, {3, 2}, {4, 1}, 1);
    # @select
    x.select(0, 2)                        | x.select(0, 2);
    # @narrow
    x.narrow(0, 1, 2)                     | x.narrow(0, 1, 2);
    # @slice
    x[1:3]                                | x.slice(0, 1, 3);
    # @unsqueeze
    x.unsqueeze(1)                        | x.unsqueeze(1);
    # @squeeze
    cube.squeeze(1)                       | cube.squeeze(1);
    # @view
    x.view(2, -1)                         | x.view({2, -1});
    # @reshape
    x.reshape(16)                         | x.reshape({16});
    # @flatten
    cube.flatten()                        | cube.flatten();
    # @t
    x.t()                                 | x.t();
    # @transpose
    cube.transpose(0, 2)                  | cube.transpose(0, 2);
    # @permute
    cube.permute(2, 0, 1)                 | cube.permute({2, 0, 1});
    # @expand
    cube.expand(2, 3, 4)                  | cube.expand({2, 3, 4});
    # @chunk
    x.chunk(2)                            | x.chunk(2);
    # @unbind
    x.unbind()                            | x.unbind();
    # @view as another dtype
    x.view(torch.int32)                   | x.view(torch::kInt32);
    # @detach
    x.detach()                            | x.detach();
    """
)


REDUCTIONS: Benchmarks = {
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
