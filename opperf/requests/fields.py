"""Fields that several requests have."""

from __future__ import annotations

from typing import Annotated

from opperf.model.declaring import integer_from
from opperf.requests.declaring import COMPARISON, OUTPUT, Option
from opperf.requests.parsers import parse_columns, split_dimensions

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
        may_differ=True,
    ),
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


def count_option(spellings: str, help: str, section: str) -> Option:
    """Returns the declaration of a number of at least one."""
    return Option(spellings, f"{help}  [x>=1]", integer_from(1), metavar="N", section=section)


AsJson = Annotated[bool, Option("--json", "Print JSON.", section=OUTPUT)]
