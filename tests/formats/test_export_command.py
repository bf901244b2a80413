"""What the command `export` writes, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from opperf.commands.run_files import export
from opperf.errors import RunFileError, UsageError
from opperf.model import Run
from opperf.reports.run_page import markdown_text
from opperf.reports.writing import write


def test_an_output_there_and_a_run_file_that_is_not(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    output.write_text("mine")
    missing = tmp_path / "none.jsonl"
    words = [str(missing), "--to", "bencher", "-o", str(output), "--overwrite"]
    done = CliRunner().invoke(export, words)
    assert isinstance(done.exception, RunFileError) and "cannot be read" in str(done.exception)
    assert output.read_text() == "mine"


def test_a_file_is_written_for_a_reader_and_said_to_be(tmp_path: Path, run: Run) -> None:
    path, output = tmp_path / "run.jsonl", tmp_path / "out.json"
    write(run, path, "jsonl")
    words = [str(path), "--to", "github-action-benchmark"]
    printed = CliRunner().invoke(export, words)
    dash = CliRunner().invoke(export, [*words, "-o", "-"])
    assert dash.stdout == printed.stdout and dash.stderr == printed.stderr
    written = CliRunner().invoke(export, [*words, "-o", str(output)])
    assert output.read_text() == printed.stdout
    assert printed.stdout.startswith('[\n  {\n    "name": ') and printed.stdout.endswith("\n]\n")
    assert written.stdout == "" and written.stderr.splitlines()[-1] == f"written to {output}"


def test_markdown_has_the_named_columns(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    plain = CliRunner().invoke(export, [str(path), "--to", "md"])
    assert plain.stdout == markdown_text(run)
    done = CliRunner().invoke(export, [str(path), "--to", "md", "--columns", "Ratio,p90,ratio"])
    assert done.stdout == markdown_text(run, ("ratio", "p90"))


@pytest.mark.parametrize(("tool", "name"), [("md", "out.json"), ("bencher", "out.md")])
def test_a_page_and_json_have_their_own_extensions(
    tmp_path: Path, run: Run, tool: str, name: str
) -> None:
    path, output = tmp_path / "run.jsonl", tmp_path / name
    write(run, path, "jsonl")
    done = CliRunner().invoke(export, [str(path), "--to", tool, "-o", str(output)])
    assert isinstance(done.exception, UsageError) and not output.exists()
    assert str(done.exception).startswith(f"{output}: --to {tool} writes .")
    done = CliRunner().invoke(export, [str(path), "--to", "md", "-o", f"{tmp_path}/out.markdown"])
    assert done.exit_code == 0


def test_columns_are_of_markdown_only(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    done = CliRunner().invoke(export, [str(path), "--to", "bencher", "--columns", "p90"])
    assert isinstance(done.exception, UsageError) and done.exception.exit_code == 2
    assert str(done.exception) == "--columns is for --to md; bencher has no columns"


def test_a_line_that_was_cut_short_is_told_of(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    path.write_bytes(path.read_bytes() + b"{")
    done = CliRunner().invoke(export, [str(path), "--to", "bencher"])
    assert done.exit_code == 0 and "warning: " in done.stderr and "cut short" in done.stderr
