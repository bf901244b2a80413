"""The layers of validation find what they say, in stored runs."""

import math
import re

import pytest

from opperf.errors import UsageError
from opperf.instruments.profilers.summary import summarise
from opperf.model import GpuState, Note, NoteCode, ProcessResult, Status
from opperf.reports.validations import report_of
from opperf.suites.results.layers import MILABENCH, OWN, choose_layers, validate
from opperf.suites.results.run import load
from tests.environments import make_environment
from tests.suites.results.making import (
    REPLAYS,
    facts_of,
    folder_of,
    rates_around,
    record_of,
    run_of,
    script_case,
    stream_lines,
    suite,
    written,
)


def found(run, *layers, milabench=False):
    """The layers and levels of what is found."""
    validation = validate(run, choose_layers(layers, milabench))
    return [(one.layer, one.level) for one in validation.findings]


@pytest.mark.parametrize("milabench", [False, True])
@pytest.mark.parametrize(
    "replay, layer, fails",
    [
        ("error.txt", "error", True),
        ("loss.txt", "loss", True),
        ("no_usage.txt", "usage", True),
        ("usage.txt", "usage", False),
        ("planning_njobs_bad", "planning", True),
        ("planning_njobs_good", "planning", False),
    ],
)
def test_replays_of_milabench(replay, layer, fails, milabench):
    findings = found(load([REPLAYS / replay]), layer, milabench=milabench)
    assert ((layer, "failure") in findings) == fails


@pytest.mark.parametrize("milabench", [False, True])
def test_of_an_unknown_number_of_gpus_planning_neither_fails_nor_passes(tmp_path, milabench):
    for file in sorted((REPLAYS / "planning_njobs_good").iterdir()):
        text = re.sub(r'"plan": \{[^}]*\}', '"plan": {"method": "per_gpu"}', file.read_text())
        (tmp_path / f"{file.name}.data").write_text(text)
    run = load([tmp_path])
    assert [bench.facts.processes for bench in run.benches] == [0]
    assert found(run, "planning", milabench=milabench) == [("planning", "unknown")]
    report = report_of(validate(run, choose_layers(("planning",), milabench)))
    assert "0 failures, 0 warnings, 1 unknown" in report.answer[0]
    assert [test.result for test in report.tests] == ["skipped"]


def test_layers_are_chosen_by_name():
    assert choose_layers((), False) == choose_layers(("all",), False) == OWN
    assert [one.name for one in choose_layers((), True)] == ["error", "ensure_rate", "version"]
    assert choose_layers(("all",), True) == MILABENCH
    with pytest.raises(UsageError, match="planing.*did you mean planning"):
        choose_layers(("planing",), False)


def test_a_bench_that_never_started_fails_and_one_that_was_not_to_run_does_not(tmp_path):
    record = record_of(script_case("ran"), rates_around(10))
    skipped = record_of(script_case("skipped"), None, Status.SKIPPED, "no GPU")
    run = suite(
        tmp_path,
        [
            facts_of(record, name="ran"),
            facts_of(skipped, name="skipped"),
            facts_of(name="absent"),
            facts_of(name="off", enabled=False),
            facts_of(name="unable", why_not="needs 2 nodes"),
            facts_of(name="gone", why_not="no such script", is_broken=True),
        ],
        [record, skipped],
    )
    validation = validate(run, choose_layers(("started",), False))
    assert [one.bench for one in validation.failures] == ["skipped", "absent", "gone"]


def test_a_timeout_is_a_failure_and_named_as_such(tmp_path):
    record = record_of(script_case(), None, Status.TIMEOUT, "no end after 600 s")
    run = suite(tmp_path, [facts_of(record)], [record])
    validation = validate(run, OWN)
    assert ("timeout", "timeout: no end after 600 s") in [
        (one.layer, one.text) for one in validation.failures
    ]
    assert "error" not in {one.layer for one in validation.failures}


def test_equal_errors_are_one_finding_with_its_processes(tmp_path):
    results = tuple(
        ProcessResult(name=name, status=Status.FAILED, reason=reason, exit_code=1)
        for name, reason in (("0", "no memory"), ("1", "no memory"), ("2", "killed"))
    )
    record = record_of(script_case(), status=Status.FAILED, processes=results)
    validation = validate(
        suite(tmp_path, [facts_of(record)], [record]), choose_layers(["error"], 0)
    )
    assert [(one.text, one.process) for one in validation.findings] == [
        ("no memory", "0, 1"),
        ("killed", "2"),
    ]


def test_a_process_without_meta_is_named(tmp_path):
    results = (ProcessResult(name="0", status=Status.OK),)
    record = record_of(script_case(), processes=results)
    run = suite(tmp_path, [facts_of(record)], [record])
    validation = validate(run, choose_layers(["version"], True))
    assert [(one.text, one.process) for one in validation.findings] == [("no event meta", "0")]


@pytest.mark.parametrize("n, fails", [(39, True), (40, False)])
def test_observations_are_counted_and_not_summed(tmp_path, n, fails):
    record = record_of(script_case(), [1e9] * n)
    run = suite(tmp_path, [facts_of(record, expected=40)], [record])
    assert (found(run, "ensure_rate") == [("ensure_rate", "failure")]) == fails


def test_a_process_that_is_silent_beside_others_is_one_of_planning(tmp_path):
    results = (
        ProcessResult(name="0", status=Status.OK, rate=summarise([1.0] * 5, "items/s")),
        ProcessResult(name="1", status=Status.OK),
    )
    record = record_of(script_case(processes=2), processes=results)
    run = suite(tmp_path, [facts_of(record, expected=5, processes=2)], [record])
    assert found(run, "ensure_rate", "planning") == [("planning", "failure")]


@pytest.mark.parametrize(
    "losses, expected",
    [
        ([3.0, math.nan, 1.0], [("loss", "failure")]),
        ([3.0, math.inf, 1.0], [("loss", "failure")]),
        ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [("loss", "warning")]),
        ([3.0, 3.0, 2.0, 9.0, 1.0, 1.0], []),
        ([1.0, 2.0], []),
    ],
)
def test_losses(tmp_path, losses, expected):
    folder = folder_of(tmp_path / "runs", a=stream_lines([1.0], losses=losses))
    assert found(load([folder]), "loss") == expected


def test_usage_is_by_gpu_and_thresholds_of_the_bench(tmp_path):
    gpus = [
        ({"0": {"memory": [900, 1000], "load": 0.9}, "1": {"memory": [100, 1000], "load": 0.2}}, t)
        for t in (1.0, 2.0)
    ]
    folder = folder_of(tmp_path / "runs", a=stream_lines([1.0], gpus=gpus))
    validation = validate(load([folder]), choose_layers(["usage"], False))
    assert [(one.level, one.text) for one in validation.findings] == [
        ("failure", "mean load of GPU 1 is 20%, below 50%"),
        ("warning", "mean memory of GPU 1 is 10%, below 50%"),
    ]


def test_processes_that_observed_are_those_planned(tmp_path):
    record = record_of(script_case(), rates_around(1.0))
    assert found(suite(tmp_path, [facts_of(record)], [record]), "planning") == []
    other = suite(tmp_path, [facts_of(record, processes=2)], [record], "other.jsonl")
    assert found(other, "planning") == [("planning", "failure")]


def test_figures_without_some_nodes_are_a_warning(tmp_path):
    notes = (
        Note("cpu_load", NoteCode.INCOMPLETE, "cpu_load without node b"),
        Note("rate", NoteCode.INCOMPLETE, "process 0 made 3 of 5 observations"),
    )
    record = record_of(script_case(), rates_around(1.0), notes=notes)
    run = suite(tmp_path, [facts_of(record)], [record])
    assert found(run, "samples") == [("samples", "warning")]


@pytest.mark.parametrize(
    "said",
    [
        {"gpu": GpuState(readings=10, throttled=3, reasons=("power cap",))},
        {"notes": (Note("", NoteCode.THROTTLED, "the GPU lowered its clocks"),)},
    ],
)
def test_a_gpu_that_throttled_is_a_warning(tmp_path, said):
    record = record_of(script_case(), rates_around(1.0), **said)
    assert found(suite(tmp_path, [facts_of(record)], [record]), "throttle") == [
        ("throttle", "warning")
    ]


@pytest.mark.parametrize("slope, expected", [(0.0, []), (-0.01, [("drift", "warning")])])
def test_a_rate_that_drifts_within_the_run_is_a_warning(tmp_path, slope, expected):
    rates = [100.0] * 10 + [100.0 * (1 + slope * i + 0.001 * (-1) ** i) for i in range(40)]
    folder = folder_of(tmp_path / "runs", a=stream_lines(rates))
    assert found(load([folder]), "drift") == expected


def test_attempts_in_different_environments_are_a_warning(tmp_path):
    import msgspec

    first, other = make_environment("program"), make_environment("program", cpu="Another")
    records = [
        record_of(script_case(repeat=number), rates_around(1.0), environment=one.id)
        for number, one in enumerate((first, other))
    ]
    run = run_of([facts_of(*records)], records)
    run = msgspec.structs.replace(run, environments={first.id: first, other.id: other})
    validation = validate(
        load([written(tmp_path / "run.jsonl", run)]), choose_layers(["environment"], False)
    )
    assert ["cpu" in one.text for one in validation.warnings] == [True]


def test_milabench_neither_sees_a_timeout_nor_a_bench_that_never_started(tmp_path):
    record = record_of(script_case("late"), None, Status.TIMEOUT, "no end after 600 s")
    run = suite(tmp_path, [facts_of(record, name="late"), facts_of(name="absent")], [record])
    assert found(run, "error", "ensure_rate", milabench=True) == []


def test_its_exit_code_is_the_bitwise_or_of_counts():
    run = load([REPLAYS / "planning_njobs_good"])
    validation = validate(run, choose_layers((), True))
    assert validation.milabench_code == 3
    assert "would exit with 3" in report_of(validation, True).sections[-1].prose[0]
