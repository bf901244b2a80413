"""Families of PyTorch's operators that sort, search and find unique values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Fill, Operator
from opperf.rules.bert import WORDS
from opperf.rules.configurations import WHY
from opperf.rules.families.sorting import EXPERTS, fewer
from opperf.rules.registering import Families
from opperf.rules.shapes import line, square, vector
from opperf.rules.sizes import Preset
from opperf.rules.torch.layouts import transposed
from opperf.rules.values import SEQUENCE, Arguments, below, fixed, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()

PERMUTATION = Fill("permutation")
"""Numbers that are all different, so that their order is the only one."""

VARIANTS: Mapping[str, Variants] = {
    "bucketize.Scalar": lambda size: [
        {
            "self": line(size)[0] // 3,
            "boundaries": fixed(*line(size), fill=SEQUENCE),
            WHY: "the bin of one number, as of a step of a schedule: a call's overhead",
        }
    ],
    "searchsorted.Scalar": lambda size: [
        {
            "sorted_sequence": fixed(*line(size), fill=SEQUENCE),
            "self": line(size)[0] // 3,
            WHY: "the place of one number, as of a draw from a distribution: a call's overhead",
        }
    ],
    "isin.Scalar_Tensor": lambda size: [
        {
            "element": 1,
            "test_elements": fixed(*vector(size), fill=below(line(size)[0], start=2)),
            WHY: "whether a list has a number, as the end of a sentence: it does not",
        }
    ],
    "isin.Tensor_Scalar": lambda size: [
        {
            "elements": fixed(*vector(size), fill=below(4)),
            "test_element": 1,
            WHY: "where elements are one number, as the tokens of padding: a comparison",
        }
    ],
}
"""Operators of which an argument is a number."""


@FAMILIES.add(*VARIANTS)
def of_a_number(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A tensor, and a number that is looked for."""
    return own(VARIANTS, operator, size)


@FAMILIES.also("sort.default", "argsort.default", "sort.stable", "argsort.stable")
def descending(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Rows in descending order, and transposed ones."""
    make = tensor if operator.name == "sort" else fixed
    stable: Arguments = {"stable": True} if operator.overload == "stable" else {}
    likeliest = make(size.pictures, size.extent(WORDS), fill=PERMUTATION)
    yield {
        "self": likeliest,
        "dim": -1,
        "descending": True,
        **stable,
        WHY: "words from the likeliest down, as in nucleus sampling: few long rows",
    }
    yield {
        "self": transposed(fewer(size), gradient=operator.name == "sort"),
        "dim": -1,
        **stable,
        WHY: "rows of x.T, as features by samples: copied before they are sorted",
    }


@FAMILIES.also("sort.stable", "argsort.stable")
def recurring(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Few numbers, whose equal ones have only one order in a stable sort."""
    yield {
        "self": fixed(*vector(size), fill=below(EXPERTS), dtype="int64"),
        "stable": True,
        WHY: "few numbers that recur, as tokens by their expert in a mixture",
    }


@FAMILIES.also("topk.default")
def fewest(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Distances, of which the least are found."""
    yield {
        "self": tensor(size.extent(1024), size.extent(1024, least=32)),
        "k": 20,
        "dim": -1,
        "largest": False,
        WHY: "the 20 nearest of each point, as in DGCNN's graph: the least",
    }


@FAMILIES.also("searchsorted.Tensor")
def by_row(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A rising sequence for each row of values."""
    rows, columns = size.extent(4096), 64
    yield {
        "sorted_sequence": fixed(rows, columns, fill=Fill("sequence", 0.0, float(columns))),
        "self": fixed(rows, 2 * columns, fill=below(columns)),
        "right": True,
        WHY: "samples along each ray by its own density, as NeRF's fine network: a row for each",
    }


@FAMILIES.also("unique_consecutive.default")
def sorted_rows(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Numbers that rise, none of which recurs."""
    yield {
        "self": fixed(square(size)[0] * square(size)[1], fill=SEQUENCE, dtype="int64"),
        "return_counts": True,
        WHY: "sorted numbers without a repeat, as of edges: nothing is removed",
    }


@FAMILIES.add("_unique2", "_unique")
def unique(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Numbers that recur, with the place of each among the unique ones, and without."""
    numbers = fixed(*vector(size), fill=below(size.extent(30522)), dtype="int64")
    yield {"self": numbers, WHY: "word pieces of a batch, each once: sorted"}
    yield {
        "self": numbers,
        "return_inverse": True,
        WHY: "word pieces of a batch, each once, and the place of each of the batch among them",
    }
