"""Files that are read object by object, whole and damaged."""

import io
import json

import pytest

from opperf.errors import UsageError
from opperf.traces import objects as module
from opperf.traces.anomalies import Anomaly
from opperf.traces.objects import Objects, with_commas

NODES = [{"id": number, "name": "a, } b", "of": [{"x": [1, 2]}, {}]} for number in range(50)]
WHOLE = json.dumps({"schema": "1.1.1", "nodes": NODES, "finish_ts": 5}, indent=1)


def read(text: str | bytes):
    content = text.encode() if isinstance(text, str) else text
    found = Objects(io.BytesIO(content), "x.json")
    return list(found), found


@pytest.mark.parametrize("chunk", (7, 64, 1 << 20))
def test_objects_are_those_of_the_whole_file(monkeypatch, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    nodes, file = read(WHOLE)
    assert nodes == NODES and file.kind == "nodes" and not file.anomalies
    assert file.facts == {"schema": "1.1.1", "finish_ts": 5}


def test_facts_before_the_list_may_follow_white_space():
    _, file = read(' \n{"rank": 3, "nodes": [{}], "end": 1}')
    assert file.facts == {"rank": 3, "end": 1}


def test_a_list_of_events_may_be_the_whole_file():
    nodes, file = read(json.dumps(NODES))
    assert nodes == NODES and file.kind == "traceEvents"


@pytest.mark.parametrize("chunk", (7, 1 << 20))
@pytest.mark.parametrize("end", range(200, 2000, 173))
def test_a_file_cut_short_gives_what_precedes_the_end(monkeypatch, chunk, end):
    monkeypatch.setattr(module, "CHUNK", chunk)
    nodes, file = read(WHOLE[:end])
    assert nodes == NODES[: len(nodes)] and 0 < len(nodes) < len(NODES)
    assert file.anomalies == {Anomaly.CUT_SHORT: 1}


@pytest.mark.parametrize("chunk", (7, 1 << 20))
def test_missing_commas_are_added(monkeypatch, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    between = json.dumps({"nodes": NODES}).replace('}, {"id"', '} {"id"')
    nodes, file = read(between)
    assert nodes == NODES and file.anomalies == {Anomaly.NO_COMMA: 49}
    within = (
        json.dumps({"nodes": NODES}).replace(', "of"', ' "of"', 3).replace("[1, 2]", "[1 2]", 1)
    )
    nodes, file = read(within)
    assert nodes == NODES and file.anomalies == {Anomaly.NO_COMMA: 3}


def test_an_object_that_is_no_json_is_omitted_alone():
    nodes, file = read(json.dumps({"nodes": NODES}).replace('"id": 7,', '"id": 7..e,', 1))
    assert [one["id"] for one in nodes] == [number for number in range(50) if number != 7]
    assert file.anomalies == {Anomaly.UNREADABLE: 1}


def test_a_value_nested_too_deep_is_omitted():
    deep = '{"id": ' + "[" * 5000 + "]" * 5000 + "}"
    nodes, file = read('{"nodes": [{"id": 1}, ' + deep + ', {"id": 2}]}')
    assert nodes == [{"id": 1}, {"id": 2}] and file.anomalies == {Anomaly.UNREADABLE: 1}


@pytest.mark.parametrize(
    "text, message",
    (
        ("", "no list of nodes or of trace events"),
        ('{"a": 1}', "no list of nodes or of trace events"),
        (b"\xff\x00" * 100, "no list of nodes or of trace events"),
        ('{"nodes": [' + "1," * 2000 + "2]}", "more than 1,000 objects of it are no JSON"),
        ('{"nodes": [' + "," * 5000, None),
    ),
)
def test_what_is_no_trace_says_so(text, message):
    if message is None:
        assert read(text)[0] == []
        return
    with pytest.raises(UsageError, match=message):
        read(text)


def test_limits_hold(monkeypatch):
    for name, value, message in (
        ("LARGEST", 1000, "the most read"),
        ("LONGEST", 40, "has more than 40 characters"),
        ("MOST_OBJECTS", 10, "more than 10 objects"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            patch.setattr(module, "CHUNK", 64)
            with pytest.raises(UsageError, match=message):
                read('{"nodes": [' + ", ".join(json.dumps(one) for one in NODES) + "]}")


def test_commas_are_added_between_values_alone():
    value = {"a": [1, -2.5e3, "x, y", {"b": None}], "c": {"d": [True, []]}, "e": 'q"}'}
    text = json.dumps(value)
    assert json.loads(with_commas(text)) == value
    lacking = text.replace(", ", " ").replace("x y", "x, y")
    assert json.loads(with_commas(lacking)) == value


def test_halves_of_characters_are_replaced_and_facts_are_of_an_object():
    nodes, file = read(
        '{"file\\udcff": "\\ud800", "nodes": [{"id": "\\udc80", "n": "\\ud83d\\ude00"}]}'
    )
    assert nodes == [{"id": "?", "n": "\U0001f600"}] and file.facts == {"file?": "?"}
    nodes, file = read('3 "nodes": [{"id": 1}]')
    assert nodes == [{"id": 1}] and file.facts == {}
