"""Setups that several modules of the set share."""

from opperf.snippets import GroupedSetup

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
