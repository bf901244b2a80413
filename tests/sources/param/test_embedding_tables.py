"""Inputs of FBGEMM's tables of embeddings."""

import pytest

from opperf.errors import UsageError
from opperf.model import Fill
from opperf.sources.param.configuration import Configuration

NAME = "SplitTableBatchedEmbeddingBagsCodegen"


def typed(value):
    if isinstance(value, list):
        return {"type": "genericlist", "value": [typed(one) for one in value]}
    return {"type": {bool: "bool", int: "int", str: "str"}[type(value)], "value": value}


def cases(build, *inputs):
    content = {
        NAME: {
            "build_iterator": "RangeConfigIterator",
            "input_iterator": f"{NAME}InputIterator",
            "build_data_generator": "PyTorch::DefaultDataGenerator",
            "input_data_generator": f"{NAME}InputDataGenerator",
            "config": [
                {
                    "build": [{"args": [typed(one) for one in build]}],
                    "input": [{"args": list(one)} for one in inputs],
                }
            ],
        }
    }
    return list(Configuration(content).cases())


def test_inputs_follow_from_the_build():
    batches = {**typed(2), "value": [2, 4, 2], "__range__": ["value"]}
    found = cases((1, 100, 8, 0, False, "fp16", "exact_sgd"), (batches, typed(3)))
    assert [case.source_id for case in found] == [f"{NAME}|0|0_0|0_0", f"{NAME}|0|0_0|0_1"]
    indices, offsets, weights = found[0].arguments.values()
    assert (indices.shape, indices.dtype, indices.fill) == ((6,), "int64", Fill("integers", 0, 100))
    assert offsets.fill.data == [0, 3, 6] and offsets.shape == (3,)
    assert weights is None


def test_tables_have_their_own_pooling_and_samples_may_have_weights():
    build = (2, [100, 50], [8, 4], 1, True, "fp32", "exact_sgd")
    (case,) = cases(build, (typed(2), typed([3, 1])))
    indices, offsets, weights = case.arguments.values()
    assert offsets.fill.data == [0, 3, 6, 7, 8]
    assert indices.fill == Fill("integers", 0, 50) and indices.shape == weights.shape == (8,)


@pytest.mark.parametrize(
    ("build", "inputs", "message"),
    [
        ((1, 100, 8), (typed(2), typed(3)), "the `build` has at least 6 `args`"),
        ((1, 100, 8, 0, False, "fp16"), (typed(2),), "expected the batch size and the pooling"),
        ((1, 100, 8, 0, False, "fp16"), (typed("a"), typed(3)), "are integers"),
        ((2, 100, 8, 0, False, "fp16"), (typed(2), typed([3])), "or one for each of 2 tables"),
        ((1, 0, 8, 0, False, "fp16"), (typed(2), typed(3)), "rows are a positive integer"),
    ],
)
def test_wrong_numbers_are_errors(build, inputs, message):
    with pytest.raises(UsageError, match=message):
        cases(build, inputs)


def test_a_wrong_input_costs_its_own_cases():
    build = (1, 100, 8, 0, False, "fp16", "exact_sgd")
    found = cases(build, (typed(2), typed(3)), (typed(2),), (typed(4), typed(3)))
    assert [case.source_id for case in found] == [f"{NAME}|0|0_0|0_0", f"{NAME}|0|0_0|2_0"]
