"""A and B by counts of instructions, in workers under Valgrind."""

import json
import shutil
import signal
import sys

import pytest

from opperf.model import Status
from opperf.results.runfile import read_run

pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="apt-get install valgrind")

KERNELS = """
import os

TURNS = int(os.environ.get("TURNS", "1000"))


def loop(x):
    for one in range(TURNS):
        pass


def other(x):
    for one in range(1000):
        pass


def longer(x):
    for one in range(3000):
        pass
    return 2 * x
"""

WAIT_S = 300
"""How long a session may take on a busy machine; alone it takes ten seconds."""

COUNTS = ("--framework", "numpy", "--shape", "x=4", "--profiler", "instructions", "--report")


NAMES = ("./kernels.py:loop", "./kernels.py:other")


@pytest.fixture
def folder(command_here, one_core):
    """Where the functions are; commands that measure nothing are given in this process."""
    (command_here.folder / "kernels.py").write_text(KERNELS)
    return command_here.folder


def finish(process, code):
    """What a process says, whose workers are under Valgrind."""
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == code, out + err
    return out, err


def test_what_an_arm_changes_has_verdicts_and_its_functions(command_here, folder):
    """In a session that is interrupted and goes on."""
    # Another length of a variable changes no count.
    arms = ("--a", "env:TURNS=1000", "--b", "env:TURNS=2000", "--b", f"env:LONG={'y' * 3000}")
    arms = (*arms, "--b", f"python:{sys.executable}")
    with command_here.start("ab", *NAMES, *arms, *COUNTS, "s.jsonl", "-f", "json") as process:
        told = ""
        while "counting 4 cases of both arms" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        process.send_signal(signal.SIGINT)
        _, rest = finish(process, 130)
    assert "A: env:TURNS=1000\n" in told
    hint = "opperf ab --resume --report s.jsonl"
    line = rest.strip().splitlines()[-1]
    counts = "the counts are in s.jsonl"
    assert line == f"interrupted; {counts}. Resume with: {hint} -f json"
    first = (folder / "s.jsonl").read_bytes()
    resume = hint.split()[1:]
    _, err = command_here(*resume, "--a", "env:TURNS=7", "--b", "env:TURNS=8", code=2)
    assert "the run to resume was made with --a env:TURNS=1000, not env:TURNS=7" in err.replace(
        "'", ""
    )
    _, err = command_here(*resume, "--dtype", "float16", code=2)
    assert "the run to resume was made with --dtype" in err
    out, err = finish(command_here.start(*resume, "-f", "json"), 1)
    assert (folder / "s.jsonl").read_bytes().startswith(first)
    run, _ = read_run(folder / "s.jsonl")
    assert [record.status for record in run.records] == [Status.OK] * 4

    found = json.loads(out)
    verdicts = {row["operator"]: row["verdict"] for row in found["rows"]}
    assert verdicts == {"loop": "regressed", "other": "same"}
    (loop,) = (row for row in found["rows"] if row["operator"] == "loop")
    # Integers below 257 are there already.
    assert 1.5 < loop["ratio"] < 2.5
    assert "opperf: 1 regressed" in err
    assert found["explain"] == f"opperf explain s.jsonl {loop['id']}"
    out, _ = command_here(*found["explain"].split()[1:])
    # An integer for each turn.
    assert "PyLong_From" in out or "rangeiter_next" in out
    again, _ = command_here("compare", "s.jsonl", "-f", "json", code=1)
    assert json.loads(again)["rows"] == found["rows"]
    _, err = command_here("ab", *NAMES, *arms, *COUNTS, "s.jsonl", code=2)
    assert "s.jsonl exists; add --overwrite to replace it, or --resume to finish it" in err


def test_operators_are_compared_with_each_other(command_here, folder):
    arms = ("--a", "ops:./kernels.py:other", "--b", "ops:./kernels.py:longer")
    fail = ("--fail-on", "improved,ambiguous,different")
    out, err = finish(command_here.start("ab", *arms, *COUNTS, "s.jsonl", *fail, "-f", "json"), 1)
    (row,) = json.loads(out)["rows"]
    assert (row["results"], row["difference"][:7]) == ("different", "output:")
    assert "opperf: 1 different" in err
    both = ("compare", "s.jsonl", "--fail-on")
    assert "Results differ" in command_here(*both, "different", code=1)[0]
    assert command_here(*both, "improved")
    assert (row["operator"], row["verdict"]) == ("other | longer", "regressed")
    explain = json.loads(out)["explain"]
    title, _, first, *_ = command_here(*explain.split()[1:])[0].splitlines()
    assert title.startswith("other | longer (")
    side, path, *_ = first.split()
    assert side == "base" and path.startswith("s.callgrind/")
