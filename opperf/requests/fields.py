"""Fields that several requests have."""

from __future__ import annotations

from typing import Annotated

from opperf.frameworks import PREFERENCE
from opperf.requests.declaring import Option
from opperf.requests.parsers import parse_columns, split_dimensions

Columns = Annotated[
    tuple[str, ...],
    Option(
        "Columns of figures in tables and Markdown: forward, backward, total, memory, "
        "memory_forward, memory_backward, bandwidth (GB/s), ratio (backward over forward), moved "
        "(bytes), p50, p90, p99, kernel, instructions, first_call, lowering, compilation, "
        "compile_cache_misses, graph_breaks, recompilations, flops, bytes_accessed.  [default: "
        "forward, backward, memory]",
        gather=parse_columns,
        metavar="NAMES",
        section="Output",
    ),
]


ModelFilter = Annotated[
    tuple[str, ...],
    Option(
        "Only models whose names have a match, whatever the case. Repeat it for several.",
        metavar="REGEX",
        section="Cases",
        spellings="-k --filter",
    ),
]

ModelExclude = Annotated[
    tuple[str, ...],
    Option(
        "No models whose names have a match. Repeat it for several.",
        metavar="REGEX",
        section="Cases",
        spellings="-x --exclude",
    ),
]

ExcludeByTier = Annotated[
    tuple[int, ...], Option("No models of this tier.", metavar="TIER", section="Cases")
]


def dimensions_option(what: str, default: str = "") -> Option:
    """Returns the declaration of the dimensions that records are grouped by; `what` is made for
    their values, `default` is the help's for none."""
    return Option(
        f"{what} of overload, operator (all overloads of a name together), case, inputs, "
        "category, framework, file, metric, dtype, mode, threads or any other setting, label.NAME, "
        f"or a swept variable.{default}",
        gather=split_dimensions,
        metavar="NAMES",
        section="Comparison",
        spellings="--by",
    )


Framework = Annotated[
    str,
    Option(
        "Framework to use, one of those that `opperf frameworks` lists.  [default: that which "
        "names such as torch.mm are of or your files import, or else the first installed of "
        f"{', '.join(PREFERENCE)}]",
        metavar="NAME",
        section="Cases",
        may_differ=True,
    ),
]
"""Its name; empty for the default."""

Store = Annotated[
    str,
    Option(
        "Path of a file of SQLite, or URL of PostgreSQL.  [default: the environment variable "
        "OPPERF_HISTORY, else history.sqlite in opperf's data folder]",
        metavar="STORE",
        section="History",
    ),
]
"""That of a history; empty for the default."""
