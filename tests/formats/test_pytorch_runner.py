"""Tables of PyTorch's own runner: read as records, and written from them."""

import csv
import io

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.experiments.outcomes import Outcome, outcome_of
from opperf.formats.model_files import read_records
from opperf.formats.pytorch_runner import COLUMNS, runner_csv_text
from tests.experiments.lines import record, value, write

NAME = "inductor_huggingface_amp_training_cuda_performance.csv"

HEADER = ",".join((*COLUMNS, "calls_captured"))

ROWS = (
    "cuda,BertForMaskedLM,16,1.5,20.0,31.5,0.9,9.0,10.0,300\n"
    "cuda,OPTForCausalLM,4,0.0,0.0,0.0,0.0,0.0,0.0,0\n"
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / NAME
    path.write_text(f"{HEADER}\n{ROWS}")
    return path


def test_a_row_is_a_model_eager_and_compiled(table):
    warnings = []
    eager, compiled, failed = read_records([table], warnings, 5.0)
    assert warnings == [] and eager.model_name == compiled.model_name == "BertForMaskedLM"
    assert (eager.backend, compiled.backend) == ("eager", "inductor")
    assert (compiled.suite_name, compiled.test) == ("huggingface", "train")
    assert compiled.batch_size == 16 and compiled.accelerator == "cuda"
    assert compiled.time("exec").value == pytest.approx(0.020)
    assert eager.time("exec").value == pytest.approx(0.030)
    assert compiled.time("compile").value == 31.5
    assert compiled.command == (
        "python benchmarks/dynamo/huggingface.py --performance --backend inductor --training "
        "--amp --device cuda --only BertForMaskedLM"
    )
    assert outcome_of(failed)[0] is Outcome.FAILED and failed.time("exec") is None


def test_a_table_is_written_as_it_was_read(table):
    written = list(csv.DictReader(io.StringIO(runner_csv_text(read_records([table], [], 5.0)))))
    read = list(csv.DictReader(io.StringIO(table.read_text())))
    assert tuple(written[0]) == COLUMNS and len(written) == len(read) == 2
    for name in COLUMNS[2:]:
        assert float(written[0][name]) == pytest.approx(float(read[0][name]))
    assert float(written[1]["speedup"]) == 0


def test_lines_of_pytorch_xla_are_rows_with_speedups_over_eager_of_the_same_run():
    records = [
        record("a", "eager", (9, 4, 4, 4)),
        record("a", "inductor", (8, 2, 2, 2)),
        record("b", "inductor", (8, 2, 2, 2)),
    ]
    first, second = csv.DictReader(io.StringIO(runner_csv_text(records)))
    assert (first["speedup"], first["abs_latency"]) == ("2.0", "2000.0")
    assert (first["compilation_latency"], first["eager_peak_mem"]) == ("6.0", "")
    assert second["speedup"] == ""
    for wrong in range(2):
        listed = list(records)
        listed[wrong] = msgspec.structs.replace(listed[wrong], verification_code="FAIL")
        first, _ = csv.DictReader(io.StringIO(runner_csv_text(listed)))
        assert first["speedup"] == "" and first["abs_latency"] == "2000.0"


@pytest.mark.parametrize(
    ("word", "outcome", "reason"),
    [
        ("pass", Outcome.PASSED, ""),
        ("fail_accuracy", Outcome.FAILED, "wrong result"),
        ("infra_error", Outcome.FAILED, "infra_error"),
        ("eager_two_runs_differ", Outcome.SKIPPED, "eager is not deterministic"),
    ],
)
def test_tables_of_accuracy_have_outcomes(tmp_path, word, outcome, reason):
    path = tmp_path / "inductor_timm_models_amp_inference_cpu_accuracy.csv"
    path.write_text(f"dev,name,batch_size,accuracy\ncpu,vit,8,{word}\n")
    (found,) = read_records([path], [], 5.0)
    assert outcome_of(found) == (outcome, reason)
    assert "timm_models.py --accuracy" in found.command


def test_rows_that_are_cut_off_are_omitted_and_repeated_headers_ignored(table):
    table.write_text(f"{HEADER}\n{ROWS}{HEADER}\ncuda,GPT2,4,1.0\n")
    warnings = []
    assert len(read_records([table], warnings, 5.0)) == 3
    assert warnings == [f"{table}:5: the row has 4 of 10 cells, and is omitted"]


def test_a_table_of_another_name_is_inductors(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(f"{HEADER}\n{ROWS}")
    warnings = []
    assert read_records([path], warnings, 5.0)[1].dynamo == "inductor"
    assert "taken for inductor" in warnings[0]


def test_a_wrong_number_is_an_error_with_its_row(table):
    table.write_text(f"{HEADER}\ncuda,GPT2,4,fast,1,1,1,1,1,1\n")
    with pytest.raises(RunFileError, match=r":2: speedup is 'fast', and not a number"):
        read_records([table], [])


def test_two_forms_are_not_mixed(table, tmp_path):
    lines = write(tmp_path / "xla.jsonl", value())
    with pytest.raises(RunFileError, match="aggregate each alone"):
        read_records([lines, table], [])
