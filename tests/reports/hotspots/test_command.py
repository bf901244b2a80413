"""The command `report`: what it takes, refuses and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from opperf.commands.report import report
from opperf.errors import OpperfError, OutputError
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.runs import write
from tests.writing import ranked


@pytest.fixture
def saved(tmp_path):
    """Writes a run into a file of this name and gives the path."""

    def save(run, name="run.jsonl"):
        write(run, tmp_path / name, "jsonl")
        return str(tmp_path / name)

    return save


def invoke(*words):
    done = CliRunner().invoke(report, words)
    if isinstance(done.exception, OpperfError):
        return done.exception.exit_code, str(done.exception)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_it_prints_the_ranking_by_time(program, saved):
    path = saved(program)
    code, printed = invoke(path)
    assert code == 0 and printed == ranked(find_hotspots([program]))
    assert invoke(path, "--rank", "time", "--by", "overload") == (code, printed)
    code, printed = invoke(path, "--rank", "calls", "--by", "operator", "--top", "1")
    assert printed == ranked(find_hotspots([program], "calls", ("operator",)), 1)


def test_it_writes_every_format(program, saved, tmp_path):
    path = saved(program)
    for name, begin in (("a.md", "## Operators"), ("a.csv", "kind,operator,"), ("a.json", "{")):
        code, _ = invoke(path, "-o", str(tmp_path / name))
        assert code == 0 and (tmp_path / name).read_text().startswith(begin)
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        raise CliRunner().invoke(report, [path, "-o", str(tmp_path / "a.md")]).exception


def test_several_files_are_added_up(program, saved):
    one, other = saved(program), saved(program, "other.jsonl")
    code, printed = invoke(one, other, "-f", "json")
    assert code == 0 and json.loads(printed)["calls"] == 28


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "cannot be read: No such file"),
        ("", "not a run file: the file is empty"),
        ("Operator: aten.mm.default\n", "not an opperf run file; write one with"),
        ('{"relu": []}\n', "not an opperf run file; write one with"),
    ],
)
def test_a_file_that_is_no_run_file_is_refused(program, saved, tmp_path, content, said):
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_text(content)
    for words in ([str(path)], [saved(program), str(path)]):
        code, message = invoke(*words)
        assert code == 2 and message.startswith(str(path)) and said in message
        assert "\n" not in message


def test_a_run_without_a_time_is_refused(program, saved, of):
    failed = of(*(record for record in program.records if not record.summaries))
    code, message = invoke(saved(failed))
    assert code == 2 and message.endswith(
        "no case of the run was measured; there is nothing to rank"
    )


def test_a_file_counts_once(program, saved):
    path = saved(program)
    code, message = invoke(path, path)
    assert code == 2 and "is named twice; its calls would count twice" in message


def test_a_torn_line_is_warned_of(program, saved):
    path = saved(program)
    with Path(path).open("a") as file:
        file.write('{"line":"rec')
    code, printed = invoke(path)
    assert code == 0 and "warning: " in printed


@pytest.mark.parametrize(
    "words, said",
    [
        (["--rank", "tmie"], "'tmie' is not one of 'time'"),
        (["--by", "dtpye"], "unknown dimension for --by 'dtpye'; did you mean dtype"),
        (["--top", "0"], "0 is not in the range"),
        (["-f", "jsonl"], "'jsonl' is not one of 'text'"),
    ],
)
def test_wrong_options_are_refused(program, saved, words, said):
    code, printed = invoke(saved(program), *words)
    assert code == 2 and said in printed


def test_a_file_has_to_be_named():
    code, printed = invoke()
    assert code == 2 and "Missing argument" in printed
