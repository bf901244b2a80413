"""Results of other tools: the figures that a history takes from each form."""

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from opperf.errors import OpperfError
from opperf.formats.figures import Given
from opperf.formats.forms import read_results
from opperf.formats.model import WHOLE
from opperf.model import MetricKind
from opperf.repository import Commit
from tests.formats.samples import (
    ASV_OLD,
    BENCHER,
    GITHUB,
    HYPERFINE,
    MADE,
    NAN,
    OPERATORS,
    OTHER,
    PYTEST,
    PYTORCH,
    SHA,
    asv_results,
    write_asv,
)

RUNS = Path(__file__).parents[1] / "data" / "milabench" / "runs"

HUGE = [["1"] * 3000] * 4
"""Parameters of asv that take some hundred kilobytes, and more combinations than any memory has."""

NOTHING = Given()

GIVEN = Given(Commit(OTHER), "main", "bench-1")


@pytest.fixture
def read(tmp_path):
    """Reads a value, as a file of JSON, with what a user gives."""

    def reading(value, given=NOTHING, form="", name="results.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return read_results(path, form, given)

    return reading


def figures(submission):
    """By name, inputs and metric, the points of a run."""
    return {
        (entry.facts.name, entry.facts.inputs, entry.key.metric): entry
        for entry in submission.entries
    }


def test_asv_has_a_series_for_each_combination_with_bounds_of_95_percent(tmp_path):
    (run,) = read_results(write_asv(tmp_path / "results"), "", Given()).submissions
    assert (run.commit.sha, run.commit.time, run.started) == (SHA, 1.6e9, 1.7e9)
    found = figures(run)
    time = found["s.time_sum", "n=10", "time"]
    assert (time.facts.unit, time.facts.kind) == ("ns", MetricKind.WALL)
    point = time.point
    assert (point.n, point.median, point.q25, point.q75) == pytest.approx((3, 2e3, 1950, 2050))
    assert point.samples == pytest.approx((1900, 2000, 2100))
    assert 1900 < point.low < 1930 and point.high - 2000 == pytest.approx(2000 - point.low)
    assert found["s.time_sum", "n=20", WHOLE].point.status == "failed"
    assert found["s.time_nan", "", WHOLE].point.status == "skipped"
    memory = found["s.mem_list", "", "memory"]
    assert (memory.facts.unit, memory.point.median) == ("B", 8056) and math.isnan(memory.point.low)
    (facts,) = run.environments.values()
    assert (facts["cpu"], facts["cores"], facts["requirements"]) == (
        "AMD EPYC",
        "2",
        {"numpy": "1.26"},
    )


def test_a_changed_version_of_an_asv_benchmark_and_another_machine_are_other_series(tmp_path):
    def keys(folder, machine="box", **more):
        folder = write_asv(tmp_path / folder, asv_results(**more))
        file = folder / "box" / "machine.json"
        file.write_text(file.read_text().replace("box", machine))
        (run,) = read_results(folder, "", Given()).submissions
        return {entry.key for entry in run.entries if entry.facts.name == "s.time_sum"}

    first = keys("a")
    assert keys("b", sha=OTHER) == first
    assert not keys("c", hash="v2") & first and not keys("d", "other") & first


def test_version_1_of_asv_and_a_file_of_it_alone(read):
    intake = read(ASV_OLD)
    found = figures(intake.submissions[0])
    assert found["s.time_plain", "", "time"].point.median == pytest.approx(1000)
    assert found["s.time_sum", "param1=10", "time"].point.n == 3
    assert found["s.time_gone", "", WHOLE].point.status == "failed"
    assert found["s.time_sum", "param1=20", WHOLE].point.status == "failed"
    assert "benchmarks.json is not there" in intake.warnings[0]


def test_pytest_benchmark(read):
    (run,) = read(PYTEST).submissions
    assert (run.commit.sha, run.branch, run.is_dirty) == (SHA, "topic", True)
    found = figures(run)
    one = found["test_b.py::test_sum", "n=10", "time"]
    assert one.point.samples == pytest.approx((1e3, 2e3, 3e3)) and one.point.median == 2e3
    other = found["test_b.py::test_all", "", "time"]
    assert (other.point.n, other.point.median, other.point.q25) == (9, 5e6, 4e6)
    # Runners of a CI have another name each time, and are no other machine.
    renamed = json.loads(json.dumps(PYTEST).replace("runner-7", "runner-8"))
    (again,) = read(renamed).submissions
    assert {entry.key for entry in again.entries} == {entry.key for entry in run.entries}


@pytest.mark.parametrize("form", ["window.BENCHMARK_DATA = {};\n", "{}"])
def test_github_action_benchmark_keeps_groups_apart(read, form):
    go, python = read(form.replace("{}", json.dumps(GITHUB)), name="data.js").submissions
    assert (go.commit.subject, go.commit.author) == ("Faster", "A")
    (fib,), (rate,) = go.entries, python.entries
    assert (fib.point.median, fib.facts.unit, fib.facts.lower_is_better) == (2.5, "ns", True)
    assert (rate.facts.unit, rate.facts.lower_is_better) == ("iter/sec", False)
    assert fib.key.environment != rate.key.environment


def test_huge_numbers_are_no_reason_to_fail(read):
    counts = changed(asv_results(), "results", "s.time_sum", 10, to=[NAN, 1e300])
    machine = changed(PYTEST, "machine_info", "cpu", "count", to=10**400)
    rounds = changed(machine, "benchmarks", 1, "stats", "rounds", to=10**18 - 1)
    (run,) = read(rounds).submissions
    assert figures(run)["test_b.py::test_all", "", "time"].point.n == 2**31 - 1
    (run,) = read(counts).submissions
    assert figures(run)["s.time_sum", "param1=10", "time"].point.n == 3


def test_runs_without_any_result_are_said_and_kept_for_what_is_missing(tmp_path, read):
    empty = asv_results(OTHER, results={})
    folder = write_asv(tmp_path / "r", asv_results(), empty)
    runs = read_results(folder, "", NOTHING).submissions
    assert {run.commit.sha: len(run.entries) for run in runs} == {SHA: 4, OTHER: 0}
    intake = read(changed(GITHUB, "entries", "Go", 0, "benches", to=[]))
    assert len(intake.submissions) == 2 and "1 run without any result" in intake.warnings[-1]


@pytest.mark.parametrize("value", ("null", "NaN", "Infinity"))
@pytest.mark.parametrize(
    "form, place",
    (
        (GITHUB, ("entries", "Go", 0, "benches", 0, "value")),
        (BENCHER, ("sum", "latency", "value")),
        (PYTEST, ("benchmarks", 1, "stats", "median")),
        (PYTEST, ("benchmarks", 0, "stats", "data", 1)),
        (PYTORCH, (0, "metric", "benchmark_values", 0)),
        (OPERATORS, (0, "latency")),
        (HYPERFINE, ("results", 0, "times", 1)),
        (HYPERFINE, ("results", 1, "mean")),
    ),
)
def test_a_value_that_is_no_figure_is_a_failure_of_its_series(read, form, place, value):
    whole = {entry.key for run in read(form, GIVEN).submissions for entry in run.entries}
    text = json.dumps(changed(form, *place, to="VALUE")).replace('"VALUE"', value)
    entries = [entry for run in read(text, GIVEN).submissions for entry in run.entries]
    (failed,) = [entry for entry in entries if "its value is" in entry.point.reason]
    assert {entry.key for entry in entries} == whole
    assert failed.point.status == "failed" and math.isnan(failed.point.median)


def test_hyperfines_commands_have_all_their_times_and_those_of_the_processor(read):
    (run,) = read(HYPERFINE, GIVEN).submissions
    found = figures(run)
    time = found["sleep 0.1", "n=1", "time"]
    assert time.point.samples == pytest.approx((1e8, 1.05e8, 1.2e8)) and time.facts.unit == "ns"
    assert (time.point.n, time.point.median) == (3, 1.05e8)
    assert found["sleep 0.1", "n=1", "user"].point.median == 1e6
    assert found["true", "", "time"].point.median == 2e6 and len(found) == 3


def test_bencher_takes_commit_and_machine_from_the_user(read):
    intake = read(BENCHER, GIVEN)
    (run,) = intake.submissions
    latency, throughput = run.entries
    assert run.commit.sha == OTHER and run.environments[latency.key.environment]["machine"]
    assert (latency.point.low, latency.point.high, latency.facts.unit) == (87, 90, "ns")
    assert not throughput.facts.lower_is_better
    other = read(BENCHER, msgspec.structs.replace(GIVEN, machine="bench-2")).submissions[0]
    assert other.entries[0].key.environment != latency.key.environment


@pytest.mark.parametrize(
    "measure, said",
    [
        ({"value": -3.0}, "a.latency: -3 ns is no time, which is above zero"),
        (
            {"value": 3.0, "lower_value": 5.0},
            "a.latency: the lower bound is 5, which is above the figure, 3",
        ),
        (
            {"value": 3.0, "upper_value": 2.0},
            "a.latency: the figure is 3, which is above the upper bound, 2",
        ),
    ],
)
def test_a_figure_that_cannot_be_is_refused_with_its_key(read, measure, said):
    with pytest.raises(OpperfError, match=said):
        read({"a": {"latency": measure}}, GIVEN)


def test_a_key_that_stands_twice_is_refused(read):
    with pytest.raises(OpperfError, match="the key 'value' is there twice"):
        read('{"a": {"latency": {"value": 1, "value": 2}}}', GIVEN)


def test_pytorchs_records_are_a_run_for_each_job(read):
    first, second = read(PYTORCH).submissions
    found = figures(first)
    name, inputs = "suite: bert", "mode=inference, dtype=bfloat16, backend=inductor"
    latency = found[name, inputs, "latency(ms)"]
    assert (latency.point.median, latency.point.n, latency.facts.unit) == (2e6, 3, "ns")
    assert not found[name, inputs, "speedup"].facts.lower_is_better
    assert found[name, inputs, WHOLE].point.status == "failed"
    assert second.entries[0].key == latency.key and second.id != first.id
    lines = "\n".join(map(json.dumps, PYTORCH))
    assert [run.id for run in read(lines).submissions] == [first.id, second.id]


def test_operator_benchmark(read):
    (run,) = read(OPERATORS, GIVEN).submissions
    found = figures(run)
    inputs = "M: 1, N: 1, device: cpu"
    assert found["add_M1_N1_cpu", inputs, "forward"].point.median == 1500
    assert found["add_M1_N1_cpu", inputs, "forward_memory"].point.median == 2048


def test_milabench():
    (run,) = read_results(RUNS, "", GIVEN).submissions
    rates = [entry for entry in run.entries if entry.key.metric == "rate"]
    assert rates and all(entry.point.median > 0 for entry in rates)
    assert not rates[0].facts.lower_is_better


def write_database(path, **more):
    """Writes milabench's tables, with a run of one benchmark in two processes and of one that
    failed."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(MILABENCH_TABLES)
        meta = {
            "cpu": {"brand": "EPYC", "count": 8},
            "accelerators": {"gpus": {"0": {"product": "H100"}}},
        }
        config = {"group": "g", "voir": {"options": {"skip": 1, "stop": 3}}}
        created = "2026-01-02 03:04:05.000006"
        run = (1, "run", created, json.dumps(meta))
        database.execute("INSERT INTO execs VALUES (?, ?, NULL, ?, ?, 'done')", run)
        for pack, (name, status, code, rates) in enumerate(
            (
                ("bert", "early_stop", 1, [1, 10, 10, 10, 99]),
                ("bert", "done", 0, [1, 20, 20, 20]),
                ("t5", "done", 1, [5, 5]),
            )
        ):
            row = (pack, created, name, json.dumps({**config, **more}), status)
            database.execute("INSERT INTO packs VALUES (?, 1, ?, ?, 'tag', ?, NULL, ?)", row)
            for metric, value in [("return_code", code), *(("rate", rate) for rate in rates)]:
                database.execute(
                    "INSERT INTO metrics (exec_id, pack_id, name, value) VALUES (1, ?, ?, ?)",
                    (pack, metric, value),
                )
    return path


MILABENCH_TABLES = """
CREATE TABLE execs (_id INTEGER PRIMARY KEY, name, namespace, created_time, meta, status);
CREATE TABLE packs (_id INTEGER PRIMARY KEY, exec_id, created_time, name, tag, config, command,
                    status);
CREATE TABLE metrics (_id INTEGER PRIMARY KEY, exec_id, pack_id, "order", name, namespace, value,
                      unit, job_id, gpu_id);
"""


DAMAGED = {
    "UPDATE metrics SET value = -3 WHERE value = 20": r"packs\[1\].rate: -3 is below zero",
    "UPDATE metrics SET value = 'x' WHERE value = 20": r"packs\[1\].rate.*: expected `float",
    "UPDATE packs SET name = 3": "packs.name: expected `str`, got `int`",
    "UPDATE packs SET config = x'ff'": "packs.config: expected `str",
    "UPDATE execs SET created_time = 'soon'": "created_time: 'soon' is no time",
    "ALTER TABLE packs RENAME name TO other": "packs: object missing required field `name`",
}
"""Changes of a database of milabench's, with what is said of each."""


def test_milabenchs_database(tmp_path):
    (run,) = read_results(write_database(tmp_path / "sqlite.db"), "", GIVEN).submissions
    bert, t5 = run.entries
    assert (bert.point.median, bert.facts.unit, bert.facts.category) == (30, "items/s", "g")
    assert (t5.point.status, t5.point.reason) == ("failed", "exit code 1")
    (facts,) = run.environments.values()
    assert (facts["cpu"], facts["gpus"]) == ("EPYC", [{"model": "H100"}])
    wrong = write_database(tmp_path / "wrong.db", voir={"options": {"skip": "x"}})
    with pytest.raises(OpperfError, match=r"packs\[0\].config.voir.options.skip: expected"):
        read_results(wrong, "", GIVEN)
    for change, said in DAMAGED.items():
        path = write_database(tmp_path / f"{len(said)}.db")
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(change)
        with pytest.raises(OpperfError, match=said):
            read_results(path, "", GIVEN)
    (tmp_path / "cut.db").write_bytes(wrong.read_bytes()[:3000])
    with pytest.raises(OpperfError, match="cut.db"):
        read_results(tmp_path / "cut.db", "", GIVEN)


@pytest.mark.parametrize("form", MADE)
def test_a_form_is_recognised_and_its_copies_are_the_same_run(read, form):
    once = read(MADE[form], GIVEN)
    again = read(json.dumps(MADE[form], indent=1), GIVEN, form, "copy.json")
    assert [run.id for run in once.submissions] == [run.id for run in again.submissions]


def changed(value, *keys, to):
    """A copy of a value with another one at a key path; without it if that is None."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in keys[:-1]:
        inner = inner[key]
    if to is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = to
    return copy


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"benchmarks": [', "results.json is no whole JSON"),
        ("[" * 200 + "]" * 200, "results.json is no whole JSON: nested more than 100 deep"),
        ({}, "is in no form that is known: asv, "),
        ('{"\\ud800": {"latency": {"value": 1.0}}}', "no whole JSON: it has half of a character"),
        (BENCHER, "does not say which commit it is of; name it with --commit"),
        (asv_results(version=3), "version: 3 is no version of asv's results"),
        (changed(asv_results(), "date", to=None), "object missing required field `date`"),
        (changed(asv_results(), "date", to=1e300), r"date: 1e\+300 is no time since 1970"),
        (
            changed(asv_results(), "results", "s.time_sum", 0, to=[1.0]),
            "results.s.time_sum.result: 1 value, and 2 combinations",
        ),
        (
            changed(asv_results(), "results", "s.time_sum", 1, to=HUGE),
            "results.s.time_sum.params: 81,000,000,000,000 combinations of parameters; at most",
        ),
        (
            changed(
                changed(asv_results(), "results", "s.time_sum", 1, to=HUGE),
                *("results", "s.time_sum", 0),
                to=[None],
            ),
            "combinations of parameters without a result; at most 10,000 are read",
        ),
        (
            changed(asv_results(), "results", "s.time_sum", 0, 0, to="x"),
            r"results.s.time_sum.result\[0\]: expected `float \| null`, got `str`",
        ),
        (
            changed(PYTEST, "benchmarks", 1, "stats", "median", to=None),
            r"benchmarks\[1\].stats: object missing required field `median`",
        ),
        (
            changed(PYTEST, "commit_info", "id", to="<script>\n" * 9999),
            "commit_info.id: '<script> .*' is no id of a commit",
        ),
        (changed(PYTEST, "datetime", to="tomorrow"), "datetime: 'tomorrow' is no time"),
        (changed(GITHUB, "entries", to={}), "has no figure; there is nothing to import"),
        (
            changed(GITHUB, "entries", "Go", 0, "benches", 0, "value", to="fast"),
            r"entries.Go\[0\].benches\[0\].value: expected `float \| null`, got `str`",
        ),
        ({"sum": {"latency": {"value": [1]}}}, r"sum.latency.value: expected `float \| null`"),
        (changed(PYTORCH, 3, "head_sha", to="main"), r"\[3\].head_sha: 'main' is no id"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(read, value, message):
    with pytest.raises(OpperfError, match=message) as caught:
        read(value)
    assert "results.json" in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_hostile_names_become_one_line_and_stay_apart(read):
    names = ["<script>alert(1)</script>", "a\nb\x1b[31m", "x" * 10_000, "x" * 10_001]
    value = {name: {"latency": {"value": 1.0}} for name in names}
    entries = read(value, GIVEN).submissions[0].entries
    assert len({entry.key for entry in entries}) == len(names)
    shown = [entry.facts.name for entry in entries]
    assert shown[:2] == ["<script>alert(1)</script>", "a b [31m"]
    assert all(name.isprintable() and len(name) <= 400 for name in shown)
    machine = changed(PYTEST, "machine_info", "cpu", "brand_raw", to="a\nb\x1b")
    (run,) = read(changed(machine, "commit_info", "branch", to="x\ny")).submissions
    (facts,) = run.environments.values()
    assert (facts["cpu"], run.branch) == ("a b", "x y")


def test_folders_without_results_are_named(tmp_path):
    with pytest.raises(OpperfError, match="has no results in a form that is known"):
        read_results(tmp_path, "", GIVEN)
    with pytest.raises(OpperfError, match="has no results of asv"):
        read_results(tmp_path, "asv", GIVEN)
    with pytest.raises(OpperfError, match="unknown form 'asvv'; did you mean asv?"):
        read_results(tmp_path, "asvv", GIVEN)
