"""The commands `aggregate` and `analyze`: what they print and write, and what they refuse."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from opperf.commands.run_files import aggregate, analyze
from opperf.errors import FOUND, OpperfError, OutputError, RunFileError, UsageError
from opperf.experiments.charts import CHARTS
from opperf.experiments.speedups import BASELINES
from opperf.experiments.tables import TABLES
from opperf.formats.model_records import METRICS, TESTS
from opperf.model import SCHEMA_VERSION, Header, Run
from opperf.reports.writing import write as write_run
from opperf.requests import models
from opperf.requests.declaring import declared
from opperf.requests.models import EXTENSIONS, FORMATS_OF, AggregateRequest
from tests.experiments.lines import MONDAY, value, write

DATA = Path(__file__).parents[1] / "data/xla"

EXPECTED = sorted(DATA.glob("*.test"))


def invoked(command, *words):
    return CliRunner().invoke(command, list(map(str, words)))


def refused(command, *words):
    error = invoked(command, *words).exception
    assert isinstance(error, OpperfError), error
    return error


def test_there_are_expected_outputs():
    assert len(EXPECTED) == 2


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name)
def test_expected_outputs_of_pytorch_xla_come_out_byte_for_byte(path):
    accelerator, test, report, _ = path.name.split(".")
    content = path.read_bytes()
    words = [f"--accelerator={accelerator}", f"--test={test}", f"--report={report}"]
    if content.startswith(b"# ARGS:"):
        line, _, content = content.partition(b"\n")
        words += shlex.split(line.decode().partition(":")[2])
    done = invoked(aggregate, "--format=csv", *words, *sorted(DATA.glob("*.jsonl")))
    assert done.exit_code == 0 and done.stdout_bytes == content


def test_choices_are_what_there_is():
    choices = {name: set(field.choices) for name, field in declared(AggregateRequest).items()}
    assert choices["report"] == set(FORMATS_OF)
    assert set(TABLES) == set(CHARTS) == set(models.TABLES) < set(FORMATS_OF)
    formats = choices["output_format"]
    assert formats == {name for names in FORMATS_OF.values() for name in names}
    assert formats == {"tab", "html-fragment", *EXTENSIONS.values()}
    assert choices["test"] == set(TESTS) and choices["metric"] == set(METRICS)
    assert choices["baseline"] == set(BASELINES)


@pytest.fixture
def results(tmp_path):
    """A file of two models and three backends."""
    return write(
        tmp_path / "results.jsonl",
        value("a", "eager", (9, 9, 9, 8)),
        value("a", "inductor", (9, 9, 9, 4)),
        value("b", "inductor", metrics={"error": "out of memory"}),
        value("b", "openxla+dynamo", (9, 9, 9, 4)),
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--backends", "eager", "inductor", "--", "FILE"),
        ("--backends", "eager", "inductor", "FILE"),
        ("FILE", "--backends", "eager", "--backends", "inductor"),
        ("--backends=eager", "--backends", "inductor", "--report", "speedup", "FILE"),
    ],
)
def test_backends_are_words_up_to_an_option_two_dashes_or_a_file(results, words):
    done = invoked(aggregate, *(results if word == "FILE" else word for word in words))
    header, row = done.stdout.splitlines()
    assert header.endswith(
        "Speedup(Eager/Oldest Eager),StdDev,Speedup(Inductor/Oldest Eager),StdDev"
    )
    assert row == "2023-11-20 00:00:00,1.0,0.0,2.0,0.0"


def test_the_format_is_that_of_the_output(results, tmp_path):
    for name, text in (
        ("out.md", "## Speedup over Oldest Inductor"),
        ("out.txt", "Speedup over Oldest Inductor"),
        ("out.csv", "# Datetime(UTC)"),
        ("out.json", "{"),
        ("out.xml", "<?xml"),
    ):
        done = invoked(aggregate, results, "-o", tmp_path / name)
        assert done.exit_code == 0 and done.stderr.endswith(f"written to {tmp_path / name}\n")
        assert (tmp_path / name).read_text().startswith(text)
    assert isinstance(refused(aggregate, results, "-o", tmp_path / "out.md"), OutputError)
    assert "contradicts" in str(refused(aggregate, results, "-f", "csv", "-o", "new.md"))
    assert ".pdf is the extension of no format" in str(refused(aggregate, results, "-o", "x.pdf"))
    error = refused(aggregate, results, "--report", "failures", "-f", "png")
    assert "--report failures has no format png" in str(error)


@pytest.mark.parametrize("name", ["out.png", "out.svg", "out.html"])
def test_charts_are_written(results, tmp_path, name):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    output = tmp_path / name
    done = invoked(aggregate, results, "--report", "latest_grouped", "-o", output)
    assert done.exit_code == 0
    begin = {"out.png": b"\x89PNG", "out.svg": b"<svg", "out.html": b"<!DOCTYPE html"}[name]
    assert output.read_bytes().lstrip().startswith(begin)


def test_failures_are_of_all_tests_and_accelerators(results):
    write(results, value("a", metrics={"error": "e"}, test="train", accelerator_model="A100"))
    done = invoked(aggregate, results, "--report", "failures")
    assert done.exit_code == 0 and "1 cell of 1 failed" in done.stdout and "train" in done.stdout
    rows = list(
        csv.DictReader(
            io.StringIO(invoked(aggregate, results, "--report", "failures", "-f", "csv").stdout)
        )
    )
    assert [row["reason"] for row in rows] == ["e"]
    assert json.loads(invoked(aggregate, results, "--report", "failures", "-f", "json").stdout)


def test_records_are_written_as_lines_that_are_read_again(results, tmp_path):
    words = ("--report", "records", "--backends", "inductor", "-o", tmp_path / "one.jsonl")
    assert invoked(aggregate, results, *words).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert [line["model"]["model_name"] for line in lines] == ["a", "b"]
    written = invoked(aggregate, tmp_path / "one.jsonl", "--report", "records", "-f", "jsonl")
    assert written.stdout == (tmp_path / "one.jsonl").read_text()
    table = invoked(aggregate, results, "--report", "records").stdout.splitlines()
    assert table[1].startswith("cuda,a,16,2.0,4000.0,1.66666") and table[1].endswith(",,,")


def test_what_is_not_compared_is_said(results):
    write(results, value(), value(times=(1, 2)), value(torch_xla2="torch_export"))
    done = invoked(aggregate, results)
    assert "1 record of a runtime without a backend here" in done.stderr
    assert f"{results}:3" in done.stderr and "1 record without a result" in done.stderr


def test_a_latest_report_without_speedups_is_empty_and_no_error(results):
    for report in ("latest", "latest_grouped"):
        done = invoked(aggregate, results, "--backends", "openxla+lazytensor", "--report", report)
        assert (done.exit_code, done.stdout) == (0, "") and "there is no speed-up" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--accelerator", "h100"), "no results found for accelerator h100"),
        (("--test", "training"), "test training"),
        (("-k", "nothing"), "models by name or tier"),
        (("--filter-by-tier", "7"), "models by name or tier"),
        (("-k", "b", "-x", "b"), "models by name or tier"),
        (
            ("--baseline", "latest", "--backends", "openxla+lazytensor"),
            "has no results of openxla+lazytensor, which is the baseline",
        ),
    ],
)
def test_nothing_left_is_one_line_and_exit_code_1(results, words, message):
    error = refused(aggregate, results, *words)
    assert message in str(error) and error.exit_code == FOUND


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--backends", "inductro"), "unknown backend 'inductro'; did you mean inductor?"),
        (("--backends", "eager", "inductor", "eager"), "--backends has eager twice"),
        (("--backends", "no.jsonl"), "unknown backend 'no.jsonl'"),
        (("-k", "("), "is no regular expression"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(results, words, message):
    error = refused(aggregate, results, *words)
    assert message in str(error) and error.exit_code == 2
    assert isinstance(error, UsageError)


def test_a_run_file_without_records_has_no_results(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(Run(Header(SCHEMA_VERSION, "2025-01-02", {}), ()), path, "jsonl")
    assert "the files have no records" in str(refused(aggregate, path))


def test_analyze_writes_the_report_and_appends_to_the_database(results):
    folder = results.parent
    for times in (1, 2):
        done = invoked(analyze, folder)
        assert done.exit_code == 0 and "4 records written to" in done.stderr
        report = list(csv.DictReader((folder / "metric_report.csv").open()))
        database = list(csv.DictReader((folder / "database.csv").open()))
        assert (len(report), len(database)) == (4, 4 * times)
    assert [row["error_message"] for row in report] == ["", "", "out of memory", ""]
    other = folder / "other.csv"
    words = ("--output-dirname", folder, "--hide-errors", "--database", other)
    words += ("--experiment-name", "run_all")
    assert invoked(analyze, *words).exit_code == 0
    assert not any(row["error_message"] for row in csv.DictReader(other.open()))


def test_analyze_does_not_read_its_own_lines(results):
    folder = results.parent
    for _ in range(2):
        assert invoked(analyze, folder, "--output-format", "jsonl", "--timestamp", 3).exit_code == 0
    lines = (folder / "metric_report.jsonl").read_text().splitlines()
    assert len(lines) == 4 and not (folder / "database.csv").exists()
    assert json.loads(lines[0])["metrics"]["timestamp"] == MONDAY


def test_analyze_reads_the_records_that_pytorch_xlas_own_analyzer_does_not(tmp_path):
    (tmp_path / "v100.jsonl").write_bytes((DATA / "v100.jsonl").read_bytes())
    assert invoked(analyze, tmp_path).exit_code == 0
    rows = list(csv.DictReader((tmp_path / "metric_report.csv").open()))
    assert len(rows) == 17 and rows[0]["timestamp"] == "1699680738.7234068"
    assert rows[4]["median_total_time"] == "" and rows[0]["torch_xla2"] == ""


def test_analyze_refuses_a_folder_without_records(tmp_path):
    assert "does not exist" in str(refused(analyze, tmp_path / "no"))
    assert isinstance(refused(analyze, tmp_path), RunFileError)
    (tmp_path / "empty.jsonl").touch()
    assert "have no records" in str(refused(analyze, tmp_path))
    error = refused(analyze, tmp_path, "--output-dirname", tmp_path / "other")
    assert "name one of them" in str(error)
    write(tmp_path / "mixed.jsonl", value(), {"other": 1})
    assert "mixed.jsonl:2: this is no record" in str(refused(analyze, tmp_path))
