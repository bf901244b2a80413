"""Operations and bytes of PyTorch's calls: against its own counter, of operators that recordings of
programs have, and of functions without a formula."""

from __future__ import annotations

import pytest

from opperf.frameworks import load
from opperf.frameworks.torch.flops import FlopCounter
from opperf.instruments.prepared import PreparedCase
from opperf.model import (
    CallableTarget,
    Case,
    Fill,
    ObjectTarget,
    OperatorTarget,
    Settings,
    TensorSpec,
)
from opperf.rules.work import computed
from opperf.worker.measure import measure

SETTINGS = Settings(profiler="python", warmup=0, runs=1, memory=False)
INDEX = Fill("integers", 0, 50)


def spec(*shape: int, **more: object) -> TensorSpec:
    return TensorSpec(shape, **more)  # type: ignore[arg-type]


def indices(*shape: int) -> TensorSpec:
    return spec(*shape, dtype="int64", fill=INDEX)


def case(name: str, backward: bool = False, **arguments: object) -> Case:
    base, _, overload = name.partition(".")
    target = OperatorTarget("torch", base, overload or "default")
    passes = ("forward", "backward") if backward else ("forward",)
    return Case(target, arguments, SETTINGS, passes=passes)


def record_of(one: Case):
    record = measure(one, load("torch"))
    assert (record.status.value, record.reason) == ("ok", "")
    return record


IMAGE = spec(2, 8, 10, 10, gradient=True)
CONVOLVED = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
ATTENTION = {name: spec(2, 4, 16, 8, gradient=True) for name in ("query", "key", "value")}


@pytest.mark.parametrize(
    ("name", "arguments", "beside"),
    [
        ("mm", {"self": spec(4, 6, gradient=True), "mat2": spec(6, 5, gradient=True)}, 0),
        ("mm", {"self": spec(4, 6, gradient=True), "mat2": spec(6, 5)}, 0),
        ("bmm", {"self": spec(3, 4, 6, gradient=True), "mat2": spec(3, 6, 5, gradient=True)}, 0),
        (
            "addmm",
            {"self": spec(5), "mat1": spec(4, 6, gradient=True), "mat2": spec(6, 5, gradient=True)},
            4 * 5,
        ),
        (
            "convolution",
            {
                **{"input": IMAGE, "weight": spec(6, 4, 3, 3, gradient=True), "bias": None},
                **CONVOLVED,
                **{"transposed": False, "output_padding": (0, 0), "groups": 2},
            },
            None,
        ),
        ("conv2d", {"input": IMAGE, "weight": spec(6, 8, 3, 3, gradient=True), **CONVOLVED}, 0),
        (
            "conv_transpose2d.input",
            {"input": IMAGE, "weight": spec(8, 6, 3, 3, gradient=True), "stride": (2, 2)},
            0,
        ),
        # Beside the products, five operations of each score; five products in place of two.
        ("_scaled_dot_product_flash_attention_for_cpu", ATTENTION, 5 * 2 * 4 * 16 * 16),
    ],
)
def test_products_are_as_pytorchs_counter_has_them(name, arguments, beside):
    one = case(name, backward=True, **arguments)
    record, framework = record_of(one), load("torch")
    with framework.scope(one):
        prepared = PreparedCase(one, framework)
        with FlopCounter() as forward:
            prepared.call()
        gradient = prepared.make_gradient()
        gradient.record()
        with FlopCounter() as backward:
            gradient.backward()
    assert record.known_by["flops"] == record.known_by["flops_backward"] == "formula"
    assert record.summaries["flops"].median == forward.flops.total + (beside or 0)
    if beside is not None:
        scores = 2.5 * beside if name.startswith("_scaled") else 0
        expected = backward.flops.total + scores
        assert record.summaries["flops_backward"].median == expected
    else:
        # PyTorch's counter takes the gradients of groups for those of all channels.
        assert record.summaries["flops_backward"].median == 2 * forward.flops.total


ROWS = 32 * 8


@pytest.mark.parametrize(
    ("name", "arguments", "flops", "moved"),
    [
        ("gelu", {"self": spec(32, 8)}, ROWS, 8 * ROWS),
        ("relu_", {"self": spec(32, 8)}, ROWS, 8 * ROWS),
        ("add_.Tensor", {"self": spec(32, 8), "other": spec(32, 8)}, ROWS, 12 * ROWS),
        ("add_.Tensor", {"self": spec(32, 8), "other": spec(8)}, ROWS, 8 * ROWS + 32),
        (
            "add.Tensor",
            {"self": spec(32, 8), "other": spec(32, 8, strides=(0, 1))},
            ROWS,
            8 * ROWS + 32,
        ),
        ("add.out", {name: spec(32, 8) for name in ("self", "other", "out")}, ROWS, 12 * ROWS),
        (
            "mm.out",
            {"self": spec(32, 6), "mat2": spec(6, 8), "out": spec(32, 8)},
            12 * ROWS,
            4 * (32 * 6 + 6 * 8 + ROWS),
        ),
        (
            "_foreach_pow.ScalarAndTensor",
            {"self": 2.0, "exponent": (spec(32, 8), spec(4))},
            ROWS + 4,
            8 * (ROWS + 4),
        ),
        # Three sequences of two steps and one of one: the padding of the last takes nothing.
        (
            "gru.data",
            {
                "data": spec(7, 5),
                "batch_sizes": spec(2, dtype="int64", fill=Fill("literal", data=(4, 3))),
                "hx": spec(1, 4, 6),
                "params": (spec(18, 5), spec(18, 6), spec(18), spec(18)),
                "has_biases": True,
                "num_layers": 1,
                "dropout": 0.0,
                "train": True,
                "bidirectional": False,
            },
            7 * (2 * 18 * 11 + 36),
            None,
        ),
        ("zero_", {"self": spec(32, 8)}, 0, 4 * ROWS),
        ("view", {"self": spec(32, 8), "size": (256,)}, 0, 0),
        ("expand", {"self": spec(1, 8), "size": (32, 8)}, 0, 0),
        ("empty_like", {"self": spec(32, 8)}, 0, 0),
        ("embedding", {"weight": spec(1000, 8), "indices": indices(32)}, 0, 8 * ROWS + 8 * 32),
        (
            "index_select",
            {"self": spec(1000, 8), "dim": 0, "index": indices(32)},
            0,
            8 * ROWS + 8 * 32,
        ),
        (
            "index_add_",
            {"self": spec(1000, 8), "dim": 0, "index": indices(32), "source": spec(32, 8)},
            ROWS,
            12 * ROWS + 8 * 32,
        ),
        ("_softmax", {"self": spec(32, 8), "dim": 1, "half_to_float": False}, 5 * ROWS, 8 * ROWS),
        (
            "_log_softmax_backward_data",
            {
                **{"grad_output": spec(32, 8), "output": spec(32, 8)},
                **{"dim": 1, "input_dtype": "float32"},
            },
            4 * ROWS,
            12 * ROWS,
        ),
        (
            "native_layer_norm",
            {
                **{"input": spec(32, 8), "normalized_shape": (8,)},
                **{"weight": spec(8), "bias": spec(8), "eps": 1e-5},
            },
            7 * ROWS,
            8 * ROWS + 2 * 32 + 2 * 4 * 32,
        ),
        (
            "nll_loss_forward",
            {**{"self": spec(32, 50), "target": indices(32), "reduction": 1}, "ignore_index": -100},
            2 * 32,
            None,
        ),
    ],
)
def test_operators_that_programs_call(name, arguments, flops, moved):
    record = record_of(case(name, **arguments))
    assert record.known_by == {"flops": "formula", "moved_bytes": "formula"}
    assert record.summaries["flops"].median == flops
    assert moved is None or record.moved_bytes == moved


def test_a_layer_without_a_formula_has_pytorchs_count():
    target = ObjectTarget("torch", "torch.nn.Linear", {"0": 8, "1": 4})
    data = {"0": spec(2, 8, gradient=True)}
    record = record_of(Case(target, data, SETTINGS, passes=("forward", "backward")))
    assert record.known_by["flops"] == record.known_by["flops_backward"] == "count"
    assert record.summaries["flops"].median == 2 * 2 * 8 * 4
    assert (record.known_by["moved_bytes"], record.operation) == ("minimal", "")


def test_a_function_has_the_formula_of_the_operator_that_it_calls():
    target = CallableTarget("torch", "torch.nn.functional.gelu")
    record = record_of(Case(target, {"input": spec(4, 8)}, SETTINGS, passes=("forward",)))
    assert (record.summaries["flops"].median, record.operation) == (32, "gelu")


def test_a_count_of_none_is_no_count(monkeypatch):
    computed.cache_clear()
    monkeypatch.setattr("opperf.rules.torch.WORK", {})
    record = record_of(case("_softmax", self=spec(4, 8), dim=1, half_to_float=False))
    computed.cache_clear()
    assert "flops" not in record.summaries and "flops" not in record.known_by


def test_a_sparse_tensor_has_no_formula():
    sparse = spec(8, 8, layout="csr", density=0.5)
    record = record_of(case("mm", self=sparse, mat2=spec(8, 4)))
    assert record.known_by.get("flops") != "formula"
    assert record.known_by["moved_bytes"] == "minimal"
