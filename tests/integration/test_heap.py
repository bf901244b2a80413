"""What opperf calls by itself writes to no memory that is not its own: glibc checks the heap."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAM = Path(__file__).with_name("heap_sweep.py")
ROOT = PROGRAM.parents[2]

LIBRARY = "libc_malloc_debug.so.0"
"""What checks the heap, in a library of glibc's own since 2.34."""

CHECKED = {"LD_PRELOAD": LIBRARY, "GLIBC_TUNABLES": "glibc.malloc.check=3"}
"""Variables with which a block that was written behind is told when it is given back: the process
prints what is wrong, and is ended."""

OVERFLOW = """
import ctypes
import opperf
import mxnet as mx
array = mx.nd.zeros((5,))
array.wait_to_read()
data = ctypes.c_void_p()
mx.base.check_call(mx.base._LIB.MXNDArrayGetData(array.handle, ctypes.byref(data)))
ctypes.memset(data.value, 1, 5 * 4 + 1)
del array
mx.nd.waitall()
"""
"""A byte too many written to an array of MXNet's: harmless where nobody checks, as blocks are
rounded up."""

SIZES = ("16x16", "5x7", "2x3x4x5", "40")
"""Shapes of which one is square, one is not, and two have other axes than most rules. The rules'
own are called by the sweeps over the registry and over paths."""

MOST_CRASHES = 10
"""Processes of one sweep that are replaced: so many crashes tell enough."""

LEAST_CALLS = 900
"""Distinct calls that a sweep at least makes and that work: MXNet 1.9.1 has 1100 functions."""


def variables(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def ends(code: str, **more: str) -> int:
    """The exit code of a program in Python."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=variables(**more), capture_output=True).returncode


def checker_is_there() -> bool:
    done = subprocess.run(["/bin/true"], env=variables(**CHECKED), capture_output=True, text=True)
    return done.returncode == 0 and "cannot be preloaded" not in done.stderr


CHECKED_IF_POSSIBLE = CHECKED if checker_is_there() else {}
"""Variables of the processes that call what MXNet has for other reasons, too."""

needs_the_checker = pytest.mark.skipif(
    not CHECKED_IF_POSSIBLE, reason=f"{LIBRARY} cannot be loaded: glibc 2.34 or newer has it"
)


@needs_the_checker
def test_a_byte_too_many_ends_a_process_that_is_checked_and_no_other():
    assert ends(OVERFLOW, **CHECKED) == -signal.SIGABRT
    assert ends(OVERFLOW) == 0


class Swept(NamedTuple):
    """What became of the calls of a sweep."""

    statuses: Counter[str]
    reasons: dict[str, str]
    """Of the calls that did not work, by name."""
    crashes: dict[str, str]
    """How the process ended, by the name of the call it was ended in, and of those before it."""


def swept(size: str, folder: Path) -> Swept:
    """Make the calls of a sweep. A crash costs its own call: a new process goes on behind it."""
    found = Swept(Counter(), {}, {})
    begin, crashed = 0, []
    while len(crashed) <= MOST_CRASHES:
        process = subprocess.run(
            [sys.executable, str(PROGRAM), size, str(begin), *crashed],
            cwd=folder,
            env=variables(**CHECKED),
            capture_output=True,
            text=True,
        )
        told = [json.loads(line) for line in process.stdout.splitlines()]
        assert told, process.stderr
        for line in told:
            if "status" in line:
                found.statuses[line["status"]] += 1
                if line["status"] != "ok":
                    found.reasons[line["called"]] = line["reason"]
        *_, last = [line for line in told if "job" in line]
        if last["number"] < 0:
            return found
        begin = last["number"]
        crashed.append(told[-1].get("call", last["job"]))
        before = [line["called"] for line in told if "called" in line][-2:]
        words = (process.stderr.strip().splitlines() or [""])[-1]
        found.crashes[crashed[-1]] = f"{process.returncode}, after {before}: {words}"
    return found


@needs_the_checker
@pytest.mark.sweep
@pytest.mark.parametrize("size", SIZES)
def test_no_call_breaks_the_heap(size, tmp_path):
    found = swept(size, tmp_path)
    assert found.crashes == {}
    assert found.statuses["ok"] >= LEAST_CALLS
    # What cannot be called has a record that tells why, and raises nothing.
    assert found.statuses["error"] == 0
    assert all(found.reasons.values())
