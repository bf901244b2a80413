"""Several operators in a row, as programs have them."""

from opperf.snippets import GroupedSetup, GroupedStmts, parse_stmts
from opperf.snippets.standard.pointwise import on_matrices

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

BENCHMARKS = {
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
