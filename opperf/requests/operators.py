"""The fields of requests that say what is measured: operators, inputs, cases and their order, and
others that several requests have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from opperf import defaults
from opperf.errors import UsageError
from opperf.frameworks import PREFERENCE
from opperf.model import Argument
from opperf.model.declaring import integer_from
from opperf.requests.declaring import Group, Option, argument
from opperf.requests.parsers import (
    parse_columns,
    parse_shapes,
    parse_sweeps,
    parse_values,
    read_existing_folder,
    split_commas,
    split_dimensions,
)
from opperf.rules.extents import Fuzz


def names_option(help: str, metavar: str = "NAMES", **more: Any) -> Option:
    """Returns the declaration of several names, which commas separate too."""
    return Option(help, gather=split_commas, metavar=metavar, **more)


def _group_option(help: str, **more: Any) -> Option:
    return names_option(f"{help}; `opperf frameworks NAME` lists them.", **more)


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


class OperatorGroups(Group, frozen=True, kw_only=True):
    """Restricts the operators that are selected by name."""

    section: ClassVar[str] = "Cases"

    categories: Annotated[
        tuple[str, ...],
        _group_option(
            "Only operators of this category, e.g. unary, reduction, optimizer",
            spellings="--category",
        ),
    ] = ()
    namespaces: Annotated[
        tuple[str, ...],
        _group_option(
            "Only operators of this namespace, e.g. linalg, random", spellings="--namespace"
        ),
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        _group_option(
            "Only operators with this tag of the framework, e.g. core", spellings="--tag"
        ),
    ] = ()
    variants: Annotated[
        tuple[str, ...],
        _group_option("Operators of these variants, e.g. in-place, out, internal, as well"),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], names_option("Exclude these operators; names, globs or regexes.")
    ] = ()


class Operators(OperatorGroups, frozen=True, kw_only=True):
    """The operators, by name and by group."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR]...", gather=split_commas)] = ()
    ops: Annotated[
        tuple[str, ...],
        names_option(
            "Operators, as the arguments: names, globs ('broadcast_*'), regexes ('re:^sum'), paths "
            "(nd.add) or your own functions (kernels.py:softmax, module:function). Commas separate "
            "several.",
            section="Cases",
        ),
    ] = ()


Shape = tuple[int | str, ...]
"""Extents, of which a text names a swept variable."""

Shapes = Annotated[
    dict[str, Shape],
    Option(
        "Shape of an argument, e.g. lhs=1024x1024, in place of the rule's; the shapes of the other "
        "arguments follow. 1024x1024 alone is that of the only input.",
        gather=parse_shapes,
        metavar="NAME=SHAPE",
        section="Inputs",
        text=lambda shape: "x".join(map(str, shape)) if isinstance(shape, (list, tuple)) else shape,
        spellings="--shape",
    ),
]

Values = Annotated[
    dict[str, Argument],
    Option(
        "Value of an argument, e.g. axis=1, in place of the rule's: a number, inf, true, None, a "
        "tuple or list, or text; one number for all sides of a window. For a tensor, the list of "
        "its data.",
        gather=parse_values,
        metavar="NAME=VALUE",
        section="Inputs",
        text=repr,
        spellings="--arg",
    ),
]

Ids = Annotated[
    tuple[str, ...],
    names_option(
        "Only the cases with these ids, or prefixes of ids, which --list and run files show.",
        metavar="IDS",
        section="Cases",
        spellings="--id",
    ),
]

NoBackward = Annotated[bool, Option("Measure the forward pass only.", section="Settings")]


def _range_text(value: object) -> str:
    several = isinstance(value, (list, tuple, range))
    return ",".join(map(str, value)) if several else str(value)  # type: ignore[call-overload]


class RandomShapes(Group, frozen=True, kw_only=True):
    """Random shapes of inputs."""

    section: ClassVar[str] = "Inputs"

    fuzz_shapes: Annotated[
        int | None,
        Option(
            "Measure each operator at N random shapes, drawn by --seed, instead of its rule's "
            "shapes, and report those that take longer than their size explains.",
            low=1,
        ),
    ] = None
    least_elements: Annotated[
        int,
        Option(
            "With --fuzz-shapes: minimum number of elements of the largest tensor.",
            low=1,
            spellings="--min-elements",
        ),
    ] = defaults.MIN_ELEMENTS
    most_elements: Annotated[
        int,
        Option(
            "With --fuzz-shapes: maximum number of elements of the largest tensor.",
            low=1,
            spellings="--max-elements",
        ),
    ] = defaults.MAX_ELEMENTS

    @property
    def fuzz(self) -> Fuzz | None:
        """The random shapes, or None. Raises `UsageError` for limits with nothing between them."""
        if self.fuzz_shapes is None:
            return None
        least, most = self.least_elements, self.most_elements
        if least > most:
            raise UsageError(f"--min-elements {least} is more than --max-elements {most}")
        return Fuzz(count=self.fuzz_shapes, least=least, most=most)


Size = Annotated[
    Literal["small", "default", "large"],
    Option(
        "Size of the inputs. With --quick, a registry of 600 operators takes half a minute at "
        "small, 2 minutes at default and about 20 at large, on two cores.",
        section="Inputs",
    ),
]

MaxConfigs = Annotated[
    int | None,
    Option(
        "Maximum number of configurations of each operator.  [default: all]",
        low=1,
        section="Cases",
        spellings="--max-configs",
    ),
]


class Inputs(RandomShapes, frozen=True, kw_only=True):
    """The inputs that rules make."""

    configurations: MaxConfigs = None
    int64_tensor: Annotated[
        Literal["on", "off"],
        Option(
            "Use tensors of more than 2**31 elements, on builds that support them.",
            section="Inputs",
        ),
    ] = "off"
    size: Size = "default"
    shapes: Shapes = {}
    values: Values = {}
    sweeps: Annotated[
        dict[str, tuple[int, ...]],
        Option(
            "Measure at several sizes: NAME stands for an extent of --shape, or for a value of "
            "--arg. n=128..2048:x2 doubles, n=64..512:+64 adds, n=64,100,128 lists; several sweeps "
            "give every combination. `opperf plot` draws the result.",
            gather=parse_sweeps,
            metavar="NAME=RANGE",
            section="Inputs",
            text=_range_text,
            spellings="--sweep",
        ),
    ] = {}


class Changed(Group, frozen=True, kw_only=True):
    """Operators whose code changed."""

    changed_since: Annotated[
        str | None,
        Option(
            "Add the operators whose kernels changed since the merge base with this revision of "
            "git, uncommitted changes too; without one, nothing is measured. [changed] of "
            "opperf.toml has those that it cannot find.",
            metavar="REVISION",
            section="Commits",
            excludes={"resume": "what is resumed has its own cases"},
        ),
    ] = None
    git_folder: Annotated[
        Path,
        Option(
            "The repository of --changed-since.  [default: that of the current folder]",
            read_existing_folder,
            metavar="FOLDER",
            section="Commits",
            spellings="--repository",
        ),
    ] = Path()


class Partition(Group, frozen=True, kw_only=True):
    """One of several parts of the cases."""

    total_partitions: Annotated[
        int | None,
        Option(
            "Measure one of this many parts of the cases, as the job of an array does; `opperf "
            "merge` joins the run files.",
            integer_from(1),
            metavar="NUMBER",
            section="Cases",
            may_differ=True,
        ),
    ] = None
    partition_id: Annotated[
        int | None,
        Option(
            "Which part: 0 to NUMBER - 1. A case is in the same part whatever else is selected.",
            integer_from(0),
            metavar="ID",
            section="Cases",
            may_differ=True,
        ),
    ] = None

    @property
    def part(self) -> tuple[int, int] | None:
        """The part to measure, from 0, and the number of parts; None for all. Raises `UsageError`
        for an option alone, and for a part that there is not."""
        number, total = self.partition_id, self.total_partitions
        if number is None and total is None:
            return None
        if number is None or total is None:
            raise UsageError("--total-partitions and --partition-id go together; set both")
        if number >= total:
            raise UsageError(f"--partition-id {number}: of {total} parts the last is {total - 1}")
        return number, total


Shuffle = Annotated[
    bool, Option("Measure the cases in a random order.", section="Time and precision")
]
