"""PyTorch's dispatcher as opperf's registry: names, overloads, variants, tags, categories."""

import msgspec
import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402
from opperf.frameworks.torch import categories, registry, schemas, synonyms  # noqa: E402
from opperf.model import Kind  # noqa: E402
from opperf.sources.selecting import Selection, find_matching, select  # noqa: E402

FRAMEWORK = load("torch")
OPERATORS = FRAMEWORK.operators()
USUAL = [one for one in OPERATORS if one.is_usual]


def labels(**selected):
    return [one.label for one in select(OPERATORS, Selection(**selected))]


def test_every_name_with_a_schema_is_an_operator_once():
    assert len(OPERATORS) == len({one.target for one in OPERATORS}) > 3000
    assert len({one.label for one in OPERATORS}) == len(OPERATORS)
    with_schema = {
        (schema.name, schema.overload_name or "default")
        for schema in torch._C._jit_get_all_schemas()
    }
    registered = {registry.Entry.of(name) for name in torch._C._dispatch_get_all_op_names()}
    wanted = {
        (f"{entry.namespace}::{entry.name}", entry.overload) for entry in registered
    } & with_schema
    found = {
        (f"{one.entry.namespace}::{one.entry.name}", one.entry.overload)
        for one in registry._read(registry.registered_names())
    }
    assert wanted <= found


def test_the_dispatcher_lists_its_names_for_a_target_that_is_new_alone(monkeypatch):
    first, second = (one.target for one in USUAL[:2])
    assert registry.at(first).operator.target == first
    listed = []
    names = registry.registered_names()
    monkeypatch.setattr(registry, "registered_names", lambda: listed.append(1) or names)
    assert registry.at(second).operator.target == second and listed == []
    assert registry.at(msgspec.structs.replace(first, name="nothing")) is None and listed == [1]


def test_a_run_without_names_has_what_is_public_and_returns_its_result_or_has_a_caller():
    for one in registry._read(registry.registered_names()):
        if one.operator.is_usual and not one.operator.caller:
            assert one.entry.namespace == "aten"
            assert not one.entry.name.startswith("_")
            assert not schemas.written_to(one.function._schema)
    assert labels() == [one.label for one in USUAL]
    assert len({one.name for one in USUAL}) > 900


@pytest.mark.parametrize(
    "name, found",
    [
        ("aten::add.Tensor", ["add.Tensor"]),
        ("aten.add.Tensor", ["add.Tensor"]),
        ("torch.ops.aten.add.Tensor", ["add.Tensor"]),
        ("add.Tensor", ["add.Tensor"]),
        ("add", ["add.Scalar", "add.Tensor"]),
        ("aten::add", ["add.Scalar", "add.Tensor"]),
        ("torch.add", ["add.Scalar", "add.Tensor"]),
        ("torch.nn.functional.gelu", ["gelu"]),
        ("torch.linalg.inv", ["linalg_inv"]),
        ("torch.nn.functional.cross_entropy", ["cross_entropy_loss"]),
        ("relu", ["relu"]),
        ("relu.default", ["relu"]),
        ("ReLU", ["relu"]),
        ("aten::*lu_solve", ["linalg_lu_solve", "lu_solve"]),
        ("add_.Tensor", ["add_.Tensor"]),
        ("add.out", ["add.out"]),
        ("prims::add", ["prims::add"]),
        ("torch.ops.prims.add.default", ["prims::add"]),
        ("_softmax", ["_softmax"]),
    ],
)
def test_names_that_users_know(name, found):
    assert labels(patterns=(name,)) == found


def test_an_exact_name_picks_no_other():
    assert all(one.name == "relu" for one in find_matching("relu", USUAL))
    assert [one.label for one in find_matching("max", USUAL)] == ["max", "max.dim", "max.other"]


def test_variants_are_asked_for():
    assert labels(patterns=("sqrt",)) == ["sqrt"]
    assert labels(patterns=("sqrt",), variants=("in-place", "out")) == ["sqrt", "sqrt.out", "sqrt_"]
    assert "prims::add" in labels(namespaces=("prims",))
    assert labels(patterns=("_softmax.out",)) == ["_softmax.out"]
    both = ("internal", "out")
    assert labels(patterns=("_softmax",), variants=both) == ["_softmax", "_softmax.out"]


def test_a_form_that_writes_is_known_by_the_one_that_returns():
    assert "add.Tensor" in FRAMEWORK.resolve("add.out").names
    assert "sum.dim_IntList" in FRAMEWORK.resolve("sum.IntList_out").names


def test_every_overload_is_known_by_its_own_name(monkeypatch):
    # The dispatcher takes milliseconds to list them.
    names = registry.registered_names()
    monkeypatch.setattr(registry, "registered_names", lambda: names)
    expected = {one.label: synonyms.CANONICAL.get(one.label, one.label) for one in OPERATORS}
    assert {one.label: FRAMEWORK.resolve(one.names[0]).label for one in OPERATORS} == expected
    assert all(registry.find(one.names[0]).operator.label == one.label for one in OPERATORS)


def test_the_core_operators_are_those_with_the_tag():
    core = {one.name for one in select(OPERATORS, Selection(tags=("core",)))}
    tagged = {
        one.entry.name
        for one in registry._read(registry.registered_names())
        if torch.Tag.core in one.function.tags and one.entry.namespace == "aten"
    }
    assert core == tagged
    assert len(core) > 160


def test_parameters_are_those_of_the_schema():
    add = FRAMEWORK.resolve("add.Tensor")
    assert [(one.name, one.kind, one.default) for one in add.parameters] == [
        ("self", Kind.TENSOR, None),
        ("other", Kind.TENSOR, None),
        ("alpha", Kind.FLOAT, "1"),
    ]
    convolution = FRAMEWORK.resolve("convolution")
    bias = convolution.parameter("bias")
    # A schema has no default for it, and it may be None.
    assert not bias.required and bias.declared == "Tensor?"
    assert FRAMEWORK.resolve("to.dtype").parameter("dtype").choices == FRAMEWORK.dtypes


@pytest.mark.parametrize(
    "label, category",
    [
        ("add.Tensor", "binary"),
        ("sqrt", "unary"),
        ("sqrt.out", "unary"),
        ("sum.dim_IntList", "reduction"),
        ("transpose.int", "shape"),
        ("transpose_copy.int", "shape"),
        ("conv2d", "convolution"),
        ("conv_transpose2d.input", "transpose_convolution"),
        ("max_pool2d_with_indices_backward", "pooling"),
        ("linalg_svd", "linalg"),
        ("mm", "gemm"),
        ("nll_loss_forward", "loss"),
        ("fft_rfft", "fft"),
        ("_foreach_add.List", "foreach"),
        ("randn", "random"),
    ],
)
def test_categories(label, category):
    assert FRAMEWORK.resolve(label).category == category


def test_every_usual_operator_has_a_category():
    assert [one.label for one in USUAL if one.category == categories.OTHER] == []


def test_every_category_of_the_table_has_an_operator():
    used = {one.category for one in OPERATORS}
    assert set(categories.NAMES) <= used


def test_what_no_device_here_can_run_says_so():
    refused = registry.missing(FRAMEWORK.resolve("cudnn_convolution"), "cpu(0)")
    assert refused.endswith("has no kernel of it for cpu(0)")
    for name in ("relu", "linear", "q_scale", "mkldnn_linear", "sparse_mask", "to_padded_tensor"):
        assert registry.missing(FRAMEWORK.resolve(name), "cpu(0)") == ""


def test_runners_have_every_category_of_usual_operators():
    from opperf.torch_operations import RUNNERS

    assert set(RUNNERS) == {one.category for one in USUAL}
