"""Opperf's run files as records of models."""

import json
from pathlib import Path

import msgspec
import pytest

from opperf.experiments.analysis import statistics_of
from opperf.experiments.speedups import interval
from opperf.formats.measured_models import models_of
from opperf.formats.model_files import read_records
from opperf.formats.model_records import Estimate
from opperf.formats.xla import record_of, xla_text
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, Header, ModelTarget, OperatorTarget, Record, Run, Settings, Status
from opperf.reports.writing import runfile_text
from tests.recordings import HERE
from tests.verifications import FAILED, verified

MS = 1e6


def case(mode="eager", phase="predict", target=None, **settings):
    model = target or ModelTarget("torch", "resnet18", "opperf", batch_size=8)
    return Case(model, {}, Settings(mode=mode, phase=phase, profiler="python", **settings))


def record(case, metrics, **more):
    summaries = {name: summarise(values, "ns") for name, values in metrics.items()}
    return Record(
        case=case,
        id=case.id,
        status=more.pop("status", Status.OK),
        summaries=summaries,
        samples={name: values for name, values in metrics.items() if len(values) > 1},
        environment=HERE.id,
        **more,
    )


def run_of(*records):
    header = Header(2, "2026-01-02T03:04:05+00:00", {})
    return Run(header, records, environments={HERE.id: HERE})


@pytest.mark.parametrize(
    "mode, backend",
    [
        ("eager", "eager"),
        ("compile", "inductor"),
        ("compile:aot_eager", "aot_eager"),
        ("xla", "openxla+lazytensor"),
        ("compile:openxla", "openxla+dynamo"),
        ("hybridize", "hybridize"),
    ],
)
def test_a_mode_is_a_backend(mode, backend):
    (found,) = models_of(run_of(record(case(mode), {"forward": [2 * MS, 4 * MS]})), Path("r"))
    assert found.backend == backend
    assert (found.suite_name, found.model_name, found.batch_size) == ("opperf", "resnet18", 8)
    assert (found.accelerator, found.accelerator_model) == ("cpu", "A CPU")
    assert found.test == "eval" and found.command.startswith(
        "opperf experiment opperf:resnet18 --framework "
    )
    assert found.command.endswith(f"--id {case(mode).id}")
    assert found.time("exec").value == pytest.approx(0.003) and found.time("compile") is None


def test_a_training_steps_first_call_is_its_first_repeat():
    metrics = {"forward": [1 * MS, 1 * MS], "step": [5 * MS, 7 * MS], "first_call": [900 * MS]}
    (found,) = models_of(run_of(record(case("compile", "train"), metrics)), Path("r"))
    assert found.test == "train"
    assert found.metrics["total_time"] == pytest.approx([0.9, 0.005, 0.007])
    assert found.time("exec").value == pytest.approx(0.006)
    assert found.time("compile").value == pytest.approx(0.894)
    assert statistics_of(found)["max_total_time"] == pytest.approx(0.9)


def test_a_compilation_is_one_call_of_the_first_repeat():
    metrics = {"forward": [2 * MS, 4 * MS, 3 * MS], "first_call": [2765 * MS]}
    (found,) = models_of(run_of(record(case("compile", iterations=10), metrics)), Path("r"))
    assert found.repeat == 3 and found.iterations_per_run == 10
    assert found.metrics["total_time"] == pytest.approx([2.765 + 9 * 0.003, 0.02, 0.04, 0.03])
    assert found.metrics["per_iter_time"] == pytest.approx([0.2792, 0.002, 0.004, 0.003])
    assert found.time("compile").value == pytest.approx(2.762)
    assert statistics_of(found)["dynamo_compile_time"] == pytest.approx(2.757)


def test_a_time_is_the_median_with_the_error_of_its_interval():
    times = [time * MS for time in (2, 2, 2, 2, 2, 2, 3, 3, 90)]
    (found,) = models_of(run_of(record(case(iterations=2), {"forward": times})), Path("r"))
    time = found.time("exec")
    assert time.value == pytest.approx(0.004)
    low, high = interval(time)
    assert low < 0.004 < high < 0.01
    (once,) = models_of(run_of(record(case(), {"forward": [2 * MS]})), Path("r"))
    assert once.time("exec") == Estimate(0.002, 0.0, once.time("exec").variance)
    assert interval(once.time("exec")) is None


def test_models_of_other_frameworks_are_other_models():
    cases = [case(target=ModelTarget(name, "gpt", "opperf")) for name in ("torch", "jax")]
    found = models_of(run_of(*(record(each, {"forward": [2 * MS]}) for each in cases)), Path("r"))
    assert [each.model_name for each in found] == ["gpt", "gpt (jax)"]


def test_models_under_other_settings_are_other_models():
    cases = [case(), case(dtype="bfloat16"), case(threads=2, target=OperatorTarget("torch", "mm"))]
    found = models_of(run_of(*(record(one, {"forward": [MS]}) for one in cases)), Path("r"))
    assert [one.model_name for one in found] == [
        *("resnet18", "resnet18 (dtype=bfloat16)", "mm (threads=2)")
    ]


def test_what_did_not_run_has_an_error():
    failed = record(case(), {}, status=Status.CRASHED, reason="killed by signal 9")
    skipped = record(case("compile"), {}, status=Status.SKIPPED, reason="no compiler")
    found = models_of(run_of(failed, skipped), Path("r"))
    assert [one.error for one in found] == ["killed by signal 9", "SKIP"]


def test_a_verification_is_in_the_record():
    made = verified(record(case("compile"), {"forward": [MS]}), FAILED)
    found, without = models_of(run_of(made, record(case(), {"forward": [MS]})), Path("r"))
    assert found.verification_code == "FAIL" and without.verification_code is None
    assert (found.verification_mean_rel_error, found.verification_max_rel_error) == (5e-3, 1e-2)
    assert json.loads(xla_text(run_of(made)))["verification_code"] == "FAIL"


def test_written_lines_are_read_by_the_tools_that_they_are_for():
    run = run_of(record(case("compile"), {"forward": [2 * MS, 4 * MS], "first_call": [9 * MS]}))
    (line,) = xla_text(run).splitlines()
    value = json.loads(line)
    assert value["experiment"]["dynamo"] == "inductor" and value["experiment"]["test"] == "eval"
    again = record_of(value, "place")
    (written,) = models_of(run, Path("results.jsonl"))
    assert again == msgspec.structs.replace(written, place="place", estimates=None)


def test_run_files_are_aggregated_as_they_are(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(runfile_text(run_of(record(case(), {"forward": [2 * MS, 4 * MS]}))))
    warnings = []
    (found,) = read_records([path], warnings)
    assert found.timestamp == 1767323045 and warnings == []
