"""Definitions of snippets: statements of Python and C++ that a run measures.

A file of snippets assigns `BENCHMARKS`, a dict from labels to definitions, which may be nested:

    from opperf.snippets import GroupedStmts

    BENCHMARKS = {"add": {"scalar": GroupedStmts("x + 1", setup="x = torch.ones(2)")}}

`opperf run FILE` measures it. Nothing here imports a framework.
"""

from opperf.snippets.definitions import (
    Grouped,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    TimerArgs,
)
from opperf.snippets.expanding import (
    Benchmarks,
    GroupedVariants,
    Labels,
    Snippet,
    expand,
    flatten,
    iter_parsed_lines,
    parse_stmts,
)

__all__ = [
    "Benchmarks",
    "Grouped",
    "GroupedModules",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "Labels",
    "Snippet",
    "TimerArgs",
    "expand",
    "flatten",
    "iter_parsed_lines",
    "parse_stmts",
]
