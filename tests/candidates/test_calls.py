"""Files of problems that are made of scripts."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from opperf.candidates.calls import Row, Script, read_script, write_baseline, write_problem
from opperf.candidates.model import Problem
from opperf.model import TensorSpec

TORCH = """
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng([7, 11])
self = torch.from_numpy(rng.random((2, 3)))

with torch.no_grad():
    out = torch.compile(torch.softmax, dynamic=False)(self, -1)
"""

AUTOCAST = """
self = torch.ones(2)
with torch.autocast('cpu', torch.bfloat16, cache_enabled=False):
    out = torch.softmax(self, -1)
"""

JAX = """
import jax

x = jax.numpy.ones(2)


def call(x):
    return jax.nn.softmax(x)


out = jax.block_until_ready(jax.jit(call)(x))
"""

MADE = ("rng = np.random.default_rng([seed, 7, 11])", "self = torch.from_numpy(rng.random((2, 3)))")


@pytest.mark.parametrize(
    ("script", "names", "parts"),
    [
        (
            TORCH,
            {"data": "self"},
            Script(
                (
                    *("import numpy as np", "import torch", "torch.manual_seed(0)"),
                    "compiled = torch.compile(torch.softmax, dynamic=False)",
                ),
                MADE,
                ("return compiled(data, -1)",),
            ),
        ),
        (
            AUTOCAST,
            {"data": "self"},
            Script(
                (),
                ("self = torch.ones(2)",),
                (
                    "with torch.autocast('cpu', torch.bfloat16, cache_enabled=False):\n"
                    "    return torch.softmax(data, -1)",
                ),
            ),
        ),
        (
            JAX,
            {"data": "x"},
            Script(
                (
                    "import jax",
                    "def call(x):\n    return jax.nn.softmax(x)",
                    "compiled = jax.jit(call)",
                ),
                ("x = jax.numpy.ones(2)",),
                ("return compiled(data)",),
            ),
        ),
        (
            "a0 = 1\na1 = 2\nout = np.concatenate([a0, a1], axis=1)",
            {"tensors.0": "a0", "tensors.1": "a1"},
            Script(
                (),
                ("a0 = 1", "a1 = 2"),
                ("return np.concatenate([tensors[0], tensors[1]], axis=1)",),
            ),
        ),
    ],
)
def test_a_script_in_parts(script: str, names: dict[str, str], parts: Script) -> None:
    assert read_script(script, names) == parts


def test_files_of_rows(tmp_path: Path) -> None:
    made = "import numpy as np\nrng = np.random.default_rng([{0}])\na = rng.random({0})\n"
    rows = []
    for length in (2, 3):
        names = {"tensors.0": "a"}
        script = read_script(f"{made.format(length)}out = np.sort(a)", names)
        roles = {"tensors": (TensorSpec((length,), "float64"),), "axis": -1}
        rows.append(Row({"tensors": f"({length},)", "axis": "-1"}, roles, names, script))
    template = Problem("sort", "numpy", "", rtol=1e-3)
    roles = ("tensors", "axis", "order")
    problem = write_problem(tmp_path, template, roles, rows)
    assert (
        Path(problem.file).read_text()
        == """\
import numpy as np


def reference(tensors, axis, order):
    return np.sort(tensors[0])


def inputs0(seed):
    rng = np.random.default_rng([seed, 2])
    a = rng.random(2)
    return [[a], -1, None]


def inputs1(seed):
    rng = np.random.default_rng([seed, 3])
    a = rng.random(3)
    return [[a], -1, None]


INPUTS = {
    ('(2,)', '-1'): inputs0,
    ('(3,)', '-1'): inputs1,
}


def make_inputs(seed, **trial):
    return INPUTS[tuple(trial.values())](seed)
"""
    )
    assert (problem.rtol, [trial["tensors"] for trial in problem.trials]) == (
        1e-3,
        ["(2,)", "(3,)"],
    )
    functions = runpy.run_path(problem.file)
    inputs = [functions["make_inputs"](seed, **problem.trials[1]) for seed in (1, 2, 1)]
    assert len(inputs[0][0][0]) == 3
    assert np.array_equal(inputs[0][0][0], inputs[2][0][0])
    assert not np.array_equal(inputs[0][0][0], inputs[1][0][0])
    beside = runpy.run_path(write_baseline(tmp_path, "numpy:own", roles, rows))
    arguments = ([np.array([2, 1])], -1, None)
    assert list(beside["candidate"](*arguments)) == list(functions["reference"](*arguments))
