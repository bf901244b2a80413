"""The command `report`: what it takes, refuses and writes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.run_files import report
from opperf.errors import OpperfError, OutputError
from opperf.execution import workers
from opperf.model import Settings
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.writing import write
from tests.recordings import called, measured, recording, site, transformer
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
        (["--rank", "tmie"], "'tmie' is not one of time"),
        (["--by", "dtpye"], "unknown dimension for --by 'dtpye'; did you mean dtype"),
        (["--top", "0"], "'0' is not an integer of at least 1"),
        (["-f", "jsonl"], "'jsonl' is not one of 'text'"),
    ],
)
def test_wrong_options_are_refused(program, saved, words, said):
    code, printed = invoke(saved(program), *words)
    assert code == 2 and said in printed


def test_a_file_has_to_be_named():
    code, printed = invoke()
    assert code == 2 and "Missing argument" in printed


def test_a_recording_has_a_tree_and_forecasts_in_every_format(saved, tmp_path):
    path = saved(transformer(2))
    code, printed = invoke(path, "--tree", "--what-if", "addmm=0.5", "--what-if", "mm=0")
    assert code == 0 and "encoder" in printed and "Called at" not in printed
    assert "all of these" in printed and "Amdahl" in printed
    code, printed = invoke(path)
    assert code == 0 and "Called at" in printed and "Slowest operator" not in printed
    code, printed = invoke(path, "-f", "json", "--what-if", "addmm=0.5")
    content = json.loads(printed)
    assert content["basis"] == "recorded" and content["programs"][0]["command"] == "train.py"
    assert content["modules"]["modules"][1]["module"] == "encoder"
    assert content["hotspots"][0]["places"][0]["line"] == 10
    assert content["what_if"][0]["changes"][0]["factor"] == 0.5
    code, printed = invoke(path, "-f", "csv")
    kinds = [line.partition(",")[0] for line in printed.splitlines()]
    assert kinds.count("place") == 10 and kinds.count("overload") == 5
    for name, begin in (("a.svg", "<svg "), ("a.html", "<!DOCTYPE html>")):
        code, _ = invoke(path, "-o", str(tmp_path / name))
        assert code == 0 and (tmp_path / name).read_text().startswith(begin)


def test_a_recording_without_times_ranks_by_calls(saved):
    path = saved(transformer(2, is_timed=False))
    code, printed = invoke(path)
    assert code == 0 and "ranked by their number" in printed
    content = json.loads(invoke(path, "-f", "json")[1])
    assert content["basis"] == "calls" and content["hotspots"][0]["time_ms"] is None


def test_recorded_times_rank_as_well(saved):
    run = measured(transformer(2), {"addmm": 0.1, "mm": 9.0, "gelu": 0.3})
    path = saved(run)
    names = [
        [row["operator"] for row in json.loads(invoke(path, "-f", "json", *words)[1])["hotspots"]]
        for words in ((), ("--rank", "recorded"))
    ]
    assert names == [["mm", "gelu", "addmm"], ["addmm", "mm", "gelu"]]


def with_threads(case):
    return msgspec.structs.replace(case, settings=Settings(threads=2))


def test_the_calls_of_a_program_count_once(saved):
    run = transformer(2)
    again = measured(run, {"addmm": 1.0})
    threads = [with_threads(record.case) for record in again.records]
    records = zip(again.records, threads, strict=True)
    again = msgspec.structs.replace(
        again,
        cases=tuple(threads),
        records=tuple(
            msgspec.structs.replace(record, case=case, id=case.id) for record, case in records
        ),
    )
    one, other = saved(run), saved(again, "again.jsonl")
    code, message = invoke(one, other)
    assert code == 2 and "again.jsonl has calls of " in message
    elsewhere = saved(transformer(2, command="other.py"), "other.jsonl")
    assert invoke(one, elsewhere)[0] == 0


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"count": 0}, "an impossible number of calls; the file is damaged"),
        ({"count": 10**400}, "an impossible number of calls; the file is damaged"),
        ({"recorded": (-5,)}, "an impossible time; the file is damaged"),
        ({"sites": (site("a", 1, -1),)}, "an impossible number of calls; the file is damaged"),
    ],
)
def test_numbers_that_no_program_has_are_refused(saved, changed, said):
    case = msgspec.structs.replace(called("mm", site("a", 1)), **changed)
    code, message = invoke(saved(recording(case)))
    assert code == 2 and said in message and "\n" not in message


def test_a_step_of_an_impossible_time_is_refused(saved):
    code, message = invoke(saved(recording(called("mm", site("a", 1)), step_us=[1e300] * 3)))
    assert code == 2 and "a step of the program has an impossible time" in message


@pytest.mark.parametrize(
    "words, said",
    [
        (["--tree"], "--tree needs the places of calls, and the files have none"),
        (["--what-if", "mm"], "'mm' is not"),
        (["--what-if", "mm=fast"], "'fast' is not a factor of a time; write 0.5 for half"),
        (["--what-if", "mm=-1"], "'-1' is not a factor of a time"),
        (["--what-if", "mm=1", "--what-if", "mm=2"], "'mm' is set twice"),
        (["--what-if", "nn=1"], "no operator 'nn' has a time"),
    ],
)
def test_what_the_file_cannot_answer_is_said(program, saved, words, said):
    code, printed = invoke(saved(program), *words)
    assert code == 2 and said in printed


def test_a_page_has_the_cases_of_every_run_and_scripts_on_request(
    program, saved, tmp_path, monkeypatch
):
    path, page = saved(program), tmp_path / "page.html"
    made = []

    def scripts_of(cases, interpreters):
        made.append(cases)
        return {case.id: f"import torch\n\ncall({case.id!r})\n" for case in cases}

    monkeypatch.setattr(workers, "scripts_of", scripts_of)
    assert invoke(path, "--scripts", "-o", str(page))[0] == 0
    text = page.read_text()
    assert len(made) == 1 and all(f"call('{case.id}')" in text for case in program.cases)
    assert f"opperf run {path} --id {program.cases[0].id}" in text
    code, said = invoke(path, "--scripts", "-o", str(page.with_suffix(".md")))
    assert code == 2 and "--scripts is for a page; name one with -o FILE.html" in said


@pytest.mark.parametrize(
    "name, said", [("none/a.html", "does not exist"), ("run.jsonl/a.html", "is not a folder")]
)
def test_a_page_that_cannot_be_written_is_one_line_and_no_file(
    program, saved, tmp_path, name, said
):
    path = saved(program)
    code, printed = invoke(path, "-o", str(tmp_path / name))
    assert code == 2 and said in printed and "\n" not in printed.strip()
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]
