"""Replays of traces that PyTorch wrote."""

from __future__ import annotations

import json

import pytest

from opperf.errors import UnsupportedError
from opperf.frameworks import load
from opperf.model import Case, Status, TraceTarget
from opperf.results.runfile import read_run
from opperf.sources.replays import digest_of
from opperf.worker.replaying import RankedReplay
from tests.traces.making import RELU, node, tensor, write

torch = pytest.importorskip("torch")

FEW = ("-w", "1", "-r", "2", "--threads", "1", "-f", "jsonl", "--overwrite")


def record(folder):
    """Records a training step with indices, views, calls in place and several results."""
    embedding = torch.nn.Embedding(50, 12)
    model = torch.nn.Sequential(
        torch.nn.Unflatten(1, (3, 2, 2)),
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 5),
    )
    optimizer = torch.optim.Adam([*embedding.parameters(), *model.parameters()])
    tokens, labels = torch.randint(0, 50, (6,)), torch.randint(0, 5, (6,), dtype=torch.int32)
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(str(folder / "step.json"))
    observer.start()
    for number in range(2):
        with torch.profiler.record_function(f"## step {number} ##"):
            with torch.profiler.record_function("## forward ##"):
                # Numbers that no call writes, and a copy of narrower ones.
                chosen = embedding(tokens)[torch.tensor([5, 0, 1, 2, 3, 4])]
                targets = labels.to(torch.int64)
                loss = torch.nn.functional.cross_entropy(model(chosen), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    observer.stop()
    observer.unregister_callback()


@pytest.fixture
def replay(command_here):
    def run(*arguments):
        out, _ = command_here("run", *arguments, "--replay", *FEW, "-o", "out.jsonl")
        (found,) = read_run(command_here.folder / "out.jsonl")[0].records
        return found, out

    run.folder = command_here.folder
    return run


def test_a_training_step_is_replayed_whole(replay):
    record(replay.folder)
    whole, out = replay("step.json", "--et", "again.json", "--profile", "chrome.json")
    assert whole.status is Status.OK, whole.reason
    medians = {name: summary.median for name, summary in whole.summaries.items()}
    assert medians["replayed_calls"] == medians["replayed_operators"] == 100
    assert medians["replay_inputs"] > 0 and medians["memory"] > 0
    calls = {part.name: (part.calls, part.made) for part in whole.parts}
    assert calls["aten.conv2d"] == calls["aten.convolution_backward"] == (2, 2)
    assert "aten.embedding" in out and "Ratio" not in out
    # The replay's own trace has the same calls, and can be replayed.
    again, _ = replay("again.json")
    assert {part.name: (part.calls, part.made) for part in again.parts}.items() >= calls.items()
    assert json.loads((replay.folder / "chrome.json").read_text())["traceEvents"]


def test_a_part_of_a_trace_is_another_case(replay):
    record(replay.folder)
    forward, _ = replay("step.json", "--steps", "1", "--subgraph", "forward")
    assert {part.name: part.calls for part in forward.parts}["aten.conv2d"] == 1
    assert not any("backward" in part.name for part in forward.parts)
    without, out = replay("step.json", "--steps", "1", "--skip", "aten::conv*=slow", "--delay", "1")
    (part,) = (part for part in without.parts if part.name == "aten.conv2d")
    assert (part.made, part.reason, part.time_ns) == (0, "slow", None)
    assert "Not replayed" in out and without.id != forward.id
    assert without.summaries["replayed_calls"].median < 100


def output(made, number, shape):
    """Adds a result to a node."""
    made["outputs"] = {
        "values": [tensor(number, number, size=8, device="cpu")],
        "types": ["Tensor(float)"],
        "shapes": [shape],
    }
    return made


def on_cpu(identity, name, inputs, shape, result, schema):
    made = node(
        identity,
        name,
        schema=schema,
        inputs=[tensor(number, number, device="cpu") for number in inputs],
        types=["Tensor(float)"] * len(inputs),
        shapes=[shape] * len(inputs),
    )
    return output(made, result, shape)


def test_a_call_that_fails_is_omitted_and_what_it_made_comes_from_outside(replay):
    mm = "aten::mm(Tensor self, Tensor mat2) -> Tensor"
    nodes = [
        on_cpu(3, "aten::relu", [20], [2, 4], 30, RELU),
        # Shapes that do not fit.
        on_cpu(4, "aten::mm", [30, 30], [2, 4], 40, mm),
        on_cpu(5, "aten::gone", [40], [2, 4], 50, "aten::gone(Tensor self) -> Tensor"),
        on_cpu(6, "aten::relu", [50], [2, 4], 60, RELU),
        # A result of another shape than the trace has.
        output(on_cpu(7, "aten::relu", [60], [2, 4], 70, RELU), 70, [8, 1]),
        on_cpu(8, "aten::relu", [70], [8, 1], 80, RELU),
    ]
    write(replay.folder / "made.json", nodes)
    found, _ = replay("made.json")
    parts = {part.name: part for part in found.parts}
    assert (parts["aten.relu"].made, parts["aten.relu"].calls) == (4, 4)
    assert "cannot be multiplied" in parts["aten.mm"].reason
    assert "no operator" in parts["aten.gone"].reason
    assert found.summaries["replayed_calls"].median == pytest.approx(100 * 4 / 6)
    assert found.summaries["replayed_operators"].median == pytest.approx(100 / 3)


def test_ranks_make_collective_operations_together(replay):
    facts = {"collective_name": "allreduce", "dtype": "Float", "in_msg_nelems": 64, "pg_size": 2}
    for rank in range(2):
        nodes = [
            on_cpu(3, "aten::relu", [20], [2, 4], 30, RELU),
            node(4, "record_param_comms", **facts),
            node(5, "record_param_comms", **facts | {"pg_size": 4}),
            on_cpu(6, "aten::relu", [30], [2, 4], 40, RELU),
        ]
        write(replay.folder / f"rank-{rank}.json", nodes)
    found, _ = replay(".", "--ranks", "all")
    assert found.status is Status.OK, found.reason
    assert found.case.label.endswith("2 ranks")
    parts = {part.name: part for part in found.parts}
    both = parts["allreduce"]
    assert (both.calls, both.made) == (2, 1) and both.time_ns > 0
    assert "no time is recorded" in both.reason
    assert found.summaries["replayed_calls"].median == 100


def test_the_reason_of_a_rank_that_cannot_begin_is_that_of_all(tmp_path):
    call = on_cpu(3, "aten::relu", [20], [2, 4], 30, RELU)
    write(tmp_path / "rank-0.json", [node(2, "ProfilerStep#7"), call])
    write(tmp_path / "rank-1.json", [call])
    place = {"file": str(tmp_path), "digest": digest_of(tmp_path), "rank": 0, "ranks": 2}
    target = TraceTarget("torch", **place, steps="7")
    with pytest.raises(UnsupportedError, match=r"rank 1: .*rank-1.json has no step 7"):
        RankedReplay(Case(target, {}), target, load("torch"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("relu", "--replay"), "--replay is for traces; relu is none"),
        (("made.json", "--steps", "3"), "--steps needs --replay"),
        (("made.json", "--replay", "--ranks", "0"), "neither `all` nor from 1"),
        (("made.json", "--replay", "--steps", "3"), "no labels of steps"),
        (("made.json", "--replay", "--et", "none/x.json"), "does not exist"),
        (("made.json", "--replay", "--et", "made.json", "--overwrite"), "is an input"),
        (("made.json", "--replay", "--profile", "other.json"), "other.json exists"),
        (("made.json", "--replay", "--et", "x.json", "-o", "x.json"), "named for two outputs"),
        (("made.json", "--replay", "-o", "made.json", "--overwrite"), "is an input"),
        (("made.json", "--replay", "--dtype", "float16"), "--dtype does not apply"),
    ],
)
def test_options_that_do_not_fit_are_an_error(command_here, arguments, message):
    write(command_here.folder / "made.json", [on_cpu(3, "aten::relu", [20], [2, 4], 30, RELU)])
    (command_here.folder / "other.json").write_text("mine")
    _, error = command_here("run", *arguments, code=2)
    assert message in error
