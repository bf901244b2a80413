"""Fields that several requests have."""

from __future__ import annotations

import math
from typing import Annotated

from opperf.frameworks import PREFERENCE
from opperf.requests.declaring import CASES, COMPARISON, HISTORY, OTHER, OUTPUT, Option
from opperf.requests.parsers import number_within, parse_columns, split_dimensions

Columns = Annotated[
    tuple[str, ...],
    Option(
        "--columns",
        "Columns of figures in tables and Markdown: forward, backward, total, memory, "
        "memory_forward, memory_backward, bandwidth (GB/s), ratio (backward over forward), moved "
        "(bytes), p50, p90, p99, kernel, instructions, first_call, lowering, compilation, "
        "compile_cache_misses, graph_breaks, recompilations, flops, bytes_accessed.  [default: "
        "forward, backward, memory]",
        gather=parse_columns,
        metavar="NAMES",
        section=OUTPUT,
    ),
]


ModelFilter = Annotated[
    tuple[str, ...],
    Option(
        "-k --filter",
        "Only models whose names have a match, whatever the case. Repeat it for several.",
        metavar="REGEX",
        section=CASES,
    ),
]

ModelExclude = Annotated[
    tuple[str, ...],
    Option(
        "-x --exclude",
        "No models whose names have a match. Repeat it for several.",
        metavar="REGEX",
        section=CASES,
    ),
]

ExcludeByTier = Annotated[
    tuple[int, ...],
    Option("--exclude-by-tier", "No models of this tier.", metavar="TIER", section=CASES),
]


def dimensions_option(what: str, default: str = "") -> Option:
    """Returns the declaration of the dimensions that records are grouped by; `what` is made for
    their values, `default` is the help's for none."""
    return Option(
        "--by",
        f"{what} of overload, operator (all overloads of a name together), case, inputs, "
        "category, framework, file, metric, dtype, mode, threads or any other setting, label.NAME, "
        f"or a swept variable.{default}",
        gather=split_dimensions,
        metavar="NAMES",
        section=COMPARISON,
    )


def number_option(
    spellings: str,
    help: str,
    metavar: str,
    section: str = OTHER,
    low: float = 0,
    high: float = math.inf,
    kind: type[float] = int,
    default: float | None = None,
) -> Option:
    """Returns the declaration of a number between two; its field has the default that help
    shows."""
    limits = f"x>={low:g}" if high == math.inf else f"{low:g}<=x<={high:.0f}"
    shown = limits if default is None else f"default: {default}; {limits}"
    return Option(
        spellings,
        f"{help}  [{shown}]",
        number_within(kind, low, high),
        metavar=metavar,
        section=section,
    )


def count_option(spellings: str, help: str, section: str) -> Option:
    """Returns the declaration of a number of at least one."""
    return number_option(spellings, help, "N", section, low=1)


Framework = Annotated[
    str,
    Option(
        "--framework",
        "Framework to use, one of those that `opperf frameworks` lists.  [default: that which "
        "names such as torch.mm are of or your files import, or else the first installed of "
        f"{', '.join(PREFERENCE)}]",
        metavar="NAME",
        section=CASES,
        may_differ=True,
    ),
]
"""Its name; empty for the default."""

Store = Annotated[
    str,
    Option(
        "--store",
        "Path of a file of SQLite, or URL of PostgreSQL.  [default: the environment variable "
        "OPPERF_HISTORY, else history.sqlite in opperf's data folder]",
        metavar="STORE",
        section=HISTORY,
    ),
]
"""That of a history; empty for the default."""
