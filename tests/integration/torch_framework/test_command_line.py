"""PyTorch from the command line: names, variants, a user's operators, refusals."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from opperf.results.runfile import read_run  # noqa: E402

FEW = ("--framework", "torch", "--size", "small", "-w", "1", "-r", "2", "--quiet")

OPERATORS = """
import torch

@torch.library.custom_op("mylib::scaled_add", mutates_args=())
def scaled_add(x: torch.Tensor, y: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return x + scale * y

@scaled_add.register_fake
def _(x, y, scale=2.0):
    return torch.empty_like(x)

def setup_context(ctx, inputs, output):
    ctx.scale = inputs[2]

def backward(ctx, gradient):
    return gradient, ctx.scale * gradient, None

scaled_add.register_autograd(backward, setup_context=setup_context)
"""


def run(command, *arguments, code=0):
    """The results of a run as JSON."""
    command("run", *arguments, *FEW, "-o", "out.json", "--overwrite", code=code)
    return json.loads((command.folder / "out.json").read_text())


def test_forward_backward_and_memory(command_here):
    results = run(command_here, "exp", "aten::add.Tensor")
    assert set(results) == {"exp", "add.Tensor"}
    for first, *_ in results.values():
        assert first["forward_mean_ms"] > 0
        assert first["backward_mean_ms"] >= 0
        assert first["memory_kB"] > 0


def test_every_variant_of_a_name(command_here):
    few = ("--max-configs", "1", "--no-memory")
    results = run(command_here, "sqrt", "--variants", "in-place,out", *few)
    assert set(results) == {"sqrt", "sqrt_", "sqrt.out"}


@pytest.mark.skipif(
    torch.backends.quantized.engine not in ("x86", "fbgemm"), reason="its engine packs otherwise"
)
def test_packed_weights_are_in_a_run_file(command_here):
    few = ("--max-configs", "1", "--no-memory", "-o", "out.jsonl")
    command_here("run", "quantized::linear", *FEW, *few)
    run, _ = read_run(command_here.folder / "out.jsonl")
    (record,) = run.records
    (_, weight) = (spec for _, spec in record.case.tensors())
    assert (record.status, weight.layout) == ("ok", "packed_linear")
    # The id that the file has is that of the case as it is read.
    assert record.id == record.case.id


# PyTorch compiles for it in each of its processes.
@pytest.mark.sweep
def test_operators_that_a_users_module_registers(command_here):
    (command_here.folder / "my_ops.py").write_text(OPERATORS)
    own = ("--import", "my_ops.py")
    results = run(command_here, "mylib::scaled_add", *own)
    (result,) = results["mylib::scaled_add"]
    assert result["backward_mean_ms"] > 0
    own = (*own, "--framework", "torch")
    out, _ = command_here("list", "--namespace", "mylib", *own)
    assert "1 operator" in out
    out, _ = command_here("show", "mylib::scaled_add", *own, "--size", "small", "--format", "json")
    (case,) = json.loads(out)["cases"]
    subprocess.run([sys.executable, "-c", case["script"]], check=True)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("add.Tensro",), "PyTorch has no operator 'add.Tensro'; did you mean add.Tensor?"),
        (("addd",), "no operator is called 'addd'; did you mean add?"),
        (("torch.adddd",), "'torch.adddd': torch has no 'adddd'; did you mean add"),
        (("nolib::nothing",), "PyTorch has no operator 'nolib::nothing'"),
        (("relu", "--ctx", "gpu(7)"), "gpu(7): this build of PyTorch"),
        (("relu", "--ctx", "abacus"), "unknown device 'abacus'"),
        (("relu", "--dtype", "flaot16"), "unknown dtype 'flaot16'; did you mean float16"),
        (("relu", "--mode", "hybrid"), "unknown mode 'hybrid'"),
        (("relu", "--tag", "cor"), "unknown tag 'cor'; did you mean core"),
        (("relu", "--variants", "in-palce"), "unknown variant 'in-palce'; did you mean in-place"),
    ],
)
def test_what_is_wrong_is_one_line(command_here, arguments, message):
    assert_refused(command_here, arguments, message)


def test_a_module_that_registers_nothing_is_one_line(command_here):
    (command_here.folder / "empty.py").write_text("")
    message = "--import empty.py: the module registers no operator"
    assert_refused(command_here, ("relu", "--import", "empty.py"), message)


def assert_refused(command, arguments, message):
    """The command ends with 2, one line that has the message, and no file."""
    _, err = command("run", *arguments, *FEW, "-o", "out.json", code=2)
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (command.folder / "out.json").exists()


def test_a_dtype_that_an_operator_lacks_is_skipped(command_here):
    _, err = command_here(
        *("run", "linalg_inv", "exp", "--dtype", "float16,float32", "--max-configs", "1"),
        *(*FEW, "--no-memory", "-o", "out.jsonl"),
    )
    records = [
        found
        for line in (command_here.folder / "out.jsonl").read_text().splitlines()
        if (found := json.loads(line))["line"] == "record"
    ]
    skipped = [one["reason"] for one in records if one["status"] == "skipped"]
    assert skipped and all("Half" in reason or "float16" in reason for reason in skipped)


def test_the_dispatcher_says_what_has_no_kernel(command_here):
    _, err = command_here("run", "cudnn_convolution", *FEW, "-o", "out.json", code=2)
    assert "has no kernel of it for cpu(0)" in err


def test_show_names_the_models_of_recorded_inputs(command_here):
    out, _ = command_here("show", "native_layer_norm", "--framework", "torch", "--size", "small")
    assert "BERT" in out or "ViT" in out
    assert "torch.ops.aten.native_layer_norm.default(" in out
