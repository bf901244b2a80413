"""Every hand-written family has operators, and each of them cases. That these run is tested in
`test_finite.py`.

The families are those that the rules register, so that a new one is tested as it is written.
"""

import pytest

from opperf.frameworks import load
from opperf.model import Settings
from opperf.rules import mxnet, numpy
from opperf.rules.engine import RULE, configurations, name_of, rules_module
from opperf.rules.mxnet import FAMILIES
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import PRESETS
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

FIRST_ONLY = frozenset(
    {
        "attention._sg_mkldnn_selfatt_qk",
        "attention._sg_mkldnn_selfatt_valatt",
        "convolution.convolution_v1",
        "convolution.pooling_v1",
        "miscellany._contrib_ifft",
        "normalisation.first_batch_norm",
        "quantization._contrib_quantize_asym",
        "quantization._contrib_quantized_rnn",
    }
)
"""Families whose operators MXNet 2 has no more, or not under these names."""

SECOND_ONLY = frozenset(
    {
        *(f"attention._contrib_sldwin_atten_{part}" for part in ("context", "mask_like", "score")),
        *("attention._sg_onednn_selfatt_qk", "attention._sg_onednn_selfatt_valatt"),
        *("image._image_random_crop", "indexing._npi_advanced_indexing"),
        *("indexing._npi_advanced_indexing_multiple", "indexing._npx_index_add"),
        *("indexing._npx_index_update", "miscellany._npi_fill_diagonal"),
        *("quantization._contrib_intgemm_fully_connected", "quantization.quantized_transpose"),
        *("quantization._contrib_intgemm_maxabsolute", "quantization._contrib_intgemm_take_weight"),
        *(f"quantization._contrib_intgemm_prepare_{name}" for name in ("data", "weight")),
        *("quantization.reshape", "shapes._contrib_dynamic_reshape", "shapes._npi_repeats"),
    }
)
"""Families whose operators came with MXNet 2."""


RULES = rules_module(mxnet.__name__)

OWN = {name_of(family) for family in (*FAMILIES.by_name.values(), *FAMILIES.by_category.values())}


@pytest.fixture(scope="module")
def found():
    """The names of each family's operators, of those that this build has; of families by role,
    those that MXNet has an operator for."""
    found = {name: [] for name in OWN}
    for operator in load("mxnet").operators():
        made = configurations(operator, RULES, PRESETS["small"])
        for origin in {} if isinstance(made, NoInputs) else {one.origin: 0 for one in made}:
            if not origin.startswith("table:"):
                found.setdefault(origin.removeprefix(RULE), []).append(operator.name)
    return found


def test_every_family_has_an_operator_in_one_of_the_major_versions(found):
    missing = {family for family, names in found.items() if not names}
    assert missing <= FIRST_ONLY or missing <= SECOND_ONLY
    assert len(found) - len(missing) > 240


@pytest.mark.parametrize("rules", [mxnet, numpy], ids=["mxnet", "numpy"])
def test_no_two_families_go_by_one_name(rules):
    own = {*rules.FAMILIES.by_name.values(), *rules.FAMILIES.by_category.values()}
    by_role = set(rules.FAMILIES.by_operation.values())
    for families in (own, by_role):
        assert len({name_of(family) for family in families}) == len(families)


def test_every_operator_of_a_family_has_a_case_or_a_reason(framework, found):
    expected = {name for names in found.values() for name in names}
    planned = plan(
        framework, Selection(patterns=tuple(expected), size="small", settings=Settings())
    )
    assert {case.label for case in planned.cases} | set(planned.excluded) == expected
