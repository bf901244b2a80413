"""The command `trace`."""

import json

import pytest

from opperf.opperf import main
from tests.traces.making import collective, event, node, relu, tensor, write

SHAPES = {"Input Dims": [[2, 4]], "Input type": ["float"], "Input Strides": [[4, 1]]}


@pytest.fixture
def opperf(capsys):
    """Gives the command words, and returns what it prints; its exit code is as expected."""

    def given(*words, code=0):
        with pytest.raises(SystemExit) as ended:
            main(["trace", *map(str, words)])
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return out if not code else err

    return given


@pytest.fixture
def ranks(tmp_path):
    """A folder with an execution trace and a profiler's trace of each of two ranks."""
    for rank, time in enumerate((9, 4)):
        nodes = [relu(20, 2, outputs=[tensor(50, 60)]), collective(21, "allreduce", 64)]
        write(tmp_path / f"rank-{rank}.json", nodes)
        facts = {"Collective name": "allreduce", "Process Group Name": "0"}
        events = [
            event("aten::relu", 0, 3, **SHAPES, **{"Record function id": 20}),
            event("record_param_comms", 5, time, **facts, **{"Record function id": 21}),
        ]
        content = {"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2}}
        (tmp_path / f"rank-{rank}.trace.json").write_text(json.dumps(content))
    return tmp_path


def test_a_trace_is_shown_as_text_and_as_json(tmp_path, opperf):
    path = write(tmp_path / "t.json", [relu(20, 2), relu(21, 2), collective(22, "allreduce")])
    text = opperf(path)
    assert "aten.relu.default      2         1" in text and "allreduce" in text
    (found,) = json.loads(opperf(path, "-f", "json"))["traces"]
    assert found["topmost_calls"] == 3 and found["operators"][0]["distinct"] == 1
    assert found["not_built"][0]["operator"] == "allreduce" and found["threads"] == []


def test_ranks_are_side_by_side(ranks, opperf):
    found = json.loads(opperf(ranks, "-f", "json"))
    assert [trace["rank"] for trace in found["traces"]] == [0, 1]
    assert found["waits_ns"] == [[0, 5000], [0, 0]] and found["disagreements"] == []
    assert "Who waits for whom" in opperf(ranks)
    (only,) = json.loads(opperf(ranks, "--rank", 1, "-f", "json"))["traces"]
    assert only["rank"] == 1
    assert "ranks here: 0, 1" in opperf(ranks, "--rank", 5, code=2)


def test_files_of_several_ranks_are_joined_in_any_order(ranks, opperf):
    names = ("rank-0.json", "rank-1.json", "rank-0.trace.json", "rank-1.trace.json")
    found = json.loads(opperf(*(ranks / name for name in names), "-f", "json"))
    times = [trace["operators"][0]["time_ns"] for trace in found["traces"]]
    assert times == [3000, 3000]


def test_two_files_are_one_process_though_only_one_names_its_rank(ranks, opperf):
    (ranks / "rank-0.json").rename(ranks / "et.json")
    found = json.loads(opperf(ranks / "et.json", ranks / "rank-0.trace.json", "-f", "json"))
    (trace,) = found["traces"]
    assert trace["rank"] == 0 and trace["operators"][0]["time_ns"] == 3000


def test_a_node_and_a_tensor_are_shown(tmp_path, opperf):
    nodes = [relu(20, 2, outputs=[tensor(50, 60)]), node(10, "<b>label</b>", 2), relu(21, 10)]
    path = write(tmp_path / "t.json", nodes)
    text = opperf(path, "--node", 20)
    assert "aten::relu(Tensor self) -> Tensor" in text and "float32 [2, 4]" in text
    assert "from outside" in text
    assert "aten::relu (20)" in opperf(path, "--tensor", 50)
    assert json.loads(opperf(path, "--tensor", 50, "-f", "json"))["tensor"]["made_by"] == 20
    tree = json.loads(opperf(path, "--tree", "-f", "json"))["tree"]
    assert tree[0]["below"][0]["below"][0]["name"] == "<b>label</b>"
    assert "&lt;b&gt;label" in opperf(path, "--tree", "-f", "html")


@pytest.mark.parametrize(
    ("words", "message"),
    (
        (("--node", 99), "has no node 99; nodes are from 1 to 20; --tree lists them"),
        (("--node", 1020), "has no node 1020; it is a tensor: --tensor 1020"),
        (("--tensor", 20), "has no tensor 20; it is a node: --node 20"),
        (("--tree", "--node", 20), "choose one"),
        (("--tree", "--to", "x.txt"), "choose one"),
        (("--depth", 2), "--depth is for --tree"),
        (("--to", "x.csv"), "its extension says what is written: .jsonl, .txt, .json"),
        (("--to", "x.txt", "-o", "y.md"), "omit -o and -f"),
    ),
)
def test_wrong_words_are_one_line(tmp_path, opperf, words, message):
    path = write(tmp_path / "t.json", [relu(20, 2)])
    assert message in opperf(path, *words, code=2)


def test_a_file_that_is_no_trace_is_one_line(tmp_path, opperf):
    assert "cannot be read: No such file" in opperf(tmp_path / "x.json", code=2)
    (tmp_path / "x.json").write_text("{}")
    assert "is no trace" in opperf(tmp_path / "x.json", code=2)


def test_a_part_of_one_trace_is_not_that_of_several(ranks, opperf):
    message = opperf(ranks, "--node", 20, code=2)
    assert "--node is of one trace, and here are rank 0, rank 1" in message
    assert "aten::relu" in opperf(ranks, "--rank", 0, "--node", 20)
