"""Stand-ins for the programs that profile a process: ncu, nsys, and perf with counters.

`profiling_programs.py NAME ARGUMENT...` checks its arguments, runs the command at their end, and
prints or writes what the real program does. A module `nvtx` on the command's path says which ranges
are open; ncu's stand-in launches two kernels in each innermost one, and one outside of any, and
filters them as ncu's manual says.
"""

import argparse
import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

NVTX = """
import atexit
import json
import os

LOG, stacks, started, nested = os.environ["STANDIN_NVTX"], {}, {}, set()


def launch():
    ranges = {"pushed": stacks, "started": list(started.values())}
    with open(LOG, "a") as file:
        print(json.dumps(ranges), file=file)


def push_range(message, domain):
    nested.add(len(stacks.setdefault(domain, [])))
    stacks[domain].append(message)


def pop_range(domain):
    if len(stacks[domain]) not in nested:
        launch()
    nested.discard(len(stacks[domain]))
    stacks[domain].pop()


def start_range(message, domain):
    number = max(started, default=0) + 1
    started[number] = [domain, message]
    return number


def end_range(number):
    del started[number]


launch()
"""


def write_program(folder, name):
    """Writes a program of this name that runs the stand-in; returns its path."""
    words = shlex.join([sys.executable, str(Path(__file__).resolve()), name])
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


def fail(message):
    print(f"==ERROR== {message}", flush=True)
    sys.exit(1)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(message)


def parser(*flags, **valued):
    made = Parser(allow_abbrev=False, prog=sys.argv[1])
    for flag in flags:
        made.add_argument(flag, action="store_true")
    for name, choices in valued.items():
        made.add_argument(f"--{name.replace('_', '-')}", choices=choices)
    made.add_argument("command", nargs=argparse.REMAINDER)
    return made


def run_command(command, **variables):
    """Runs the command, and returns its exit code as a shell has it."""
    if not command or not Path(command[0]).name.startswith("python"):
        fail(f"not a command: {command}")
    code = subprocess.run(command, env=os.environ | variables, check=False).returncode
    return code if code >= 0 else 128 - code


def matches(include, pushed, started):
    """Whether a kernel is in the range of `--nvtx-include`: with a slash at its end, one that a
    thread pushed; without, one that a process started."""
    domain, _, name = include.rpartition("@")
    if re.search(r"[\[\]+*,]", name):
        fail(f"quantifiers are not known here: {include}")
    if name.endswith("/"):
        return name[:-1] in pushed.get(domain or "<default domain>", [])
    return [domain or "<default domain>", name] in started


def ncu(arguments):
    made = parser(
        "--csv",
        "--nvtx",
        "--force-overwrite",
        page=["raw"],
        print_units=["base"],
        log_file=None,
        export=None,
        target_processes=["all"],
        metrics=None,
        set=["full"],
        cache_control=["none"],
    )
    made.add_argument("--nvtx-include", action="append", default=[])
    given = made.parse_args(arguments)
    if not (given.csv and given.page and given.nvtx and given.log_file):
        fail("no table of ranges was asked for")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nvtx.py").write_text(NVTX)
        log = folder / "log"
        log.touch()
        path = os.pathsep.join(filter(None, [name, os.environ.get("PYTHONPATH")]))
        code = run_command(given.command, STANDIN_NVTX=str(log), PYTHONPATH=path)
        launches = list(map(json.loads, log.read_text().splitlines()))
    text = io.StringIO()
    print("==PROF== Connected to process 1", file=text)
    columns = (given.metrics or "gpu__time_duration.sum,own__metric.avg").split(",")
    table = csv.writer(text, quoting=csv.QUOTE_ALL)
    kept = [
        (launch["pushed"], launch["started"])
        for launch in launches
        if any(matches(one, launch["pushed"], launch["started"]) for one in given.nvtx_include)
    ]
    if kept:
        head = ["ID", "Process ID", "thread Domain:Push/Pop_Range:PL_Type", "Kernel Name"]
        table.writerow([*head, "device__attribute_warp_size", *columns])
        table.writerow([*[""] * 5, *map(unit, columns)])
    for number, (pushed, _) in enumerate(kept):
        ranges = "  ".join(f'"{d}:{m}:none"' for d, stack in pushed.items() for m in stack)
        for kernel, ns in (("first", "1,024"), ("second", "3,072")):
            values = [value(column, ns) for column in columns]
            table.writerow([number, 1, f"1  {ranges}", kernel, 32, *values])
    if not kept:
        print("==WARNING== No kernels were profiled.", file=text)
    Path(given.log_file).write_text(text.getvalue())
    Path(f"{given.export}.ncu-rep").write_bytes(b"NVR\0")
    return code


def unit(column):
    if "time_duration" in column:
        return "nsecond"
    return "byte" if "bytes" in column else "%" if "pct" in column else ""


def value(column, ns):
    """Times of the two kernels, and of everything else 10 and 30, of which the mean by time is 25;
    one metric that this GPU lacks."""
    if "time_duration" in column:
        return ns
    return "n/a" if "l1tex" in column else "10" if ns == "1,024" else "30"


def nsys(arguments):
    first, *others = arguments
    if first != "profile":
        fail(f"unknown command {first}")
    if any(word in ("--output", "--trace", "--force-overwrite", "--stats") for word in others):
        fail("a value without an equals sign")
    made = parser(output=None, trace=None, force_overwrite=["true"], stats=["true"])
    given = made.parse_args(others)
    code = run_command(given.command)
    Path(f"{given.output}.nsys-rep").write_text(given.trace)
    return code


EMPTY, CALLS = 500, 12000
"""Cycles of a span without its calls, and of all calls."""


def perf(arguments):
    first, *others = arguments
    if first != "stat":
        fail(f"unknown command {first}")
    made = parser(control=None, delay=["-1"], output=None, field_separator=[";"])
    made.add_argument("-e", dest="events")
    given = made.parse_args(others)
    spans = []
    commands, answers = given.control.removeprefix("fifo:").split(",")
    # As perf opens them: neither waits for the other end.
    read, write = (os.open(path, os.O_RDWR) for path in (commands, answers))

    def answer():
        while True:
            command = os.read(read, 64)
            spans.extend(["enable"] * command.count(b"enable"))
            os.write(write, b"ack\n\0")

    threading.Thread(target=answer, daemon=True).start()
    code = run_command(given.command)
    cycles = EMPTY * len(spans) + (CALLS if len(spans) < 20 else 0)
    lines = [f"{cycles};;{event}:u;1;100.00;;" for event in given.events.split(",")]
    lines = [line.replace(str(cycles), "<not supported>", "cache" in line) for line in lines]
    Path(given.output).write_text("# started on a day\n\n" + "\n".join(lines) + "\n")
    return code


if __name__ == "__main__":
    sys.exit({"ncu": ncu, "nsys": nsys, "perf": perf}[sys.argv[1]](sys.argv[2:]))
