"""Programs in processes of their own, to their end: small scripts, real processes."""

import json
import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from opperf.model import Case, ScriptTarget, Settings, Status
from opperf.programs.launching import Place
from opperf.programs.measuring import Programs
from tests.programs.scripts import COUNTING, LOOP, data, streamed, wait_for


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


def test_a_program_that_closes_all_descriptors_keeps_its_own_files(run, expire, tmp_path):
    source = (
        "import os, time\nos.closerange(1, 64)\n"
        f"files = [open({str(tmp_path)!r} + f'/own{{n}}', 'w') for n in range(40)]\n"
        "def step(): time.sleep(0.001)\nfor _ in range(30): step()\n"
        f"open({str(tmp_path / 'stepped')!r}, 'w')\nwhile True: step()"
    )
    expire((tmp_path / "stepped").exists)
    record, _ = run(source, "function:main:step")
    assert record.status is Status.TIMEOUT
    assert [path.read_text() for path in tmp_path.glob("own*")] == [""] * 40


def test_output_without_end_is_limited(run, expire, tmp_path, monkeypatch):
    monkeypatch.setattr("opperf.programs.streams.MOST_PRINTED_BYTES", 1 << 20)
    source = COUNTING.format(n=15) + "\nwhile True: print('y' * 1000)"
    expire(lambda: "is not kept" in streamed(tmp_path))
    record, [events] = run(source, stop=100)
    assert record.status is Status.TIMEOUT
    assert sum(len(event.data) for event in events if event.event == "line") <= 1 << 20
    assert any(event.event == "message" for event in events)
    assert events[-1].event == "end"


TOKEN = f"sleep_of_{os.getpid()}"
"""In the commands of processes that tests of this process have started, and of no other."""


SLEEP_S = 600

FORKS = f"""
import os, subprocess, sys
for session in (False, True):
    subprocess.Popen(
        [sys.executable, "-c", "import time; {TOKEN} = time.sleep({SLEEP_S})"],
        start_new_session=session,
    )
"""


def _words(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def gone():
    return wait_for(lambda: not any(TOKEN in _words(process) for process in psutil.process_iter()))


@pytest.mark.parametrize("more", ["", "\nimport time; time.sleep(600)"])
def test_a_program_that_forks_and_never_ends_is_ended_with_its_forks(run, more):
    record, _ = run(FORKS + COUNTING.format(n=40) + more)
    assert record.status is Status.OK, record.reason
    # Not that of the forks.
    assert record.wall_s < SLEEP_S
    assert gone()


def test_a_time_out_is_called_that(run, expire, tmp_path):
    source = COUNTING.format(n=15) + FORKS + "\nsay(forked=True)\nimport time; time.sleep(600)"
    expire(lambda: "forked" in streamed(tmp_path))
    record, [events] = run(source, stop=100, settings=Settings(timeout_s=100))
    assert record.status is Status.TIMEOUT
    assert record.reason.startswith("not finished after 100 s, with 15 observations")
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
        ("import os; os.kill(os.getpid(), 9)", Status.CRASHED, "ended by SIGKILL"),
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


def test_a_kill_from_another_thread_ends_the_program(run, tmp_path):
    script = tmp_path / "main.py"
    script.write_text("import time; open('up', 'w'); time.sleep(600)")
    case = Case(ScriptTarget("bench", str(script)), {}, passes=())
    programs, records = Programs(), []
    thread = threading.Thread(target=lambda: records.append(programs.measure(case)))
    thread.start()
    assert wait_for((tmp_path / "up").exists)
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
        "from opperf.model import *\nfrom opperf.programs.measuring import Programs\n"
        f"case = Case(ScriptTarget('bench', {str(script)!r}), {{}}, passes=())\n"
        f"Programs().measure(case, Path({str(tmp_path)!r}, 'streams'))\n"
    )
    process = subprocess.Popen([sys.executable, tmp_path / "measuring.py"])
    assert wait_for(lambda: '"up' in streamed(tmp_path))
    children = psutil.Process(process.pid).children()
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


def test_a_second_measuring_leaves_the_first_stream(run, tmp_path):
    first, _ = run("print(1)")
    second, _ = run("print(1)")
    assert first.processes[0].stream != second.processes[0].stream
    assert len(list((tmp_path / "streams").iterdir())) == 2


def test_a_node_whose_processes_observe_nothing_has_samples_of_its_machine(run):
    quiet = "import time; time.sleep(0.2)"
    part, _ = run(quiet, nodes=2, place=Place(rank=1, name="b", port=1))
    assert part.status is Status.FAILED and part.reason == "made no observation"
    assert part.samples["program_memory"][0] > 0 and "rate" not in part.samples
    alone, _ = run(quiet)
    assert not alone.samples
