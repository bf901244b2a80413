"""Cases along axes of settings."""

import msgspec
import pytest

from opperf.model import CallableTarget, Case, DType, Mapping, OperatorTarget, Settings, TensorSpec
from opperf.sources.varying import (
    deduplicate,
    disambiguate,
    group_by_process,
    process_key,
    vary,
    with_dtype,
    with_memory_format,
    with_settings,
)


def a_case(name="relu", **settings):
    return Case(
        OperatorTarget("fake", name),
        {"data": TensorSpec((2, 3)), "index": TensorSpec((2,), "int64"), "dtype": "float32"},
        Settings(**settings),
    )


def test_axes_multiply_and_cases_of_one_combination_stay_together():
    made = vary([a_case("relu"), a_case("add")], {"threads": (1, 2), "cache": ("hot", "cold")})
    found = [(c.settings.threads, c.settings.cache, c.label) for c in made]
    assert found == [
        (threads, cache, label)
        for threads in (1, 2)
        for cache in ("hot", "cold")
        for label in ("relu", "add")
    ]
    assert len({case.id for case in made}) == 8


def test_no_axis_is_the_cases_as_they_are():
    assert vary([a_case()], {}) == (a_case(),)


def test_a_value_that_changes_nothing_makes_no_second_case():
    assert len(vary([a_case()], {"threads": (None, None, 2)})) == 2
    assert deduplicate([a_case(), a_case(seed=3)]) == (a_case(),)


def test_what_has_the_dtype_of_the_case_follows_it():
    case = msgspec.structs.replace(
        a_case(),
        arguments={
            "data": TensorSpec((2,)),
            "list": (TensorSpec((2,)), (TensorSpec((2,), "int8"), 1)),
            "index": TensorSpec((2,), "int64"),
            "named": Mapping({"x": TensorSpec((2,)), "n": 3}),
            "dtype": "float32",
            "as": DType("float32"),
            "word": "float32",
        },
    )
    made = with_dtype(case, "float16")
    assert made.arguments == {
        "data": TensorSpec((2,), "float16"),
        "list": (TensorSpec((2,), "float16"), (TensorSpec((2,), "int8"), 1)),
        "index": TensorSpec((2,), "int64"),
        "named": Mapping({"x": TensorSpec((2,), "float16"), "n": 3}),
        "dtype": "float16",
        "as": DType("float16"),
        "word": "float32",
    }
    assert made.settings.dtype == "float16"


PICTURES = {
    "data": TensorSpec((2, 3, 8, 8)),
    "volume": TensorSpec((2, 3, 4, 8, 8)),
    "list": (TensorSpec((4, 4)), TensorSpec((1, 2, 3, 4))),
    "view": TensorSpec((2, 3, 8, 8), strides=(192, 1, 24, 3)),
    "sparse": TensorSpec((2, 3, 8, 8), layout="csr"),
    "own": TensorSpec((2, 3, 4, 8, 8), memory_format="other"),
    "n": 4,
}


def formats_of(case):
    return [spec.memory_format for _, spec in case.tensors()]


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        (
            "channels_last",
            ["channels_last", "channels_last_3d", "", "channels_last", "", "", "other"],
        ),
        ("channels_last_3d", ["", "channels_last_3d", "", "", "", "", "other"]),
        ("blocked", ["blocked", "blocked", "blocked", "blocked", "", "", "other"]),
        ("contiguous", ["", "", "", "", "", "", "other"]),
    ],
)
def test_tensors_have_the_memory_format_of_their_number_of_axes(name, formats):
    case = Case(OperatorTarget("fake", "conv"), PICTURES)
    made = with_memory_format(case, name)
    assert formats_of(made) == formats and made.settings.memory_format == name
    for other in ("channels_last", "channels_last_3d", "blocked", "contiguous"):
        assert with_memory_format(made, other) == with_memory_format(case, other)


def test_a_case_without_a_tensor_of_the_memory_format_is_measured_once():
    plain, pictures = a_case(), Case(OperatorTarget("fake", "conv"), PICTURES)
    assert with_memory_format(plain, "channels_last") == plain
    made = vary([plain, pictures], {"memory_format": ("contiguous", "channels_last")})
    assert [case.label for case in made] == ["relu", "conv", "conv"]
    assert [case.settings.memory_format for case in made[1:]] == ["contiguous", "channels_last"]


def test_cases_that_one_process_measures_come_together():
    cases = [a_case("a", threads=2), a_case("b"), a_case("c", threads=2), a_case("d")]
    assert [case.label for case in group_by_process(cases)] == ["a", "c", "b", "d"]


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"threads": 1}, False),
        ({"env": {"A": "1"}}, False),
        ({"options": {"a.b": "true"}}, False),
        ({"python": "new"}, False),
        ({"dtype": "int8", "cache": "cold", "seed": 4, "autocast": "float16"}, True),
    ],
)
def test_a_process_is_known_by_its_settings(changed, same):
    assert (process_key("fake", Settings(**changed)) == process_key("fake", Settings())) is same
    assert process_key("fake", Settings()) != process_key("mxnet", Settings())


def test_targets_of_one_label_have_names_of_their_own_and_the_ids_they_had():
    def case(target):
        return Case(target, {"data": TensorSpec((2,))})

    cases = [
        case(CallableTarget("mxnet", "nd.add")),
        case(CallableTarget("mxnet", "np.add")),
        case(OperatorTarget("mxnet", "relu")),
        case(OperatorTarget("numpy", "relu")),
        case(OperatorTarget("numpy", "exp")),
    ]
    named = disambiguate(cases)
    assert [one.label for one in named] == ["nd.add", "np.add", "mxnet:relu", "numpy:relu", "exp"]
    assert [one.id for one in named] == [one.id for one in cases]


def test_options_that_a_dtype_needs_come_and_go_with_it():
    options = {"jax_default_matmul_precision": "highest"}
    case = Case(
        OperatorTarget("jax", "jnp.exp"),
        {"x": TensorSpec((2,))},
        Settings(mode="jit", options=options),
    )
    wide = with_settings(case, {"dtype": "float64"})
    assert wide.settings.options == {"jax_enable_x64": "true", **options}
    assert with_settings(wide, {"dtype": "int64"}).settings.options == wide.settings.options
    assert with_settings(wide, {"threads": 1}).settings.options == wide.settings.options
    assert with_settings(wide, {"dtype": "float32"}) == case
    # The user's own, of a dtype that needs none.
    wished = with_settings(case, {"options": {"jax_enable_x64": "true"}})
    assert with_settings(wished, {"dtype": "float16"}).settings.options == wished.settings.options
