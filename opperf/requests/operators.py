"""The fields of requests that say what is measured: operators, inputs, cases and their order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from opperf import defaults
from opperf.errors import UsageError
from opperf.model import Argument
from opperf.model.declaring import integer_from
from opperf.requests.declaring import CASES, COMMITS, INPUTS, PRECISION, Group, Option, argument
from opperf.requests.fields import count_option, number_option
from opperf.requests.parsers import (
    parse_shapes,
    parse_sweeps,
    parse_values,
    read_existing_folder,
    split_commas,
)
from opperf.rules.fuzzing import Fuzz


def names_option(spellings: str, help: str, section: str = CASES, metavar: str = "NAMES") -> Option:
    """Returns the declaration of several names, which commas separate too."""
    return Option(spellings, help, gather=split_commas, metavar=metavar, section=section)


def _group_option(spellings: str, help: str) -> Option:
    return names_option(spellings, f"{help}; `opperf frameworks NAME` lists them.")


class OperatorGroups(Group, frozen=True, kw_only=True):
    """Restricts the operators that are selected by name."""

    categories: Annotated[
        tuple[str, ...],
        _group_option(
            "--category", "Only operators of this category, e.g. unary, reduction, optimizer"
        ),
    ] = ()
    namespaces: Annotated[
        tuple[str, ...],
        _group_option("--namespace", "Only operators of this namespace, e.g. linalg, random"),
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        _group_option("--tag", "Only operators with this tag of the framework, e.g. core"),
    ] = ()
    variants: Annotated[
        tuple[str, ...],
        _group_option(
            "--variants", "Operators of these variants, e.g. in-place, out, internal, as well"
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        names_option("--exclude", "Exclude these operators; names, globs or regexes."),
    ] = ()


class Operators(OperatorGroups, frozen=True, kw_only=True):
    """The operators, by name and by group."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR]...", gather=split_commas)] = ()
    ops: Annotated[
        tuple[str, ...],
        names_option(
            "--ops",
            "Operators, as the arguments: names, globs ('broadcast_*'), regexes ('re:^sum'), paths "
            "(nd.add) or your own functions (kernels.py:softmax, module:function). Commas separate "
            "several.",
        ),
    ] = ()


Shape = tuple[int | str, ...]
"""Extents, of which a text names a swept variable."""

Shapes = Annotated[
    dict[str, Shape],
    Option(
        "--shape",
        "Shape of an argument, e.g. lhs=1024x1024, in place of the rule's; the shapes of the other "
        "arguments follow. 1024x1024 alone is that of the only input.",
        gather=parse_shapes,
        metavar="NAME=SHAPE",
        section=INPUTS,
        text=lambda shape: "x".join(map(str, shape)) if isinstance(shape, (list, tuple)) else shape,
    ),
]

Values = Annotated[
    dict[str, Argument],
    Option(
        "--arg",
        "Value of an argument, e.g. axis=1, in place of the rule's: a number, inf, true, None, a "
        "tuple or list, or text; one number for all sides of a window. For a tensor, the list of "
        "its data.",
        gather=parse_values,
        metavar="NAME=VALUE",
        section=INPUTS,
        text=repr,
    ),
]

Ids = Annotated[
    tuple[str, ...],
    names_option(
        "--id",
        "Only the cases with these ids, or prefixes of ids, which --list and run files show.",
        metavar="IDS",
    ),
]

NoBackward = Annotated[
    bool, Option("--no-backward", "Measure the forward pass only.", section="Settings")
]


def _range_text(value: object) -> str:
    several = isinstance(value, (list, tuple, range))
    return ",".join(map(str, value)) if several else str(value)  # type: ignore[call-overload]


class RandomShapes(Group, frozen=True, kw_only=True):
    """Random shapes of inputs."""

    fuzz_shapes: Annotated[
        int | None,
        count_option(
            "--fuzz-shapes",
            "Measure each operator at N random shapes, drawn by --seed, instead of its rule's "
            "shapes, and report those that take longer than their size explains.",
            INPUTS,
        ),
    ] = None
    least_elements: Annotated[
        int,
        number_option(
            "--min-elements",
            "With --fuzz-shapes: minimum number of elements of the largest tensor.",
            "N",
            INPUTS,
            low=1,
            default=defaults.MIN_ELEMENTS,
        ),
    ] = defaults.MIN_ELEMENTS
    most_elements: Annotated[
        int,
        number_option(
            "--max-elements",
            "With --fuzz-shapes: maximum number of elements of the largest tensor.",
            "N",
            INPUTS,
            low=1,
            default=defaults.MAX_ELEMENTS,
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
        "--size",
        "Size of the inputs. With --quick, a registry of 600 operators takes half a minute at "
        "small, 2 minutes at default and about 20 at large, on two cores.",
        section=INPUTS,
    ),
]

MaxConfigs = Annotated[
    int | None,
    count_option(
        "--max-configs",
        "Maximum number of configurations of each operator.  [default: all]",
        CASES,
    ),
]


class Inputs(RandomShapes, frozen=True, kw_only=True):
    """The inputs that rules make."""

    configurations: MaxConfigs = None
    int64_tensor: Annotated[
        Literal["on", "off"],
        Option(
            "--int64-tensor",
            "Use tensors of more than 2**31 elements, on builds that support them.",
            section=INPUTS,
        ),
    ] = "off"
    size: Size = "default"
    shapes: Shapes = {}
    values: Values = {}
    sweeps: Annotated[
        dict[str, tuple[int, ...]],
        Option(
            "--sweep",
            "Measure at several sizes: NAME stands for an extent of --shape, or for a value of "
            "--arg. n=128..2048:x2 doubles, n=64..512:+64 adds, n=64,100,128 lists; several sweeps "
            "give every combination. `opperf plot` draws the result.",
            gather=parse_sweeps,
            metavar="NAME=RANGE",
            section=INPUTS,
            text=_range_text,
        ),
    ] = {}


class Changed(Group, frozen=True, kw_only=True):
    """Operators whose code changed."""

    changed_since: Annotated[
        str | None,
        Option(
            "--changed-since",
            "Add the operators whose kernels changed since the merge base with this revision of "
            "git, uncommitted changes too; without one, nothing is measured. [changed] of "
            "opperf.toml has those that it cannot find.",
            metavar="REVISION",
            section=COMMITS,
            excludes={"resume": "what is resumed has its own cases"},
        ),
    ] = None
    git_folder: Annotated[
        Path,
        Option(
            "--repository",
            "The repository of --changed-since.  [default: that of the current folder]",
            read_existing_folder,
            metavar="FOLDER",
            section=COMMITS,
        ),
    ] = Path()


class Partition(Group, frozen=True, kw_only=True):
    """One of several parts of the cases."""

    total_partitions: Annotated[
        int | None,
        Option(
            "--total-partitions",
            "Measure one of this many parts of the cases, as the job of an array does; `opperf "
            "merge` joins the run files.",
            integer_from(1),
            metavar="NUMBER",
            section=CASES,
            may_differ=True,
        ),
    ] = None
    partition_id: Annotated[
        int | None,
        Option(
            "--partition-id",
            "Which part: 0 to NUMBER - 1. A case is in the same part whatever else is selected.",
            integer_from(0),
            metavar="ID",
            section=CASES,
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
    bool, Option("--shuffle", "Measure the cases in a random order.", section=PRECISION)
]
