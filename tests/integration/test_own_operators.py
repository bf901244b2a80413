"""A user's own operators from the command line: functions, and custom operators of MXNet."""

import json
import subprocess
import sys

import pytest

from opperf.model import Status
from opperf.results.runfile import read_run
from tests.cutting import cut_last_case

KERNELS = """
import mxnet as mx
import numpy as np

def scaled_add(x, y, alpha=0.5):
    return x + alpha * y

def make():
    drawn = mx.nd.random.normal(shape=(6, 7))
    return [{"x": drawn, "y": (6, 7), "alpha": 2.0}, {"x": np.ones((3, 2)), "y": np.ones((3, 2))}]

class Gain(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1].reshape((1, -1)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1].reshape((1, -1)))
        self.assign(in_grad[1], req[1], (out_grad[0] * in_data[0]).sum(axis=0))

class Declaration(mx.operator.CustomOpProp):
    def __init__(self, power="1"):
        super().__init__(need_top_grad=True)

    def list_arguments(self):
        return ["data", "gain"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][1],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Gain()

mx.operator.register("opperf_test_gain")(Declaration)
# The name of one of MXNet's own.
mx.operator.register("relu")(Declaration)
"""

FUNCTIONS = """
import numpy as np

def scaled_add(x, y, alpha=0.5):
    return x + alpha * y

def make():
    return [{"x": np.ones((3, 2)), "y": np.ones((3, 2))}]
"""
"""Functions for what is refused by any framework, of that which starts soonest."""

SHORT = ("--size", "small", "-w", "0", "-r", "2", "-f", "jsonl")


@pytest.fixture
def kernels(module_command_here):
    """Commands beside the file; MXNet registers its operators once in a process."""
    (module_command_here.folder / "kernels.py").write_text(KERNELS)
    return module_command_here


def records(command, name):
    run, _ = read_run(command.folder / name)
    return run.records


def test_a_custom_operator_is_measured_under_its_name(kernels):
    options = ("--import", "./kernels.py", "--shape", "data=64x32", "-o", "gain.jsonl")
    kernels("run", "opperf_test_gain", *options, *SHORT)
    (record,) = records(kernels, "gain.jsonl")
    assert (record.status, record.case.label) == (Status.OK, "opperf_test_gain")
    assert {n: spec.shape for n, spec in record.case.tensors()} == {"data": (64, 32), "gain": (32,)}
    assert {"forward", "backward", "memory"} <= record.summaries.keys()
    kernels("run", "gain.jsonl", "-f", "jsonl", "-o", "again.jsonl")
    assert records(kernels, "again.jsonl")[0].status is Status.OK


def test_custom_operators_are_shown_and_listed(kernels):
    options = ("--import", "./kernels.py")
    out, _ = kernels("show", "Custom:relu", *options, "--size", "small", "--format", "json")
    (case,) = json.loads(out)["cases"]
    assert "mx.nd.Custom(data, gain, op_type='relu')" in case["script"]
    # In a process of its own, as it registers the operators there.
    subprocess.run(
        [sys.executable, "-c", case["script"]],
        check=True,
        env=kernels.variables,
        cwd=kernels.folder,
    )
    out, _ = kernels("list", "opperf_test_gain", *options)
    assert "data, gain, power=1" in out and "Custom:opperf_test_gain" in out


def test_arms_name_them_too(kernels, plan_arms, module_worker):
    plan_arms(module_worker)
    arms = ("--a", "ops:opperf_test_gain", "--b", "ops:Custom:relu")
    shape = ("--import", "kernels", "--shape", "data=8x4", "--arg", "power=3")
    out, _ = kernels("ab", *arms, *shape, "--dry-run")
    assert "data: (8, 4), gain: (4,), power: 3" in out


def test_inputs_by_a_function_are_resumed_and_measured_again(kernels):
    inputs = ("--inputs", "kernels:make", "-o", "added.jsonl")
    kernels("run", "kernels:scaled_add", *inputs, *SHORT[2:])
    assert [record.status for record in records(kernels, "added.jsonl")] == [Status.OK] * 2
    cut_last_case(kernels.folder / "added.jsonl")
    kernels("run", "--resume", "added.jsonl")
    assert [record.status for record in records(kernels, "added.jsonl")] == [Status.OK] * 2
    kernels("run", "added.jsonl", "--dtype", "float64", "-f", "jsonl", "-o", "wide.jsonl")
    wide = records(kernels, "wide.jsonl")
    assert {one.case.settings.dtype for one in wide} == {"float64"}
    assert {one.status for one in wide} == {Status.OK}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("exp", "--import", "nothing"), "nothing: No module named 'nothing'; install it"),
        (("exp", "--import", "./nothing.py"), "nothing.py: no such file"),
        (("exp", "--import", "broken.py"), "broken.py:1 cannot be loaded: NameError"),
        (("exp", "--import", "unfinished.py"), "unfinished.py:1 cannot be loaded: SyntaxError"),
        (("functions.py:nothing",), "functions.py has no 'nothing'"),
        (("functions:scaled_add", "--shape", "x=4x0"), "'4x0' is not a shape"),
        (("functions:scaled_add", "--arg", "alpha"), "'alpha' is not of the form axis=1"),
        (("functions:scaled_add", "--arg", "alpha=(1,"), "'(1,' is not a value for alpha"),
        (("functions:scaled_add", "--arg", "beta=1"), "scaled_add has no argument 'beta'"),
        (
            ("exp", "--inputs", "functions:make"),
            "it has no argument 'y', which functions:make returns",
        ),
        (("exp", "--inputs", "functions:make", "--size", "small"), "--size has no effect with"),
    ],
)
def test_what_is_refused(module_command_here, arguments, words):
    command = module_command_here
    (command.folder / "functions.py").write_text(FUNCTIONS)
    (command.folder / "broken.py").write_text("undefined\n")
    (command.folder / "unfinished.py").write_text("def (")
    _, err = command("run", *arguments, "--framework", "numpy", code=2)
    assert err.startswith("opperf: ") and words in err and err.count("\n") == 1
    assert not list(command.folder.glob("*benchmarks*"))
