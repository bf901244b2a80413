"""Which tensors of a trace's calls come from outside, and when the others are freed."""

from __future__ import annotations

import json

import pytest

from opperf.errors import UsageError
from opperf.frameworks.replays import NOT_KEPT
from opperf.model import Fill, TensorSpec, TraceTarget
from opperf.rules.dependencies import ascending, parts
from opperf.rules.values import below, literal
from opperf.sources.replays import ALL_RANKS, nodes_of, open_replay
from opperf.traces.data_flow import DataFlow, for_shape, specs_of, within
from opperf.traces.parts import read_steps, skip_reasons
from opperf.traces.reading import read_traces
from tests.traces.making import ADD, collective, event, node, relu, tensor, write

FLOAT = "Tensor(float)"


def call(identity, inputs, output, parent=1, shape=(2, 4), name="relu", schema=None, **more):
    """Returns a node with tensors of one shape, and its result."""
    made = node(
        identity,
        f"aten::{name}",
        parent,
        schema or f"aten::{name}(Tensor self) -> Tensor",
        inputs=inputs,
        types=[FLOAT] * len(inputs),
        shapes=[list(shape)] * len(inputs),
        **more,
    )
    made["outputs"] = {"values": [output], "types": [FLOAT], "shapes": [list(shape)]}
    return made


def add(identity, first, second, output, **more):
    return call(identity, [first, second], output, name="add", schema=ADD, **more)


A, B, C, D = (tensor(number, number + 50) for number in (10, 11, 12, 13))


def sequence(tmp_path, nodes, **chosen):
    (trace,) = read_traces([write(tmp_path / "trace.json", nodes)])
    found = nodes_of(trace, TraceTarget("torch", "", "", **chosen))
    flow = DataFlow(trace, found)
    for one in found:
        flow.add(one, specs_of(trace.calls[one.call]), is_made=True, stream=0)
    return flow.sequence((), {})


def test_a_result_is_made_by_its_call_and_freed_after_its_last_use(tmp_path):
    found = sequence(tmp_path, [call(3, [A], B), add(4, B, A, C), add(5, B, C, D)])
    first, second, third = found.steps
    (made,), (summed,) = first.outputs, second.outputs
    assert found.slots[first.inputs[0]].is_outside and second.inputs == (made, first.inputs[0])
    assert third.inputs == (made, summed) and third.outputs == (NOT_KEPT,)
    assert (first.freed, second.freed, set(third.freed)) == ((), (), {made, summed})
    assert found.peak_bytes == 2 * 32 and len(found.buffers) == 1


def test_a_view_takes_no_memory_and_keeps_that_of_its_storage(tmp_path):
    view, other = tensor(30, 61), tensor(31, 81)
    nodes = [call(3, [A], B), call(4, [B], view, name="t"), call(5, [A], other)]
    found = sequence(tmp_path, [*nodes, add(6, view, other, C)])
    assert found.steps[1].freed and found.peak_bytes == 2 * 32


def test_a_call_in_place_makes_no_other_tensor(tmp_path):
    found = sequence(tmp_path, [call(3, [A], A, name="relu_"), call(4, [A], B)])
    assert found.steps[0].outputs == (NOT_KEPT,)
    assert found.steps[1].inputs == found.steps[0].inputs


def test_a_storage_has_one_buffer_of_its_largest_extent(tmp_path):
    end = tensor(20, 60, offset=8)
    found = sequence(tmp_path, [call(3, [A], B), call(4, [end], C)])
    assert [buffer.size for buffer in found.buffers] == [64]
    first, second = (found.slots[step.inputs[0]] for step in found.steps)
    assert first.buffer == second.buffer and second.spec.offset == 8


def test_what_a_composite_operator_kept_is_a_view_of_its_result(tmp_path):
    inner = tensor(30, 61, offset=4)
    found = sequence(tmp_path, [call(3, [A], B), call(4, [inner], C, shape=(2, 2))])
    (made,) = found.steps[0].outputs
    slot = found.slots[found.steps[1].inputs[0]]
    assert (slot.base, slot.spec.offset, slot.is_outside) == (made, 4, False)
    assert made in found.steps[1].freed


def test_tensors_without_numbers_are_shared_by_equal_calls(tmp_path):
    events = [
        event("aten::relu", begin, 2, **{"Input Dims": [[2, 4]], "Input type": ["float"]})
        for begin in (1, 5)
    ]
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps({"traceEvents": events}))
    source = open_replay(path, TraceTarget("torch", "", ""))
    assert any("tensors of their own" in remark for remark in source.remarks)
    (case,) = source.cases()
    assert case.recorded == (6000,)


def test_a_data_loaders_calls_are_not_replayed(tmp_path):
    nodes = [
        call(10, [A], B, parent=9),
        node(9, "enumerate(DataLoader)#_Loader.__next__", 1),
        call(11, [B], C),
    ]
    path = write(tmp_path / "trace.json", nodes)
    source = open_replay(path, TraceTarget("torch", "", ""))
    (case,) = source.cases()
    assert case.why == "replay of 1 call"
    assert [remark for remark in source.remarks if "data loader" in remark] == [
        f"{path}: 1 call below a data loader's label, omitted as by PARAM"
    ]


def test_indices_that_no_call_fills_are_within_the_bounds_of_what_takes_their_copies(tmp_path):
    numbers, copied = tensor(20, 70, size=2), tensor(21, 71, size=2)
    kind = {"types": ["Tensor(long int)"], "shapes": [[2]]}
    nodes = [
        node(3, "aten::empty", 1, "aten::empty.memory_format(SymInt[] size) -> Tensor"),
        node(4, "aten::detach_", 1, "aten::detach_(Tensor(a!) self) -> Tensor", **kind),
        node(5, "aten::to", 1, "aten::to.dtype(Tensor self) -> Tensor", **kind),
        call(6, [A], B),
        node(7, "aten::take", 1, "aten::take(Tensor self, Tensor index) -> Tensor"),
        node(8, "aten::take", 1, "aten::take(Tensor self, Tensor index) -> Tensor"),
    ]
    made = {"types": ["Tensor(long int)"], "shapes": [[2]]}
    nodes[0]["outputs"] = {"values": [numbers], **made}
    nodes[1]["inputs"]["values"], nodes[1]["outputs"] = [numbers], {"values": [numbers], **made}
    nodes[2]["inputs"]["values"], nodes[2]["outputs"] = [numbers], {"values": [copied], **made}
    for one, bounds in ((nodes[4], "[0,9]"), (nodes[5], "[3,20]")):
        types, shapes = ["Tensor(float)", "Tensor(long int)"], [[2, 4], [2]]
        one["inputs"] = {"values": [B, copied], "types": types, "shapes": shapes}
        one["attrs"].append({"name": "tensor_range", "value": f'{{"1":{bounds}}}'})
    found = sequence(tmp_path, nodes)
    empty, detached, to, _, first, _ = found.steps
    assert empty.outputs == detached.outputs == (NOT_KEPT,) and to.inputs == detached.inputs
    assert first.inputs[1] == to.outputs[0]
    slots = [found.slots[to.inputs[0]], found.slots[to.outputs[0]]]
    assert [slot.is_outside for slot in slots] == [True, False]
    assert {slot.spec.fill for slot in slots} == {Fill("integers", 3.0, 10.0)}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (below(9), below(20, start=3), below(9, start=3)),
        (below(9), ascending(0, 30), ascending(0, 30)),
        (parts(30), below(9), parts(30)),
    ],
)
def test_numbers_that_others_decide_are_not_those_of_a_range(first, second, expected):
    assert within(first, second) == expected


@pytest.mark.parametrize(
    ("shape", "expected"), [((3,), [0, 4, 9]), ((2, 3), [0, 4, 9] * 2), ((7,), None)]
)
def test_listed_numbers_are_those_of_each_row_of_a_copy(shape, expected):
    made = for_shape(literal([0, 4, 9]), TensorSpec(shape, "int64"))
    assert made == (below(10) if expected is None else literal(expected))


STEPS = [
    node(3, "ProfilerStep#5"),
    relu(4, parent=3),
    node(5, "## inner ##", 3),
    relu(6, parent=5),
    # The backward pass is on another thread.
    relu(7, parent=2),
    node(8, "ProfilerStep#6"),
    relu(9, parent=8),
]


@pytest.mark.parametrize(
    ("chosen", "count"),
    [({}, 4), ({"steps": "5"}, 3), ({"steps": "5:7"}, 4), ({"subgraph": "inner"}, 1)],
)
def test_a_step_has_what_began_between_its_label_and_the_next(tmp_path, chosen, count):
    assert len(sequence(tmp_path, STEPS, **chosen).steps) == count


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"steps": "7"}, "no step 7; its labels are of the steps 5, 6"),
        ({"subgraph": "inne"}, "did you mean inner"),
        ({"skip": {"rely": ""}}, "no call of such an operator"),
        ({"steps": "5", "subgraph": "other"}, "no call of"),
        ({"steps": "6:2000000000"}, "no step 7"),
    ],
)
def test_an_unknown_part_is_an_error(tmp_path, chosen, message):
    with pytest.raises(UsageError, match=message):
        open_replay(write(tmp_path / "trace.json", STEPS), TraceTarget("torch", "", "", **chosen))


@pytest.mark.parametrize(
    ("pattern", "skipped"),
    [("relu", 2), ("aten::re*", 2), ("aten::add.Tensor", 1), ("add.*", 0), ("allreduce", 1)],
)
def test_calls_are_skipped_by_the_names_that_results_have(tmp_path, pattern, skipped):
    nodes = [relu(3), add(4, A, B, C), relu(5), collective(6, "allreduce", parent=1)]
    (trace,) = read_traces([write(tmp_path / "trace.json", nodes)])
    found = list(trace.topmost())
    if not skipped:
        with pytest.raises(UsageError, match="no call of such an operator"):
            skip_reasons(trace, found, {pattern: ""})
        return
    assert set(skip_reasons(trace, found, {pattern: "why"}).values()) == {"why"}
    assert len(skip_reasons(trace, found, {pattern: ""})) == skipped


def test_a_trace_without_a_rank_is_in_no_other_ones_place(tmp_path):
    events = [event("aten::relu", 1, 2, **{"Input Dims": [[2]], "Input type": ["float"]})]
    for name, rank in (("a", 1), ("b", None), ("c", 1)):
        facts = {} if rank is None else {"distributedInfo": {"rank": rank}}
        (tmp_path / f"{name}.json").write_text(json.dumps({**facts, "traceEvents": events}))
    cases = list(open_replay(tmp_path, TraceTarget("torch", "", "")).cases())
    assert [case.target.rank for case in cases] == [1, 0, 2]
    (case,) = open_replay(tmp_path, TraceTarget("torch", "", "", ranks=ALL_RANKS)).cases()
    assert (case.target.rank, case.target.ranks) == (0, 3)


@pytest.mark.parametrize("text", ["x", "5:5", "5:4", "-1"])
def test_steps_are_a_number_or_a_range(text):
    with pytest.raises(UsageError, match=r"A:B"):
        read_steps(text)


def test_every_rank_has_the_part_that_is_replayed(tmp_path):
    write(tmp_path / "rank-0.json", STEPS)
    write(tmp_path / "rank-1.json", STEPS[:5])
    with pytest.raises(UsageError, match=r"rank-1.json has no step 6"):
        open_replay(tmp_path, TraceTarget("torch", "", "", ranks=2, steps="6"))


def test_an_id_is_the_same_wherever_the_trace_is(tmp_path):
    ids = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        path = write(tmp_path / folder / f"{folder}.json", [relu(3)])
        (case,) = open_replay(path, TraceTarget("torch", "", "")).cases()
        ids.add((case.id, case.target.key.overload))
    assert len(ids) == 1
