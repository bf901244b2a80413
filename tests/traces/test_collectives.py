"""Collective operations, and ranks side by side."""

from opperf.traces.collectives import Message
from opperf.traces.overview import overview_of
from opperf.traces.rank_comparison import NOTHING, compare_ranks
from opperf.traces.trace import collectives_of
from tests.reports.trace_reports import execution_trace, profile
from tests.traces.making import collective, event, node, tensor


def ranks_of(*traces):
    return compare_ranks([overview_of(trace) for trace in traces])


def operation(name, begin, time, size=8, **args):
    """An event of a collective operation."""
    facts = {"Collective name": name, "In msg nelems": size, "Process Group Name": "0"}
    return event("record_param_comms", begin, time, **facts, **args)


def test_messages_are_read_by_name_in_both_kinds_of_trace():
    trace = execution_trace(collective(10, "allreduce", 64, number=7))
    (made,) = collectives_of(trace)["0"]
    assert made.message == Message("allreduce", "Float", 64, 64, "0", "default_pg", 2)
    assert made.order == (7, 0) and made.time_ns == -1
    trace = profile(operation("allreduce", 0, 3, 64, dtype="Float", Seq=7))
    (made,) = collectives_of(trace)["0"]
    assert made.message == Message("allreduce", "Float", 64, group="0")
    assert made.order == (7, 0) and made.time_ns == 3000


def test_without_attributes_the_inputs_say_it():
    trace = execution_trace(
        node(
            10,
            "record_param_comms",
            2,
            inputs=[[tensor(5, 6)], [3, False], ["1", "tp"], 0, "broadcast"],
            types=[
                "GenericList[Tensor(float)]",
                "Tuple[Int,Bool]",
                "Tuple[String,String]",
                "Int",
                "String",
            ],
            shapes=[[[8]], [], [], [], []],
        )
    )
    (made,) = collectives_of(trace)["1"]
    assert made.message == Message("broadcast", "float", 8, group="1", description="tp")
    assert made.order == (3, 0)


def test_backends_of_the_cpu_write_labels():
    parts = {"inputs": [tensor(5, 6)], "types": ["Tensor(float)"], "shapes": [[8]]}
    trace = execution_trace(
        node(10, "c10d::allreduce_", 2, "c10d::x()"), node(11, "gloo:all_reduce", 10, **parts)
    )
    assert [made.message for made in collectives_of(trace)[""]] == [
        Message("all_reduce", "float", 8)
    ]
    shapes = {"Input Dims": [[2, 4]], "Input type": ["float"]}
    trace = profile(event("gloo:all_reduce", 0, 3, "user_annotation", **shapes))
    assert [made.message for made in collectives_of(trace)[""]] == [
        Message("all_reduce", "float", 8)
    ]


def test_waits_and_those_of_two_ranks_are_not_compared():
    trace = execution_trace(collective(10, "wait"), collective(11, "send"), collective(12, "a"))
    assert [made.node for made in collectives_of(trace)["0"]] == [12]


def test_the_shortest_rank_came_last_and_the_others_waited_for_it():
    ranks = ranks_of(
        profile(operation("a", 0, 9), operation("b", 20, 2)),
        profile(operation("a", 0, 4), operation("b", 20, 5)),
        profile(operation("a", 0, 6), operation("b", 20, 2)),
    )
    first, second = ranks.joined
    assert first.last == 1 and first.waits_ns == (5000, 0, 2000)
    assert second.last == 0 and second.waits_ns == (0, 3000, 0)
    assert ranks.waits() == [[0, 5000, 0], [3000, 0, 0], [0, 2000, 0]]
    assert not ranks.disagreements


def test_the_first_place_where_ranks_disagree_is_named():
    alike = [collective(10, "a"), collective(11, "b", 16)]
    ranks = ranks_of(
        execution_trace(*alike, collective(12, "c")),
        execution_trace(*alike, collective(12, "c", 9), collective(13, "d")),
    )
    (found,) = ranks.disagreements
    assert found.number == 2 and found.nodes == (12, 12)
    assert found.texts == ("c of 8 x Float", "c of 9 x Float")
    assert [joined.message.name for joined in ranks.joined] == ["a", "b"]
    assert not ranks.has_times
    ranks = ranks_of(execution_trace(*alike), execution_trace(*alike[:1]))
    assert ranks.disagreements[0].texts == ("b of 16 x Float", NOTHING)


def test_numbers_join_traces_that_begin_at_different_operations():
    ranks = ranks_of(
        execution_trace(*(collective(i, f"op{i}", number=i) for i in (10, 11, 12))),
        execution_trace(*(collective(i, f"op{i}", number=i) for i in (11, 12))),
    )
    assert [joined.nodes for joined in ranks.joined] == [(11, 11), (12, 12)]
    assert not ranks.disagreements


def test_a_rank_that_is_not_in_a_group_is_not_compared_in_it():
    ranks = ranks_of(
        execution_trace(collective(10, "a", group="1")),
        execution_trace(collective(10, "a", group="2")),
        execution_trace(collective(10, "a", group="1")),
    )
    assert [(joined.group, joined.nodes) for joined in ranks.joined] == [("1", (10, None, 10))]
