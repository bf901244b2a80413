"""The registry of metrics, and an instrument that another package adds to it."""

import csv
import io
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from opperf import metrics
from opperf.commands.compare import compare as command
from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.reading import read
from opperf.errors import UsageError
from opperf.formats import bencher, github_action
from opperf.formats.exporting import export_of
from opperf.instruments.instrument import GROUP
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.program_metrics import PROGRAM_METRICS, STEPS
from opperf.instruments.replays import REPLAYS
from opperf.instruments.times import FORWARD
from opperf.instruments.wrapped.programs import METRICS as WRAPPED
from opperf.metrics import (
    BUILT_IN,
    alone_instruments,
    check_instruments,
    counts,
    default_metrics,
    expected_metrics,
    exported_metrics,
    instruments,
    instruments_of,
    launcher_of,
    metric_named,
    metrics_by_name,
    metrics_in,
    needs_of,
    process_settings,
    sort_metrics,
)
from opperf.model import (
    PASSES,
    SCHEMA_VERSION,
    Case,
    Header,
    Metric,
    MetricKind,
    OperatorTarget,
    Record,
    Run,
    ScriptTarget,
    Settings,
    Status,
    TensorSpec,
)
from opperf.reports.formats import REPORT, formats_of
from opperf.reports.run_tables import run_text
from opperf.reports.writing import write
from opperf.results.columns import csv_text
from opperf.sources.choices import CHOICES, refusal
from tests.environments import make_environment
from tests.writing import compared as written

TOY = Path(__file__).parent / "toy_instrument"
COUNTER = Path(__file__).parent / "toy_counter"

METRICS = (
    *(metric for instrument in BUILT_IN for metric in instrument.metrics),
    *WRAPPED,
    *PROGRAM_METRICS,
)

PROFILED = [metric.name for metric in WRAPPED if metric.usual]
OF_PROGRAMS = [metric.name for metric in PROGRAM_METRICS if metric.usual]
REPLAYED = [metric.name for metric in REPLAYS.metrics if metric.usual]


CACHED = (metrics_by_name, instruments, metrics._under)


@pytest.fixture(autouse=True)
def fresh_registry():
    """Looks for instruments anew, and lets later tests do so."""
    for cached in CACHED:
        cached.cache_clear()
    yield
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def toy(monkeypatch):
    """As if the package with the toy metric were installed."""
    monkeypatch.syspath_prepend(TOY)


@pytest.fixture
def added(monkeypatch):
    """Has these objects of the toy that declares all that one may be those of other packages."""
    monkeypatch.syspath_prepend(COUNTER)

    def install(*names):
        entries = [EntryPoint(name.lower(), f"toy_counter:{name}", GROUP) for name in names]
        monkeypatch.setattr(metrics, "declared", lambda group: entries)
        for cached in CACHED:
            cached.cache_clear()

    return install


def record(name="relu", factor=1.0, bandwidth=True):
    case = Case(OperatorTarget("mxnet", name), {"data": TensorSpec((4, 4))})
    samples = {"forward": [1e6 * factor * (1 + n / 1000) for n in range(20)]}
    summaries = {"forward": summarise(samples["forward"], "ns")}
    if bandwidth:
        samples["bandwidth"] = [8.0 / factor * (1 + n / 1000) for n in range(20)]
        summaries["bandwidth"] = summarise(samples["bandwidth"], "GB/s")
    return Record(case=case, id=case.id, status=Status.OK, summaries=summaries, samples=samples)


def run(*records):
    environment = make_environment("mxnet")
    return Run(
        Header(SCHEMA_VERSION, "2025-01-02T03:04:05+00:00", {}),
        records,
        environments={environment.id: environment},
        cases=tuple(one.case for one in records),
    )


def test_every_metric_is_declared_once_and_described():
    names = [metric.name for metric in METRICS]
    assert list(metrics_by_name()) == names and len(set(names)) == len(names)
    assert all(metric.title and metric.description for metric in METRICS)
    # Words that options and columns can have.
    assert all(name.isidentifier() and name == name.lower() for name in names)


def test_a_pass_is_the_name_of_its_time():
    assert all(metrics_by_name()[name].is_time for name in PASSES)
    assert Case(OperatorTarget("mxnet", "relu"), {}).passes == PASSES


COUNTS = [
    f"{name}{backward}"
    for name in ("instructions", "l1_misses", "last_level_misses", "branches", "branch_misses")
    for backward in ("", "_backward")
]


STEPPED = [metric.name for metric in STEPS.metrics]


def test_what_counts_where_nothing_is_named():
    assert [metric.name for metric in default_metrics()] == [
        "forward",
        "backward",
        *STEPPED,
        "memory",
        *COUNTS,
        *REPLAYED,
        *PROFILED,
        *OF_PROGRAMS,
    ]


def test_what_a_program_finds_has_no_column_where_no_record_has_it():
    assert {metric.name for metric in WRAPPED} >= {"ncu_time", "perf_cycles_backward"}
    assert not set(exported_metrics()) & set(WRAPPED)
    for metric in WRAPPED:
        assert metric.on_request and metric.title
        assert metric.unit and (not metric.forward or metric.name == f"{metric.forward}_backward")
        pass_name = "backward" if metric.forward else "forward"
        assert metric.description.endswith(f"in the {pass_name} pass")


@pytest.mark.parametrize("kind", MetricKind)
def test_kinds_are_times_or_steady_or_neither(kind):
    metric = Metric("x", "ns", kind, "X")
    assert metric.is_time is (kind in ("kernel", "wall"))
    assert metric.is_steady is (kind in ("memory", "count"))


def test_a_record_of_a_program_has_a_rate_and_no_times():
    case = Case(ScriptTarget("bench", "main.py"), {}, passes=())
    assert expected_metrics(case) == ("rate",)
    assert not set(exported_metrics()) & set(PROGRAM_METRICS)


def test_a_metric_survives_json():
    for metric in METRICS:
        assert msgspec.json.decode(msgspec.json.encode(metric), type=Metric) == metric


def test_the_metrics_of_records_are_in_the_order_of_the_registry():
    forward, odd = summarise([1.0], "ns"), summarise([2.0], "widgets")
    one = msgspec.structs.replace(record(), summaries={"zeta": odd, "memory": odd, "alpha": odd})
    other = msgspec.structs.replace(record(), summaries={"forward": forward})
    assert [metric.name for metric in metrics_in([one, other])] == [
        *("forward", "memory", "alpha", "zeta")
    ]
    assert sort_metrics(reversed(METRICS)) == METRICS


def test_a_metric_that_nobody_declares_is_shown_under_its_own_name():
    found = metric_named("odd", "widgets")
    assert (found.title, found.unit, found.usual) == ("odd", "widgets", True)
    assert not (found.is_time or found.is_steady)
    assert metric_named("forward", "ns") is FORWARD
    # One of hundreds that ncu has.
    assert not metric_named("ncu.sm__cycles_active.max", "cycle").usual


def test_a_metric_of_another_package_is_found(toy):
    assert list(metrics_by_name()) == [*(metric.name for metric in METRICS), "bandwidth"]
    assert [metric.name for metric in default_metrics()] == [
        "forward",
        "backward",
        *STEPPED,
        "memory",
        *COUNTS,
        *REPLAYED,
        *PROFILED,
        *OF_PROGRAMS,
        "bandwidth",
    ]


def test_it_has_a_column_in_the_table(toy):
    titles, _, line = run_text([record()]).splitlines()
    assert titles.split()[2:] == ["Forward", "ms", "Bandwidth", "GB/s"]
    assert "8.08 ±0.4 %" in line


def test_it_has_columns_in_csv(toy):
    (row,) = csv.DictReader(io.StringIO(csv_text(run(record()))))
    assert float(row["bandwidth_median_GB/s"]) == pytest.approx(8.076)
    assert float(row["bandwidth_p90_GB/s"]) == record().summaries["bandwidth"].p90


def test_it_is_exported_where_the_tool_has_a_place_for_it(toy):
    (measures,) = bencher.write(export_of(run(record())))[0].values()
    assert set(measures) == {"latency", "bandwidth"}
    # Of this tool's figures the smaller one is the better one.
    entries, warnings = github_action.write_run(run(record()))
    assert len(entries) == 1 and warnings == ["excluded: 1 figure for which larger is better"]


@pytest.fixture
def compared(tmp_path):
    """Compares a run with one that is so many times as slow."""

    def made(factor, **question):
        paths = [tmp_path / "base.jsonl", tmp_path / "new.jsonl"]
        for path, one in zip(paths, (record(), record(factor=factor)), strict=True):
            write(run(one), path, "jsonl")
        return compare(*map(read, paths), Question(**question))

    return made


@pytest.mark.parametrize(
    ("factor", "is_worse", "word"), [(2.0, True, "less"), (0.5, False, "more")]
)
def test_it_is_compared_and_the_smaller_figure_is_the_worse_one(
    toy, compared, factor, is_worse, word
):
    found = compared(factor)
    assert found.metrics == ("forward", "bandwidth")
    (row,) = found.rows_of("bandwidth")
    assert row.is_worse is is_worse and row.verdict.value == "suspect"
    assert f"1 suspect (1 {word})" in written(found, "text")
    for name in formats_of(REPORT):
        assert "bandwidth" in written(found, name), name
    cases = json.loads(written(found, "json"))["rows"]
    (case,) = [one for one in cases if one["unit"] == "GB/s"]
    assert case["base_half_width"] == pytest.approx(0.036)


def test_it_can_be_named(toy, compared, tmp_path):
    compared(2.0)
    files = [str(tmp_path / name) for name in ("base.jsonl", "new.jsonl")]
    done = CliRunner().invoke(command, [*files, "--metric", "bandwidth", "-f", "csv"])
    assert done.exit_code == 0 and "forward" not in done.stdout
    refused = CliRunner().invoke(command, [*files, "--metric", "bandwith"])
    assert "not one of forward" in refused.output and "energy_per_item, bandwidth" in refused.output
    printed = CliRunner().invoke(command, ["--help"]).output
    assert "replay_inputs, bandwidth, step, optimizer, verification_mean_rel_error," in " ".join(
        printed.split()
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("toy_instrument:NOT_THERE", "cannot be loaded .*; fix or reinstall its package"),
        ("not_installed:INSTRUMENT", "cannot be loaded .*; fix or reinstall its package"),
        ("toy_instrument:NO_INSTRUMENT", "is not an Instrument; fix its package"),
        ("toy_instrument:WORDY", "has a metric that is not a Metric; fix its package"),
        ("toy_instrument:TAKEN", "has a metric 'forward', which is another instrument's"),
        ("toy_counter:SAME_PROFILER", "has the profiler 'instructions', which is another"),
    ],
)
def test_an_instrument_that_cannot_be_used_is_refused_with_what_to_do(
    toy, added, monkeypatch, value, why
):
    entry = EntryPoint("bandwidth", value, GROUP)
    monkeypatch.setattr(metrics, "declared", lambda group: (entry,))
    with pytest.raises(UsageError, match=f"{value}, an entry point of .* {why}"):
        metrics_by_name()


FRAMES = Settings(profiler="frames")


def test_one_with_a_profiler_measures_alone_in_a_process_of_its_own(added, fake):
    added("FRAMES", "LAST")
    names = [one.name for one in instruments_of(FRAMES)]
    assert names == ["recorded", "frames"] and list(alone_instruments()) == [
        "instructions",
        "frames",
    ]
    assert counts("frames") and not counts("python")
    assert process_settings(FRAMES) == Settings(profiler="frames", threads=1)
    assert process_settings(Settings(profiler="python")) == Settings()
    assert needs_of(FRAMES).fork_for_each_case and not needs_of(FRAMES).quiet_machine
    assert launcher_of("fake", FRAMES) is not None and launcher_of("fake", Settings()) is None
    case = Case(OperatorTarget("mxnet", "relu"), {}, FRAMES)
    assert expected_metrics(case) == ("frames",)
    with pytest.raises(UsageError, match="--verify runs beside times, and --profiler frames"):
        check_instruments([Settings(profiler="frames", verify=True)])
    assert CHOICES["profiler"](fake)[-1] == "frames"
    assert refusal(fake, "profiler", "frames") is None


def test_one_beside_times_is_one_of_all(added):
    added("FRAMES", "LAST")
    *_, verification, last = instruments_of(Settings(verify=True))
    assert (verification.name, last.name) == ("verification", "order")
    assert needs_of(Settings(memory=False)).pristine_fork
    assert not {"order", "frames"} & {
        one.name for one in instruments_of(Settings(profiler="instructions"))
    }


def test_workers_run_in_one_program_and_no_second(added):
    added("SECOND")
    assert launcher_of("fake", Settings()) is not None
    assert process_settings(Settings(seed=3)) == Settings(threads=1)
    assert process_settings(Settings(profiler="python")) != process_settings(Settings())
    added("SECOND", "THIRD")
    with pytest.raises(UsageError, match="instruments second and third each run workers in"):
        launcher_of("fake", Settings())
