"""Memory is the operator's own: exactly what arithmetic on its tensors says."""

from __future__ import annotations

import math
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd

from opperf.model import NoteCode

MEMORY = "max_storage_mem_alloc_cpu/0"
WIDE = (1024, 1024)


def kb(*shapes, dtype="float32"):
    """Kilobytes of 1000 bytes that dense tensors of these shapes take."""
    return sum(math.prod(shape) for shape in shapes) * np.dtype(dtype).itemsize / 1000


# What is called, its inputs, and the shapes of its outputs. None of them asks MXNet for
# workspace, as batch_dot does.
FORWARD = {
    "relu": (nd.relu, {"data": WIDE}, [WIDE]),
    "exp": (nd.exp, {"data": (300, 70)}, [(300, 70)]),
    "broadcast_add": (nd.broadcast_add, {"lhs": (512, 1), "rhs": (1, 256)}, [(512, 256)]),
    "elemwise_mul": (nd.elemwise_mul, {"lhs": (96, 96), "rhs": (96, 96)}, [(96, 96)]),
    "dot": (nd.dot, {"lhs": (256, 128), "rhs": (128, 512)}, [(256, 512)]),
    "concat": (nd.concat, {"data": [(128, 64), (32, 64)], "dim": 0}, [(160, 64)]),
    "stack": (nd.stack, {"data": [(64, 64)] * 3, "axis": 0}, [(3, 64, 64)]),
    "add_n": (nd.add_n, {"args": [(128, 128)] * 4}, [(128, 128)]),
    "FullyConnected": (
        nd.FullyConnected,
        {"data": (64, 256), "weight": (128, 256), "bias": (128,), "num_hidden": 128},
        [(64, 128)],
    ),
    "transpose": (nd.transpose, {"data": (256, 512)}, [(512, 256)]),
    "tile": (nd.tile, {"data": (64, 64), "reps": (2, 3)}, [(128, 192)]),
    "argmax": (nd.argmax, {"data": (512, 512), "axis": 1}, [(512,)]),
    "one_hot": (nd.one_hot, {"indices": (512,), "depth": 100}, [(512, 100)]),
    "slice_axis": (
        nd.slice_axis,
        {"data": (512, 64), "axis": 0, "begin": 0, "end": 100},
        [(100, 64)],
    ),
    "take": (nd.take, {"a": (512, 64), "indices": (100,)}, [(100, 64)]),
    "Embedding": (
        nd.Embedding,
        {"data": (64,), "weight": (1000, 32), "input_dim": 1000, "output_dim": 32},
        [(64, 32)],
    ),
    "split": (nd.split, {"data": (64, 512), "num_outputs": 4}, [(64, 128)] * 4),
    "zeros": (nd.zeros, {"shape": (333, 3)}, [(333, 3)]),
    "np.add": (mx.np.add, {"x1": (256, 128), "x2": (256, 128)}, [(256, 128)]),
    "npx.relu": (mx.npx.relu, {"data": (256, 128)}, [(256, 128)]),
}


@pytest.mark.parametrize("name", FORWARD)
def test_forward_takes_its_outputs(result, name):
    function, inputs, outputs = FORWARD[name]
    assert result(function, inputs, run_backward=False)[MEMORY] == pytest.approx(
        kb(*outputs), abs=5e-4
    )


def test_relu_over_a_million_floats_takes_4194304_bytes(result):
    assert result(nd.relu, {"data": WIDE}, run_backward=False)[MEMORY] == 4194.304


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]
)
def test_the_dtype_decides_the_size(result, dtype):
    shown = result(
        nd.broadcast_add, {"lhs": (512, 256), "rhs": (512, 256)}, dtype=dtype, run_backward=False
    )
    assert shown[MEMORY] == pytest.approx(kb((512, 256), dtype=dtype), abs=5e-4)


@pytest.mark.parametrize("to", ["float16", "float64", "int8"])
def test_a_cast_takes_what_it_casts_to(result, to):
    shown = result(nd.cast, {"data": (512, 256), "dtype": to}, run_backward=False)
    assert shown[MEMORY] == pytest.approx(kb((512, 256), dtype=to), abs=5e-4)


# What is called, its inputs, the shapes of its outputs, and of the inputs with a gradient.
# With the backward pass there are the outputs, as many head gradients, and the gradients.
BACKWARD = {
    "relu": (nd.relu, {"data": WIDE}, [WIDE], [WIDE]),
    "broadcast_add": (nd.broadcast_add, {"lhs": WIDE, "rhs": WIDE}, [WIDE], [WIDE, WIDE]),
    "dot": (nd.dot, {"lhs": (256, 128), "rhs": (128, 512)}, [(256, 512)], [(256, 128), (128, 512)]),
    "concat": (
        nd.concat,
        {"data": [(128, 64), (32, 64)], "dim": 0},
        [(160, 64)],
        [(128, 64), (32, 64)],
    ),
    "FullyConnected": (
        nd.FullyConnected,
        {"data": (64, 256), "weight": (128, 256), "bias": (128,), "num_hidden": 128},
        [(64, 128)],
        [(64, 256), (128, 256), (128,)],
    ),
    "transpose": (nd.transpose, {"data": (256, 512)}, [(512, 256)], [(256, 512)]),
    "split": (nd.split, {"data": (64, 512), "num_outputs": 4}, [(64, 128)] * 4, [(64, 512)]),
    "tile": (nd.tile, {"data": (64, 64), "reps": (2, 3)}, [(128, 192)], [(64, 64)]),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_adds_head_gradients_and_gradients(result, name):
    function, inputs, outputs, differentiated = BACKWARD[name]
    shown = result(function, inputs, run_backward=True)
    assert shown[MEMORY] == pytest.approx(kb(*outputs, *outputs, *differentiated), abs=5e-4)


def test_the_forward_peak_is_kept_beside_that_of_both(record):
    summaries = record(nd.relu, {"data": WIDE}).summaries
    one = math.prod(WIDE) * 4
    assert (summaries["memory_forward"].median, summaries["memory"].median) == (one, 3 * one)


def test_a_dropped_output_does_not_count_for_the_next_case(result):
    for _ in range(3):
        assert result(nd.relu, {"data": WIDE}, run_backward=False)[MEMORY] == 4194.304


FIRST_AND_LATER = """
import opperf
from mxnet import nd
from opperf.utils.benchmark_utils import run_performance_test

def relu():
    shown = run_performance_test(
        nd.relu, inputs=[{"data": (1024, 1024)}], run_backward=False, warmup=0, runs=2)
    print("kB", shown[0]["relu"][0]["max_storage_mem_alloc_cpu/0"])

relu()
for i in range(50):
    for op in (nd.exp, nd.negative, nd.sigmoid, nd.square):
        op(nd.ones((64 + i, 64)))
for shape in [(2048, 2048), (7, 3), (1000, 100)]:
    run_performance_test([nd.sqrt, nd.tanh], inputs=[{"data": shape}], warmup=0, runs=1)
relu()
"""


def test_first_in_the_process_and_after_many_others_are_the_same(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FIRST_AND_LATER)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    shown = [line for line in done.stdout.splitlines() if line.startswith("kB")]
    assert shown == ["kB 4194.304"] * 2, done.stderr[-2000:]
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


WORKSPACE_FIRST_AND_LATER = """
import opperf
from mxnet import nd
from opperf.utils.benchmark_utils import run_performance_test

for _ in range(6):
    shown = run_performance_test(
        nd.sort, inputs=[{"data": (256, 256)}], run_backward=False, warmup=0, runs=1)
    print("kB", shown[0]["sort"][0]["max_storage_mem_alloc_cpu/0"])
"""


def test_workspace_does_not_depend_on_what_ran_before(tmp_path):
    """MXNet keeps workspace for later calls, in several slots that it uses in turn."""
    script = tmp_path / "script.py"
    script.write_text(WORKSPACE_FIRST_AND_LATER)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    shown = [line for line in done.stdout.splitlines() if line.startswith("kB")]
    assert len(shown) == 6, done.stderr[-2000:]
    assert len(set(shown)) == 1


def test_a_custom_operator_takes_the_same_every_time(result):
    """Its output, the gradient that comes in and the one that goes out; no array of its own."""
    custom = {"data": [(512, 256)], "op_type": "CustomAddOne"}
    shown = {result(nd.Custom, custom, runs=1)[MEMORY] for _ in range(10)}
    assert shown == {kb(*[(512, 256)] * 3)}


def test_memory_that_is_not_from_a_fork_says_so(record):
    mine = nd.ones((64, 64))
    own = record(nd.relu, {"data": (64, 64)})
    assert own.note("memory", NoteCode.NOT_PRISTINE) is None
    assert record(nd.relu, {"data": mine}).note("memory", NoteCode.NOT_PRISTINE) is not None
