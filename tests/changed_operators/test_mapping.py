"""Which operators a change of a repository maps to."""

import pytest

from opperf.changed_operators.mapping import MOST, map_changes
from opperf.errors import UsageError
from tests.changed_operators.trees import JAX, KERNELS, MXNET, TORCH, change, git, make

NATIVE = "aten/src/ATen/native"


def mapped(folder, framework, table=None, revision="main"):
    found = map_changes(folder, revision, framework, table or {}, folder)
    return {one.path: set(one.operators) or one.reason for one in found}


@pytest.mark.parametrize(
    "file, old, new, operators",
    [
        # The kernel, a function in its file that it uses, and the one that calls it by a stub.
        ("cpu/Activation.cpp", "return tanh_of(x)", "return 2 * tanh_of(x)", {"gelu"}),
        ("cpu/Activation.cpp", "x * T(0.5)", "x * T(0.25)", {"gelu"}),
        ("Activation.cpp", "compute(self)", "compute(self, 1)", {"gelu"}),
        ("Activation.cpp", "build_unary_op(", "build_one(", {"gelu"}),
        ("Activation.cpp", "build_binary_op(", "build_two(", {"add.Tensor"}),
        ("Activation.cpp", "at::clamp_min(self, 0)", "at::clamp_min(self, 1)", {"relu"}),
        ("Activation.cpp", "at::clamp_min_(self, 0)", "at::clamp_min_(self, 1)", {"relu"}),
        # A gradient's operator, and the one whose gradient it computes.
        ("Activation.cpp", "grad * self", "self * grad", {"gelu", "gelu_backward"}),
        # An internal operator, and the public one that calls it.
        ("SoftMax.cpp", "output, input", "input, output", {"_softmax", "softmax.int"}),
        ("SoftMax.cpp", "indices, self", "self, indices", {"topk"}),
        ("ufunc/add.h", "self + alpha * other", "alpha * other + self", {"add.Tensor"}),
        ("native_functions.yaml", "CPU: gelu_out_cpu", "CPU: gelu_out", {"gelu"}),
        ("native_functions.yaml", "    CPU, CUDA: relu_\n", "", {"relu"}),
    ],
)
def test_pytorch_by_its_declarations(tmp_path, file, old, new, operators):
    make(tmp_path, TORCH)
    change(tmp_path, f"{NATIVE}/{file}", old, new)
    assert mapped(tmp_path, "torch") == {f"{NATIVE}/{file}": operators}


def test_pytorch_s_derivatives(tmp_path):
    make(tmp_path, TORCH)
    change(tmp_path, "tools/autograd/derivatives.yaml", "self: ", "self:  ")
    assert mapped(tmp_path, "torch") == {"tools/autograd/derivatives.yaml": {"gelu"}}


def test_what_no_operator_uses_is_said(tmp_path):
    make(tmp_path, TORCH)
    change(tmp_path, f"{NATIVE}/cpu/Activation.cpp", "cpu_kernel(it);", "cpu_kernel(it, 1);")
    change(tmp_path, "README.md", "PyTorch", "Torch")
    found = mapped(tmp_path, "torch")
    assert "no operator uses what changed" in found[f"{NATIVE}/cpu/Activation.cpp"]
    assert "no kernels of the framework are there" in found["README.md"]


def test_a_repository_of_kernels_without_declarations_has_those_of_the_wheel(tmp_path):
    pytest.importorskip("torchgen")
    make(tmp_path, {f"{NATIVE}/A.cpp": "namespace at {\nTensor relu(Tensor a) {\n  f();\n}\n}\n"})
    change(tmp_path, f"{NATIVE}/A.cpp", "f()", "g()")
    assert mapped(tmp_path, "torch") == {f"{NATIVE}/A.cpp": {"relu"}}


@pytest.mark.parametrize(
    "file, old, new, operators",
    [
        ("tensor/unary.cc", "UnaryOp::Compute", "UnaryOp::Other", {"relu"}),
        ("tensor/unary.h", "Launch(attrs)", "Launch(attrs, 1)", {"softsign"}),
        # A gradient's, and the one whose gradient it is.
        ("mshadow_op.h", "1.0f / a", "2.0f / a", {"_backward_softsign", "softsign"}),
        ("mshadow_op.h", "a + b", "b + a", {"_npi_hypot"}),
        # Nothing uses its name: all of the file that includes it.
        ("tensor/unary.h", "int axis", "long axis", {"relu", "softsign", "_backward_softsign"}),
    ],
)
def test_mxnet_by_its_registrations(tmp_path, file, old, new, operators):
    pytest.importorskip("numpy")
    make(tmp_path, MXNET)
    change(tmp_path, f"src/operator/{file}", old, new)
    assert mapped(tmp_path, "mxnet") == {f"src/operator/{file}": operators}


def test_jax_by_functions_and_their_callers(tmp_path):
    make(tmp_path, JAX)
    change(tmp_path, "jax/_src/lax/lax.py", '_unary("exp")', '_unary("exp2")')
    assert mapped(tmp_path, "jax") == {"jax/_src/lax/lax.py": {"lax.exp", "jnp.exp"}}


@pytest.mark.parametrize(
    "old, new, functions",
    [
        ("np.tanh", "np.sinh", {"my_package.kernels:gelu", "loose.py:twice"}),
        ("np.maximum", "np.fmax", {"my_package.kernels:relu"}),
        ("CLIP = 3", "CLIP = 4", {"my_package.kernels:clipped"}),
    ],
)
def test_functions_of_a_user(tmp_path, old, new, functions):
    make(tmp_path, KERNELS)
    change(tmp_path, "my_package/kernels.py", old, new)
    assert mapped(tmp_path, "numpy") == {"my_package/kernels.py": functions}


def test_the_project_s_table_wins(tmp_path):
    make(tmp_path, KERNELS)
    change(tmp_path, "my_package/kernels.py", "np.tanh", "np.sinh")
    change(tmp_path, "loose.py", "2 *", "3 *")
    table = {"my_package/*.py": ("tanh", "exp"), "loose.py": ()}
    found = mapped(tmp_path, "numpy", table)
    assert found["my_package/kernels.py"] == {"tanh", "exp"}
    assert "table has no operator" in found["loose.py"]


def test_since_the_merge_base_committed_or_not(tmp_path):
    make(tmp_path, KERNELS)
    git(tmp_path, "switch", "-q", "-c", "topic")
    change(tmp_path, "my_package/kernels.py", "np.tanh", "np.sinh")
    git(tmp_path, "commit", "-qam", "topic")
    (tmp_path / "new file.py").write_text("def square(x):\n    return x * x\n")
    (tmp_path / "loose.py").unlink()
    # As `pip install .` leaves it, and the environments of a gate.
    for folder in ("build/lib", "base/lib/python3.11/site-packages"):
        built = tmp_path / folder / "my_package"
        built.mkdir(parents=True)
        (built / "kernels.py").write_text("def gelu(x):\n    return x\n")
    git(tmp_path, "switch", "-q", "main")
    change(tmp_path, "my_package/kernels.py", "np.maximum", "np.fmax")
    git(tmp_path, "commit", "-qm", "main", "my_package/kernels.py")
    git(tmp_path, "switch", "-q", "topic")
    found = mapped(tmp_path, "numpy")
    assert found["my_package/kernels.py"] == {"my_package.kernels:gelu"}
    assert found["new file.py"] == {"new file.py:square"}
    assert set(found) == {"my_package/kernels.py", "new file.py", "loose.py"}
    assert "no file any more" in found["loose.py"]


@pytest.mark.parametrize(
    "inner, operators, reason",
    [
        # What changed is measured itself, whoever else calls it.
        ("inner", ("k.py:inner",), "callers of these are too many"),
        ("_inner", (), f"what changed is used by {MOST + 1} operators"),
    ],
)
def test_common_code_is_not_mapped_to_everything(tmp_path, inner, operators, reason):
    users = "".join(f"def f{number}(x):\n    return {inner}(x)\n" for number in range(MOST + 1))
    make(tmp_path, {"k.py": f"def {inner}(x):\n    return x + 1\n{users}"})
    change(tmp_path, "k.py", "x + 1", "x + 2")
    (found,) = map_changes(tmp_path, "main", "numpy", {}, tmp_path)
    assert found.operators == operators
    assert reason in found.reason


def test_a_file_that_is_not_python_is_said(tmp_path):
    make(tmp_path, {"k.py": "def f(x):\n    return x\n"})
    change(tmp_path, "k.py", "return x", "return (")
    assert "not Python: line 2" in mapped(tmp_path, "numpy")["k.py"]


def test_no_repository_and_no_revision(tmp_path):
    with pytest.raises(UsageError, match="in no git repository"):
        mapped(tmp_path, "numpy")
    make(tmp_path, KERNELS)
    with pytest.raises(UsageError, match="no such commit"):
        mapped(tmp_path, "numpy", revision="nosuch")
