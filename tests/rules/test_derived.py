"""Forms that are derived of configurations, such as bfloat16, unless the user asks for a dtype."""

from __future__ import annotations

import pytest

from opperf.errors import RuleError
from opperf.frameworks import is_available, load
from opperf.model import Settings, TensorSpec
from opperf.rules.configurations import Configuration
from opperf.rules.deriving import Derivation, derived, in_dtype, in_layout
from opperf.rules.engine import configurations, rules_module
from opperf.rules.registering import Families
from opperf.rules.sizes import PRESETS
from opperf.rules.values import tensor, transposed
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

HALF = "bfloat16"
IN_HALF = in_dtype(HALF)
ACROSS = in_layout("of x.T", transposed)
MADE = tuple(
    Configuration({"data": spec}, "rule:test", why, None, tags=(f"tag {why[0]}",))
    for spec, why in (
        (TensorSpec((2, 2), "", strides=(1, 2)), "a"),
        (tensor(2, dtype="int64"), "b"),
        (tensor(2), "c"),
        (tensor(3, 3), "d: by rows"),
        (tensor(4, 4), "d"),
    )
)


@pytest.mark.parametrize(
    "one, expected",
    [
        (Derivation(IN_HALF), ["c, in bfloat16"]),
        (Derivation(IN_HALF, "tag a"), ["a, in bfloat16"]),
        (Derivation(IN_HALF, "tag d"), ["d: by rows, in bfloat16"]),
        (Derivation(ACROSS), ["d, of x.T"]),
        (Derivation(ACROSS, "tag d", each=True), ["d, of x.T"] * 2),
    ],
)
def test_a_form_is_of_the_first_contiguous_configuration_that_has_it(one, expected):
    made = list(derived(MADE, [one]))
    assert [row.why for row in made] == expected
    for row in made:
        assert one.form.tag in row.tags and row.source.form == one.form.name
        changed = row.arguments["data"].strides if one.form is ACROSS else row.dtype
        assert changed == ((1, row.arguments["data"].shape[0]) if one.form is ACROSS else HALF)


def test_that_no_configuration_has_a_form_is_an_error():
    for form, tag in ((IN_HALF, "tag b"), (ACROSS, "tag c"), (ACROSS, "tag a"), (IN_HALF, "x")):
        wanted = rf"^rules\.py:7: no configuration with the tag '{tag}' has a form [^\n]*$"
        with pytest.raises(RuleError, match=wanted):
            list(derived(MADE, [Derivation(form, tag, place="rules.py:7")]))


def test_twice_of_an_operator_is_an_error():
    families, other = Families(), Families()
    families.derive(IN_HALF, "op")
    families.derive(IN_HALF, "op", "tag a")
    other.derive(IN_HALF, "op")
    wanted = r"^\S+test_derived\.py:\d+: 'op' has this derivation already, by [^\n]*$"
    with pytest.raises(RuleError, match=wanted):
        families.derive(IN_HALF, "other op")
    with pytest.raises(RuleError, match=wanted):
        families.merge(other)


NAMES = {
    "torch": ("mm", "gelu", "layer_norm", "embedding"),
    "jax": ("lax.dot_general", "nn.gelu", "lax.dynamic_update_slice"),
}


def planned(name, *patterns, dtype="float32", **others):
    settings = Settings(dtype=dtype)
    return plan(load(name), Selection(patterns, settings=settings, **others)).cases


@pytest.fixture(params=NAMES)
def name(request):
    if not is_available(request.param):
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.mark.parametrize("framework", [*NAMES, "numpy"])
def test_each_derivation_has_a_case(framework):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    # By the whole registry, as a misspelt name is no operator's.
    rules, operators = rules_module(load(framework).rules), list(load(framework).operators())
    listed = rules.FAMILIES.derivations.keys()
    assert listed and listed <= {own for one in operators for own in one.names}
    for operator in (one for one in operators if listed & set(one.names)):
        made = configurations(operator, rules, PRESETS["small"])
        forms = {one.form.tag for one in rules.FAMILIES.derivations_of(operator)}
        assert forms == {tag for one in made for tag in one.tags} & forms, operator.label


def test_those_that_models_run_in_it_have_a_case_in_it(name):
    for asked in NAMES[name]:
        cases = planned(name, asked)
        half = [one for one in cases if one.settings.dtype == HALF]
        assert half, asked
        assert all(HALF in {spec.dtype for _, spec in one.tensors()} for one in half)
        assert {one.settings.dtype for one in cases} == {"float32", HALF}
        assert len({one.why for one in cases}) == len(cases)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_requested_dtype_is_that_of_all(name, dtype):
    for asked in NAMES[name]:
        cases = planned(name, asked, dtype=dtype, dtype_given=True)
        assert {one.settings.dtype for one in cases} == {dtype}
        assert HALF not in {spec.dtype for one in cases for _, spec in one.tensors()}


def test_a_users_shape_is_measured_in_one_dtype(name):
    asked, argument = {"torch": ("gelu", "self"), "jax": ("nn.gelu", "x")}[name]
    cases = planned(name, asked, shapes={argument: (4, 6)})
    assert {one.settings.dtype for one in cases} == {"float32"}
