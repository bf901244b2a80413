"""Calls of an operator: from logs and tables, or by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from opperf.candidates.formats import backendbench
from opperf.candidates.formats.base import Asked, PosedProblem
from opperf.errors import UsageError
from tests.candidates.formats.test_known import load
from tests.candidates.formats.written import write_file

torch = pytest.importorskip("torch")


def write(folder: Path, operator: str, parameters: str) -> None:
    text = f"def {operator}_kernel_impl({parameters}): ...\n"
    write_file(folder / operator / f"{operator}_implementation.py", text)


def read(folder: Path) -> PosedProblem:
    (posed,) = backendbench.read(Asked(folder, folder / "made")).problems
    return posed


def test_calls_that_were_made_most_often_are_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backendbench, "MOST_CALLS", 2)
    write(tmp_path, "add___Tensor", "x, y")
    lines = [f"cnt: {n}, ((T([{n}], f32), T([{n}], f32)), {{'alpha': 2}})" for n in (3, 5, 4)]
    write_file(tmp_path / "a.txt", "\n".join(["Operator: aten.add_.Tensor", *lines]))
    posed = read(tmp_path)
    problem = load(posed.problem.file)
    made = [problem.make_inputs(0, **trial) for trial in posed.problem.trials]
    assert [len(x) for x, _, _ in made] == [5, 4]
    x, y, _ = made[0]
    expected = x + 2 * y
    assert torch.equal(problem.reference(*made[0]), expected) and torch.equal(x, expected)


def test_devices_are_the_cpu_and_layouts_those_of_torch(tmp_path: Path) -> None:
    write(tmp_path, "new_zeros__default", "x, size, *, dtype, layout, device")
    named = "{'dtype': f16, 'layout': torch.strided, 'device': 'cuda:0'}"
    call = f"cnt: 1, ((T([2], f32), [3, 4]), {named})"
    write_file(tmp_path / "a.txt", f"Operator: aten.new_zeros.default\n{call}\n")
    posed = read(tmp_path)
    problem = load(posed.problem.file)
    result = problem.reference(*problem.make_inputs(0, **posed.problem.trials[0]))
    assert (result.shape, result.dtype, result.device.type) == ((3, 4), torch.float16, "cpu")


def test_operators_without_a_log_have_inputs_by_rule(tmp_path: Path) -> None:
    write(tmp_path, "nosuch__default", "x")
    write(tmp_path, "sum__dim_IntList", "x, dim, keepdim=False, *, dtype=None")
    found = backendbench.read(Asked(tmp_path, tmp_path / "made"))
    assert list(found.skipped) == ["nosuch__default"]
    (posed,) = found.problems
    problem = load(posed.problem.file)
    assert posed.problem.trials
    for trial in posed.problem.trials:
        tensor, dim, *others, named = problem.make_inputs(0, **trial)
        assert isinstance(tensor, torch.Tensor) and isinstance(dim, (list, int))
        assert problem.reference(tensor, dim, *others, named).ndim <= tensor.ndim


def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, "relu__default", "x")
    write_file(tmp_path / "a.parquet", "PAR0")
    with pytest.raises(UsageError, match=r"a\.parquet (needs pyarrow|is no table of calls)"):
        read(tmp_path)


def test_two_candidates_of_an_operator_are_not_one(tmp_path: Path) -> None:
    write(tmp_path, "relu__default", "x")
    files = [tmp_path / f"relu__default_implementation_{each}.py" for each in "ab"]
    with pytest.raises(UsageError, match="are both of relu__default; name one"):
        backendbench.read(Asked(tmp_path, tmp_path / "made", candidates=files))


def test_an_operator_without_calls_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "relu__default", "x")
    write_file(tmp_path / "a.txt", "Operator: aten.abs.default\ncnt: 1, ((T([2], f32),), {})\n")
    found = backendbench.read(Asked(tmp_path, tmp_path / "made"))
    assert not found.problems and "no call of it" in found.skipped["relu__default"]
