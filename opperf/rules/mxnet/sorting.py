"""Sorting and searching."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.mxnet.indexing import of_classes
from opperf.rules.registering import Families
from opperf.rules.shapes import square, tall
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, tensor

FAMILIES = Families()

INDEX = "int32"
"""Dtype of the output's indices: float16, which may be the requested dtype, is exact up to 2048
only."""


FORMS = {
    "indices": "the places of each row's best scores, as the items to recommend",
    "value": "the values of each row's best scores, the last one the threshold of top-k sampling",
    "both": "the places and values of each row's best scores, from which beam search continues",
    "mask": "ones where each row's best scores are, as a mixture of experts is gated",
}
"""Why a few elements of each row are found, by the form of the output."""


@FAMILIES.add("topk")
def topk(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """A matrix, for a few elements of each row in every form of output, and one along the first
    axis."""
    for form, why in FORMS.items():
        yield {
            "data": tensor(*square(size)),
            "k": size.extent(10, least=2),
            "ret_typ": form,
            "dtype": INDEX,
            WHY: why,
        }
    yield {
        "data": tensor(*tall(size)),
        "k": 1,
        "axis": 0,
        "ret_typ": "value",
        "dtype": INDEX,
        WHY: "the best of each long column, as the strongest response to each feature",
    }


@FAMILIES.add("argmax_channel")
def argmax_channel(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Scores, for the class with the highest one in each row."""
    for shape, classes in of_classes(size):
        yield {"data": fixed(*shape), WHY: f"the class of each sample, of {classes}"}
