"""Indices made for a size are in range. NumPy refuses those that are not, and MXNet reads and
writes what lies elsewhere in memory."""

from __future__ import annotations

import re

import mxnet as mx
import pytest

from opperf.frameworks import Framework
from opperf.model import Case, OperatorTarget, Settings
from opperf.mxnet_api.namespaces import inputs_of_size
from opperf.rules.mxnet.operations import indexing
from opperf.sources.call import UserCall
from tests.values.comparing import Comparison, expected
from tests.values.mxnet.arrays import array

OUT_OF_RANGE = re.compile("out of bounds|invalid entry")
"""How NumPy refuses an index. References may refuse more, as another number of axes."""

LEAST = 20
"""Operators that take or write by index, at least, of every size and whatever the build."""


def of_size(framework: Framework, name: str, size: tuple[int, ...]) -> Case:
    target = OperatorTarget(framework.name, name)
    function = framework.function(target)
    inputs = inputs_of_size(framework, function, size, {}, "float32")
    (case,) = UserCall(framework, function, [inputs], Settings(), False, target).cases()
    return case


@pytest.mark.parametrize("size", [(16, 16), (5, 7), (7, 5), (2, 3, 4, 5), (40,)], ids=str)
def test_indices_of_a_size_are_in_range(framework: Framework, size: tuple[int, ...]) -> None:
    comparison = Comparison(framework, array, {}, ())
    taken, wrong = 0, {}
    for name, entry in indexing.OPERATIONS.items():
        operator = framework.resolve(name)
        if operator is None:
            continue
        case = of_size(framework, operator.name, size)
        try:
            before, outputs, _ = comparison.called(case)
        except (mx.base.MXNetError, AssertionError):
            # What MXNet refuses is not carried out.
            continue
        taken += 1
        try:
            expected(entry.of(case.arguments), before, outputs)
        except (IndexError, ValueError) as error:
            if OUT_OF_RANGE.search(str(error)):
                wrong[name] = error
    assert wrong == {}
    assert taken >= LEAST


@pytest.mark.parametrize("name", ["ROIPooling", "_contrib_ROIAlign", "_contrib_PSROIPooling"])
@pytest.mark.parametrize("size", [(1, 3, 8, 8), (2, 3, 4, 5), (16, 16)], ids=str)
def test_regions_are_those_of_pictures_there_are(
    framework: Framework, name: str, size: tuple[int, ...]
) -> None:
    """A region names its picture, and MXNet reads whichever it names."""
    arguments = of_size(framework, name, size).arguments
    data, regions = arguments["data"], arguments["rois"]
    assert regions.fill.distribution == "literal"
    assert {row[0] for row in regions.fill.data} <= set(range(data.shape[0]))
    channels = arguments.get("output_dim", 1) * arguments.get("group_size", 1) ** 2
    assert data.shape[1] >= channels
