"""A history that is written in another tool's form and read again has the same figures."""

import json
import math

import msgspec
import pytest
from jsonschema import Draft7Validator

from opperf.errors import OpperfError
from opperf.formats.figures import Given, point_of_samples
from opperf.formats.forms import FORMS, WRITTEN, read_results
from opperf.formats.model import WHOLE
from opperf.history.exporting import collect
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project, read_runs
from opperf.opperf import cli
from opperf.reports.formats import json_of
from opperf.repository import Commit
from tests.formats.samples import write_asv
from tests.formats.test_exports import SCHEMAS
from tests.history.submissions import entry, failure, submission

ONE_RUN = ("bencher", "pytest-benchmark", "operator-benchmark", "hyperfine", "perfetto")


def sha(number):
    """An id whose beginning, too, is no other's: names of asv's files have eight digits of it."""
    return f"{number:x}" * 40


def run_of(number, *entries, **more):
    made = submission(number, *entries, **more)
    return msgspec.structs.replace(
        made, commit=msgspec.structs.replace(made.commit, sha=sha(number))
    )


def measured(value, samples=True, **more):
    """A figure with samples, or with an interval alone."""
    made = entry(value, **more)
    if not samples:
        return made
    point = point_of_samples([value - 3.0, value - 1.0, value, value + 1.0, value + 2.5])
    return msgspec.structs.replace(made, point=point)


@pytest.fixture
def store(tmp_path):
    """Three commits of two cases on two machines, of which one failed once, and a dirty tree."""
    runs = [
        run_of(
            number,
            measured(100.0 + number),
            measured(4096.0, metric="memory", samples=False),
            measured(70.0 + number, case="c1", name='vector<int> "a"', samples=number != 1),
            # Of the same name and inputs.
            measured(60.0 + number, case="c2", name='vector<int> "a"'),
            failure("no kernel", case="c3", name="exp")
            if number == 2
            else measured(5.0, case="c3", name="exp"),
        )
        for number in (1, 2, 3)
    ]
    with Store(str(tmp_path / "history.sqlite")) as opened:
        other = run_of(2, measured(300.0, environment="e1"), id="other")
        dirty = run_of(3, measured(9e9), id="dirty", is_dirty=True)
        add_runs(opened, "p", [*runs, other, dirty])
        yield opened


def export(store, form, folder):
    return write_export(collect(store, find_project(store)), form, folder)


def write_export(exported, form, folder):
    """Writes an export, and returns its path and warnings."""
    content, warnings = FORMS[form].write(exported)
    path = folder / "exported"
    if not FORMS[form].is_folder:
        path.write_text(content if isinstance(content, str) else json_of(content))
        return path, warnings
    for name, text in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text)
    return path, warnings


def figures(submissions):
    """The commit, the unit and the point of each figure, sorted."""
    return sorted(
        (run.commit.sha, found.facts.unit, found.point.median, found.point.n)
        for run in submissions
        for found in run.entries
        if found.key.metric != WHOLE
    )


def stored_figures(store, last_only):
    exported = collect(store, find_project(store))
    return sorted(
        (run.commit.sha, found.facts.unit, found.point.median, found.point.n)
        for run in (exported.runs[-1:] if last_only else exported.runs)
        for found in run.figures
    )


@pytest.mark.parametrize("form", WRITTEN)
def test_the_figures_are_the_same(store, form, tmp_path):
    path, _ = export(store, form, tmp_path)
    given = Given(Commit(sha(3)), "main", "machine")
    found = figures(read_results(path, "", given).submissions)
    wanted = stored_figures(store, form in ONE_RUN)
    if form in ("pytest-benchmark", "hyperfine"):
        wanted = [row for row in wanted if row[1] == "ns"]
    if form == "pytest-benchmark":
        exported = json.loads(path.read_text())["benchmarks"]
        assert any(bench["extra_info"].get("memory_bytes") == 4096 for bench in exported)
    assert [row[:2] for row in found] == [row[:2] for row in wanted]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in wanted])
    assert 9e9 not in [row[2] for row in found]


@pytest.mark.parametrize("form", ["asv", "github-action-benchmark", "pytorch"])
def test_intervals_counts_machines_and_outcomes_are_kept(store, form, tmp_path):
    path, _ = export(store, form, tmp_path)
    runs = read_results(path, "", Given()).submissions
    assert len({entry.key.environment for run in runs for entry in run.entries}) == 2
    (first,) = [run for run in runs if run.commit.sha == sha(1)]
    (point,) = [entry.point for entry in first.entries if entry.point.median == pytest.approx(101)]
    reach = 3.0 if form == "github-action-benchmark" else 2.5
    assert (point.n, point.high) == (5, pytest.approx(101 + reach))
    if form != "github-action-benchmark":
        assert len(point.samples) == 5
        outcomes = [
            (run.commit.sha, entry.point.status)
            for run in runs
            for entry in run.entries
            if entry.key.metric == WHOLE
        ]
        assert outcomes == [(sha(2), "failed")]


def test_asvs_results_go_through_a_history_unchanged(tmp_path):
    folder = write_asv(tmp_path / "results")
    intake = read_results(folder, "", Given(branch="main"))
    with Store(str(tmp_path / "history.sqlite")) as store:
        add_runs(store, "p", intake.submissions)
        path, _ = export(store, "asv", tmp_path)
    (before,), (after,) = intake.submissions, read_results(path, "", Given()).submissions
    assert (after.commit, after.started) == (before.commit, before.started)

    def shown(run):
        return {
            (entry.facts.name, entry.facts.unit, entry.point.status): (
                *(entry.point.median, entry.point.low, entry.point.q25, entry.point.n),
                *entry.point.samples,
            )
            for entry in run.entries
        }

    assert shown(after).keys() == shown(before).keys()
    for name, values in shown(before).items():
        assert shown(after)[name] == pytest.approx(values, nan_ok=True)


def test_asv_has_an_order_of_names_and_statistics_only_with_quartiles(store, tmp_path):
    path, _ = export(store, "asv", tmp_path)
    declared = json.loads((path / "benchmarks.json").read_text())
    assert {"relu.forward", "relu.memory", 'vector<int> "a".forward'} <= set(declared)
    assert declared["relu.forward"]["param_names"] == ["inputs"]
    (file,) = path.glob(f"e0/{sha(1)[:8]}-*.json")
    content = json.loads(file.read_text())
    rows = {
        name: dict(zip(content["result_columns"], row, strict=True))
        for name, row in content["results"].items()
    }
    assert rows["relu.memory"]["stats_ci_99_a"] == rows["relu.memory"]["stats_q_25"] == [None]
    assert math.isfinite(rows["relu.forward"]["stats_ci_99_a"][0])


@pytest.mark.parametrize("form", ["bencher", "pytest-benchmark"])
def test_an_export_has_the_fields_that_the_tool_documents(store, form, tmp_path):
    path, _ = export(store, form, tmp_path)
    Draft7Validator(SCHEMAS[form]).validate(json.loads(path.read_text()))


def test_the_command_writes_files_and_folders_and_says_what_is_wrong(store, tmp_path, capsys):
    def called(*words):
        line = ["history", "export", *words, "--store", store.name]
        return cli.main([*map(str, line)], standalone_mode=False)

    assert called("--to", "bencher") == 0
    assert json.loads(capsys.readouterr().out)["relu[x: (2,)]"]["latency"]["value"] == 103
    assert called("--to", "asv", "-o", tmp_path / "results") == 0
    assert (tmp_path / "results" / "e0" / "machine.json").is_file()
    (run,) = [run for run in read_runs(store, find_project(store)) if run.identity == "other"]
    assert called("--to", "bencher", "--run", run.identity, "-o", tmp_path / "b.json") == 0
    assert '"value": 300' in (tmp_path / "b.json").read_text()
    for words, message in (
        (("--to", "asv"), "writes a new folder; name one with -o"),
        (("--to", "asv", "-o", tmp_path / "results"), "exists; name another folder"),
        (("--to", "milabench"), "unknown form 'milabench'"),
        (("--to", "bencher", "--branch", "mian"), "unknown branch 'mian'; did you mean main?"),
        (("--to", "bencher", "--run", "zz"), "unknown run 'zz'"),
        (("--to", "bencher", "--environment", "zz"), "unknown environment 'zz'"),
    ):
        with pytest.raises(OpperfError, match=message) as caught:
            called(*words)
        assert "\n" not in str(caught.value)
