"""What formats of records of cases, models and programs have no place for: exactly what is not
there any more when what was written is read again."""

from pathlib import Path

import msgspec
import pytest

from opperf.formats import pytorch_runner
from opperf.formats.milabench import writing as milabench
from opperf.formats.milabench.reading import read_folder
from opperf.formats.model_files import read_records
from opperf.formats.model_records import ModelRecord
from opperf.formats.param import lines as param
from opperf.formats.xla import line_of
from opperf.model import (
    SCHEMA_VERSION,
    CallableTarget,
    Case,
    Closing,
    Header,
    ObjectTarget,
    Record,
    Run,
    Settings,
    Status,
    TensorSpec,
)
from opperf.sources.base import open_source

DOCS = Path(__file__).parents[2] / "docs"

RUNS = Path(__file__).parents[1] / "data" / "milabench" / "runs"


def encode(value):
    return msgspec.json.encode(value, order="sorted")


def differing(before, after, ignored=()):
    """The fields in which structs differ."""
    return {
        field
        for field in before.__struct_fields__
        if field not in ignored
        for one, other in [(getattr(before, field), getattr(after, field))]
        # NaN is null, and so equal, in JSON alone.
        if one != other and encode(one) != encode(other)
    }


def listed(words):
    return f"`{'`, `'.join(words)}`"


def text_of(page):
    return " ".join((DOCS / page).read_text().split())


MODEL = ModelRecord(
    "huggingface",
    "bert",
    {"total_time": [9.0, 2.0, 2.0, 2.0, 2.0], "peak_mem": 3.0, "flops": 5},
    "cuda",
    "H200",
    xla_flags="--x",
    dynamo="inductor",
    test="train",
    enable_functionalization=True,
    batch_size=8,
    repeat=5,
    iterations_per_run=2,
    outputs_file="out.pt",
    timestamp=1_700_438_400.0,
    verification_code="PASS",
    verification_mean_rel_error=1e-6,
    verification_max_rel_error=1e-5,
    command="again",
    others={"model": {"a": 1}, "experiment": {"b": 2}, "": {"c": 3}},
)


def test_lines_of_pytorch_xla_lose_nothing(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(f"{line_of(MODEL)}\n")
    (found,) = read_records([path], [])
    assert differing(MODEL, found, ("place",)) == set()


def test_rows_of_pytorchs_runner(tmp_path):
    eager = msgspec.structs.replace(MODEL, dynamo=None)
    path = tmp_path / "inductor_huggingface_amp_training_cuda_performance.csv"
    path.write_text(pytorch_runner.runner_csv_text([eager, MODEL]))
    found = read_records([path], [], 0.0)
    lost = set()
    for before, after in zip((eager, MODEL), found, strict=True):
        lost |= differing(before, after, ("place", "metrics"))
        assert after.time("exec").value == pytest.approx(before.time("exec").value)
        assert after.metrics.keys() < {*pytorch_runner.COLUMNS, "mean_total_time", "peak_mem"}
    assert lost == set(pytorch_runner.LOST)
    assert listed(pytorch_runner.LOST) in text_of("experiments.md")


def test_lines_of_param(tmp_path):
    cases = (
        Case(
            CallableTarget("torch", "torch.add"),
            {"0": TensorSpec((2, 3), gradient=True), "1": 3, "alpha": 0.5},
            Settings(threads=2),
            source_id="torch.add|0|0|1_2",
            category="binary",
            why="a model",
            tags=("x",),
            count=3,
        ),
        Case(
            ObjectTarget("torch", "torch.nn.ReLU", {}),
            {"0": TensorSpec((4,))},
            passes=("forward",),
            source_id="torch.nn.ReLU|0|0|0",
        ),
    )
    records = tuple(Record(case=case, id=case.id, status=Status.OK) for case in cases)
    header = Header(schema=SCHEMA_VERSION, started="begin", options={})
    path = tmp_path / "lines.json"
    path.write_text(param.param_text(Run(header, records, Closing("end", 1.0, {}), {}, cases)))
    found = list(open_source(path).cases())
    lost = set()
    for before, after in zip(cases, found, strict=True):
        lost |= differing(before, after)
    assert lost == set(param.LOST)
    assert listed(param.LOST) in text_of("workloads.md")


def test_folders_of_milabench(tmp_path):
    before = read_folder(RUNS)
    for name, content in milabench.files_of(before.run, RUNS).items():
        (tmp_path / name).write_bytes(content)
    after = read_folder(tmp_path)
    facts = {bench.name: bench for bench in after.run.header.benches}
    lost = set()
    for bench in before.run.header.benches:
        config = facts[bench.name].config
        lost |= differing(bench, facts[bench.name], ("config",))
        lost |= {name for name, value in bench.config.items() if config[name] != value}
    for one, other in zip(before.run.records, after.run.records, strict=True):
        lost |= differing(one, other, ("processes",))
        for process, same in zip(one.processes, other.processes, strict=True):
            lost |= differing(process, same)
    assert lost == {"run_name", "stream"}, "names of the run and of files are opperf's"
