"""Logs of operator inputs, measured."""

from __future__ import annotations

import pytest

from opperf.model import Fill, Status
from opperf.results.runfile import read_run
from opperf.sources import logged_text
from opperf.sources.logged_arguments import read_arguments

pytest.importorskip("torch")

FEW = ("-w", "1", "-r", "2", "--no-memory", "--threads", "1", "-f", "jsonl", "--overwrite")

LOG = """Operator: aten.sum.SymInt
cnt: 3, ((T([8, 4], f32), [0], True), {})
Operator: aten.embedding.default
cnt: 2, ((T([100, 8], f32), T([2, 16], i64), 0), {})
Operator: aten.add.Tensor
cnt: 1, ((T([4, 8], f32, stride=(0, 1)), T([4, 8], f32, stride=(1, 4))), {'alpha': 2})
Operator: aten.new_zeros.default
cnt: 5, ((T([2], f32), [3, 4]), {'dtype': f32, 'layout': torch.strided, 'device': 'cuda'})
cnt: 1, ((T([2], f32), [3, 4]), {'dtype': f32, 'layout': torch.strided, 'device': 'cpu'})
Operator: aten.im2col_backward.default
cnt: 1, ((T([2, 36, 16], f32), [6, 6], [3, 3], [1, 1], [0, 0], [1, 1]), {})
Operator: aten.mm.default
cnt: 1, ((T([2, 3], f32), T([4, 5], f32)), {})
cnt: 1, ((T([2, 3], f32), T([3, 5], f32), 1, 2, 3), {})
"""


@pytest.fixture
def measured(command_here):
    def run(*arguments):
        (command_here.folder / "model.txt").write_text(LOG)
        command_here("run", "model.txt", *FEW, "-o", "out.jsonl", "--quiet", *arguments)
        found, _ = read_run(command_here.folder / "out.jsonl")
        return {record.case.label: record for record in found.records}, found

    return run


def test_a_log_is_parsed_once(measured, monkeypatch):
    parsed = []

    def counted(text):
        parsed.append(text)
        return read_arguments(text)

    monkeypatch.setattr(logged_text, "read_arguments", counted)
    measured()
    assert len(parsed) == LOG.count("cnt: ")


def test_each_call_has_a_record(measured):
    records, run = measured()
    total = records["sum.dim_IntList"]
    assert (total.status, total.case.count) == (Status.OK, 3)
    assert total.case.arguments["dim"] == (0,)
    embedding = records["embedding"]
    assert embedding.status is Status.OK
    assert embedding.case.arguments["indices"].fill == Fill("integers", 0.0, 100.0)
    assert records["add.Tensor"].status is Status.OK
    assert records["add.Tensor"].case.arguments["self"].strides == (0, 1)
    # They differ in the device alone, which is the run's.
    assert records["new_zeros"].case.count == 6
    gone = records["aten.im2col_backward"]
    assert gone.status is Status.SKIPPED
    assert "it was removed, and autograd calls col2im in its place" in gone.reason
    refused = [r for r in run.records if r.status is Status.FAILED]
    assert [r.case.label for r in refused] == ["mm", "mm"]
    assert "shapes cannot be multiplied" in refused[0].reason
    assert "at most 2 argument" in refused[1].reason
    assert all("backward" not in record.summaries for record in run.records)


def test_dtype_and_exclusion_are_the_users(measured):
    records, _ = measured("--dtype", "float64", "--exclude", "embedding")
    assert "embedding" not in records
    assert records["add.Tensor"].case.settings.dtype == "float64"
    assert {spec.dtype for _, spec in records["add.Tensor"].case.tensors()} == {"float64"}


def test_options_of_rules_do_not_apply(command_here):
    (command_here.folder / "model.txt").write_text(LOG)
    _, err = command_here("run", "model.txt", "--size", "small", code=2)
    assert "--size does not apply to model.txt" in err


def test_a_list_of_cases_is_a_file_of_cases(command_here):
    (command_here.folder / "model.txt").write_text(LOG)
    out, _ = command_here("run", "model.txt", "--list", "-f", "jsonl")
    (command_here.folder / "list.jsonl").write_text(out)
    again, _ = command_here("run", "list.jsonl", "--list", "-f", "jsonl")
    cases = [line for line in out.splitlines() if line.startswith('{"line":"case"')]
    assert len(cases) == 7
    assert cases == [line for line in again.splitlines() if line.startswith('{"line":"case"')]


BATCHES = """Operator: aten.addmm.default
cnt: 1, ((T([8], f32), T([64, 6], f32), T([6, 8], f32)), {})
Operator: aten.relu.default
cnt: 2, ((T([16, 4, 6], f32),), {})
cnt: 1, ((T([32, 4, 6], f32),), {})
Operator: aten.add.Tensor
cnt: 1, ((T([7, 6], f32), T([7, 6], f32)), {})
"""


def test_the_batch_is_scaled(command_here):
    (command_here.folder / "model.txt").write_text(BATCHES)
    out, err = command_here("run", "model.txt", "--scale-batch", "0.5", "--list")
    assert "the batch of 3 of 4 calls was scaled by 0.5; the others are as recorded" in err
    for shape in ("mat1: (32, 6)", "self: (8, 4, 6)", "self: (16, 4, 6)", "self: (7, 6)"):
        assert shape in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("relu", "--framework", "torch"), "--scale-batch is for recorded calls; name a log"),
        (("list.jsonl",), "--scale-batch does not apply to list.jsonl"),
        (("flat.txt",), "--scale-batch: no call has a tensor of several axes"),
    ],
)
def test_what_has_no_batch_to_scale(command_here, arguments, words):
    (command_here.folder / "flat.txt").write_text(
        "Operator: aten.relu.default\ncnt: 1, ((T([3], f32),), {})\n"
    )
    out, _ = command_here("run", "flat.txt", "--list", "-f", "jsonl")
    (command_here.folder / "list.jsonl").write_text(out)
    _, err = command_here("run", *arguments, "--scale-batch", "0.5", code=2)
    assert words in err


def test_a_layout_is_the_frameworks(command_here):
    (command_here.folder / "model.txt").write_text(
        "Operator: aten._sparse_coo_tensor_with_dims_and_tensors.default\n"
        "cnt: 2, ((1, 1, [9, 3], T([1, 5], i64), T([5, 3], f32)), {'dtype': f32, "
        "'layout': torch.sparse_coo, 'device': 'cuda', 'pin_memory': None})\n"
    )
    command_here("run", "model.txt", *FEW, "-o", "out.jsonl", "--quiet")
    found, _ = read_run(command_here.folder / "out.jsonl")
    assert [record.status for record in found.records] == [Status.OK]


def test_a_list_that_is_a_file_has_no_other_line(command_here):
    out, err = command_here("run", "add", "--framework", "torch", "--list", "-f", "jsonl")
    assert "add is an alias of add.Tensor" in err
    assert {line[:8] for line in out.splitlines()} == {'{"line":'}


def test_indices_are_those_of_the_rule_and_by_name_where_a_call_lacks_what_it_needs(command_here):
    (command_here.folder / "model.txt").write_text(
        "Operator: aten.take.default\n"
        "cnt: 1, ((T([5, 7], f32), T([6], i64)), {})\n"
        "Operator: aten.embedding_dense_backward.default\n"
        "cnt: 1, ((T([4, 8], f32), T([4], i64)), {})\n"
    )
    out, _ = command_here("run", "model.txt", "--list")
    assert "index: (6,) int64 integers(0, 35)" in out
    assert "indices: (4,) int64 integers(0, 4)" in out
