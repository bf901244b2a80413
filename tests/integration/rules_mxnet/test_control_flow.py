"""Loops, branches and whole graphs give what their steps give when they are made one by one, and
so do their gradients."""

from functools import partial

import mxnet as mx
import numpy as np
import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.frameworks.mxnet.calls import BODIES, Graph
from opperf.frameworks.mxnet.functions import operator_function
from opperf.instruments.prepared import PreparedCase
from opperf.model import NoteCode, Status
from opperf.worker.measure import measure

OPERATORS = {name for operator in load("mxnet").operators() for name in operator.names}


def present(*names):
    return [name for name in names if name in OPERATORS]


def functions_for(case):
    """The functions of arrays that are called as those of symbols in a body are."""
    return mx.np if case.label.startswith("_npx_") else mx.nd


def computed(case, body, *tensors):
    return BODIES[case.arguments[body]].compute(functions_for(case), *tensors)


def looped(case, sequence, state, *weights):
    outputs = []
    for x in sequence:
        output, state = computed(case, "fn", x, state, *weights)
        outputs.append(output)
    return functions_for(case).stack(*stacked(case, outputs)), state


def stacked(case, outputs):
    """Arrays as `stack` takes them, which is not alike in `mx.nd` and `mx.np`."""
    return [outputs] if functions_for(case) is mx.np else outputs


def looped_while(case, step, x, *constants):
    outputs = []
    while len(outputs) < case.arguments["max_iterations"] and computed(case, "cond", step)[0]:
        output, step, x = computed(case, "func", step, x, *constants)
        outputs.append(output)
    return functions_for(case).stack(*stacked(case, outputs)), step, x


def branched(case, gradient, limit, weight):
    if computed(case, "cond", gradient, limit)[0]:
        return computed(case, "then_branch", weight, gradient)
    return computed(case, "else_branch", weight)


def whole(case, *tensors):
    return computed(case, "sym", *tensors)


STEP_BY_STEP = {
    **dict.fromkeys(("_foreach", "_npx_foreach"), looped),
    **dict.fromkeys(("_while_loop", "_npx_while_loop"), looped_while),
    **dict.fromkeys(("_cond", "_npx_cond"), branched),
    **dict.fromkeys(("_CachedOp", "_CachedOpThreadSafe"), whole),
}

TOLERANCE = 1e-4
"""What is added up in another order may differ by the last digits: relative, and of the largest."""


def with_gradients(call, tensors):
    """The outputs of a call, and the gradients of their sum, without the number that a loop
    counts its steps in."""
    for tensor in tensors:
        tensor.attach_grad()
    with mx.autograd.record():
        given = call()
    outputs = list(given) if isinstance(given, (list, tuple)) else [given]
    mx.autograd.backward([one for one in outputs if one.size > 1])
    return [one.asnumpy() for one in outputs], [one.grad.asnumpy() for one in tensors]


def assert_alike(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        largest = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * largest)


@pytest.mark.parametrize("name", present(*(n for n in STEP_BY_STEP if "ThreadSafe" not in n)))
def test_outputs_and_gradients_are_those_of_single_steps(cases, framework, name):
    planned = cases(name)
    assert len(planned) > 1
    for case in planned:
        with framework.scope(case):
            prepared = PreparedCase(case, framework)
            wanted = prepared.differentiated
            assert len(wanted) > 1
            found = with_gradients(prepared.call, wanted)
            steps = partial(STEP_BY_STEP[name], case, *prepared.arguments["data"])
            expected = with_gradients(steps, wanted)
        assert_alike(found[0], expected[0])
        assert_alike(found[1], expected[1])
        assert all(np.isfinite(one).all() for one in (*found[0], *found[1]))


@pytest.mark.parametrize("name", present("_CachedOpThreadSafe"))
def test_a_graph_for_several_threads_gives_the_same(cases, outputs, framework, name):
    for case, other in zip(cases(name), cases("_CachedOp"), strict=True):
        assert_alike(outputs(case), outputs(other))
        assert measure(case, framework).note("backward", NoteCode.NO_GRADIENT)


@pytest.mark.parametrize("name", present(*(n for n in STEP_BY_STEP if "ThreadSafe" not in n)))
@pytest.mark.parametrize("profiler", ["native", "python"])
def test_both_passes_and_their_memory_are_measured(cases, framework, name, profiler):
    for case in cases(name, profiler=profiler):
        record = measure(case, framework)
        assert record.status is Status.OK, record.reason
        assert record.samples["backward"]
        assert record.summaries["memory"].median > record.summaries["memory_forward"].median > 0


def test_a_loop_has_a_step_for_each_element_of_a_sequence(cases, outputs):
    for case in cases("_foreach"):
        sequence, state = case.arguments["data"][:2]
        stack, last = outputs(case)
        assert stack.shape[0] == sequence.shape[0] > 1
        assert last.shape == state.shape


def test_a_branch_is_taken_both_ways(cases, outputs):
    taken = [computed_branch(case, outputs) for case in cases("_cond")]
    assert set(taken) == {True, False}


def computed_branch(case, outputs):
    """Whether the gradient has had a part in the weights."""
    with load("mxnet").scope(case):
        *_, weight = PreparedCase(case, load("mxnet")).arguments["data"]
    return not np.allclose(outputs(case)[0], 0.9999 * weight.asnumpy())


def test_a_graph_that_there_is_none_of_suggests_near_ones():
    with pytest.raises(UnsupportedError, match="did you mean elman"):
        Graph("elmann")


@pytest.mark.parametrize("name", present("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"))
def test_what_is_fused_gives_what_its_parts_give(cases, framework, name):
    part = operator_function({"conv": "Convolution"}.get(name[11:], "FullyConnected"))
    activations = []
    for case in cases(name):
        with framework.scope(case):
            prepared = PreparedCase(case, framework)
            given = dict(prepared.arguments)
            activations.append(given.pop("act_type", None))
            expected = part(**given)
            if activations[-1]:
                expected = mx.nd.Activation(expected, act_type=activations[-1])
            found = prepared.call()
        assert_alike([found.asnumpy()], [expected.asnumpy()])
    assert set(activations) == {"relu", None}


# MXNet 2 has other operators under these names, whose tokens are not interleaved.
ATTENTION = [
    name
    for name in present("_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt")
    if load("mxnet").resolve(name).name == name
]


@pytest.mark.parametrize("name", ATTENTION)
def test_fused_attention_gives_what_its_parts_give(cases, framework, name):
    part = operator_function(name.replace("_sg_mkldnn_", "_contrib_interleaved_matmul_"))
    (case,) = cases(name)
    with framework.scope(case):
        prepared = PreparedCase(case, framework)
        found, expected = prepared.call(), part(**prepared.arguments)
    assert_alike([found.asnumpy()], [expected.asnumpy()])


@pytest.mark.parametrize("name", present("_Native", "_NDArray", "_CustomFunction"))
def test_operators_in_python_add_one(cases, framework, name):
    for case in cases(name):
        record = measure(case, framework)
        if record.status is Status.SKIPPED:
            assert "ends the process" in record.reason and hasattr(mx.npx, "foreach")
            continue
        with framework.scope(case):
            prepared = PreparedCase(case, framework)
            found = with_gradients(prepared.call, prepared.differentiated)
        data = prepared.arguments["data"].asnumpy()
        assert_alike(found[0], [data + 1])
        assert_alike(found[1], [np.ones_like(data)])
        assert record.samples["backward"]
