"""PyTorch's collective operators are measured in a group of two processes."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

SUMS = """
import torch
from opperf.frameworks import load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.model import Settings
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

framework = load("torch")
chosen = Selection(("_c10d_functional::all_*",), size="small", settings=Settings())
for case in plan(framework, chosen).cases:
    with case_scope(case, framework):
        prepared = PreparedCase(case, framework)
        made = [prepared.call() for _ in range(3)][-1]
        if case.label == "_c10d_functional::all_reduce":
            assert torch.equal(made, 2 * prepared.arguments["input"])
        elif case.label == "_c10d_functional::all_gather_into_tensor":
            assert torch.equal(made, torch.cat([prepared.arguments["input"]] * 2))
        print(case.label)
    assert not torch.distributed.is_initialized()
"""


def python(*words):
    run = [sys.executable, *words]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_sum_and_gather_in_the_scope_of_their_case():
    # In a process of its own, as a group is one process's.
    assert len(set(python("-c", SUMS).split())) == 5


def test_a_script_runs_in_two_processes(tmp_path):
    chosen = ("_c10d_functional::all_reduce", "--framework", "torch", "--size", "small")
    shown = python("-m", "opperf", "show", *chosen, "--max-configs", "1")
    script = [line[4:] for line in shown.splitlines() if line.startswith("    ") or not line]
    path = tmp_path / "script.py"
    path.write_text("\n".join([*script, "assert torch.equal(out, 2 * input)", 'print("summed")']))
    words = ("--standalone", "--nproc-per-node", "2", str(path))
    assert python("-m", "torch.distributed.run", *words).split() == ["summed", "summed"]
