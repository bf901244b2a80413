"""Ten small problems, written in five formats as their tools have them on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class Small(NamedTuple):
    """A problem: expressions in the names of its inputs, whose shapes are letters of sizes."""

    name: str
    inputs: dict[str, str]
    reference: str
    right: str
    wrong: str
    operator: str
    call: str
    """The inputs of the operator, in the notation of logs."""
    signature: str
    """The parameters of an implementation of the operator."""
    weights: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()


SIZES = {"M": 4, "N": 6, "K": 5, "B": 2, "C": 3, "O": 4, "H": 7, "W": 8, "R": 3, "L": 6}

PROBLEMS = (
    Small(
        *("relu", {"x": "MN"}, "torch.relu(x)", "x.clamp(min=0)", "x.abs()"),
        *("relu.default", "((T([4, 6], f32),), {})", "x"),
    ),
    Small(
        *("softmax", {"x": "MN"}, "torch.softmax(x, -1)"),
        "(y := (x - x.amax(-1, keepdim=True)).exp()) / y.sum(-1, keepdim=True)",
        "torch.softmax(x, 0)",
        *("softmax.int", "((T([4, 6], f32), -1), {})", "x, dim"),
    ),
    Small(
        *("matmul", {"a": "MK", "b": "KN"}, "a @ b"),
        *("torch.einsum('mk,kn->mn', a, b)", "a @ b * 1.1"),
        *("mm.default", "((T([4, 5], f32), T([5, 6], f32)), {})", "a, b"),
    ),
    Small(
        *("layernorm", {"x": "MN", "w": "N", "v": "N"}, "F.layer_norm(x, x.shape[-1:], w, v)"),
        "(x - x.mean(-1, keepdim=True)) * (x.var(-1, False, keepdim=True) + 1e-5).rsqrt() * w + v",
        "F.layer_norm(x, x.shape[-1:])",
        *("layer_norm.default", "((T([4, 6], f32), [6], T([6], f32), T([6], f32)), {})"),
        *("x, shape, w, v", ("w", "v")),
    ),
    Small(
        *("conv", {"x": "BCHW", "w": "OCRR"}, "F.conv2d(x, w)"),
        "(w.flatten(1) @ F.unfold(x, w.shape[2:])).unflatten(-1, (x.shape[2] - 2, x.shape[3] - 2))",
        "F.conv2d(x, w.flip(-1))",
        *("conv2d.default", "((T([2, 3, 7, 8], f32), T([4, 3, 3, 3], f32)), {})"),
        *("x, w", ("w",)),
    ),
    Small(
        *("sum", {"x": "MN"}, "x.sum(-1)", "x @ x.new_ones(x.shape[-1])", "x.mean(-1)"),
        *("sum.dim_IntList", "((T([4, 6], f32), [-1]), {'dtype': f32})", "x, dim, *, dtype"),
    ),
    Small(
        *("attention", {"q": "BMK", "k": "BNK", "v": "BNK"}),
        "F.scaled_dot_product_attention(q, k, v)",
        "torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v",
        "torch.softmax(q @ k.mT, -1) @ v",
        "scaled_dot_product_attention.default",
        "((T([2, 4, 5], f32), T([2, 6, 5], f32), T([2, 6, 5], f32)), {})",
        "q, k, v",
    ),
    Small(
        *("embedding", {"w": "KN", "i": "M"}, "F.embedding(i % len(w), w)"),
        *("w[i % len(w)]", "w[i % 2]", "embedding.default"),
        *("((T([5, 6], f32), T([4], i64)), {})", "w, i", ("w",), ("i",)),
    ),
    Small(
        *("loss", {"x": "MN", "y": "MN"}, "F.mse_loss(x, y)"),
        *("(x - y).square().mean()", "(x - y).abs().mean()"),
        *("mse_loss.default", "((T([4, 6], f32), T([4, 6], f32)), {})", "x, y"),
    ),
    Small(
        *("scan", {"x": "MN"}, "torch.cumsum(x, -1)"),
        "torch.stack([x[:, : i + 1].sum(-1) for i in range(x.shape[-1])], -1)",
        "x.cummax(-1).values",
        *("cumsum.default", "((T([4, 6], f32), -1), {})", "x, dim"),
    ),
)

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


def _shape(letters: str) -> str:
    return f"({', '.join(letters)},)"


def _sizes(problem: Small) -> list[str]:
    return sorted({letter for letters in problem.inputs.values() for letter in letters})


def _random(problem: Small, name: str) -> str:
    shape = _shape(problem.inputs[name])
    return f"torch.randint(0, 9, {shape})" if name in problem.integers else f"torch.randn{shape}"


def write_file(path: Path, text: str) -> Path:
    """Returns the path of a file that was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _model(problem: Small, name: str, expression: str) -> str:
    sizes = ", ".join(_sizes(problem))
    given = [each for each in problem.inputs if each not in problem.weights]
    lines = [f"class {name}(nn.Module):", f"    def __init__(self, {sizes}):"]
    lines += ["        super().__init__()"]
    lines += [
        f"        self.{each} = nn.Parameter({_random(problem, each)})" for each in problem.weights
    ]
    lines += ["", f"    def forward(self, {', '.join(given)}):"]
    lines += [f"        {each} = self.{each}" for each in problem.weights]
    return "\n".join([*lines, f"        return {expression}", ""])


def kernelbench(root: Path) -> None:
    """Writes a level, and two candidates of each problem."""
    for number, problem in enumerate(PROBLEMS, 1):
        sizes = _sizes(problem)
        given = [each for each in problem.inputs if each not in problem.weights]
        text = "\n".join(
            [
                HEAD + _model(problem, "Model", problem.reference),
                *(f"{size} = {SIZES[size]}" for size in sizes),
                "",
                "def get_inputs():",
                f"    return [{', '.join(_random(problem, each) for each in given)}]",
                "",
                "def get_init_inputs():",
                f"    return [{', '.join(sizes)}]",
                "",
            ]
        )
        write_file(root / "level1" / f"{number}_{problem.name}.py", text)
        for sample, expression in enumerate((problem.right, problem.wrong)):
            name = f"level_1_problem_{number}_sample_{sample}_kernel.py"
            write_file(root / "run" / name, HEAD + _model(problem, "ModelNew", expression))


def robust_kbench(root: Path) -> None:
    """Writes a folder of each problem, with its backward pass where all inputs have gradients."""
    for problem in PROBLEMS:
        names = ", ".join(problem.inputs)
        sizes = _sizes(problem)
        given = [each for each in problem.inputs if each not in problem.weights]
        called = ", ".join(
            f"self.{each}" if each in problem.weights else each for each in problem.inputs
        )
        keywords = ", ".join(f"{size}={SIZES[size]}" for size in sizes)
        autograd = (
            "class AutogradFunction(torch.autograd.Function):\n"
            "    backward_fn = None\n\n"
            "    @staticmethod\n"
            f"    def forward(ctx, {names}):\n"
            f"        ctx.save_for_backward({names})\n"
            f"        return {problem.reference}\n\n"
            "    @staticmethod\n"
            "    def backward(ctx, gradient):\n"
            "        return AutogradFunction.backward_fn(gradient, *ctx.saved_tensors)\n\n"
        )
        lines = [
            f"def forward_fn({names}):",
            f"    return {problem.reference}",
            "",
            "class Model(nn.Module):",
            f"    def __init__(self, {keywords}):",
            "        super().__init__()",
            *(
                f"        self.{each} = nn.Parameter({_random(problem, each)})"
                for each in problem.weights
            ),
            "",
            f"    def forward(self, {', '.join(given)}, fn=forward_fn):",
            f"        return fn({called})",
            "",
            f"def get_inputs({keywords}):",
            f"    return [{', '.join(_random(problem, each) for each in given)}]",
            "",
            f"input_names = {given}",
            "",
        ]
        folder = root / problem.name
        write_file(folder / "func_forward.py", HEAD + "\n".join(lines))
        write_file(folder / "forward.cu", "// torch::Tensor forward(...)\n")
        one = {size: SIZES[size] for size in sizes}
        first = sizes[0]
        configuration = {
            "single_input_configs": [one],
            "multi_input_configs": [one, {**one, first: one[first] + 1}],
            "single_init_configs": [{}],
            "single_shared_configs": [{}],
        }
        if problem.weights:
            configuration["multi_input_configs"] = [one]
        write_file(folder / "config_forward.json", json.dumps(configuration))
        for kind in ("right", "wrong"):
            text = f"def forward({names}):\n    return {getattr(problem, kind)}\n"
            write_file(folder / f"{kind}.py", HEAD + text)
        if problem.integers:
            continue
        write_file(folder / "func_backward.py", HEAD + autograd + "\n".join(lines))
        write_file(folder / "config_backward.json", json.dumps(configuration))
        for kind in ("right", "wrong"):
            text = (
                f"def backward(gradient, {names}):\n"
                f"    given = [each.detach().requires_grad_() for each in ({names},)]\n"
                f"    {names}, = given\n"
                "    with torch.enable_grad():\n"
                f"        result = {getattr(problem, kind)}\n"
                "    found = torch.autograd.grad(result, given, gradient, allow_unused=True)\n"
                "    return found if len(found) > 1 else found[0]\n"
            )
            write_file(folder / f"{kind}_backward.py", HEAD + text)


def gpu_mode(root: Path) -> None:
    """Writes a folder of each problem, beside what they share."""
    write_file(root / "utils.py", "def own_type():\n    return tuple\n")
    write_file(root / "eval.py", "raise SystemExit('the contest runs this')\n")
    for problem in PROBLEMS:
        folder = root / f"{problem.name}_py"
        names = ", ".join(problem.inputs)
        sizes = _sizes(problem)
        made = ", ".join(_random(problem, each) for each in problem.inputs)
        write_file(folder / "task.py", "input_t = output_t = object\n")
        text = (
            "from task import input_t, output_t\nfrom utils import own_type\n\n"
            f"def generate_input({', '.join(sizes)}, seed) -> input_t:\n"
            "    torch.manual_seed(seed)\n"
            f"    return own_type()([{made}])\n\n"
            f"def ref_kernel(data: input_t) -> output_t:\n    {names}, = data\n"
            f"    return {problem.reference}\n\n"
            "def check_implementation(data, output):\n    return ''\n"
        )
        write_file(folder / "reference.py", HEAD + text)
        one = {size: SIZES[size] for size in sizes}
        task = {
            "files": [
                {"name": "submission.py", "source": "@SUBMISSION@"},
                {"name": "task.py", "source": "task.py"},
                {"name": "utils.py", "source": "../utils.py"},
                {"name": "reference.py", "source": "reference.py"},
                {"name": "eval.py", "source": "../eval.py"},
            ],
            "lang": "py",
            "description": "A small one.",
            "config": {"main": "eval.py"},
            "tests": [{**one, "seed": 7}],
            "benchmarks": [{**one, "seed": 11}],
            "ranking_by": "geom",
        }
        # YAML has JSON in it.
        write_file(folder / "task.yml", json.dumps(task, indent=1))
        for kind in ("right", "wrong"):
            text = (
                "from task import input_t, output_t\n\n"
                f"def custom_kernel(data: input_t) -> output_t:\n    {names}, = data\n"
                f"    return {getattr(problem, kind)}\n"
            )
            write_file(folder / f"submission_{kind}.py", HEAD + text)


def backendbench(root: Path, kind: str = "right") -> None:
    """Writes a folder of each operator, whose first implementation is of a kind, and a log."""
    log = []
    for problem in PROBLEMS:
        folder = problem.operator.replace(".", "__")
        text = (
            f"def {folder}_kernel_impl({problem.signature}):\n    return {getattr(problem, kind)}\n"
        )
        write_file(root / folder / f"{folder}_implementation_1.py", HEAD + text)
        write_file(root / folder / f"{folder}_implementation_2.py", "raise SystemExit\n")
        log += [f"Operator: aten.{problem.operator}", f"cnt: 3, {problem.call}"]
    write_file(root / "inputs.txt", "\n".join(log) + "\n")


def flashinfer(root: Path) -> None:
    """Writes a trace set with two solutions of each definition; of the one the outputs are
    arguments, the other returns them."""
    for problem in PROBLEMS:
        names = ", ".join(problem.inputs)
        sizes = _sizes(problem)
        output = _output(problem)
        definition = {
            "name": problem.name,
            "op_type": "small",
            "axes": {
                size: {"type": "var"} if size in "MB" else {"type": "const", "value": SIZES[size]}
                for size in [*sizes, *(set(output or "") - set(sizes))]
            },
            "constraints": ["M >= 1"] if "M" in sizes else [],
            "inputs": {
                name: {
                    "shape": list(shape),
                    "dtype": "int64" if name in problem.integers else "float32",
                }
                for name, shape in problem.inputs.items()
            },
            "outputs": {
                "result": {"shape": None if output is None else list(output), "dtype": "float32"}
            },
            "reference": HEAD + f"def run({names}):\n    return {problem.reference}\n",
        }
        write_file(root / "definitions" / "small" / f"{problem.name}.json", json.dumps(definition))
        for kind, is_last in (("right", True), ("wrong", False)):
            into = f"result.copy_({getattr(problem, kind)})"
            body = into if is_last else f"return {getattr(problem, kind)}"
            parameters = f"{names}, result" if is_last else names
            spec = {"language": "python", "target_hardware": ["CPU"], "entry_point": "a/main.py::f"}
            solution = {
                "name": f"{problem.name}_{kind}",
                "definition": problem.name,
                "author": "someone",
                "spec": spec if is_last else {**spec, "destination_passing_style": False},
                "sources": [
                    {"path": "a/main.py", "content": HEAD + f"def f({parameters}):\n    {body}\n"}
                ],
            }
            path = root / "solutions" / "someone" / f"{problem.name}_{kind}.json"
            write_file(path, json.dumps(solution))
        line = {
            "definition": problem.name,
            "workload": {
                "uuid": f"of-{problem.name}",
                "axes": {size: SIZES[size] for size in sizes if size in "MB"},
                "inputs": {name: {"type": "random"} for name in problem.inputs},
            },
            "solution": None,
            "evaluation": None,
        }
        path = root / "workloads" / "small" / f"{problem.name}.jsonl"
        write_file(path, json.dumps(line) + "\n")


def _output(problem: Small) -> str | None:
    shapes = {"matmul": "MN", "sum": "M", "attention": "BMK", "embedding": "MN", "loss": None}
    # The axes of a convolution's output have no names of their own in the table.
    return {**shapes, "conv": "BOKL"}.get(problem.name, "MN")


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "KernelBench": kernelbench,
    "robust-kbench": robust_kbench,
    "GPU MODE": gpu_mode,
    "BackendBench": backendbench,
    "FlashInfer-Bench": flashinfer,
}
