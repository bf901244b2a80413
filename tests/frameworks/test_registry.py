"""MXNet's registry: one operator for all its names, parameters as they are declared."""

from __future__ import annotations

import ctypes

import pytest

from opperf.errors import UnknownOperatorError
from opperf.frameworks.mxnet import registry
from opperf.frameworks.mxnet.categories import CATEGORIES, MISC
from opperf.frameworks.mxnet.functions import operator_function
from opperf.model import Kind


def names_by_canonical():
    """Every forward name MXNet lists, by the name its handle says is the operator's own."""
    from mxnet.base import _LIB, check_call

    size, listed = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(size), ctypes.byref(listed)))
    names = [bytes(listed[i]).decode() for i in range(size.value)]
    found = {}
    for name in names:
        if "backward" in name:
            continue
        handle = ctypes.c_void_p()
        check_call(_LIB.NNGetOpHandle(name.encode(), ctypes.byref(handle)))
        own = ctypes.c_char_p()
        check_call(_LIB.MXSymbolGetAtomicSymbolName(handle, ctypes.byref(own)))
        found.setdefault(own.value.decode(), set()).add(name)
    return found


def test_there_is_one_operator_for_each_that_mxnet_has():
    assert len(registry.operators()) == len(names_by_canonical())
    assert len(registry.operators()) > 500


def test_every_name_is_an_operators_and_no_name_is_twos():
    listed = [name for names in names_by_canonical().values() for name in names]
    names = [name for operator in registry.operators() for name in operator.names]
    assert len(names) == len(set(names))
    assert set(listed) <= set(names)


def test_aliases_are_those_that_share_a_handle():
    for canonical, names in names_by_canonical().items():
        operator = registry.by_name()[canonical]
        assert set(operator.names) == names | {canonical}


def test_operators_are_sorted_and_none_is_a_backward_one():
    names = [operator.name for operator in registry.operators()]
    assert names == sorted(names)
    assert not [name for name in names if "backward" in name]


@pytest.mark.parametrize(
    ("registered", "shown"),
    [
        ("_copy", "identity"),
        ("identity", "identity"),
        ("_linalg_det", "linalg_det"),
        ("linalg_det", "linalg_det"),
        ("cumsum", "cumsum"),
        ("ElementWiseSum", "add_n"),
        ("relu", "relu"),
        ("Convolution", "Convolution"),
        ("_copyto", "_copyto"),
    ],
)
def test_operators_go_by_the_names_users_know(registered, shown):
    assert registry.by_name()[registered].name == shown


def test_a_private_name_is_shown_only_where_there_is_no_public_one():
    assert registry.shown_name("_copy", ["_copy", "identity"]) == "identity"
    assert registry.shown_name("_np_cumsum", ["_np_cumsum", "cumsum"]) == "cumsum"
    assert registry.shown_name("_linalg_det", ["_linalg_det", "linalg_det"]) == "linalg_det"
    assert registry.shown_name("_copyto", ["_copyto"]) == "_copyto"
    assert registry.shown_name("Convolution", ["Convolution", "conv"]) == "Convolution"


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("relu", "nd"),
        ("_contrib_fft", "contrib"),
        ("_linalg_det", "linalg"),
        ("_random_normal", "random"),
        ("_sample_normal", "random"),
        ("_image_crop", "image"),
        ("_sparse_retain", "sparse"),
        ("_npi_add", "np"),
        ("_np_sum", "np"),
        ("_npx_relu", "npx"),
        ("_copyto", "internal"),
    ],
)
def test_namespaces(name, space):
    assert registry.namespace_of(name) == space


@pytest.mark.parametrize(
    ("declared", "kind", "required", "default"),
    [
        ("NDArray-or-Symbol", Kind.TENSOR, True, None),
        ("NDArray-or-Symbol[]", Kind.TENSORS, True, None),
        ("Symbol or Symbol[]", Kind.TENSORS, True, None),
        ("int, required", Kind.INT, True, None),
        ("int (non-negative), required", Kind.INT, True, None),
        ("long (non-negative), optional, default=0", Kind.INT, False, "0"),
        ("int or None, optional, default='None'", Kind.INT, False, "None"),
        ("float, optional, default=0.5", Kind.FLOAT, False, "0.5"),
        ("double, optional, default=1", Kind.FLOAT, False, "1"),
        ("boolean, optional, default=0", Kind.BOOL, False, "0"),
        ("Shape(tuple), required", Kind.SHAPE, True, None),
        ("Shape or None, optional, default=None", Kind.SHAPE, False, "None"),
        ("Shape(tuple), optional, default=[1,1]", Kind.SHAPE, False, "[1,1]"),
        ("tuple of <float>, required", Kind.FLOATS, True, None),
        ("tuple of <long>, optional, default=[0]", Kind.SHAPE, False, "[0]"),
        ("string, optional, default=''", Kind.STRING, False, ""),
        ("something new", Kind.OTHER, True, None),
    ],
)
def test_parameters_are_read_from_their_declarations(declared, kind, required, default):
    parameter = registry.parse_parameter("x", declared)
    assert (parameter.kind, parameter.required, parameter.default) == (kind, required, default)
    assert (parameter.name, parameter.declared, parameter.choices) == ("x", declared, ())


def test_choices_are_read_without_their_quotes():
    parameter = registry.parse_parameter(
        "act_type", "{'relu', 'sigmoid', 'tanh'},optional, default='relu'"
    )
    assert (parameter.kind, parameter.required) == (Kind.ENUM, False)
    assert (parameter.default, parameter.choices) == ("relu", ("relu", "sigmoid", "tanh"))


def test_a_choice_that_must_be_made_has_no_default():
    parameter = registry.parse_parameter("act_type", "{'relu', 'tanh'}, required")
    assert (parameter.required, parameter.default) == (True, None)


def test_real_parameters():
    convolution = registry.by_name()["Convolution"]
    assert [p.name for p in convolution.tensors] == ["data", "weight", "bias"]
    assert convolution.parameter("kernel").kind is Kind.SHAPE
    assert convolution.parameter("num_filter").required
    assert "NCHW" in convolution.parameter("layout").choices
    assert registry.by_name()["Concat"].variadic == "num_args"
    assert registry.by_name()["relu"].variadic is None


def test_every_operator_has_a_category():
    assert {operator.category for operator in registry.operators()} <= set(CATEGORIES)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("relu", "activation"),
        ("sigmoid", "activation"),
        ("_npx_relu", "activation"),
        ("tanh", "unary"),
        ("exp", "unary"),
        ("broadcast_add", "binary_broadcast"),
        ("elemwise_add", "binary_elementwise"),
        ("dot", "gemm"),
        ("batch_dot", "gemm"),
        ("sum", "reduction"),
        ("argmax", "sorting_searching"),
        ("topk", "sorting_searching"),
        ("Convolution", "convolution"),
        ("Deconvolution", "transpose_convolution"),
        ("Pooling", "pooling"),
        ("sgd_update", "optimizer"),
        ("linalg_det", "linalg"),
        ("take", "indexing"),
        ("one_hot", "indexing"),
        ("Activation", "activation"),
        ("CTCLoss", "loss"),
        ("BatchNorm", "nn_basic"),
        ("Concat", "join_split"),
        ("round", "rounding"),
        ("tile", "expanding"),
        ("transpose", "rearrange"),
        ("Reshape", "shape"),
        ("Custom", "misc"),
        ("ROIPooling", "pooling"),
        ("_contrib_ROIAlign", "pooling"),
        ("_contrib_box_nms", "detection"),
        ("SoftmaxOutput", "loss"),
        ("LinearRegressionOutput", "loss"),
        ("_contrib_hawkesll", "loss"),
        ("norm", "reduction"),
        ("_npi_norm", "reduction"),
        ("_npi_identity", "creation"),
        ("identity", "unary"),
        ("zeros_like", "creation"),
        ("cumsum", "cumulative"),
        ("Cast", "conversion"),
        ("_cond", "control_flow"),
        ("random_normal", "random_sampling"),
    ],
)
def test_categories(name, category):
    assert registry.by_name()[name].category == category


def test_few_operators_are_of_no_other_category():
    assert sum(operator.category == MISC for operator in registry.operators()) < 15


def test_every_operator_has_a_function():
    for operator in registry.operators():
        assert callable(operator_function(operator.name))


def test_the_function_of_an_alias_is_the_operators():
    assert operator_function("_copy") is operator_function("identity")


def test_an_unknown_operator_suggests_near_ones():
    with pytest.raises(UnknownOperatorError, match="broadcast_add"):
        operator_function("broadcast_ad")
