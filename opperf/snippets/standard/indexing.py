"""Indices of every kind: read, written with a number, and written with what another tensor has."""

from functools import partial

from opperf.snippets import GroupedSetup, GroupedStmts

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

BENCHMARKS = {
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
