"""Recordings of programs that use PyTorch."""

import json
import textwrap
import threading
from types import SimpleNamespace

import msgspec
import pytest

import opperf
from opperf.model import TensorSpec
from opperf.recording.session import Session
from tests.recorded_functions import call_each, calls, record
from tests.shared_workers import replace_workers

torch = pytest.importorskip("torch")
recorder = pytest.importorskip("opperf.frameworks.torch.recorder")

TRAIN = """\
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.head = nn.Linear(8, 5)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = torch.relu(layer(x))    # line 15
        return self.head(x.mean(1))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(int(sys.argv[1])):
    tokens = torch.randint(0, 50, (4, 6))
    loss = nn.functional.cross_entropy(net(tokens), torch.zeros(4, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()                     # line 24
    optimizer.step()                    # line 25
"""

LINE, BACKWARD_LINE, STEP_LINE = 15, 24, 25


@pytest.fixture
def programs(command_here):
    """Writes scripts by their names; returns the command."""

    def write(**texts):
        for name, text in texts.items():
            (command_here.folder / f"{name}.py").write_text(textwrap.dedent(text))
        return command_here

    return write


def read(command, name="recording.jsonl"):
    return opperf.read(command.folder / name).run


@pytest.fixture(autouse=True)
def shared(monkeypatch, shared_worker):
    replace_workers(monkeypatch, shared_worker)


def test_a_training_script_is_recorded_and_can_be_run(programs):
    command = programs(train=TRAIN)
    _, err = command("record", "--timed", "--steps", "2:4", "-o", "r.jsonl", "train.py", "6")
    run = read(command, "r.jsonl")
    program = run.header.program
    assert (program.command, program.framework, program.steps) == ("train.py 6", "torch", 2)
    assert program.recorded_step.n == 2 and program.step.n == 3
    assert program.recorded_ns >= 2 * program.recorded_step.mean
    assert "in 2 steps" in err and not program.notes
    (embedding,) = calls(run, "embedding")
    assert embedding.count == 2
    indices = embedding.arguments["indices"]
    assert (indices.shape, indices.fill.low, indices.fill.high) == ((4, 6), 0, 50)
    # Both layers, forward.
    (relu,) = calls(run, "relu")
    (site,) = relu.sites
    assert (site.module, site.line, site.function, site.count) == ("Net", LINE, "Net.forward", 4)
    (addmm,) = (case for case in calls(run, "addmm") if case.count == 4)
    assert [site.module for site in addmm.sites] == ["Net.layers.0", "Net.layers.1"]
    # Backward calls are those of the forward call's module and line.
    (threshold,) = calls(run, "threshold_backward")
    (site,) = threshold.sites
    assert (site.module, site.line, site.phase) == ("Net", LINE, "backward")
    (updated,) = {
        (site.line, site.phase)
        for case in run.cases
        for site in case.sites
        if site.phase == "optimizer"
    }
    assert updated == (STEP_LINE, "optimizer")
    assert all(len(case.recorded) == case.count for case in run.cases)
    assert sum(site.time_ns for case in run.cases for site in case.sites) == pytest.approx(
        sum(sum(case.recorded) for case in run.cases)
    )
    assert program.calls == sum(case.count for case in run.cases)
    call_each(run, "torch")


def test_a_report_has_the_places_and_what_the_step_consists_of(programs):
    command = programs(train=TRAIN)
    command("record", "--timed", "--steps", "2:4", "-o", "r.jsonl", "train.py", "6")
    recorded = sum(sum(case.recorded) for case in read(command, "r.jsonl").cases)
    out, _ = command("report", "r.jsonl", "-f", "json")
    found = json.loads(out)
    (program,) = found["programs"]
    parts = {part["part"]: part["time_ms"] for part in program["parts"]}
    assert parts["recorded_calls"] == pytest.approx(recorded / 2 / 1e6)
    assert parts["recorded_calls"] + parts["between_recorded"] == pytest.approx(
        parts["recorded_step"]
    )
    (net,) = (one for one in found["modules"]["modules"] if one["name"] == "Net")
    assert [one["name"] for one in net["modules"]] == ["embed", "layers", "head"]
    command("report", "r.jsonl", "-o", "r.svg")
    assert "Net.layers.0" in (command.folder / "r.svg").read_text()


def test_the_account_of_a_program_without_steps_is_that_of_all_of_it(programs):
    command = programs(infer="import torch\ntorch.ones(3) + 1\n")
    command("record", "--timed", "infer.py")
    program = read(command, "infer.jsonl").header.program
    out, _ = command("report", "infer.jsonl")
    assert program.steps == 1 and program.recorded_step is None and program.recorded_ns > 0
    assert "Time of the program" in out and "Program, while it was recorded" in out


def test_what_is_no_python_is_shown_as_python_does(programs):
    _, err = programs(cut="print('x")("record", "cut.py", code=1)
    first, *_, last = err.strip().splitlines()
    assert first == 'File "cut.py", line 1' and last.startswith("opperf: cut.py raised Syntax")


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("raise ValueError('bad data')", 1, "raised ValueError: bad data"),
        ("sys.exit(3)", 3, "ended with exit code 3"),
        ("raise KeyboardInterrupt", 130, "was interrupted"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, "was terminated"),
    ],
)
def test_a_program_that_ends_early_leaves_its_recording(programs, end, code, said):
    text = f"import os, signal, sys, torch\ntorch.ones(3) + 1\n{end}\ntorch.ones(3) - 1\n"
    command = programs(early=text)
    _, err = command("record", "early.py", code=code)
    run = read(command, "early.jsonl")
    assert [case.target.name for case in run.cases] == ["ones", "add"]
    assert said in err and said in run.header.program.notes[0]


def test_what_cannot_be_recorded_is_one_line(programs):
    command = programs(
        plain="print(1)",
        train=TRAIN,
        forks="""\
            import os, torch
            x = torch.ones(3)
            if os.fork() == 0:
                torch.empty(2)
                os._exit(0)
            os.wait()
            """,
    )
    for words, said in {
        ("missing.py",): "missing.py: no such script\n",
        ("/missing",): "/missing: no such script\n",
        ("missing",): "missing: no such script; for a module, write -m missing\n",
        ("-m", "missing_module"): "missing_module: no such module",
        ("plain.py",): "plain.py: no operator was called that can be recorded",
        ("--steps", "8:9", "train.py", "2"): "steps 8:9: it made 2 steps\n",
        ("--steps", "x", "train.py"): "is no range of steps",
        ("-o", "r.json", "train.py"): "whose name ends with .jsonl",
        ("--shape", "x=3", "train.py"): "--shape has no effect",
        ("-o", "r.jsonl", "--et", "./r.jsonl", "train.py"): "needs a file other than",
        (): "name a program",
    }.items():
        out, err = command("record", *words, code=2)
        assert said in err and len(err.strip().splitlines()) == 1
        assert not list(command.folder.glob("*.jsonl"))
    _, err = command("record", "forks.py")
    assert "forked 1 time" in err
    assert [case.target.name for case in read(command, "forks.jsonl").cases] == ["ones"]
    _, err = command("record", "forks.py", code=2)
    assert "forks.jsonl exists; add --overwrite" in err


def test_a_child_that_comes_to_the_end_of_the_program_writes_nothing(programs, monkeypatch):
    command = programs(short="import torch\ntorch.ones(3)\n")
    monkeypatch.setattr(Session, "is_of_this_process", False)
    command("record", "short.py")
    assert not (command.folder / "short.jsonl").exists()


def test_a_program_that_goes_to_another_folder_is_recorded_where_it_was_begun(programs):
    text = "import os, torch\nos.makedirs('runs')\nos.chdir('runs')\ntorch.ones(3)\n"
    command = programs(goes=text)
    _, err = command("record", "goes.py", "--et", "trace.json")
    assert calls(read(command, "goes.jsonl"), "ones") and err.startswith("goes.jsonl: 1 call,")
    assert not list((command.folder / "runs").iterdir())


def test_operators_of_a_module_of_their_namespace_are_found_again(programs):
    command = programs(
        halves="""\
            import torch

            library = torch.library.Library("halves", "DEF")
            library.define("half(Tensor x) -> Tensor")
            library.impl("half", lambda x: x / 2, "CPU")
            """,
        uses="import torch, halves\ntorch.ops.halves.half(torch.ones(3))\n",
    )
    command("record", "uses.py")
    (half,) = calls(read(command, "uses.jsonl"), "halves::half")
    assert half.settings.imports == ("halves",) and half.arguments["x"].shape == (3,)


def test_cases_that_no_worker_completes_are_kept_as_they_were_called(programs):
    command = programs(
        once="""\
            import os, torch

            library = torch.library.Library("once", "DEF")
            library.define("half(Tensor x) -> Tensor")
            library.impl("half", lambda x: x / 2, "CPU")
            open("imported", "x").close()
            """,
        first="import torch, once\ntorch.ops.once.half(torch.ones(3))\n",
    )
    _, err = command("record", "first.py")
    run = read(command, "first.jsonl")
    (half,) = calls(run, "once::half")
    assert half.count == 1 and half.arguments["0"].shape == (3,)
    assert "1 case could not be completed" in err and calls(run, "ones")


def test_steps_that_are_not_reached_leave_those_before(programs):
    command = programs(train=TRAIN)
    _, err = command("record", "--steps", "1:9", "train.py", "2")
    assert "did not reach the end of the steps 1:9: it made 2 steps" in err
    assert read(command, "train.jsonl").header.program.steps == 1


def test_a_model_is_called_with_inputs_by_their_shape(programs):
    command = programs(train=TRAIN.partition("net = Net()")[0])
    command("record", "train.py:Net", "--shape", "tokens=2x3", "-r", "2", "-o", "net.jsonl")
    run = read(command, "net.jsonl")
    assert (run.header.program.command, run.header.program.steps) == ("train.py:Net", 2)
    assert {site.phase for case in run.cases for site in case.sites} == {"forward", "backward"}
    (relu,) = calls(run, "relu")
    assert relu.count == 4 and relu.sites[0].module == "Net"
    _, err = command("record", "train.py:Nothing", code=2)
    assert "has no 'Nothing'" in err


def test_strides_storages_values_and_ranges_are_recorded(tmp_path):
    x, counts = torch.ones(4, 6), torch.tensor([2, 0, 3, 1])

    def program():
        x[:, ::2].add_(x[:, 1::2], alpha=2)
        counts * 3
        x.to(torch.float64)
        torch.cat([x, x])

    run = record(tmp_path, program)
    (added,) = calls(run, "add_")
    left, right = added.arguments["self"], added.arguments["other"]
    assert left.strides == right.strides == (6, 2)
    assert left.storage == right.storage != "" and right.offset - left.offset == 1
    assert added.arguments["alpha"] == 2
    (tripled,) = calls(run, "mul")
    fill = tripled.arguments["self"].fill
    assert (fill.distribution, fill.low, fill.high) == ("integers", 0, 4)
    (joined,) = calls(run, "cat")
    first, second = joined.arguments["tensors"]
    assert isinstance(first, TensorSpec) and first.storage == second.storage != ""


def test_equal_calls_are_one_and_numbers_of_other_types_are_not(tmp_path):
    x = torch.ones(3)

    def program():
        for value in (1, 1, 1.0, 2):
            x * value

    run = record(tmp_path, program)
    assert sorted(case.count for case in calls(run, "mul")) == [1, 1, 2]


def test_a_checkpoint_is_computed_again_in_the_backward_pass(tmp_path):
    from torch.utils.checkpoint import checkpoint

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    x = torch.ones(2, 4, requires_grad=True)
    run = record(tmp_path, lambda: checkpoint(net, x, use_reentrant=False).sum().backward())
    (relu,) = calls(run, "relu")
    assert [(site.module, site.phase, site.count) for site in relu.sites] == [
        ("Sequential.1", "forward", 1),
        ("Sequential.1", "backward", 1),
    ]


def test_a_gradients_sum_has_the_module_of_its_parameter(tmp_path):
    net, loss, x = torch.nn.Linear(3, 3), torch.nn.MSELoss(), torch.ones(2, 3)

    def program():
        for _ in range(2):
            loss(net(x), x).backward()

    run = record(tmp_path, program)
    sites = [site for case in calls(run, "add_") for site in case.sites]
    assert {(site.module, site.phase) for site in sites} == {("Linear", "backward")}


def test_modules_that_another_thread_calls_are_around_no_call_of_this_one(tmp_path):
    called, release = threading.Event(), threading.Event()
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())

    class Waits(torch.nn.Module):
        def forward(self, x):
            called.set()
            release.wait(60)

    def program():
        thread = threading.Thread(target=Waits(), args=(torch.ones(2),))
        thread.start()
        called.wait(60)
        net(torch.ones(2, 3))
        release.set()
        thread.join()

    (relu,) = calls(record(tmp_path, program), "relu")
    assert [site.module for site in relu.sites] == ["Sequential.1"]


def test_a_call_that_no_case_can_have_counts_once(tmp_path, monkeypatch):
    def refuse(func, *given):
        if func.name().startswith("aten::add"):
            raise opperf.errors.UnsupportedError("no such argument")
        return describe(func, *given)

    describe = recorder.describe
    monkeypatch.setattr(recorder, "describe", refuse)
    run = record(tmp_path, lambda: torch.ones(2) + 1)
    assert run.header.program.calls == 2
    assert run.header.excluded == {"add.Tensor": "no such argument"}


def test_a_tensors_own_class_is_seen_by_what_it_calls(tmp_path):
    class Doubled(torch.Tensor):
        @staticmethod
        def __new__(cls, half):
            return torch.Tensor._make_wrapper_subclass(cls, half.shape)

        def __init__(self, half):
            self.half = half

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*(arg.half * 2 if isinstance(arg, cls) else arg for arg in args))

    x = Doubled(torch.ones(3))
    run = record(tmp_path, lambda: x + 1)
    assert [case.target.name for case in run.cases] == ["mul", "add"]


def test_a_recording_inside_another_and_an_empty_one_are_refused(tmp_path):
    with pytest.raises(opperf.errors.UsageError, match="no operator was called"):
        record(tmp_path, lambda: None)

    def nested():
        with opperf.record(tmp_path / "inner.jsonl"):
            pass

    with pytest.raises(opperf.errors.UsageError, match="being made already"):
        record(tmp_path, nested)
    # What is recorded when it fails is kept, and afterwards nothing is.
    with pytest.raises(ZeroDivisionError), opperf.record(tmp_path / "failed.jsonl"):
        torch.ones(2) + 1 / 0
    run = opperf.read(tmp_path / "failed.jsonl").run
    assert [case.target.name for case in run.cases] == ["ones"]
    assert "ZeroDivisionError" in run.header.program.notes[0]


def test_no_data_is_kept(tmp_path):
    x = torch.full((3,), 123456.75)
    record(tmp_path, lambda: x * 2)
    assert "123456" not in (tmp_path / "calls.jsonl").read_text()


def test_what_was_recorded_of_a_step_that_turned_out_longer_is_forgotten(tmp_path):
    layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)

    def program():
        for _ in range(3):
            for _ in range(2):
                layer(x).sum().backward()
                optimizer.step()
            opperf.step()

    run = record(tmp_path, program, steps="1:2")
    assert [case.count for case in calls(run, "addmm")] == [2]


def test_marked_steps_and_an_execution_trace(tmp_path):
    x = torch.ones(3)

    def program():
        for _ in range(4):
            x + 1
            opperf.step()

    trace = tmp_path / "trace.json"
    run = record(tmp_path, program, steps=range(1, 3), execution_trace=trace)
    assert [case.count for case in calls(run, "add")] == [2]
    names = {node["name"] for node in msgspec.json.decode(trace.read_bytes())["nodes"]}
    assert "aten::add" in names


KERNELS = """\
def cpp_fused_relu_0(x):
    x.data_ptr()

def call(x):
    cpp_fused_relu_0(x)
    return torch.mm(x, x)
"""


class Compiled:
    """A compiled program as Inductor makes them: its code is a module with the kernels."""

    def __init__(self):
        names = {"torch": torch}
        exec(KERNELS, names)
        self.current_callable = names["call"]

    def __call__(self, x):
        return self.current_callable(x)


def test_compiled_programs_have_their_runs_kernels_and_the_operators_that_they_call(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(recorder, "COMPILED_CODE", "torch")
    monkeypatch.setattr(
        recorder.private, "COMPILED_PROGRAM", SimpleNamespace(find=lambda: Compiled)
    )
    compiled, x = Compiled(), torch.ones(2, 2)
    kernel = compiled.current_callable.__globals__["cpp_fused_relu_0"]

    def program():
        for _ in range(2):
            compiled(x)
        torch.mm(x, x)

    run = record(tmp_path, program, timed=True)
    (found,) = run.header.program.compiled
    first = program.__code__.co_firstlineno
    assert found.name.endswith(f"(test_recorder.py:{first + 2})") and "program" in found.name
    assert found.runs == 2 and list(found.kernels) == ["cpp_fused_relu_0"]
    (case,) = calls(run, "mm")
    inside, outside = case.sites
    assert (inside.program, inside.count) == (found.name, 2)
    assert (outside.program, outside.line) == ("", first + 3)
    assert 0 < found.kernels["cpp_fused_relu_0"] + inside.time_ns <= found.time_ns
    # Afterwards all is as before.
    assert compiled.current_callable.__globals__["cpp_fused_relu_0"] is kernel
