"""The figures of a run, and the total against a baseline machine."""

import math

import msgspec
import pytest

from opperf.comparison.suites.score_report import report_of
from opperf.errors import UsageError
from opperf.instruments.profilers.summary import summarise
from opperf.model import Case, ModelTarget, ProcessResult, Record, Settings, Status
from opperf.reports.text import write_text
from opperf.reports.writing import write_json
from opperf.results.runfile import merge
from opperf.suites.results.layers import choose_layers, validate
from opperf.suites.results.run import load
from opperf.suites.results.scores import scores_of
from tests.suites.results.making import (
    RUNS,
    facts_of,
    folder_of,
    of_rates,
    rates_around,
    record_of,
    script_case,
    stream_lines,
    suite,
)


def row(scores, name):
    return next(one for one in scores.rows if one.facts.name == name)


def test_the_performance_is_that_of_all_processes_together(tmp_path):
    results = tuple(
        ProcessResult(name=str(n), status=Status.OK, rate=summarise(rates_around(level), "items/s"))
        for n, level in enumerate((10, 30))
    )
    record = record_of(script_case(processes=2), processes=results)
    found = scores_of(suite(tmp_path, [facts_of(record, processes=2)], [record])).rows[0]
    assert found.performance.value == pytest.approx(40) and (found.n, found.fail) == (2, 0)


def test_the_warm_up_is_not_scored(tmp_path):
    slow_then_fast = [1.0] * 5 + [100.0] * 40
    found = scores_of(load([folder_of(tmp_path / "runs", a=stream_lines(slow_then_fast))])).rows[0]
    assert found.performance.value == pytest.approx(100.0) and found.performance.spread == 0.0


def test_the_peak_of_memory_is_the_maximum(tmp_path):
    used = [500.0, 600.0, 900.0, 400.0, 550.0]
    gpus = [({"0": {"memory": [one, 1000.0], "load": 0.5}}, t) for t, one in enumerate(used)]
    run = load([folder_of(tmp_path / "runs", a=stream_lines([1.0], gpus=gpus))])
    assert scores_of(run).rows[0].peak_bytes == 900 * 2**20


def test_energy_is_the_integral_of_power_over_devices(tmp_path):
    def gpus(power):
        return {str(n): {"memory": [1, 2], "load": 0.5, "power": power} for n in range(2)}

    samples = [(gpus(100.0), 10.0), (gpus(200.0), 12.0), (gpus(200.0), 13.0)]
    run = load([folder_of(tmp_path / "runs", a=stream_lines([1.0], gpus=samples))])
    assert scores_of(run).rows[0].energy_j == pytest.approx(2 * (2 * 150 + 200))


def test_no_unit_matters_to_the_total(tmp_path):
    base = of_rates(tmp_path, {"a": 10.0, "b": 1000.0}, "base.jsonl")
    new = of_rates(tmp_path, {"a": 20.0, "b": 500.0}, "new.jsonl")
    scaled = of_rates(tmp_path, {"a": 20e6, "b": 500.0}, "scaled.jsonl")
    scaled_base = of_rates(tmp_path, {"a": 10e6, "b": 1000.0}, "scaled_base.jsonl")
    total = scores_of(new, base).total
    assert total.value == pytest.approx(1.0)
    assert scores_of(scaled, scaled_base).total.value == pytest.approx(total.value)
    assert total.low < 1.0 < total.high


def test_the_total_is_the_geometric_mean_by_weight(tmp_path):
    weights = {"a": 3.0, "b": 1.0, "c": 0.0}
    base = of_rates(tmp_path, {"a": 10.0, "b": 10.0, "c": 10.0}, "base.jsonl", weights)
    new = of_rates(tmp_path, {"a": 20.0, "b": 40.0, "c": 1.0}, "new.jsonl", weights)
    total = scores_of(new, base).total
    assert total.value == pytest.approx(2 ** (3 / 4) * 4 ** (1 / 4))


def test_without_a_baseline_rates_of_one_unit_have_a_mean(tmp_path):
    def said(rates, *units):
        records = [
            record_of(
                script_case(name),
                processes=(
                    ProcessResult(
                        name="0", status=Status.OK, rate=summarise(rates_around(rate), unit)
                    ),
                ),
            )
            for name, rate, unit in zip("ab", rates, units, strict=False)
        ]
        facts = [facts_of(record, name=name) for name, record in zip("ab", records, strict=False)]
        run = suite(tmp_path, facts, records, f"{len(list(tmp_path.iterdir()))}.jsonl")
        return report_of(scores_of(run)).sections[-1].prose[0]

    mean = (
        "Total: 20.00 calls/s, the geometric mean of 2 of 2 benches by weight; --baseline RUN gives"
    )
    assert said((10.0, 40.0), "calls/s", "calls/s").startswith(mean)
    assert said((10.0, 40.0), "calls/s", "items/s").startswith("No total: rates of different units")
    none = of_rates(tmp_path, {"a": None}, "none.jsonl")
    assert report_of(scores_of(none)).sections[-1].prose[0].startswith("No total: no bench with")


def test_a_bench_that_did_not_run_is_listed_and_counts_as_nothing(tmp_path):
    base = of_rates(tmp_path, {"a": 10.0, "b": 10.0}, "base.jsonl")
    new = of_rates(tmp_path, {"a": 20.0, "b": None}, "new.jsonl")
    scores = scores_of(new, base)
    assert scores.total.value == pytest.approx(2.0)
    assert (row(scores, "b").why, row(scores, "b").fail) == ("never started", 1)
    report = report_of(scores)
    assert any(
        "b" in str(section.table) for section in report.sections if section.title == "In no total"
    )


def test_a_failed_attempt_has_no_performance(tmp_path):
    record = record_of(script_case(), rates_around(10), Status.FAILED, "exit code 1")
    found = scores_of(suite(tmp_path, [facts_of(record)], [record])).rows[0]
    assert found.performance is None and found.why == "failed: exit code 1" and found.fail == 1
    named = scores_of(suite(tmp_path, [facts_of(record, enabled=False)], [record])).rows[0]
    assert named.why == found.why, "one that is not enabled runs where it is named"


def test_a_record_that_failed_though_its_processes_ended_well_is_a_failure(tmp_path):
    silent = tuple(ProcessResult(name=str(n), status=Status.OK, exit_code=0) for n in range(2))
    record = record_of(script_case(), None, Status.FAILED, "made no observation", silent)
    found = scores_of(suite(tmp_path, [facts_of(record)], [record])).rows[0]
    assert (found.fail, found.n) == (1, 2) and found.why == "failed: made no observation"


def test_a_folder_that_lacks_a_process_has_no_performance(tmp_path):
    folder = folder_of(
        tmp_path / "runs", a=stream_lines([1.0] * 9, config={"plan": {"method": "njobs", "n": 2}})
    )
    found = scores_of(load([folder])).rows[0]
    assert found.performance is None and (found.fail, found.n) == (1, 2)
    assert found.why == "1 of 2 processes missing"


def test_repeats_narrow_the_interval_and_their_scatter_counts(tmp_path):
    steady = {"a": [10.0, 10.1, 9.9, 10.05, 9.95]}
    noisy = {"a": [10.0, 14.0, 7.0, 12.0, 8.0]}
    base = of_rates(tmp_path, steady, "base.jsonl")
    narrow = scores_of(of_rates(tmp_path, steady, "steady.jsonl"), base).rows[0].ratio
    wide = scores_of(of_rates(tmp_path, noisy, "noisy.jsonl"), base).rows[0].ratio
    once = scores_of(of_rates(tmp_path, {"a": 10.0}), of_rates(tmp_path, {"a": 10.0}, "b.jsonl"))
    assert not narrow.assumed and once.rows[0].ratio.assumed
    assert narrow.half_width < once.rows[0].ratio.half_width < wide.half_width


def test_groups_are_by_key_of_the_matrix_and_by_group(tmp_path):
    records = [record_of(script_case(name), rates_around(10)) for name in "abc"]
    benches = [
        facts_of(one, name=name, group="g", point={"batch": size})
        for one, name, size in zip(records, "abc", (1, 1, 2), strict=True)
    ]
    run = suite(tmp_path, benches, records)
    groups = scores_of(run, run, by=("batch", "group")).groups
    assert [(one.key, one.value, one.benches) for one in groups] == [
        ("batch", "1", 2),
        ("batch", "2", 1),
        ("group", "g", 3),
    ]
    assert all(one.total.value == pytest.approx(1.0) for one in groups)
    with pytest.raises(UsageError, match="batches.*did you mean batch"):
        scores_of(run, by=("batches",))


def test_what_is_no_program_is_in_calls_per_second(tmp_path):
    case = Case(ModelTarget("torch", "mlp", "opperf"), {})
    summaries = {
        "forward": summarise([1e6] * 20, "ns"),
        "backward": summarise([3e6] * 20, "ns"),
        "memory": summarise([5e6], "B"),
    }
    record = Record(case=case, id=case.id, status=Status.OK, summaries=summaries)
    found = scores_of(suite(tmp_path, [facts_of(record)], [record])).rows[0]
    assert found.performance.value == pytest.approx(250.0)
    assert (found.performance.unit, found.peak_bytes) == ("calls/s", 5e6)


def first_calls(tmp_path, levels, name="run.jsonl"):
    """A suite of a bench of models, each with one first call, cold, of so many seconds and with
    steps that are no part of its figure."""
    records = []
    for model, level in levels.items():
        settings = Settings(compile_cache="cold")
        case = Case(ModelTarget("torch", model, "opperf"), {}, settings)
        steps = [1e6, 2e6, 3e6]
        samples = {"first_call": [level * 1e9], "step": steps}
        summaries = {metric: summarise(found, "ns") for metric, found in samples.items()}
        stored = {"step": steps}
        records.append(
            Record(case=case, id=case.id, status=Status.OK, summaries=summaries, samples=stored)
        )
    return suite(tmp_path, [facts_of(*records)], records, name)


def test_a_single_observation_has_no_interval_and_is_not_exact(tmp_path):
    run = first_calls(tmp_path, {"mlp": 4.0, "transformer": 1.0})
    other = first_calls(tmp_path, {"mlp": 4.4, "transformer": 1.1}, "other.jsonl")
    (found,) = scores_of(run, other).rows
    assert found.performance.value == pytest.approx(0.5)
    own = found.performance
    assert own.half_width is own.error is own.spread is None
    report = report_of(scores_of(run))
    text = write_text(report)
    table = str(report.sections[1].table)
    assert "0.5000 ?" in text and "? uncertain:" in text and "±" not in table
    assert report.data["benches"][0]["sem"] is None
    # Two cases on two sides, each with the assumed scatter for its start and for its observation.
    error = 0.05 * math.sqrt(2 * 2 * 2) / 2
    assert found.ratio.assumed
    assert math.log(found.ratio.high / found.ratio.value) == pytest.approx(1.96 * error, rel=1e-3)


def test_the_scatter_of_attempts_is_the_error_of_single_observations(tmp_path):
    records = [record_of(script_case(repeat=n), [rate]) for n, rate in enumerate((10.0, 11.0))]
    run = suite(tmp_path, [facts_of(*records)], records)
    (found,) = scores_of(run, run).rows
    assert found.performance.error == pytest.approx(math.log(1.1) / 2) and not found.ratio.assumed


def test_a_case_of_a_single_observation_has_an_assumed_error_beside_repeated_ones(tmp_path):
    repeated = [record_of(script_case(repeat=n), rates_around(10 + n / 10)) for n in range(3)]
    other = script_case(argv=("--other",))
    ratios = []
    for number, rates in enumerate(([5.0] * 40, [5.0])):
        records = [*repeated, record_of(other, rates)]
        run = suite(tmp_path, [facts_of(*records)], records, f"{number}.jsonl")
        (found,) = scores_of(run, run).rows
        ratios.append(found.ratio)
        assert (found.performance.error is None) == (number == 1)
    assert [one.assumed for one in ratios] == [False, True]
    assert ratios[1].half_width > ratios[0].half_width


def test_performance_per_money(tmp_path):
    base = of_rates(tmp_path, {"a": 10.0}, "base.jsonl")
    scores = scores_of(of_rates(tmp_path, {"a": 20.0}), base, price=4000.0)
    assert scores.per_money == pytest.approx(2.0 / 4000)
    assert any("Per 1000 of money: 0.5" in line for line in report_of(scores).sections[-1].prose)


def test_the_report_of_a_folder_has_all_columns():
    report = report_of(scores_of(load([RUNS])))
    (bench,) = report.data["benches"]
    assert set(report.header) <= set(bench) and math.isclose(bench["perf"], 15643.03, rel_tol=1e-4)


def test_attempts_that_say_nothing_have_an_interval_without_end(tmp_path):
    base = of_rates(tmp_path, {"a": [1.0, 1e300]}, "base.jsonl")
    scores = scores_of(of_rates(tmp_path, {"a": [1.0, 1.0]}, "new.jsonl"), base)
    assert scores.rows[0].ratio.high == math.inf and scores.total.high == math.inf
    report = report_of(scores)
    assert "to inf)" in write_text(report) and "Infinity" not in write_json(report)


def test_rounds_of_a_record_are_attempts_and_those_that_failed_are_failures(tmp_path):
    case = script_case()
    bad = record_of(case, None, Status.TIMEOUT, "no end")
    rounds = [record_of(case, rates_around(level)) for level in (10, 11, 12)]
    rounds = [
        msgspec.structs.replace(one, summaries={"rate": one.processes[0].rate}) for one in rounds
    ]
    merged = merge(rounds[0], [bad, *rounds[1:]])
    run = suite(tmp_path, [facts_of(merged)], [merged])
    found = scores_of(run).rows[0]
    assert found.performance.attempts == 3 and (found.fail, found.n) == (1, 4)
    assert found.performance.value == pytest.approx((10 * 11 * 12) ** (1 / 3))
    (finding,) = validate(run, choose_layers(("timeout", "error"), False)).findings
    assert (finding.layer, finding.text) == ("timeout", "timeout: round 2 timeout: no end")


def test_a_bench_that_is_not_enabled_and_ran_is_validated(tmp_path):
    record = record_of(script_case(), None, Status.FAILED, "exit code 1")
    run = suite(tmp_path, [facts_of(record, enabled=False)], [record])
    assert validate(run, choose_layers(("error",), False)).failures
