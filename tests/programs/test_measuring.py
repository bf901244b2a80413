"""Programs in processes of their own: small scripts, real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from opperf.model import Case, NoteCode, ScriptTarget, Settings, Status
from opperf.programs.launching import Place
from opperf.programs.measuring import Programs, measure_program
from opperf.suite_results.streams import read_stream

LOOP = """
import sys, time

def batches(n):
    for number in range(n):
        yield [number] * 8

for number, batch in enumerate(batches(10_000)):
    time.sleep(0.001)
"""

COUNTING = """
import json, os
fd = int(os.environ["DATA_FD"])
def say(**data):
    os.write(fd, (json.dumps(data) + "\\n").encode())
for n in range({n}):
    say(task="train", rate=100.0 + n % 3, units="items/s")
    say(task="train", loss=1 / (n + 1))
"""


QUICK = Settings(timeout_s=60)


@pytest.fixture
def run(tmp_path):
    """Measures a script, and returns the record and the events of each process."""

    def measured(source, *observe, name="main.py", settings=QUICK, place=None, **target):
        script = tmp_path / name
        script.write_text(source)
        target = {"stop": 10, "observe": observe, **target}
        case = Case(ScriptTarget("bench", str(script), **target), {}, settings, passes=())
        streams = tmp_path / "streams"
        record = measure_program(case, streams, **({"place": place} if place else {}))
        events = [read_stream(streams / each.stream).events for each in record.processes]
        return record, events

    return measured


def data(events, key):
    return [event.data for event in events if event.event == "data" and key in event.data]


def test_a_loop_over_a_loader_is_observed_and_then_stopped(run):
    record, [events] = run(LOOP, "loader:main:batches")
    assert record.status is Status.OK, record.reason
    rate = record.summaries["rate"]
    assert rate.n == 10 and rate.unit == "items/s"
    # Eight items in a step of a millisecond or more.
    assert 0 < rate.max <= 8000
    assert rate.ci_low <= rate.median <= rate.ci_high
    (process,) = record.processes
    assert process.stopped and process.exit_code == 0
    assert process.warmup == len(record.warmup["rate"]) >= 10
    assert len(data(events, "rate")) >= process.warmup + 10
    assert record.samples["progress"] == [1.0]
    assert record.summaries["first_step"].median > 0
    assert record.summaries["program_memory"].max > 2**20


def test_a_stream_has_all_named_events_in_order(run):
    _, [events] = run(LOOP + "\nprint('never printed')", "loader:main:batches")
    names = [event.event for event in events]
    assert names[:3] == ["config", "meta", "start"] and names[-1] == "end"
    phases = [event.data["name"] for event in events if event.event == "phase"]
    assert phases == ["init", "parse_args", "load_script", "run_script", "finalize"]
    assert names.index("stop") < names.index("end")
    assert next(event for event in events if event.event == "meta").data["versions"]["python"]
    assert events[-1].data["return_code"] == 0
    kinds = {key for one in data(events, "task") for key in one if one["task"] == "main"}
    assert kinds >= {"cpudata", "process", "memory_peak"}


def test_lines_are_those_of_milabench(run, tmp_path):
    run("print('a')\nimport sys; print('b', file=sys.stderr)")
    (path,) = (tmp_path / "streams").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(set(line) == {"event", "data", "pipe"} for line in lines)
    printed = [(line["pipe"], line["data"]) for line in lines if line["event"] == "line"]
    assert sorted(printed) == [("stderr", "b\n"), ("stdout", "a\n")]


@pytest.mark.parametrize(
    ("observe", "source"),
    [
        ("function:main:step", "def step(): return 0.5\nwhile True: step()"),
        (
            "function:main:Trainer.step",
            "class Trainer:\n def step(self): return 0.5\nt = Trainer()\nwhile True: t.step()",
        ),
        ("function:helping:step", "import helping\nwhile True: helping.step()"),
        ("function:helping:step", "from helping import step\nwhile True: step()"),
        (
            "loader:main:self.loader",
            "class T:\n loader = range(9**9)\n def fit(self):\n"
            "  for b in self.loader: pass\nT().fit()",
        ),
        (
            "loader:main:loader",
            "loader = iter(lambda: [1, 2], None)\nit = iter(loader)\nwhile True: next(it)",
        ),
        (
            "loader:helping:Loader",
            "from helping import Loader\nwhile True:\n for b in Loader(): pass",
        ),
        ("loader:helping:DATA", "import helping\nwhile True:\n for b in helping.DATA: pass"),
    ],
)  # fmt: skip
def test_parts_are_observed_wherever_they_are(run, tmp_path, observe, source):
    (tmp_path / "helping.py").write_text(
        "DATA = [[1, 2]] * 50\ndef step(): return 0.5\n"
        "class Loader:\n def __iter__(self): return iter(DATA)\n"
    )
    record, [events] = run(source, observe)
    assert record.status is Status.OK, record.reason
    assert record.summaries["rate"].unit == ("items/s" if "loader" in observe else "steps/s")
    if "function" in observe:
        assert record.summaries["loss"].median == 0.5
        assert data(events, "loss")


def test_an_optimizer_is_observed_with_its_loss_and_the_loader_says_the_items(run):
    pytest.importorskip("torch")
    source = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
loader = [torch.ones(6, 4)] * 10_000
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
"""
    record, [events] = run(source, "optimizer", "loader:main:loader")
    assert record.status is Status.OK, record.reason
    observed = data(events, "rate")[5]
    assert observed["rate"] * observed["elapsed"] == pytest.approx(6)
    assert record.samples["loss"] == sorted(record.samples["loss"], reverse=True)


def test_lines_of_the_output_are_observed_by_patterns(run):
    source = """
import time
for step in range(100_000):
    print(f"step {step} loss: {1 / (step + 1):.4f} 1,0{step % 9}0.5 images/s", flush=True)
    time.sleep(0.0005)
"""
    record, _ = run(source, r"line:loss: (?P<loss>\S+) (?P<rate>\S+) images/s")
    assert record.status is Status.OK, record.reason
    assert 1000 < record.summaries["rate"].median < 1100
    assert record.samples["loss"][0] == 1.0
    stepped, _ = run(source, r"line:step (?P<step>\d+)")
    assert stepped.summaries["rate"].unit == "steps/s"
    assert stepped.summaries["rate"].min > 0


def test_a_program_that_writes_its_own_events_is_measured(run):
    record, _ = run(COUNTING.format(n=40))
    assert record.status is Status.OK
    assert record.summaries["rate"].n == 10 and not record.notes
    # Those of the warm-up too.
    assert len(record.samples["loss"]) >= 19 and record.samples["loss"][0] == 1.0


VOIRED = """
import time, voir

def main():
    for batch in voir.iterate("train", [[0] * 16] * 10_000, report_batch=True, batch_size=len):
        time.sleep(0.001)

main()
"""

VOIRFILE = """
from dataclasses import dataclass
from voir import configurable
from voir.instruments import early_stop, log, rate

@dataclass
class Options:
    \"\"\"Options.\"\"\"

    stop: int = 5
    interval: str = ""
    skip: int = 99

@configurable
def instrument_main(overseer, options: Options):
    yield overseer.phases.init
    overseer.require(
        log("rate", "progress", "units", context="task"),
        rate(interval=1, skip=options.skip),
        early_stop(n=options.stop, key="rate", task="train"),
    )
"""


def test_a_voirfile_observes_a_program_with_the_options_of_the_case(run, tmp_path):
    pytest.importorskip("voir")
    voirfile = tmp_path / "observing.py"
    voirfile.write_text(VOIRFILE)
    record, [events] = run(VOIRED, voirfile=str(voirfile), stop=6, skip=1)
    assert record.status is Status.OK, record.reason
    assert record.summaries["rate"].n == 6 and record.processes[0].exit_code == 0
    assert not [event for event in events if event.event in ("error", "overseer_error")]
    phases = [event.data["name"] for event in events if event.event == "phase"]
    assert phases == ["init", "parse_args", "load_script", "run_script", "finalize"]
    # Voir would stop it at a number beyond that which is wanted.
    (last,) = data(events, "progress")[-1:]
    assert last["task"] in ("train", "early_stop")
    stops = [each["progress"][1] for each in data(events, "progress") if each["task"] != "train"]
    assert set(stops) == {27}


def test_without_voir_a_voirfile_is_a_reason(run, tmp_path):
    (tmp_path / "voir.py").write_text("raise ImportError('none here')")
    record, _ = run("", voirfile=str(tmp_path / "voirfile.py"))
    assert record.status is Status.FAILED and "ImportError" in record.reason


def test_the_warm_up_is_as_long_as_is_asked(run):
    record, _ = run(COUNTING.format(n=40), settings=Settings(warmup=3), skip=2)
    assert record.processes[0].warmup == 5 and len(record.warmup["rate"]) == 5


def test_too_few_observations_are_said(run):
    short, _ = run(COUNTING.format(n=15), stop=10)
    assert short.status is Status.OK
    assert [note.code for note in short.notes if note.code == NoteCode.INCOMPLETE]
    assert short.summaries["progress"].median < 1
    warm, _ = run(COUNTING.format(n=4))
    assert warm.status is Status.FAILED
    assert warm.reason.startswith("made 4 observations, all of them warm-up")
    none, _ = run("print(1)")
    assert none.status is Status.FAILED and none.reason == "made no observation"
    endless, _ = run("while True: pass", "function:main:step", settings=Settings(timeout_s=1))
    assert endless.status is Status.TIMEOUT
    assert endless.reason.endswith("0 observations; the program has no function:main:step")
    missing, _ = run(LOOP.replace("10_000", "5"), "loader:main:loader")
    assert missing.reason == "made no observation; the program has no loader:main:loader"


def test_rates_that_are_none_are_no_observations(run):
    source = (
        COUNTING.format(n=40)
        + "\n"
        + "\n".join(
            f"say(task='train', rate={value})"
            for value in ("0", "-1", "float('nan')", "float('inf')", "'fast'", "None", "True")
        )
    )
    record, _ = run(source, stop=1000)
    assert record.status is Status.OK
    assert set(record.samples["rate"]) <= {100.0, 101.0, 102.0}


GARBAGE = """
import os, sys
data = int(os.environ["DATA_FD"])
os.write(1, b"\\xff\\xfe\\x00 no text\\n")
os.write(1, b"x" * 300_000)
os.write(2, bytes(range(256)) * 500)
os.write(data, b"no json\\n[1, 2]\\n\\xff\\n" + b"y" * 2_000_000 + b"\\n")
os.write(data, b'{"task": "train", "rate": 1')
"""


def test_garbage_is_kept_and_harms_nothing(run):
    record, [events] = run(COUNTING.format(n=40) + GARBAGE, stop=100)
    assert record.status is Status.OK, record.reason
    names = {event.event for event in events}
    assert {"binary", "format_error", "end"} <= names
    assert sum(len(event.data) for event in events if event.pipe == "stdout") >= 300_000


def test_a_program_that_closes_all_descriptors_keeps_its_own_files(run, tmp_path):
    source = (
        "import os, time\nos.closerange(1, 64)\n"
        f"files = [open({str(tmp_path)!r} + f'/own{{n}}', 'w') for n in range(40)]\n"
        "def step(): time.sleep(0.001)\nwhile True: step()"
    )
    record, _ = run(source, "function:main:step", settings=Settings(timeout_s=1.5))
    assert record.status is Status.TIMEOUT
    assert all(path.read_text() == "" for path in tmp_path.glob("own*"))


def test_output_without_end_is_limited(run, monkeypatch):
    monkeypatch.setattr("opperf.programs.streams.MOST_PRINTED_BYTES", 1 << 20)
    source = COUNTING.format(n=15) + "\nwhile True: print('y' * 1000)"
    record, [events] = run(source, stop=100, settings=Settings(timeout_s=2))
    assert record.status is Status.TIMEOUT
    assert sum(len(event.data) for event in events if event.event == "line") <= 1 << 20
    assert any(event.event == "message" for event in events)
    assert events[-1].event == "end"


TOKEN = f"sleep_of_{os.getpid()}"
"""In the commands of processes that tests of this process have started, and of no other."""

FORKS = f"""
import os, subprocess, sys
for session in (False, True):
    subprocess.Popen(
        [sys.executable, "-c", "import time; {TOKEN} = time.sleep(600)"], start_new_session=session
    )
"""


def _words(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def gone():
    for _ in range(100):
        if not any(TOKEN in _words(process) for process in psutil.process_iter()):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("more", ["", "\nimport time; time.sleep(600)"])
def test_a_program_that_forks_and_never_ends_is_ended_with_its_forks(run, more):
    begun = time.monotonic()
    record, _ = run(FORKS + COUNTING.format(n=40) + more)
    assert record.status is Status.OK, record.reason
    assert gone()
    assert time.monotonic() - begun < 60


def test_a_time_out_is_called_that(run):
    source = COUNTING.format(n=15) + FORKS + "\nimport time; time.sleep(600)"
    record, [events] = run(source, stop=100, settings=Settings(timeout_s=2))
    assert record.status is Status.TIMEOUT
    assert record.reason.startswith("not finished after 2 s, with 15 observations")
    assert record.processes[0].status is Status.TIMEOUT
    assert [event.data["type"] for event in events if event.event == "error"] == ["TimeoutError"]
    assert gone()


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [
        ("def f(): 1 / 0\nf()", Status.FAILED, "exit code 1: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('no data')", Status.FAILED, "exit code 1; last output: no data"),
        ("import sys; sys.exit(7)", Status.FAILED, "exit code 7"),
        ("this is no Python", Status.FAILED, "exit code 1: SyntaxError: "),
        ("import os; os.kill(os.getpid(), 11)", Status.CRASHED, "ended by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", Status.CRASHED, "ended by SIGKILL, probably out"),
    ],
)
def test_how_a_program_fails_is_its_reason(run, source, status, reason):
    record, [events] = run(source)
    assert record.status is status and record.reason.startswith(reason)
    assert record.summaries == {}
    assert events[-1].event == "end" and events[-1].data["return_code"] not in (0, None)


def test_a_traceback_begins_with_the_program(run):
    _, [events] = run("def f(): 1 / 0\nf()")
    (error,) = [event.data for event in events if event.event == "error"]
    assert "main.py" in error["trace"] and "launcher" not in error["trace"]


def test_nothing_said_before_a_kill_is_lost(run):
    source = (
        COUNTING.format(n=30) + "\nimport os; os.write(fd, b'{\"task\"'); os.kill(os.getpid(), 9)"
    )
    record, [events] = run(source, stop=100)
    assert record.status is Status.CRASHED
    assert len(data(events, "rate")) == 30
    assert len(record.processes[0].losses) == 30


RANKED = (
    COUNTING.format(n=0)
    + """
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES")
say(environment={name: os.environ.get(name) for name in names})
say(cores=sorted(os.sched_getaffinity(0)))
"""
)


def test_processes_have_ranks_and_the_rate_is_that_of_all(run):
    record, events = run(RANKED + COUNTING.format(n=40), processes=2)
    assert record.status is Status.OK, record.reason
    variables = [data(each, "environment")[0]["environment"] for each in events]
    assert [each["RANK"] for each in variables] == ["0", "1"]
    assert {each["WORLD_SIZE"] for each in variables} == {"2"}
    assert len({each["MASTER_PORT"] for each in variables}) == 1
    assert [process.name for process in record.processes] == ["0", "1"]
    alone = [process.rate.mean for process in record.processes]
    assert record.summaries["rate"].mean == pytest.approx(sum(alone))


def test_a_single_process_has_no_rank(run):
    _, [events] = run(RANKED + COUNTING.format(n=40))
    assert data(events, "environment")[0]["environment"]["RANK"] is None


def test_a_node_has_the_ranks_after_those_of_the_nodes_before(run):
    record, events = run(
        RANKED + COUNTING.format(n=40), nodes=2, place=Place(1, "second", "10.0.0.1", 29400)
    )
    variables = data(events[0], "environment")[0]["environment"]
    assert (variables["RANK"], variables["WORLD_SIZE"]) == ("1", "2")
    assert (variables["MASTER_ADDR"], variables["MASTER_PORT"]) == ("10.0.0.1", "29400")
    assert record.processes[0].node == "second"
    alone, _ = run(COUNTING.format(n=40), nodes=2)
    assert alone.status is Status.SKIPPED and "2 nodes" in alone.reason


def test_each_process_has_a_core_of_its_own(run):
    record, events = run(RANKED + COUNTING.format(n=40), method="per_core", processes=2)
    if len(os.sched_getaffinity(0)) < 2:
        assert record.status is Status.SKIPPED
        return
    cores = [data(each, "cores")[0]["cores"] for each in events]
    assert [f"C{own[0]}" for own in cores] == [each.name for each in record.processes]
    assert len({own[0] for own in cores}) == 2 and all(len(own) == 1 for own in cores)


def test_each_process_has_a_gpu_of_its_own(run):
    source = RANKED + COUNTING.format(n=40)
    settings = Settings(env={"CUDA_VISIBLE_DEVICES": "4,6"})
    record, events = run(source, method="per_gpu", processes=2, settings=settings)
    variables = [data(each, "environment")[0]["environment"] for each in events]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in variables] == ["4", "6"]
    assert [each.device for each in record.processes] == ["4", "6"]
    assert [each.name for each in record.processes] == ["D4", "D6"]
    none = Settings(env={"CUDA_VISIBLE_DEVICES": ""})
    skipped, _ = run(source, method="per_gpu", processes=2, settings=none)
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "needs 2 GPUs, and there are 0")
    single, _ = run(source, method="per_gpu", settings=none)
    assert single.status is Status.OK and single.processes[0].device == ""


def test_a_process_that_fails_ends_all(run):
    source = COUNTING.format(n=40) + (
        "\nimport time\nif os.environ['RANK'] == '1': raise ValueError('bad rank')\n"
        "while True: time.sleep(0.1)"
    )
    record, _ = run(source, processes=2, stop=1000)
    assert record.status is Status.FAILED
    assert record.reason == "process 1: exit code 1: ValueError: bad rank"
    first, second = record.processes
    assert first.reason == "ended, as process 1 failed" and first.exit_code is None
    assert second.exit_code == 1


def test_ranks_that_observe_nothing_are_none_of_the_rate(run):
    source = (
        COUNTING.format(n=0)
        + "\nif os.environ['RANK'] == '0':"
        + "".join(f"\n {line}" for line in COUNTING.format(n=40).strip().splitlines())
    )
    record, _ = run(source, processes=2)
    assert record.status is Status.OK
    assert record.processes[1].rate is None
    assert record.summaries["rate"].mean == record.processes[0].rate.mean


def test_a_kill_from_another_thread_ends_the_program(run, tmp_path):
    script = tmp_path / "main.py"
    script.write_text("import time; time.sleep(600)")
    case = Case(ScriptTarget("bench", str(script)), {}, passes=())
    programs, records = Programs(), []
    thread = threading.Thread(target=lambda: records.append(programs.measure(case)))
    thread.start()
    time.sleep(0.5)
    programs.kill()
    thread.join(30)
    assert records[0].status is Status.FAILED and records[0].reason == "was killed"
    # No other one starts.
    later = programs.measure(case)
    assert later.status is Status.FAILED and later.reason == "was killed"


def test_the_end_of_the_measuring_process_ends_the_program(tmp_path):
    script = tmp_path / "main.py"
    script.write_text("import time\nprint('up', flush=True)\ntime.sleep(600)")
    (tmp_path / "measuring.py").write_text(
        "from pathlib import Path\n"
        "from opperf.model import *\nfrom opperf.programs.measuring import measure_program\n"
        f"case = Case(ScriptTarget('bench', {str(script)!r}), {{}}, passes=())\n"
        f"measure_program(case, Path({str(tmp_path)!r}, 'streams'))\n"
    )
    process = subprocess.Popen([sys.executable, tmp_path / "measuring.py"])
    stream = tmp_path / "streams"
    for _ in range(200):
        if stream.is_dir() and any("up" in each.read_text() for each in stream.iterdir()):
            break
        time.sleep(0.05)
    children = psutil.Process(process.pid).children()
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


def test_wrong_input_is_said_in_one_line(run, tmp_path):
    for observe, reason in [
        ("loder:main:x", "unknown part of a program 'loder'"),
        ("loader:main", "'loader:main' is not of the form loader:MODULE:NAME"),
        ("optimizer:main:x", "'optimizer:main:x' is not of the form optimizer"),
        ("line:(", "'line:(' is not a regular expression"),
        ("line:(?P<speed>x)", "unknown group of a pattern 'speed'"),
    ]:
        record, _ = run(LOOP, observe)
        assert record.status is Status.FAILED and record.reason.startswith(reason)
    case = Case(ScriptTarget("bench", str(tmp_path / "none.py")), {}, passes=())
    assert measure_program(case).reason == f"{tmp_path / 'none.py'}: no such script"
    (tmp_path / "main.py").write_text("")
    case = Case(ScriptTarget("bench", str(tmp_path / "main.py")), {}, passes=())
    record = measure_program(case, python=str(tmp_path / "python"))
    assert record.status is Status.FAILED and "check that it is a Python" in record.reason


def test_a_second_measuring_leaves_the_first_stream(run, tmp_path):
    first, _ = run("print(1)")
    second, _ = run("print(1)")
    assert first.processes[0].stream != second.processes[0].stream
    assert len(list((tmp_path / "streams").iterdir())) == 2


def test_paths_are_those_of_the_script(run, tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 100.0")
    source = (
        COUNTING.format(n=0)
        + "import sys, beside\nassert __name__ == '__main__' and sys.argv[1:] == ['-a', '1']\n"
        + f"assert os.getcwd() == {str(tmp_path)!r}\n"
        + "for n in range(40): say(task='train', rate=beside.VALUE)"
    )
    record, _ = run(source, argv=("-a", "1"))
    assert record.status is Status.OK, record.reason
    assert Path(record.case.target.script).name == "main.py"
