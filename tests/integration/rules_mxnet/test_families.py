"""Every hand-written family's configurations run, and give finite numbers.

The families are those that the rules register, so that a new one is tested as it is written.
"""

import mxnet as mx
import numpy as np
import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.frameworks.mxnet.gradient import flatten
from opperf.frameworks.mxnet.tensors import dtype_name
from opperf.model import Settings
from opperf.rules import mxnet, numpy
from opperf.rules.engine import RULE, NoInputs, configurations, name_of
from opperf.rules.mxnet import FAMILIES
from opperf.rules.sizes import PRESETS
from opperf.runner.prepared import PreparedCase
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

UNWRITTEN = {
    # A second output holds slopes that only training draws.
    "LeakyReLU": {"act_type": "rrelu"},
    # The weights of a sample's vertices, with room for more.
    "_contrib_dgl_csr_neighbor_non_uniform_sample": {},
}
"""Operators with an output that they leave unwritten, or its end, and the arguments with which
they do. Memory that is not written may hold anything."""

INFINITE = {
    # The logarithm of what is masked.
    "masked_log_softmax": -np.inf,
}
"""Operators that are to give infinity here and there, and which."""

ENDS_THE_PROCESS = frozenset({"_NDArray"})
"""Operators that a build's faults leave no way to call."""

FIRST_ONLY = frozenset(
    {
        "attention.fused_context_in_mxnet_1",
        "attention.fused_scores_in_mxnet_1",
        "convolution.convolution_v1",
        "convolution.pooling_v1",
        "miscellany.ifft",
        "normalisation.first_batch_norm",
        "quantization.quantize_asym",
        "quantization.recurrent",
    }
)
"""Families whose operators MXNet 2 has no more, or not under these names."""

SECOND_ONLY = frozenset(
    {
        *("attention.fused_context", "attention.fused_scores", "attention.masked_softmax"),
        *("attention.sliding_context", "attention.sliding_mask", "attention.sliding_scores"),
        *("image.random_crop", "indexing.advanced_indexing", "indexing.index_add"),
        *("indexing.advanced_indexing_multiple", "indexing.index_update"),
        "numpy_like.fill_diagonal",
        *("quantization.intgemm_fully_connected", "quantization.intgemm_maxabsolute"),
        *("quantization.intgemm_prepare", "quantization.intgemm_take", "quantization.reshape"),
        *("quantization.transpose", "shapes.dynamic_reshape", "shapes.repeats"),
    }
)
"""Families whose operators came with MXNet 2."""


OWN = {name_of(family) for family in (*FAMILIES.by_name.values(), *FAMILIES.by_category.values())}


def operators_by_family():
    """The names of each family's operators, of those that this build has; of families by role,
    those that MXNet has an operator for."""
    found = {name: [] for name in OWN}
    for operator in load("mxnet").operators():
        made = configurations(operator, mxnet, PRESETS["small"])
        for origin in {} if isinstance(made, NoInputs) else {one.origin: 0 for one in made}:
            if not origin.startswith("table:"):
                found.setdefault(origin.removeprefix(RULE), []).append(operator.name)
    return found


FOUND = operators_by_family()
HERE = sorted(family for family, names in FOUND.items() if names)


def test_every_family_has_an_operator_in_one_of_the_major_versions():
    missing = {family for family, names in FOUND.items() if not names}
    assert missing <= FIRST_ONLY or missing <= SECOND_ONLY
    assert len(HERE) > 240


@pytest.mark.parametrize("rules", [mxnet, numpy], ids=["mxnet", "numpy"])
def test_no_two_families_go_by_one_name(rules):
    own = {*rules.FAMILIES.by_name.values(), *rules.FAMILIES.by_category.values()}
    by_role = set(rules.FAMILIES.by_operation.values())
    for families in (own, by_role):
        assert len({name_of(family) for family in families}) == len(families)


def leaves_unwritten(case):
    arguments = UNWRITTEN.get(case.label)
    return arguments is not None and arguments.items() <= case.arguments.items()


def assert_finite(case, outputs):
    """No NaN, and no infinity but the one that the operator is to give."""
    for array in flatten(outputs):
        # NumPy has no numbers of bfloat16.
        if not dtype_name(array.dtype).startswith("float"):
            continue
        numbers = array.asnumpy()
        strange = numbers[~np.isfinite(numbers)]
        assert (strange == INFINITE.get(case.label, np.nan)).all(), case


@pytest.mark.parametrize("family", HERE)
def test_every_configuration_runs_and_gives_finite_numbers(framework, family):
    selection = Selection(patterns=tuple(FOUND[family]), size="small", settings=Settings())
    planned = plan(framework, selection)
    assert {case.label for case in planned.cases} | set(planned.excluded) == set(FOUND[family])
    for case in planned.cases:
        with framework.scope(case):
            try:
                outputs = PreparedCase(case, framework).call()
                framework.synchronize(case.settings.device)
            except mx.base.MXNetError as error:
                assert framework.unavailable(framework.refusal(error)), case
                continue
            except UnsupportedError:
                assert case.label in ENDS_THE_PROCESS
                continue
            if not leaves_unwritten(case):
                assert_finite(case, outputs)
