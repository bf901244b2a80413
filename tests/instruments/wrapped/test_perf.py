"""perf's commands, its counts, and what the kernel lets a user count."""

from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.instruments.wrapped import perf
from opperf.instruments.wrapped.perf import PerfRecord, PerfStat, check_paranoid, counts
from opperf.instruments.wrapped.program import Calls, ProcessFiles
from opperf.model import NoteCode, Wrapper

TEXT = """# started on Fri Nov 27 03:08:33 2026

24000;;cycles:u;17993361;100.00;;
<not supported>;;cpu_core/cache-misses/;0;100.00;;
<not supported>;;branch-misses:u;0;100.00;;
0.75;msec;task-clock;750000;100.00;0.9;CPUs utilized
12;;probe:own;1;100.00;;
"""


@pytest.fixture
def files(tmp_path):
    control = (tmp_path / "commands", tmp_path / "answers")
    made = ProcessFiles(tmp_path / "report", tmp_path / "log", tmp_path / "table", control)
    made.table.write_text(TEXT)
    return made


def test_a_pass_has_the_mean_of_its_calls_without_what_a_span_costs(files):
    made = {"ab12": {"forward": Calls(calls=10, spans=2)}}
    found = PerfStat().read(files, made, {"cycles": 2000.0})["ab12"]
    assert found.samples["perf_cycles"] == [2000.0]
    assert found.samples["perf_task_clock"] == [75_000.0]
    assert found.units["perf_task_clock"] == "ns"
    # An event that is not in the table has perf's own name.
    assert found.samples["perf.probe:own"] == [1.2]


def test_a_span_without_a_call_is_a_share_of_all(files):
    assert PerfStat().read_empty(files, 20)["cycles"] == 1200.0
    backward = PerfStat().read(files, {"ab12": {"backward": Calls(1, 1)}}, {})["ab12"]
    assert backward.samples["perf_cycles_backward"] == [24000.0]


def test_events_that_are_not_counted_are_one_note(files):
    found = PerfStat().read(files, {"ab12": {"forward": Calls(1, 1)}}, {})["ab12"]
    (note,) = found.notes
    assert note.code == NoteCode.NOT_PROFILED
    assert note.message == (
        "perf stat: cache-misses, branch-misses: not supported here, as on most virtual machines"
    )
    assert not [name for name in found.samples if "misses" in name]


def test_names_of_events_are_those_without_cores_and_modifiers():
    assert [event.name for event in counts(TEXT)] == [
        "cycles",
        "cache-misses",
        "branch-misses",
        "task-clock",
        "probe:own",
    ]


def test_counting_begins_with_the_calls(files):
    control = ",".join(map(str, files.control))
    words = PerfStat().command(Wrapper("perf stat", ("perf", "stat"), 5, 10), files)
    assert words[:4] == ["perf", "stat", "--delay=-1", f"--control=fifo:{control}"]
    assert words[-2:] == ["-e", ",".join(perf.EVENTS)]
    own = PerfStat().command(
        Wrapper("perf stat", ("/usr/bin/perf", "stat", "-e", "x"), 5, 10), files
    )
    assert own[0] == "/usr/bin/perf" and own[-2:] == ["-e", "x"] and own.count("-e") == 1
    record = PerfRecord().command(Wrapper("perf record", ("perf", "record", "-g"), 5, 10), files)
    assert record[-2:] == [f"--output={files.report}.data", "-g"]


@pytest.mark.parametrize("word", ["-x,", "-r5", "--repeat=3", "--output", "--per-core", "-I"])
def test_options_that_change_the_table_are_one_line(word):
    with pytest.raises(UsageError, match=f"omit {word}, as opperf says when perf counts"):
        PerfStat().check(Wrapper("perf stat", ("perf", "stat", "-d", word), 5, 10), [])


def test_a_kernel_that_forbids_counting_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(perf, "PROCFS", tmp_path)
    monkeypatch.setattr(perf.os, "geteuid", lambda: 1000)
    setting = Path(tmp_path / "sys/kernel/perf_event_paranoid")
    setting.parent.mkdir(parents=True)
    for allowed in ("2\n", "-1\n", ""):
        setting.write_text(allowed)
        check_paranoid("--batch-cmd")
    setting.write_text("4\n")
    with pytest.raises(UsageError, match="perf_event_paranoid is 4; allow it: sudo sysctl"):
        check_paranoid("--batch-cmd")
    monkeypatch.setattr(perf.os, "geteuid", lambda: 0)
    check_paranoid("--batch-cmd")
