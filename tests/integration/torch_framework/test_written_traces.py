"""Calls of traces that are written as recordings, logs and configurations are the same cases."""

import json

import pytest

from opperf.execution import written_traces
from opperf.execution.case_source import Asked
from opperf.execution.planning import plan_file
from opperf.execution.workers import Workers
from opperf.frameworks import load
from opperf.instruments.call_results import leaves
from opperf.instruments.prepared import PreparedCase
from opperf.opperf import main
from opperf.results.runfile import read_run
from opperf.sources.base import SourceFile, open_source
from opperf.sources.completing import complete
from opperf.sources.selecting import Selection
from opperf.sources.varying import with_settings
from tests.shared_workers import replace_workers
from tests.traces.making import ADD, collective, event, node, relu, tensor, write

torch = pytest.importorskip("torch")

SHAPES = {"Input Dims": [[2, 4]], "Input type": ["float"], "Input Strides": [[4, 1]]}


@pytest.fixture
def planned(shared_worker, monkeypatch):
    """Returns the ids of the cases of a file with their counts, as `opperf run` plans them."""
    replace_workers(monkeypatch, shared_worker)

    def plan(path):
        file = SourceFile(path, open_source(path))
        with Workers() as workers:
            asked = Asked(workers, Selection(), {}, (file,), (), lambda text: None)
            cases = plan_file(asked, file, {}).cases
        return {case.id: case.count for case in cases}

    return plan


def add(identity, *tensors, alpha=1):
    return node(
        identity,
        "aten::add",
        2,
        ADD,
        inputs=[*tensors, alpha],
        types=["Tensor(float)", "Tensor(float)", "Int"],
        shapes=[[4], [4], []],
        strides=[[1], [2], []],
    )


def written(path, name, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(path), "--to", str(path.with_name(name))])
    assert not ended.value.code
    return path.with_name(name), capsys.readouterr().err


@pytest.mark.parametrize("name", ("x.jsonl", "x.txt", "x.json"))
def test_what_is_written_is_planned_as_the_trace_is(tmp_path, planned, capsys, name):
    nodes = [relu(20, 2), relu(21, 2), add(22, tensor(5, 6), tensor(7, 8)), collective(23, "a")]
    path = write(tmp_path / "t.json", nodes)
    made, err = written(path, name, capsys)
    assert planned(made) == planned(path) and len(planned(path)) == 2
    assert "2 cases of 3 calls" in err and "does not say" not in err


def record_results_that_depend_on_contents(path):
    """Records calls whose results have shapes by the contents of their arguments, and some whose
    integers depend on each other."""
    numbers, mask = torch.randint(0, 10, (1000,)), torch.rand(30, 20) > 0.8
    times, table = torch.randint(0, 3, (1000,)), torch.rand(30, 20)
    sequences, lengths = torch.rand(9, 3, 4), torch.tensor([9, 5, 3])
    lstm = torch.nn.LSTM(4, 5)
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(str(path))
    observer.start()
    torch.unique(numbers)
    torch.unique_consecutive(numbers)
    torch.unique(torch.randint(0, 3, (50, 2)), dim=0)
    torch.bincount(numbers)
    torch.repeat_interleave(times)
    torch.repeat_interleave(numbers, times)
    torch.nonzero(mask)
    torch.nonzero(table > 0.5)
    torch.masked_select(table, mask)
    table[mask], table[:, mask.any(0)]
    torch.nn.functional.one_hot(numbers)
    torch.nn.functional.embedding_bag(numbers, torch.rand(10, 4), torch.arange(0, 1000, 10))
    packed = torch.nn.utils.rnn.pack_padded_sequence(sequences, lengths)
    torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    table[mask] = torch.rand(int(mask.sum()))
    observer.stop()
    observer.unregister_callback()


def test_recorded_calls_return_tensors_of_the_recorded_shapes(tmp_path):
    record_results_that_depend_on_contents(tmp_path / "t.json")
    framework = load("torch")
    cases = list(open_source(tmp_path / "t.json").cases())
    names = [case.target.name.removeprefix("aten.") for case in cases]
    assert names.count("nonzero") == 2 and {"unique_dim", "bincount", "index", "lstm"} <= {*names}
    for recorded, made in zip(cases, complete(framework, cases), strict=True):
        assert not made.refusal
        case = with_settings(made.case, {"device": "cpu(0)", "mode": "eager"})
        returned = [value for _, value in leaves("", PreparedCase(case, framework).call())]
        shapes = tuple(tuple(one.shape) for one in returned if isinstance(one, torch.Tensor))
        assert shapes == recorded.returned, case.label
        assert "returned" not in case.why


@pytest.mark.parametrize(("name", "is_same"), (("x.jsonl", True), ("x.txt", False)))
def test_shared_storages_are_in_recordings_alone(tmp_path, planned, capsys, name, is_same):
    path = write(tmp_path / "t.json", [add(22, tensor(5, 6, 0), tensor(7, 6, 4))])
    made, err = written(path, name, capsys)
    assert (planned(made) == planned(path)) is is_same
    assert ("1 case will be read without" in err) is not is_same


def test_a_recording_has_the_recorded_times_and_the_program(tmp_path, planned, capsys):
    path = tmp_path / "k.json"
    events = [event("aten::relu", 0, 3, **SHAPES), event("aten::relu", 9, 5, **SHAPES)]
    path.write_text(json.dumps({"traceEvents": events}))
    made, _ = written(path, "x.jsonl", capsys)
    run, warnings = read_run(made)
    assert not warnings and run.closing is not None
    (record,) = run.records
    assert record.samples == {"recorded": [3000.0, 5000.0]} and record.case.count == 2
    assert record.case.target.overload == "default"
    assert run.header.program.calls == 2 and run.header.program.command == str(path)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(made)])
    assert not ended.value.code and "relu" in capsys.readouterr().out


@pytest.mark.parametrize("name", ("x.txt", "x.json"))
def test_overloads_that_a_profile_lacks_are_those_of_the_framework(tmp_path, planned, capsys, name):
    path = tmp_path / "k.json"
    shapes = {"Input Dims": [[2, 4], [2, 4], []], "Input type": ["float", "float", "Scalar"]}
    events = [event("aten::add", 0, 3, **shapes, **{"Concrete Inputs": ["", "", "1"]})]
    looked_up = {"Input Dims": [[50, 4], [8]], "Input type": ["float", "long int"]}
    events.append(event("aten::take", 5, 3, **looked_up))
    path.write_text(json.dumps({"traceEvents": events}))
    made, err = written(path, name, capsys)
    assert planned(made) == planned(path) and "does not say" not in err
    assert "add.Tensor" in made.read_text()


def test_a_trace_of_collectives_alone_is_one_line(tmp_path, capsys):
    path = write(tmp_path / "t.json", [collective(20, "allreduce")])
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(path), "--to", str(tmp_path / "x.txt")])
    assert ended.value.code == 2 and not (tmp_path / "x.txt").exists()
    assert "no call can be written, allreduce: 1 call" in capsys.readouterr().err


def test_an_existing_file_is_kept(tmp_path, capsys):
    path = write(tmp_path / "t.json", [relu(20, 2)])
    kept = tmp_path / "x.txt"
    kept.write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(path), "--to", str(kept)])
    assert ended.value.code == 2 and kept.read_text() == "mine"
    assert written_traces.WRITERS.keys() == {".jsonl", ".txt", ".json"}
