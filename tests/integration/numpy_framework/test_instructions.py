"""Counts of instructions, in a worker under Valgrind."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.comparison.explaining.callgrind import read_dump
from opperf.model import Status
from opperf.results.runfile import read_run

pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="apt-get install valgrind")

FUNCTIONS = """
import threading


def loop(count):
    total = 0
    for one in range(count):
        total += one


def on_thread(count):
    thread = threading.Thread(target=loop, args=(count,))
    thread.start()
    thread.join()


def short(x):
    loop(2_000)


def long(x):
    loop(6_000)


def short_elsewhere(x):
    on_thread(2_000)


def long_elsewhere(x):
    on_thread(6_000)
"""

NAMES = ("short", "long", "short_elsewhere", "long_elsewhere")

UNKNOWN_INSTRUCTION = """
import ctypes
import mmap

page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# vaddps zmm0, zmm0, zmm0; ret
page.write(bytes.fromhex("62f17c4858c0c3"))
add = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))


def vector(x):
    add()
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory, one_core):
    """The run file, and its records by the function's name."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "loops.py").write_text(FUNCTIONS)
    (folder / "unknown.py").write_text(UNKNOWN_INSTRUCTION)
    # The last ends its worker, which need not be started again.
    words = [*(f"./loops.py:{name}" for name in NAMES), "./unknown.py:vector"]
    command = [sys.executable, "-m", "opperf", "run", *words, "--framework", "numpy"]
    options = ["--shape", "x=4", "-p", "instructions", "-r", "3", "--callgrind-cache"]
    subprocess.run([*command, *options, "-o", "counts.jsonl", "--quiet"], cwd=folder, check=False)
    path = folder / "counts.jsonl"
    run, _ = read_run(path)
    return path, {record.case.target.label: record for record in run.records}


def instructions(record):
    return record.summaries["instructions"].median


def test_work_on_another_thread_counts(counted):
    _, records = counted
    short, long, short_elsewhere, long_elsewhere = (instructions(records[name]) for name in NAMES)
    loops = long - short
    # 4,000 turns of a loop that takes a few dozen instructions each.
    assert 4_000 * 10 < loops < 4_000 * 1000
    assert long_elsewhere - short_elsewhere == pytest.approx(loops, rel=0.01)
    # A thread's start and end take far less.
    assert short < short_elsewhere < short + loops


def test_an_empty_call_is_not_part_of_the_count(counted):
    _, records = counted
    empty = records["short"].summaries["instructions_empty"].median
    assert 0 < empty < 0.01 * instructions(records["short"])


def test_simulated_events_are_there_where_they_are_asked_for(counted):
    _, records = counted
    found = records["long"].summaries
    assert found["branches"].median > 6_000
    assert found["branch_misses"].median < found["branches"].median
    assert found["l1_misses"].median >= found["last_level_misses"].median >= 0
    assert records["long"].samples["branches"] and len(records["long"].samples["branches"]) == 3


def test_a_dump_of_each_case_is_kept_beside_the_run_file(counted):
    path, records = counted
    kept = sorted(path.with_suffix(".callgrind").iterdir())
    assert [one.name for one in kept] == sorted(
        f"{records[name].id}.forward.callgrind" for name in NAMES
    )
    dump = read_dump(Path(kept[0]))
    assert dump.calls == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an instruction of x86-64")
def test_an_instruction_that_valgrind_does_not_know_ends_its_case_alone(counted):
    _, records = counted
    assert {name: record.status for name, record in records.items()} == {
        "vector": Status.CRASHED,
        **dict.fromkeys(NAMES, Status.OK),
    }
    words = "Valgrind does not know an instruction of the operator, 0x62 "
    assert records["vector"].reason.startswith(words)
