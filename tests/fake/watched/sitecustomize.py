"""Sends a process of opperf's a signal at the N-th call of a Python function that it makes, or at
the beginning of its N-th record.

A moment so chosen is the same on every machine and under every load, which one in seconds is not.
The file that OPPERF_MOMENT names says which: the process (`manager` or `worker`), the number of the
signal, `calls` or `records`, and N. The first process of the kind takes the file away, and counts
alone. With 0 for the signal it runs on, and writes the file anew at each record that it begins and
at its end: the numbers of the calls that began its first record and its latest one, and of the
latest call of all.
"""

# The process should import no more than without this module.
# ruff: noqa: PTH104, PTH108, PTH123

import atexit
import os
import sys


def role():
    """Returns the kind of opperf's process that this is."""
    words = " ".join(sys.orig_argv)
    if "opperf.worker.serve" in words:
        return "worker"
    return "manager" if "-m opperf" in words else ""


RECORDS = {"store_kept": "/execution/execute.py", "measure": "/worker/measure.py"}
"""Functions in which a manager and a worker begin a record, and their files."""


def watch(path, number, unit, moment):
    """Counts the calls and the records of this process's main thread."""
    counts = {"calls": 0, "records": 0}
    first = latest = 0
    mine = os.getpid()

    def called(frame, event, _):
        nonlocal first, latest
        if event != "call":
            return
        code = frame.f_code
        counts["calls"] += 1
        file = RECORDS.get(code.co_name)
        begins = file is not None and code.co_filename.endswith(file)
        counts["records"] += begins
        if number:
            # Of the calls of a record, the first is the moment.
            counted = unit == "calls" or begins
            if counted and counts[unit] == moment and os.getpid() == mine:
                os.kill(mine, number)
        elif begins:
            first, latest = first or counts["calls"], counts["calls"]
            write(path, f"{first} {latest} {counts['calls']}")

    if not number:
        atexit.register(lambda: write(path, f"{first} {latest} {counts['calls']}"))
    sys.setprofile(called)


def write(path, text):
    """Replaces the file as a whole."""
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def begin(path):
    """Watches this process, if the file exists and requests it."""
    try:
        with open(path) as file:
            wanted, number, unit, moment = file.read().split()
        if wanted != role():
            return
        os.unlink(path)
    except OSError:
        return
    watch(path, int(number), unit, int(moment))


if "OPPERF_MOMENT" in os.environ:
    begin(os.environ["OPPERF_MOMENT"])
