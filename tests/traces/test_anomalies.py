"""Anomalies of traces are read right, or said with their count."""

import csv
import json
import math

import pytest

from opperf.opperf import main
from opperf.sources.traces import TraceSource
from opperf.traces.anomalies import Anomaly, Process, labels_of, of_processes
from opperf.traces.overview import overview_of
from opperf.traces.rank_comparison import compare_ranks
from opperf.traces.reading import read_traces
from tests.reports.trace_reports import execution_trace, profile
from tests.traces.making import collective, event, node, relu, write

SHAPES = {"Input Dims": [[2, 4]], "Input type": ["float"], "Input Strides": [[4, 1]]}
DAY_US = 86_400e6


def call(name="aten::relu", begin=10, time=5, **parts):
    """A call with arguments; `parts` replace fields of the event, and None takes one away."""
    made = {**event(name, begin, time, **SHAPES), **parts}
    return {key: value for key, value in made.items() if value is not None}


def begun(name, at, thread=1, **parts):
    return call(name, at, None, ph="B", tid=thread, **parts)


def ended(at, thread=1, **parts):
    return {"ph": "E", "pid": 7, "tid": thread, "ts": at, **parts}


def launch(at, correlation, name="cudaLaunchKernel", thread=1, **args):
    return event(name, at, 1, "cuda_runtime", thread, correlation=correlation, **args)


def kernel(at, time, correlation, stream=7, **args):
    return event("k", at, time, "kernel", 9, correlation=correlation, stream=stream, **args)


def times(trace):
    """Times of the operators, -1 for one without."""
    return {use.operator: use.time_ns for use in overview_of(trace).operators}


THREE = [call("aten::relu", 10), call("aten::mm", 30), call("aten::add", 50)]
OTHER = call("aten::mm", 900, 7)


@pytest.mark.parametrize(
    ("events", "expected", "found"),
    (
        # Beginnings and ends are the format's own.
        (
            [begun("aten::relu", 10), ended(20), begun("aten::mm", 20), ended(24)],
            {"aten.relu": 10_000, "aten.mm": 4000},
            {},
        ),
        # Inner ones are below outer ones, on each thread, out of order, beside complete ones.
        (
            [
                begun("aten::mm", 1, thread=2),
                ended(29, name="aten::relu"),
                ended(7, thread=2),
                begun("aten::relu", 10),
                begun("aten::inner", 12),
                ended(20),
                call("aten::add", 21, 3),
                call("aten::exp", 40, 3),
            ],
            {"aten.relu": 19_000, "aten.mm": 6000, "aten.exp": 3000},
            {},
        ),
        (
            [begun("aten::relu", 10), begun("aten::inner", 12), ended(20, name="aten::relu")],
            {"aten.relu": 10_000},
            {Anomaly.UNENDED: 1},
        ),
        (
            [ended(5), begun("aten::relu", 10), call("aten::inner", 12, 3)],
            {"aten.relu": -1},
            {Anomaly.UNENDED: 1, Anomaly.UNBEGUN: 1},
        ),
        ([call(time=-5), OTHER], {"aten.relu": -1, "aten.mm": 7000}, {Anomaly.NEGATIVE: 1}),
        ([call(dur=None), OTHER], {"aten.relu": -1, "aten.mm": 7000}, {Anomaly.NO_DURATION: 1}),
        (
            [call(time=math.nan), OTHER],
            {"aten.relu": -1, "aten.mm": 7000},
            {Anomaly.NO_DURATION: 1},
        ),
        ([call(time="x"), OTHER], {"aten.relu": -1, "aten.mm": 7000}, {Anomaly.NO_DURATION: 1}),
        ([call(time=2 * DAY_US), OTHER], {"aten.relu": -1, "aten.mm": 7000}, {Anomaly.HUGE: 1}),
        ([call(time=10**400), OTHER], {"aten.relu": -1, "aten.mm": 7000}, {Anomaly.HUGE: 1}),
        ([call(time="5.5", ts="10")], {"aten.relu": 5500}, {}),
        ([call(ts=None), OTHER], {"aten.mm": 7000}, {Anomaly.NO_BEGIN: 1}),
        ([call(begin=1e300), OTHER], {"aten.mm": 7000}, {Anomaly.NO_BEGIN: 1}),
        ([call(begin=True), OTHER], {"aten.mm": 7000}, {Anomaly.NO_BEGIN: 1}),
        ([call(name=None), OTHER], {"aten.mm": 7000}, {Anomaly.UNNAMED: 1}),
        ([call(tid=None)], {"aten.relu": 5000}, {Anomaly.NO_THREAD: 1}),
        ([call(ph="Q"), call(ph=None), OTHER], {"aten.mm": 7000}, {Anomaly.PHASE: 2}),
        (
            [call(ph="b", id=1), call(ph="e", id=1)],
            {},
            {Anomaly.ASYNCHRONOUS: 2, Anomaly.NO_OPERATOR: 2},
        ),
        ([call(ph=phase) for phase in "iCMstf"], {}, {Anomaly.NO_OPERATOR: 6}),
        # Two processes of one number, merged.
        (
            [call(begin=0, time=100), call("aten::mm", 40, 80)],
            {"aten.relu": 100_000, "aten.mm": 80_000},
            {Anomaly.OVERLAPPING: 1},
        ),
        (
            2 * [call(args={**SHAPES, "Record function id": 3})],
            {"aten.relu": 5000},
            {Anomaly.REPEATED: 1},
        ),
        # Clocks of one event began at another time.
        ([call(begin=DAY_US * 9), *THREE[1:]], None, {Anomaly.ASTRAY: 1}),
        # Equal numbers of launches, one for each kernel, out of order.
        (
            [*THREE, launch(51, 4), launch(11, 4), launch(31, 4)]
            + [kernel(900, 100, 4), kernel(100, 30, 4), kernel(500, 300, 4)],
            {"aten.relu": 30_000, "aten.mm": 300_000, "aten.add": 100_000},
            {Anomaly.SAME_LAUNCH: 3},
        ),
        # The number of the operator tells them apart.
        (
            [*THREE[:2], launch(11, 4, **{"External id": 1}), launch(31, 4, **{"External id": 2})]
            + [kernel(100, 30, 4, **{"External id": 2}), kernel(500, 9, 4, **{"External id": 1})],
            {"aten.relu": 9000, "aten.mm": 30_000},
            {},
        ),
        (
            [*THREE[:2], launch(11, 4), launch(31, 4), kernel(100, 30, 4)],
            {"aten.relu": 5000, "aten.mm": 5000},
            {Anomaly.UNCLEAR_LAUNCH: 1},
        ),
        # A graph has one launch.
        (
            [call(), launch(11, 4, "cudaGraphLaunch"), kernel(100, 30, 4), kernel(110, 40, 4, 8)],
            {"aten.relu": 70_000},
            {},
        ),
        (
            [call(), launch(11, 4), *(2 * [kernel(100, 30, 4)])],
            {"aten.relu": 30_000},
            {Anomaly.REPEATED: 1},
        ),
        ([call(), launch(11, "4"), kernel(100, 30, "4")], {"aten.relu": 30_000}, {}),
        ([call(), kernel(100, 30, None)], {"aten.relu": 5000}, {Anomaly.NO_CORRELATION: 1}),
        ([call(), kernel(100, 30, 5)], {"aten.relu": 5000}, {Anomaly.NO_LAUNCH: 1}),
        ([call(), launch(60, 5), kernel(100, 30, 5)], {"aten.relu": 5000}, {Anomaly.OUTSIDE: 1}),
        ([call(), launch(11, 5), kernel(1, 30, 5)], {"aten.relu": 30_000}, {Anomaly.EARLY: 1}),
        (
            [call(), launch(11, 5), kernel(100, -1, 5)],
            None,
            {Anomaly.NEGATIVE: 1, Anomaly.KERNEL_TIME: 1},
        ),
        ([call(), launch(11, 5)], {"aten.relu": 5000}, {Anomaly.NO_KERNEL: 1}),
        ([call(), launch(11, 5, "cudaDeviceSynchronize")], {"aten.relu": 5000}, {}),
        ([], {}, {Anomaly.NO_OPERATOR: 0}),
        ([call(cat="operator")], {}, {Anomaly.NO_OPERATOR: 1}),
    ),
)
def test_events_are_read_right_or_said(events, expected, found):
    trace = profile(*events)
    if expected is not None:
        assert times(trace) == expected
    assert dict(trace.anomalies) == found


def test_what_is_astray_is_in_no_gap():
    far = profile(call(begin=DAY_US * 9), *THREE[1:], launch(31, 4), kernel(1 - DAY_US * 9, 5, 4))
    overview = overview_of(far)
    (thread,) = overview.threads.values()
    assert (thread.spans, thread.span_ns) == (2, 25_000) and overview.streams == {}
    assert times(far) == {"aten.relu": 5000, "aten.mm": 5000, "aten.add": 5000}


def test_a_kernel_is_of_the_call_around_its_launch_though_calls_overlap():
    trace = profile(
        call(begin=0, time=100),
        call("aten::mm", 40, 80),
        call("aten::mm", 130, 5),
        launch(20, 1),
        launch(110, 2),
        kernel(200, 30, 1),
        kernel(300, 40, 2),
    )
    assert times(trace) == {"aten.relu": 30_000, "aten.mm": 45_000}


@pytest.mark.parametrize(
    ("nodes", "found"),
    (
        ([relu(20, 2), relu(20, 2)], {Anomaly.NODE_REPEATED: 1}),
        ([relu(20, 2), {"id": None, "name": "x"}], {Anomaly.NODE_UNNAMED: 1}),
        ([relu(20, 99)], {Anomaly.NODE_PARENTLESS: 1}),
        ([relu(20, 2), node(30, "a", 31), node(31, "b", 30)], {Anomaly.NODE_CIRCULAR: 2}),
        ([relu(20, 2), node(21, "aten::exp", 2)], {Anomaly.NO_SCHEMA: 1}),
        ([node(21, "x", 2)], {Anomaly.NO_CALL: 3}),
        ([relu(20, 2), collective(21, "allreduce")], {}),
    ),
)
def test_nodes_are_read_right_or_said(nodes, found):
    assert execution_trace(*nodes).anomalies == found


def files(folder, *ranks, sizes=None, named=()):
    """Writes the traces of ranks, None of one without, and returns their paths."""
    made = []
    for place, rank in enumerate(ranks):
        facts = {"rank": rank, "world_size": (sizes or [len(ranks)] * len(ranks))[place]}
        content = {"traceEvents": [call(time=place + 1)], "distributedInfo": facts}
        path = folder / (named[place] if named else f"{'abcd'[place]}.json")
        path.write_text(
            json.dumps(content if rank is not None else {**content, "distributedInfo": 0})
        )
        made.append(path)
    return made


@pytest.mark.parametrize(
    ("ranks", "sizes", "found"),
    (
        ((0, 1), None, {}),
        ((0, "1"), None, {}),
        ((0, 0), None, {Anomaly.RANK_REPEATED: 1, Anomaly.RANK_ABSENT: 1}),
        ((0, 1, 3), (4, 4, 4), {Anomaly.RANK_ABSENT: 1}),
        ((0, 1), (2, 4), {Anomaly.OTHER_JOB: 1}),
        ((0, 5), (2, 2), {Anomaly.RANK_BEYOND: 1, Anomaly.RANK_ABSENT: 1}),
        ((0, 1, None), (2, 2, 2), {Anomaly.RANK_LACKING: 1}),
    ),
)
def test_ranks_that_are_not_those_of_one_job_are_said(tmp_path, ranks, sizes, found):
    paths = files(tmp_path, *ranks, sizes=sizes)
    compared = compare_ranks(list(map(overview_of, read_traces(paths))))
    assert compared.anomalies == found
    assert len(set(compared.labels)) == len(ranks)
    remarks = TraceSource(paths).remarks
    assert [line for line in remarks if "rank" in line or "job" in line] == [
        anomaly.sentence(count) for anomaly, count in found.items()
    ]


def test_the_content_says_which_rank_it_is(tmp_path):
    (path,) = files(tmp_path, 0, named=["rank-3.json"])
    (trace,) = read_traces([path])
    assert trace.rank == 0 and trace.anomalies == {Anomaly.RANK_NAMED: 1}
    (path,) = files(tmp_path, -1, named=["rank-3.json"])
    (trace,) = read_traces([path])
    assert trace.rank == 3 and trace.anomalies == {Anomaly.RANK_UNREADABLE: 1}


def test_collective_operations_of_two_traces_of_one_rank_are_not_compared():
    overviews = [
        overview_of(execution_trace(collective(20, "allreduce", size), name=name, rank=0))
        for name, size in (("x/a.json", 8), ("y/a.json", 9))
    ]
    compared = compare_ranks(overviews)
    assert compared.joined == compared.disagreements == ()
    assert compared.labels == ["rank 0 (x/a.json)", "rank 0 (y/a.json)"]
    assert labels_of([Process("x/a.json", None, None)]) == ["a.json"]
    assert of_processes([Process("x/a.json", None, None)] * 2) == {}


def test_a_number_of_two_events_joins_the_first(tmp_path):
    write(tmp_path / "et.json", [relu(20, 2)])
    numbered = {**SHAPES, "Record function id": 20}
    content = [call(time=5, args=numbered), call(begin=90, time=50, args=numbered)]
    (tmp_path / "k.json").write_text(json.dumps({"traceEvents": content}))
    (trace,) = read_traces([tmp_path])
    assert trace.nodes[20].time_ns == 5000 and trace.anomalies == {Anomaly.SAME_NUMBER: 1}


@pytest.mark.parametrize("words", ((), ("--tree",), ("--node", "1")))
@pytest.mark.parametrize("form", ("text", "md", "html", "json", "csv"))
def test_every_report_says_it_in_one_line(tmp_path, capsys, words, form):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [call(time=-5), *(3 * [OTHER])]}))
    with pytest.raises(SystemExit):
        main(["trace", str(path), *words, "-f", form])
    out = capsys.readouterr().out
    sentence = Anomaly.NEGATIVE.sentence(1)
    if form == "json":
        data = json.loads(out)
        (found,) = (data["traces"][0] if "traces" in data else data)["anomalies"]
        assert found == {"code": "negative", "count": 1, "message": sentence}
    elif form == "csv":
        *_, row = csv.DictReader(out.splitlines())
        assert (row["anomaly"], row["events"], row["message"]) == ("negative", "1", sentence)
    else:
        assert sum(sentence in line for line in out.splitlines()) == 1


def test_no_two_have_one_sentence():
    assert len(Anomaly) == len(Anomaly.__members__)
    assert Anomaly.OUTSIDE.sentence(12345) == "12,345 kernels launched by no operator"
