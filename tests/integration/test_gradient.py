"""Whether an operator has a gradient is found by trying, and said where it has none."""

from __future__ import annotations

import pytest
from mxnet import nd

from opperf.model import WITHOUT_FIGURE, NoteCode

SQUARE = {"data": (64, 64)}
NORM = {
    "data": (8, 4, 16, 16),
    "gamma": (4,),
    "beta": (4,),
    "moving_mean": (4,),
    "moving_var": (4,),
}

WITH = {
    "exp": (nd.exp, SQUARE),
    "negative": (nd.negative, SQUARE),
    "identity": (nd.identity, SQUARE),
    "transpose": (nd.transpose, SQUARE),
    "elemwise_add": (nd.elemwise_add, {"lhs": (64, 64), "rhs": (64, 64)}),
    "sum_axis": (nd.sum_axis, {"data": (64, 64), "axis": 0}),
    "cumsum": (nd.cumsum, {"a": (64, 64), "axis": 0}),
    "batch_dot": (nd.batch_dot, {"lhs": (4, 32, 32), "rhs": (4, 32, 32)}),
    "split": (nd.split, {"data": (64, 64), "num_outputs": 2}),
    "topk both": (nd.topk, {"data": (64, 64), "k": 3, "ret_typ": "both"}),
    "topk value": (nd.topk, {"data": (64, 64), "k": 3, "ret_typ": "value"}),
    "moments": (nd.moments, {"data": (64, 64), "axes": (0,)}),
    "linalg_slogdet": (nd.linalg_slogdet, {"A": (2, 32, 32)}),
    "linalg.slogdet": (nd.linalg.slogdet, {"A": (2, 32, 32)}),
    "BatchNorm": (nd.BatchNorm, NORM),
    "Dropout": (nd.Dropout, {"data": (64, 64), "p": 0.5}),
    "Embedding": (
        nd.Embedding,
        {"data": (64,), "weight": (100, 16), "input_dim": 100, "output_dim": 16},
    ),
    "pick": (nd.pick, {"data": (64, 64), "index": (64,)}),
    "take": (nd.take, {"a": (64, 64), "indices": (8,)}),
    "cast": (nd.cast, {"data": (64, 64), "dtype": "float64"}),
    "Custom": (nd.Custom, {"data": [(64, 64)], "op_type": "CustomAddOne"}),
}


@pytest.mark.parametrize("name", WITH)
def test_operators_with_a_gradient_have_a_backward_time(record, name):
    made = record(*WITH[name], profiler="python")
    assert made.status.value == "ok", made.reason
    assert made.note("backward", *WITHOUT_FIGURE) is None
    pairs = zip(made.samples["total"], made.samples["backward"], strict=True)
    assert all(total >= backward >= 0 for total, backward in pairs)


@pytest.mark.parametrize(
    "name", ["exp", "transpose", "batch_dot", "split", "topk both", "BatchNorm", "linalg_slogdet"]
)
def test_the_native_profiler_sees_the_backward_pass_too(record, name):
    function, inputs = WITH[name]
    assert record(function, inputs).samples["backward"]


WITHOUT = {
    "argmax": (nd.argmax, {"data": (64, 64), "axis": 1}),
    "argsort": (nd.argsort, SQUARE),
    "sgd_update": (nd.sgd_update, {"weight": (64, 64), "grad": (64, 64), "lr": 0.1}),
    "sign": (nd.sign, SQUARE),
    "broadcast_equal": (nd.broadcast_equal, {"lhs": (64, 64), "rhs": (64, 64)}),
    "one_hot": (nd.one_hot, {"indices": (64,), "depth": 10}),
    "topk indices": (nd.topk, {"data": (64, 64), "k": 3, "ret_typ": "indices"}),
    "zeros": (nd.zeros, {"shape": (64, 64)}),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_operators_without_one_say_why(record, name):
    made = record(*WITHOUT[name], profiler="python")
    assert made.status.value == "ok", made.reason
    assert "backward" not in made.summaries
    assert len(made.note("backward", NoteCode.NO_GRADIENT).message.split()) > 2
    assert made.summaries["total"] == made.summaries["forward"]


@pytest.mark.parametrize("name", WITHOUT)
def test_results_without_one_have_no_backward_key(result, name):
    shown = result(*WITHOUT[name])
    assert "status" not in shown, shown
    assert not [key for key in shown if "backward" in key]


def test_a_backward_pass_not_asked_for_is_not_run(record):
    made = record(nd.exp, SQUARE, run_backward=False)
    assert "backward" not in made.summaries
    assert not [note for note in made.notes if note.metric == "backward"]
    assert made.summaries["memory"].median == made.summaries["memory_forward"].median


def test_whole_numbers_have_no_gradient(record):
    made = record(nd.elemwise_add, {"lhs": (8, 8), "rhs": (8, 8)}, dtype="int32")
    assert made.status.value == "ok", made.reason
    assert "backward" not in made.summaries
    assert made.note("backward", NoteCode.NO_GRADIENT).message


@pytest.mark.parametrize(
    ("function", "inputs", "phase"),
    [
        (nd.Dropout, {"data": (64, 64), "p": 0.5}, "train"),
        (nd.BatchNorm, NORM, "train"),
        (nd.exp, SQUARE, "predict"),
    ],
    ids=["Dropout", "BatchNorm", "exp"],
)
def test_the_phase_is_chosen_and_recorded(record, function, inputs, phase):
    assert record(function, inputs).case.settings.phase == phase


@pytest.mark.parametrize(
    ("name", "phase"),
    [("Dropout", "train"), ("BatchNorm", "train"), ("RNN", "train"), ("exp", "predict")],
)
def test_the_first_case_of_a_rule_is_of_the_same_phase(cases, name, phase):
    planned = cases(name)
    assert planned
    assert planned[0].settings.phase == phase


def test_dropout_really_drops_when_it_trains(cases, outputs):
    case = cases("Dropout")[0]
    dropped = (outputs(case)[0] == 0).mean()
    assert case.arguments.get("p", 0.5) == 0.5
    assert 0.4 < dropped < 0.6
