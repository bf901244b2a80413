"""Ten problems in each format: recognised, read, run, and right told from wrong; and what is read
of wrong files."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from opperf.candidates.formats.base import Asked, ProblemSet
from opperf.candidates.formats.known import FORMATS, format_of, read
from opperf.errors import OpperfError
from tests.candidates.formats.written import HEAD, PROBLEMS, WRITERS, write_file

torch = pytest.importorskip("torch")


def load(file: str) -> Any:
    """Returns the functions of a problem or candidate."""
    spec = importlib.util.spec_from_file_location("opperf_test_posed", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(torch.allclose(one, other, rtol=1e-4, atol=1e-5))


def read_in(folder: Path, name: str = "given", **asked: Any) -> ProblemSet:
    return read(Asked(folder / name, folder / "made", **asked))


@pytest.mark.parametrize("name", WRITERS)
def test_ten_problems_are_read_and_right_is_told_from_wrong(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "given")
    before = {path: path.read_bytes() for path in (tmp_path / "given").rglob("*.*")}
    assert format_of(tmp_path / "given") == name
    found = read_in(tmp_path)
    assert found.format == name and not found.skipped
    bases = {posed.problem.name.removesuffix("/backward") for posed in found.problems}
    assert len({each.removesuffix("/forward") for each in bases}) == len(PROBLEMS) == 10
    for posed in found.problems:
        assert len(posed.candidates) == (1 if name == "BackendBench" else 2)
        problem = load(posed.problem.file)
        for trial in posed.problem.trials:
            # As a process is told of it.
            trial = json.loads(json.dumps(trial))
            arguments = problem.make_inputs(5, **trial)
            expected = problem.reference(*arguments)
            assert same(expected, problem.reference(*problem.make_inputs(5, **trial)))
            assert not same(expected, problem.reference(*problem.make_inputs(6, **trial)))
            for candidate in posed.candidates:
                result = load(candidate.file).candidate(*problem.make_inputs(5, **trial))
                is_wrong = "wrong" in candidate.name or "sample_1" in candidate.name
                assert same(expected, result) is not is_wrong, (posed.problem.name, candidate.name)
    assert before == {path: path.read_bytes() for path in (tmp_path / "given").rglob("*.*")}


def test_arguments_are_what_the_judge_hands_over(tmp_path: Path) -> None:
    reference = (
        "import torch\n\ndef generate_input(n, seed):\n"
        "    made = torch.Generator(device='cuda').manual_seed(seed)\n"
        "    x = torch.randn(n, device='cuda', generator=made)\n"
        "    return x, {'scale': 2.0, 'dtype': torch.float64, 'more': [x]}\n\n"
        "def ref_kernel(data):\n    x, config = data\n"
        "    return x.to(config['dtype']) * config['scale'] + config['more'][0]\n"
    )
    task = {
        "files": [{"name": "reference.py", "source": "reference.py"}],
        "tests": [{"n": 3, "seed": 1}],
    }
    write_file(tmp_path / "given" / "task.yml", json.dumps(task))
    write_file(tmp_path / "given" / "reference.py", reference)
    text = reference.replace("ref_kernel", "custom_kernel")
    write_file(tmp_path / "given" / "submission.py", text)
    (posed,) = read_in(tmp_path).problems
    problem = load(posed.problem.file)
    arguments = problem.make_inputs(2, **posed.problem.trials[0])

    def plain(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return all(map(plain, value))
        return isinstance(value, (torch.Tensor, int, float, str, bool, type(None)))

    assert plain(arguments)
    assert problem.reference(*arguments).dtype == torch.float64
    assert same(load(posed.candidates[0].file).candidate(*arguments), problem.reference(*arguments))
    assert not (Path(posed.candidates[0].file).parent / "reference.py").exists()


@pytest.mark.parametrize(
    ("name", "sets", "shape"),
    [
        ("KernelBench", {"M": "2"}, (2, 6)),
        ("robust-kbench", {"M": "2"}, (2, 6)),
        ("GPU MODE", {"M": "2", "N": "3"}, (2, 3)),
        ("FlashInfer-Bench", {"N": "9"}, (4, 9)),
    ],
)
def test_sizes_are_set(name: str, sets: dict[str, str], shape: Any, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "given")
    found = read_in(tmp_path, sets=sets)
    posed = next(each for each in found.problems if "relu" in each.problem.name)
    problem = load(posed.problem.file)
    (argument,) = problem.make_inputs(0, **posed.problem.trials[0])
    while not isinstance(argument, torch.Tensor):
        (argument,) = argument
    assert argument.shape == shape


def test_models_are_of_the_precision_and_of_their_inputs(tmp_path: Path) -> None:
    WRITERS["KernelBench"](tmp_path / "given")
    found = read_in(tmp_path, sets={"precision": "bf16"})
    posed = next(each for each in found.problems if "layernorm" in each.problem.name)
    assert posed.problem.rtol == 1e-2
    problem = load(posed.problem.file)
    (argument,) = problem.make_inputs(0)
    assert problem.reference(argument).dtype == argument.dtype == torch.bfloat16
    assert problem.reference(argument.double()).dtype == torch.float64


def test_kernels_of_gpus_are_listed_with_the_reason(tmp_path: Path) -> None:
    WRITERS["FlashInfer-Bench"](tmp_path / "given")
    for path in (tmp_path / "given" / "solutions").rglob("relu*.json"):
        path.write_text(path.read_text().replace('"python"', '"triton"'))
    for path in (tmp_path / "given" / "solutions").rglob("softmax_right.json"):
        path.write_text(path.read_text().replace("import torch\\n", "import triton\\n", 1))
    found = read_in(tmp_path)
    softmax = next(each for each in found.problems if each.problem.name == "softmax")
    assert [each.name for each in softmax.candidates] == ["softmax_wrong"]
    assert "triton needs a GPU" in softmax.refused[0].refusal
    posed = next(each for each in found.problems if each.problem.name == "relu")
    assert not posed.candidates and "triton needs a GPU" in posed.refused[0].refusal
    WRITERS["KernelBench"](tmp_path / "other")
    sample = tmp_path / "other" / "run" / "level_1_problem_1_sample_0_kernel.py"
    sample.write_text("import triton\n" + sample.read_text())
    posed = read(Asked(tmp_path / "other", tmp_path / "made2")).problems[0]
    assert [each.name for each in posed.refused] == [sample.stem] and len(posed.candidates) == 1


def test_workloads_and_definitions_that_cannot_be_run_are_skipped(tmp_path: Path) -> None:
    inputs = {"x": {"type": "safetensors", "path": "blob/a.safetensors", "tensor_key": "x"}}
    files = _flashinfer(constraints=[])
    lines = [
        {"definition": "d", "workload": {"uuid": uuid, "axes": {"n": 2}, "inputs": given}}
        for uuid, given in (("u", {}), ("v", inputs))
    ]
    files["workloads/d.jsonl"] = "".join(f"{json.dumps(line)}\n" for line in lines)
    files["definitions/e.json"] = json.dumps({**DEFINITION, "name": "e", "op_type": "sampling"})
    for name, text in files.items():
        write_file(tmp_path / "given" / name, text)
    found = read_in(tmp_path)
    assert [posed.problem.trials for posed in found.problems] == [({"workload": "u", "n": 2},)]
    assert found.skipped["e"].startswith("its results are random")
    assert found.skipped["d, workload v"].startswith("x")


def test_candidates_elsewhere_are_of_the_problem_that_their_name_says(tmp_path: Path) -> None:
    WRITERS["KernelBench"](tmp_path / "given")
    mine = write_file(tmp_path / "3_matmul_mine.py", "class ModelNew: ...\n")
    found = read(Asked(tmp_path / "given" / "level1", tmp_path / "made", candidates=[mine]))
    named = {
        posed.problem.name: [each.name for each in posed.candidates] for posed in found.problems
    }
    assert named["level1/3_matmul"] == ["3_matmul_mine"] and not named["level1/1_relu"]


def test_candidates_of_one_name_are_told_apart(tmp_path: Path) -> None:
    WRITERS["GPU MODE"](tmp_path / "given")
    (task,) = (tmp_path / "given").rglob("relu_py/task.yml")
    (task.parent / "submission_wrong.py").unlink()
    for place in ("a/v1", "b/v1", "c/v1"):
        text = f"made = lambda data: {place!r}\ncustom_kernel = made\n"
        write_file(task.parent / "s" / place / "submission_right.py", text)
    (posed,) = read(Asked(task.parent, tmp_path / "made")).problems
    assert [each.name for each in posed.candidates] == [
        *("submission_right", "v1/submission_right", "c/v1/submission_right"),
        "relu_py/submission_right",
    ]
    results = [load(each.file).candidate(None) for each in posed.candidates[:3]]
    assert results == ["a/v1", "b/v1", "c/v1"]


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    files = _flashinfer(name="..", solution={"name": "..", "definition": ".."})
    files["workloads/d.jsonl"] = files["workloads/d.jsonl"].replace('"d"', '".."')
    for name, text in files.items():
        write_file(tmp_path / "given" / name, text)
    (posed,) = read_in(tmp_path).problems
    made = {Path(each.file).parent.parent for each in (posed.problem, *posed.candidates)}
    assert made == {(tmp_path / "made").resolve()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "made"]


def _kernelbench(text: str) -> dict[str, str]:
    return {"1_a.py": HEAD + text}


KERNELBENCH = "class Model: ...\n\ndef get_inputs(): ...\n\ndef get_init_inputs(): ...\n"

RIGHT_TASK = {"files": [{"name": "reference.py", "source": "r.py"}], "tests": [{"n": 1}]}

DEFINITION = {
    **{"name": "d", "op_type": "o", "constraints": ["n > 1"]},
    **{"axes": {"n": {"type": "var"}}, "reference": "def run(x):\n    return x\n"},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
}

SOLUTION = {
    **{"name": "s", "definition": "d", "author": "a"},
    "spec": {"language": "python", "entry_point": "f.py::f"},
    "sources": [{"path": "f.py", "content": ""}],
}


def _flashinfer(axes: Any = None, solution: Any = None, **definition: Any) -> dict[str, str]:
    workload = {"uuid": "u", "axes": {"n": 2} if axes is None else axes, "inputs": {}}
    return {
        "definitions/d.json": json.dumps({**DEFINITION, **definition}),
        "workloads/d.jsonl": json.dumps({"definition": "d", "workload": workload}),
        "solutions/s.json": json.dumps({**SOLUTION, **(solution or {})}),
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (_kernelbench("def get_init_inputs(): ...\n"), "1_a.py has no Model; define it"),
        (_kernelbench("def get_init_inputs(: ...\n"), "1_a.py:5 is no Python"),
        ({"func_forward.py": "", "config_forward.json": "[1]"}, "expected `object`"),
        ({"func_forward.py": "", "config_forward.json": "{}"}, "no single_input_configs"),
        ({"func_forward.py": ""}, "config_forward.json cannot be read: No such file"),
        ({"task.yml": "files: ["}, "task.yml is no YAML"),
        ({"task.yml": "files: 3"}, "task.yml: files: expected `array`, got `int`"),
        ({"task.yml": "files: []"}, "task.yml: neither tests nor benchmarks"),
        ({"task.yml": "files: []\ntests: [{}]"}, "task.yml: files: no reference.py"),
        (
            {"task.yml": json.dumps(RIGHT_TASK).replace('"reference.py"', '"../x.py"')},
            "task.yml: files: '../x.py' is no name of a file",
        ),
        (
            {"task.yml": json.dumps(RIGHT_TASK).replace('"reference.py"', '".."')},
            "task.yml: files: '..' is no name of a file",
        ),
        (
            {f"{place}/1_a.py": HEAD + KERNELBENCH for place in ("a", "b")},
            "has two problems '1_a'; name the folder of one",
        ),
        ({"task.yml": json.dumps(RIGHT_TASK)}, "r.py cannot be read: No such file"),
        ({"task.yml": json.dumps(RIGHT_TASK), "r.py": ""}, "r.py has no generate_input"),
        (
            {"a__b/a__b_implementation.py": "", "i.txt": "Operator: aten.a.b\ncnt: 1, (), {"},
            "i.txt:2",
        ),
        (
            {
                "a__b/a__b_implementation.py": "",
                "i.txt": "Operator: aten.a.b\ncnt: 1, ((T([2], f32),), {})",
            },
            "has no a__b_kernel_impl",
        ),
        (
            _flashinfer(inputs={"x": {"shape": ["m"], "dtype": "int8"}}),
            "inputs.x.shape: no axis 'm'",
        ),
        (_flashinfer(outputs={"y": {"shape": [], "dtype": "int7"}}), "outputs"),
        (_flashinfer(axes={}), "line 1: workload.axes: no size of 'n'"),
        (_flashinfer(axes={"n": 1}), "line 1: workload.axes: n > 1 is false"),
        (_flashinfer(constraints=["n == "]), "line 1: n == : invalid syntax"),
        (_flashinfer(reference="run = 1"), "reference: no function run"),
        (
            _flashinfer(solution={"sources": [{"path": "../f.py", "content": ""}]}),
            "sources[0].path: ../f.py leads out of the solution",
        ),
        (
            _flashinfer(solution={"sources": [{"path": "/f.py", "content": ""}]}),
            "sources[0].path: /f.py leads out of the solution",
        ),
        (_flashinfer(solution={"sources": []}), "spec.entry_point: it is not FILE::FUNCTION"),
        (_flashinfer(solution={"definition": "e"}), "definition: no definition 'e'"),
        (
            {**_flashinfer(), "solutions/t.json": json.dumps({**SOLUTION, "author": "b"})},
            "t.json: name: 's' is another solution's; rename one",
        ),
        (
            {**_flashinfer(), "workloads/e.jsonl": _flashinfer()["workloads/d.jsonl"]},
            "e.jsonl: line 1: uuid 'u' is another workload's; change it",
        ),
        (_flashinfer(constraints=[f"n > {'-' * 100_000}1"]), "line 1: n > -"),
        (
            _flashinfer(
                solution={"sources": [*SOLUTION["sources"], {"path": "f.py/g", "content": ""}]}
            ),
            "candidates d s: 'f.py/g' is no name of a file",
        ),
        (
            {"a.py": "x = 1\n"},
            "has no problems of kernels that opperf reads: FlashInfer-Bench, GPU",
        ),
    ],
)
def test_wrong_files_are_one_line(files: dict[str, str], message: str, tmp_path: Path) -> None:
    for name, text in files.items():
        write_file(tmp_path / "given" / name, text)
    with pytest.raises(OpperfError, match=re.escape(message)) as raised:
        read_in(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"Q": "1"}, "unknown name of --set 'Q'"),
        ({"M": "import os"}, "--set M=import os: not a number, text, tuple or list"),
        ({"precision": "fp8"}, "unknown precision 'fp8'"),
    ],
)
def test_wrong_sets_are_one_line(sets: dict[str, str], message: str, tmp_path: Path) -> None:
    WRITERS["KernelBench"](tmp_path / "given")
    with pytest.raises(OpperfError, match=re.escape(message)):
        read_in(tmp_path, sets=sets)


def test_each_format_is_written_here() -> None:
    assert set(WRITERS) == set(FORMATS)
