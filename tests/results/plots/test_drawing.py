"""The command `plot`: what it prints and writes, and what it refuses."""

import sys

import pytest
from click.testing import CliRunner

from opperf.commands.run_files import plot
from opperf.errors import OutputError, RunFileError, UsageError
from opperf.extras import install_extra
from opperf.model import Run
from opperf.reports.writing import write
from opperf.results.plots import drawing
from tests.results.conftest import ENVIRONMENT


@pytest.fixture
def run_file(tmp_path, header, make_point):
    """Writes a run file of some records."""

    def written(name="run.jsonl", records=None):
        records = records or [make_point(n=n, moved=4000) for n in (128, 256, 512)]
        path = tmp_path / name
        run = Run(
            header,
            tuple(records),
            environments={ENVIRONMENT.id: ENVIRONMENT},
            cases=tuple(record.case for record in records),
        )
        write(run, path, "jsonl")
        return path

    return written


def invoked(*words):
    return CliRunner().invoke(plot, list(map(str, words)))


def test_without_an_output_the_chart_is_printed(run_file):
    pytest.importorskip("plotext")
    done = invoked(run_file())
    assert done.exit_code == 0 and done.stderr == ""
    assert "Forward (us), relu" in done.stdout and "Bandwidth (GB/s), relu" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80 and "\x1b" not in done.stdout


def test_a_picture_is_written_and_named(run_file, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = run_file()
    output = tmp_path / "plot.SVG"
    done = invoked(path, "-o", output)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"written to {output}\n")
    text = output.read_text()
    assert "relu: data: (16, n)" in text and "mxnet 1.9.1, A | B, cpu(0), float32" in text
    again = invoked(path, "-o", output)
    assert isinstance(again.exception, OutputError) and "--overwrite" in str(again.exception)
    assert invoked(path, "-o", output, "--overwrite").exit_code == 0


def test_several_files_have_a_line_each(run_file):
    pytest.importorskip("plotext")
    done = invoked(run_file("base.jsonl"), run_file("new.jsonl"), "--metric", "forward")
    assert "o base   x new" in done.stdout.splitlines()


def test_files_of_one_name_are_named_by_their_paths(run_file, tmp_path):
    pytest.importorskip("plotext")
    (tmp_path / "old").mkdir()
    first, second = run_file(), run_file("old/run.jsonl")
    assert f"o {first}" in " ".join(invoked(first, second).stdout.split())


def test_what_is_not_drawn_is_counted(run_file, make_point):
    pytest.importorskip("plotext")
    records = [make_point(n=n, threads=t) for n in (1, 2) for t in (1, 2, None)]
    done = invoked(run_file(records=records), "--x", "threads")
    assert done.exit_code == 0 and done.stderr == "2 records without threads not drawn\n"


@pytest.mark.parametrize(
    "words, error, message",
    [
        (("-o", "a.pdf"), UsageError, "a.pdf: the name of an image ends in .png, .svg, .html"),
        (("-o", "plot"), UsageError, "plot: the name of an image ends in"),
        (("-o", "/nowhere/a.png"), OutputError, "/nowhere does not exist"),
        (("--x", "k"), UsageError, "unknown size for --x 'k'"),
        (("--by", "k"), UsageError, "unknown dimension for --by 'k'"),
        (("--metric", "k"), UsageError, "unknown metric 'k'"),
    ],
)
def test_bad_options_are_refused(run_file, words, error, message):
    done = invoked(run_file(), *words)
    assert isinstance(done.exception, error) and message in str(done.exception)
    assert done.exception.exit_code == 2 and done.stdout == ""


def test_without_a_sweep_there_are_bars_as_text_and_as_a_picture(run_file, make_record, tmp_path):
    path = run_file(records=[make_record(name) for name in ("relu", "exp", "log")])
    done = invoked(path, "--top", 2)
    assert done.exit_code == 0 and done.stdout.count("█ ") == 2
    assert done.stderr == "the largest 2 rows are drawn, of 3; more with --top\n"
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    output = tmp_path / "bars.svg"
    assert invoked(path, "-o", output, "--top", 2).exit_code == 0
    assert "the largest 2 rows are drawn, of 3" in output.read_text()


def test_a_sweep_has_bars_on_request_and_only_they_have_a_top(run_file):
    assert invoked(run_file(), "--x", "operator").stdout.count("relu, data: (16, ") == 3
    refused = invoked(run_file("other.jsonl"), "--top", 2)
    assert isinstance(refused.exception, UsageError) and "use --x operator" in str(
        refused.exception
    )


def test_bad_files_are_refused(run_file, tmp_path, header):
    missing = invoked(tmp_path / "none.jsonl")
    assert isinstance(missing.exception, RunFileError)
    averages = tmp_path / "results.json"
    averages.write_text("{}")
    done = invoked(averages)
    assert isinstance(done.exception, RunFileError)
    assert "is not a run file, which has the intervals; write one with" in str(done.exception)
    empty = tmp_path / "empty.jsonl"
    write(Run(header, (), environments={ENVIRONMENT.id: ENVIRONMENT}), empty, "jsonl")
    assert "no record yet" in str(invoked(empty).exception)


def test_the_run_file_itself_is_not_replaced(run_file):
    path = run_file("run.svg")
    before = path.read_bytes()
    done = invoked(path, "-o", path, "--overwrite")
    assert isinstance(done.exception, OutputError) and path.read_bytes() == before


@pytest.mark.parametrize("words, module", [((), "plotext"), (("-o", "a.png"), "altair")])
def test_a_missing_library_is_named_with_its_extra(run_file, monkeypatch, tmp_path, words, module):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    done = invoked(run_file(), *words)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(f"a plot needs {module} (")
    assert str(done.exception).endswith(install_extra(module))
    assert not (tmp_path / "a.png").exists()


def test_operators_beyond_the_first_are_counted_above_a_picture(run_file, make_point):
    records = [make_point(f"f{i}", n=n) for i in range(drawing.SHOWN_INPUTS + 2) for n in (1, 2)]
    lines = drawing._subtitle([], records)
    assert lines[drawing.SHOWN_INPUTS] == "and 2 other operators"
    assert drawing._title(records).startswith("f0, f1, ")
    many = [make_point(f"f{i}") for i in range(100)]
    assert drawing._title(many).startswith("100 operators: f0, f1, ")
